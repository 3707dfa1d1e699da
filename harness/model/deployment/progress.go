package deployment

import (
	"math"
	"time"
)

// Status is the part of a Deployment's status that its progress is estimated from.
type Status struct {
	Replicas, Updated, Ready, Available int
}

// StatusOf is the status that a pass writes, with available pods taken as ready.
// sync.go:493 (v1.37.2), :495 (v1.34.2)
func StatusOf(v View) Status {
	var s Status
	for i, r := range v.Sets {
		s.Replicas += r.Pods
		s.Available += r.Available
		if i == v.New {
			s.Updated = r.Pods
		}
	}
	s.Ready = s.Available
	return s
}

// Progressed says whether the controller counts the step from one status to the next as
// progress, which starts the deadline anew: more updated, ready or available pods, or
// fewer old ones. Pods that fail and come back count again and again, so a version that
// flaps may never time out. util/deployment_util.go:752 (v1.37.2), :755 (v1.34.2)
func Progressed(before, after Status) bool {
	return after.Updated > before.Updated ||
		after.Replicas-after.Updated < before.Replicas-before.Updated ||
		after.Ready > before.Ready || after.Available > before.Available
}

// Complete says whether a rollout is over, once the status is of the present spec.
// util/deployment_util.go:741 (v1.37.2), :744 (v1.34.2)
func Complete(replicas int, s Status) bool {
	return s.Updated == replicas && s.Replicas == replicas && s.Available == replicas
}

// Bounds are durations since a cause. By leaves out what a machine needs to react.
type Bounds struct{ NotBefore, By time.Duration }

// grain is that of a time stamp in the API: it is cut to whole seconds.
const grain = time.Second

// DeadlineBounds says when, after the last progress was written, Progressing becomes False
// with the reason ProgressDeadlineExceeded.
//
// It does once lastUpdateTime + deadline is before now; lastUpdateTime is up to a second
// earlier than the write, so up to a second too early. If nothing else wakes the controller, it wakes
// itself a second after that moment. util/deployment_util.go:771, progress.go:186 (v1.37.2)
//
// There is none if the deadline is not set or is the largest int32, while the Deployment
// is paused, and for a rollout that has completed. Resuming and creating the new
// ReplicaSet count like progress. util/deployment_util.go:906, sync.go:82 (v1.37.2)
func DeadlineBounds(deadlineSeconds int) (bounds Bounds, ok bool) {
	if deadlineSeconds < 0 || deadlineSeconds >= math.MaxInt32 {
		return Bounds{}, false
	}
	d := time.Duration(deadlineSeconds) * time.Second
	return Bounds{NotBefore: max(0, d-grain), By: d + time.Second}, true
}

// AvailableBounds says when, after a pod becomes ready, it counts as available.
//
// The condition's time stamp is up to a second early, and so is a status that something
// else causes in time. The ReplicaSet controller comes back by itself minReadySeconds
// after it saw the pod ready. pkg/api/v1/pod/util.go:283,
// pkg/controller/replicaset/replica_set.go:560 (v1.37.2), :507 (v1.34.2)
func AvailableBounds(minReadySeconds int) Bounds {
	if minReadySeconds <= 0 {
		return Bounds{}
	}
	d := time.Duration(minReadySeconds) * time.Second
	return Bounds{NotBefore: d - grain, By: d}
}
