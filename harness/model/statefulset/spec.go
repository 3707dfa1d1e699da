package statefulset

import "reckon.dev/reckon/harness/model/share"

// Policy is spec.podManagementPolicy.
type Policy string

const (
	// OrderedReady makes one pod at a time and waits for it; the default.
	OrderedReady Policy = "OrderedReady"
	// Parallel makes and removes pods at once. It changes updates too: nothing waits for
	// a pod below to be available.
	Parallel Policy = "Parallel"
)

// A Spec is the part of a StatefulSet that decides which pods there are.
type Spec struct {
	Replicas int
	// Start is spec.ordinals.start, the first ordinal.
	Start  int    `json:",omitempty"`
	Policy Policy `json:",omitempty"`
	// OnDelete is updateStrategy.type OnDelete: nothing is deleted for an update.
	OnDelete bool `json:",omitempty"`
	// Bare is a set that says "type: RollingUpdate" without a rollingUpdate block. The
	// default is filled in only when the type is missing too, and without the block
	// status.currentReplicas takes the place of the partition for pods made anew.
	// pkg/apis/apps/v1/defaults.go:105, stateful_set_utils.go:537
	Bare bool `json:",omitempty"`
	// Partition is how many pods from the start stay at the current revision. It counts
	// pods, not ordinals. stateful_set_utils.go:538, stateful_set_control.go:882
	Partition int `json:",omitempty"`
	// MaxUnavailable 0 means unset, that is 1; the API refuses 0.
	MaxUnavailable share.Share `json:",omitzero"`
}

func (s Spec) ordered() bool { return s.Policy != Parallel }

// end is the last ordinal. stateful_set_utils.go:108
func (s Spec) end() int { return s.Start + s.Replicas - 1 }

func (s Spec) inRange(ordinal int) bool { return ordinal >= s.Start && ordinal <= s.end() }

func (s Spec) partition() int {
	if s.Bare {
		return 0
	}
	return s.Partition
}

// MaxUnavailableOf is how many pods an update may have unavailable: a percentage goes
// down, but never below 1. Without the gate it is 1. stateful_set_utils.go:700
func (r Rules) MaxUnavailableOf(s Spec) int {
	if !r.MaxUnavailable || s.Bare {
		return 1
	}
	return max(1, s.MaxUnavailable.Of(s.Replicas, false))
}

// A Set is the StatefulSet: its spec, its template, and the two fields of its status that
// the controller reads back.
type Set struct {
	Spec Spec
	// Template is the revision of the template: status.updateRevision as soon as the
	// controller has seen it. A template that was there before is that revision again.
	// stateful_set_control.go:291
	Template string
	// Current is status.currentRevision; empty before the first pass.
	Current string `json:",omitempty"`
	// CurrentReplicas is status.currentReplicas; only a Bare spec reads it.
	CurrentReplicas int `json:",omitempty"`
}

// current is the revision below the partition. stateful_set_control.go:327
func (s Set) current() string {
	if s.Current == "" {
		return s.Template
	}
	return s.Current
}

// RevisionFor is the revision that a missing pod is made at: the current one below the
// partition, whatever revision the pod had before, else that of the template. An OnDelete
// set has no partition. stateful_set_utils.go:535
func (s Set) RevisionFor(ordinal int) string {
	index := ordinal - s.Spec.Start
	switch {
	case s.Spec.OnDelete:
		return s.Template
	case s.Spec.Bare && index < s.CurrentReplicas:
		return s.current()
	case index < s.Spec.partition():
		return s.current()
	}
	return s.Template
}

// A Pod is what the controller knows of a pod that exists.
type Pod struct {
	Revision string
	// Ready is running and ready; Available is that for minReadySeconds.
	Ready     bool
	Available bool
	// Terminating has a deletionTimestamp.
	Terminating bool
	// Failed is a pod whose phase is Failed or Succeeded.
	Failed bool
}

// unavailable is what an update counts. stateful_set_utils.go:496
func (p Pod) unavailable() bool { return !p.Available || p.Terminating }

// String is the revision with what is missing: "v1" is available, "v1+" ready but not
// yet available, "v1?" not ready, "v1-" terminating, "v1!" failed.
func (p Pod) String() string {
	switch {
	case p.Terminating:
		return p.Revision + "-"
	case p.Failed:
		return p.Revision + "!"
	case !p.Ready:
		return p.Revision + "?"
	case !p.Available:
		return p.Revision + "+"
	}
	return p.Revision
}

// A View is what one pass of the controller looks at: the set, and pods by ordinal.
type View struct {
	Set  Set
	Pods map[int]Pod
}
