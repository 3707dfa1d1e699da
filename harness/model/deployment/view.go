package deployment

import (
	"cmp"
	"fmt"
	"slices"
)

// Spec is the part of a Deployment's spec that decides sizes.
type Spec struct {
	Replicas    int
	Surge       IntOrPercent // maxSurge
	Unavailable IntOrPercent // maxUnavailable
	Recreate    bool         // strategy Recreate; surge and unavailable then count for nothing
	Paused      bool
	// Template names the wanted version: the ReplicaSet with that name is the new one.
	Template string
}

// Validate says what the API would refuse.
func (s Spec) Validate() error {
	if s.Replicas < 0 {
		return fmt.Errorf("replicas %d must not be negative", s.Replicas)
	}
	if s.Recreate {
		return nil
	}
	return Validate(s.Surge, s.Unavailable)
}

// MaxSurge is how many pods may be wanted above Replicas.
// util/deployment_util.go:467 (v1.37.2), :468 (v1.34.2)
func (s Spec) MaxSurge() int {
	if s.Recreate {
		return 0
	}
	return s.Surge.up(s.Replicas)
}

// MaxUnavailable is how many of Replicas may be unavailable: never more than there are, and
// 0 without replicas. util/deployment_util.go:446 (v1.37.2), :447 (v1.34.2)
func (s Spec) MaxUnavailable() int {
	if s.Recreate || s.Replicas == 0 {
		return 0
	}
	_, u := Fenceposts(s.Replicas, s.Surge, s.Unavailable)
	return min(u, s.Replicas)
}

// Most is the upper fencepost: the sum of spec.replicas of all ReplicaSets.
func (s Spec) Most() int { return s.Replicas + s.MaxSurge() }

// Least is the lower fencepost: the available pods below which no old ReplicaSet is scaled
// down. With Recreate it is 0.
func (s Spec) Least() int {
	if s.Recreate {
		return 0
	}
	return s.Replicas - s.MaxUnavailable()
}

// NoAnnotation is the value of an annotation that a ReplicaSet lacks.
const NoAnnotation = -1

// ReplicaSet is what the controller looks at.
type ReplicaSet struct {
	Name    string
	Created int64 // creation, in seconds or just in order; names break a tie
	// Replicas is spec.replicas.
	Replicas int
	// Pods is status.replicas: pods that are not terminating.
	Pods int
	// Available is status.availableReplicas.
	Available int
	// Running counts pods that exist in any way, terminating ones included, but not those
	// that failed or succeeded. Only the Recreate strategy looks at it, and at Pods.
	Running int
	// Desired and Max are the annotations deployment.kubernetes.io/desired-replicas and
	// max-replicas, or NoAnnotation.
	Desired, Max int
}

// Older compares by creation and then name, as the controller does.
// pkg/controller/controller_utils.go:1232 (v1.37.2)
func (r ReplicaSet) Older(other ReplicaSet) int {
	return cmp.Or(cmp.Compare(r.Created, other.Created), cmp.Compare(r.Name, other.Name))
}

// View is what one pass of the controller sees.
type View struct {
	Spec Spec
	// Sets are the ReplicaSets, oldest first.
	Sets []ReplicaSet
	// New is the index of the ReplicaSet with the wanted template, or NoSet.
	New int
	// StatusReplicas is status.replicas of the Deployment. It takes the place of a missing
	// or zero max-replicas annotation in proportional scaling.
	StatusReplicas int
}

// NoSet is the index of a ReplicaSet that does not exist.
const NoSet = -1

// NewView sorts the sets and finds the new one: that with the name of the template.
func NewView(spec Spec, sets ...ReplicaSet) View {
	v := View{Spec: spec, Sets: slices.Clone(sets)}
	slices.SortFunc(v.Sets, ReplicaSet.Older)
	v.New = slices.IndexFunc(v.Sets, func(r ReplicaSet) bool { return r.Name == spec.Template })
	for _, r := range sets {
		v.StatusReplicas += r.Pods
	}
	return v
}

// Scale is one write of a pass to spec.replicas, or only to the annotations if From is To.
type Scale struct {
	// Set is an index of View.Sets, or NoSet for the new ReplicaSet that is created.
	Set      int
	From, To int
	Why      Rule
}
