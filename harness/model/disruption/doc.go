// Package disruption says what the Eviction API answers, given PodDisruptionBudgets, and
// what the disruption controller writes into their status.
//
// It is pure functions and a small simulator: no clock, no network, no Kubernetes types.
// Lines are of kubernetes v1.37.2: disruption.go is pkg/controller/disruption/disruption.go,
// eviction.go is pkg/registry/core/pod/storage/eviction.go.
//
//	trace := disruption.Play(rules, disruption.Drill{Replicas: 1, Budgets: budgets, Evictions: 3})
//	trace.Codes() // 429 429 429
//
// Not modelled: conflicts of writers (the API server retries 20 times, then 504), pods
// whose controller cannot be found in other ways than by name, selectors.
package disruption
