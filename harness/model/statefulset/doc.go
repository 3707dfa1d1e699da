// Package statefulset says what the StatefulSet controller of a given Kubernetes version
// does to the pods of a set.
//
// It is a pure function of what the controller sees, a small simulator of a set with its
// pods, and a checker of recorded histories: no clock, no network, no Kubernetes types.
// Lines are of kubernetes v1.37.2 where no other tag is named, files below
// pkg/controller/statefulset where no other path is given.
//
//	rules, known := statefulset.RulesFor("v1.37.2")
//	trace := statefulset.Play(rules, statefulset.Drill{Spec: spec, Stuck: []int{2}})
//	trace.Deletions() // 4 3 2
//
// Not modelled: the alpha strategy Recreate, volume claims, adoption of orphans, deletion
// of the set, and a ControllerRevision cache that lags behind the set's.
package statefulset
