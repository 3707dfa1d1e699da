// Package rollouts says what an Argo Rollouts controller of a given version does
// to a canary Rollout with Istio traffic routing.
//
// It is arithmetic and a small simulator: no clock, no network, no Kubernetes types.
// Every rule names the source file and line at a tag that it was read from, so that
// a held or broken prediction can be traced to upstream code.
//
//	rules, known := rollouts.RulesFor("v1.8.2")
//	trace := rollouts.RollbackWindow(rules, spec, rollouts.RollbackOptions{})
//	trace.WeightSequence() // 0 100 0
//
// Not modelled: blueGreen, experiments, step plugins, background
// analysis, header and mirror routes, scaling events, and conditions but Progressing and Healthy. Passes that only
// patch a condition (v1.10 ends a pass after one) are not rows of a trace.
package rollouts
