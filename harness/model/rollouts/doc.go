// Package rollouts says what an Argo Rollouts controller of a given version does
// to a canary Rollout with Istio traffic routing, and to a blue-green one.
//
// It is arithmetic and a small simulator: no clock, no network, no Kubernetes types.
// Every rule names the source file and line at a tag that it was read from, so that
// a held or broken prediction can be traced to upstream code.
//
//	rules, known := rollouts.RulesFor("v1.8.2")
//	trace := rollouts.RollbackWindow(rules, spec, rollouts.RollbackOptions{})
//	trace.WeightSequence() // 0 100 0
//
// Not modelled: experiments, step plugins, background analysis and that of a blue-green
// promotion, mirror routes, and conditions but Progressing and Healthy. Passes that only
// patch a condition (v1.10 ends a pass after one) are not rows of a trace, nor are those
// that fail because the VirtualService was written twice and are tried again.
package rollouts
