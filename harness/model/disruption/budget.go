package disruption

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/model/share"
)

// Policy is spec.unhealthyPodEvictionPolicy; it is about pods that run and are not ready.
type Policy string

const (
	// IfHealthyBudget evicts them while enough others are healthy. Unset means this too.
	IfHealthyBudget Policy = "IfHealthyBudget"
	// AlwaysAllow evicts them always.
	AlwaysAllow Policy = "AlwaysAllow"
)

// A Budget is a PodDisruptionBudget. The API allows at most one of the two limits.
// pkg/apis/policy/validation/validation.go:53
type Budget struct {
	Name           string
	MinAvailable   *share.Share `json:",omitempty"`
	MaxUnavailable *share.Share `json:",omitempty"`
	Policy         Policy       `json:",omitempty"`
}

// Phase is status.phase of a pod.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// A Pod is what a budget and an eviction see of a pod that the budget selects.
type Pod struct {
	Name  string
	Phase Phase
	Ready bool
	// Deleting has a deletionTimestamp.
	Deleting bool
	// Controller is what the controller is called in Scales, empty for none. It is the
	// Deployment of its ReplicaSet; the ReplicaSet itself if something else owns that,
	// an Argo Rollout for instance. disruption.go:297, :322
	Controller string
}

// Scales is spec.replicas by controller.
type Scales map[string]int

// expected is the number of pods there should be, and how many of them healthy.
//
// A whole minAvailable counts the pods that there are, whatever their state; the other
// kinds count spec.replicas of the controllers of those pods, each once. So a pod without
// a controller adds to what is healthy but not to what is expected, and the surge of a
// Deployment adds to the allowance. Percentages go up, for both. disruption.go:815
func (b Budget) expected(pods []Pod, scales Scales) (expected, desired int, err error) {
	if b.MaxUnavailable == nil && b.MinAvailable == nil {
		return 0, 0, nil
	}
	if b.MaxUnavailable == nil && !b.MinAvailable.Percent {
		return len(pods), b.MinAvailable.Value, nil
	}
	seen := map[string]bool{}
	for _, pod := range pods {
		if pod.Controller == "" || seen[pod.Controller] {
			continue
		}
		scale, ok := scales[pod.Controller]
		if !ok {
			return 0, 0, fmt.Errorf("found no controllers for pod %q", pod.Name)
		}
		seen[pod.Controller] = true
		expected += scale
	}
	if b.MaxUnavailable != nil {
		return expected, max(0, expected-b.MaxUnavailable.Of(expected, true)), nil
	}
	return expected, b.MinAvailable.Of(expected, true), nil
}

// A Status is what the controller writes and the API server decides by.
type Status struct {
	CurrentHealthy     int
	DesiredHealthy     int
	ExpectedPods       int
	DisruptionsAllowed int
	// Disrupted is when evictions were granted of pods that the controller has not yet
	// seen deleted.
	Disrupted map[string]time.Duration `json:",omitempty"`
	// Unobserved is a budget that changed, or was made, since the controller looked.
	Unobserved bool `json:",omitempty"`
	// SyncFailed is why the controller could not count; nothing is allowed then.
	SyncFailed string `json:",omitempty"`
}

// DeletionTimeout is how long a granted eviction counts without the pod being deleted.
// disruption.go:70
const DeletionTimeout = 2 * time.Minute

// Sync is one look of the controller at all pods of a budget. disruption.go:732
func (b Budget) Sync(before Status, pods []Pod, scales Scales, now time.Duration) Status {
	expected, desired, err := b.expected(pods, scales)
	if err != nil { // failSafe: all else stays as it was. disruption.go:980
		before.DisruptionsAllowed, before.SyncFailed = 0, err.Error()
		return before
	}
	after := Status{DesiredHealthy: desired, ExpectedPods: expected, Disrupted: map[string]time.Duration{}}
	for _, pod := range pods {
		if pod.Deleting {
			continue
		}
		granted, disrupted := before.Disrupted[pod.Name]
		if disrupted && now <= granted+DeletionTimeout {
			after.Disrupted[pod.Name] = granted // disruption.go:941
		}
		// At the very end of the timeout it is in the map and healthy. disruption.go:928
		if pod.Ready && !(disrupted && now < granted+DeletionTimeout) {
			after.CurrentHealthy++
		}
	}
	if expected > 0 { // disruption.go:1006
		after.DisruptionsAllowed = max(0, after.CurrentHealthy-desired)
	}
	return after
}

// Bounds is a time between two instants.
type Bounds struct{ Earliest, Latest time.Duration }

// DeadlineBounds is when an allowance comes back that was taken for a pod which was then
// not deleted. The API server writes the second in which it was granted, so it can be up
// to one second early; slack is what the controller may take to look again.
// eviction.go:489, disruption.go:762
func DeadlineBounds(granted, slack time.Duration) Bounds {
	return Bounds{granted + DeletionTimeout - time.Second, granted + DeletionTimeout + slack}
}
