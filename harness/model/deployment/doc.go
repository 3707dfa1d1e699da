// Package deployment says what the Deployment controller of a given Kubernetes version
// writes to the ReplicaSets of a Deployment.
//
// It is arithmetic, a small simulator and a checker: no clock, no network, no Kubernetes
// types. Every rule names the source file and line at a tag that it was read from; paths
// are relative to the repository kubernetes/kubernetes, and below pkg/controller/deployment
// where only a file is named.
//
//	scales := deployment.Reconcile(view)                      // the writes of one pass
//	trace := deployment.Play(spec, deployment.DeployAt("v2")) // the canonical rollout
//	envelope := deployment.Explore(spec, deployment.Chaos{})  // all rollouts
//	checker := deployment.NewChecker(spec)                    // a recorded one
//
// Not modelled: hash collisions, adoption and orphaning, ReplicaSets that others scale,
// the deprecated rollback annotation, quota and other failing writes.
package deployment
