// Package autoscaler is a model of the HorizontalPodAutoscaler controller of
// kube-controller-manager, for one resource metric or one external one with a target of
// the type AverageValue and without spec.behavior.
//
// One sync is three steps: Calculate proposes a size from the pods and their
// readings, Autoscaler.Sync keeps the highest proposal of the last five minutes and
// clamps it. The size that a proposal starts from is spec.replicas of the target.
// But where the usage lies outside the tolerance and every pod has a reading, the
// proposal is a multiple of the pods that exist, those of a rolling update's surge
// included, and nothing checks that usage below the target does not scale up: that
// check is in the other branch only (kubernetes#85027, #89465).
//
// What is external, such as requests that arrive, does not grow with the pods: outside the
// tolerance the proposal is what the whole needs. Inside, it is the number of replicas in
// the target's status, which is another than spec.replicas for a target that has pods of
// two versions beside each other.
//
// The arithmetic is the same in v1.34.2, v1.35.4, v1.36.3 and v1.37.2: the function
// was compared with diff.
package autoscaler
