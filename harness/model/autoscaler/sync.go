package autoscaler

import "time"

// Times of the controller that are no parameters of a drill.
const (
	// Stabilization is how long a higher proposal is remembered before a lower one
	// counts (config/v1alpha1/defaults.go:44, v1.37.2).
	Stabilization = 5 * time.Minute
)

// Bounds are minReplicas and maxReplicas.
type Bounds struct{ Min, Max int }

// Autoscaler is the controller's memory of one target, for less than Stabilization.
type Autoscaler struct {
	Bounds  Bounds
	Usage   Usage
	Current int
	// highest is the highest proposal so far. The size at the first sync is one
	// (recordInitialRecommendation, horizontal.go:802, v1.37.2).
	highest int
}

// New is the memory at the first sync.
func New(bounds Bounds, usage Usage, current int) Autoscaler {
	return Autoscaler{Bounds: bounds, Usage: usage, Current: current, highest: current}
}

// Sync is one pass with these pods. A pass without a reading changes nothing.
func (a Autoscaler) Sync(pods Pods) Autoscaler {
	proposed, err := Calculate(a.Current, a.Usage, pods)
	return a.adopt(proposed, err)
}

// SyncExternal is one pass of an autoscaler of something external. Its target reports
// so many replicas in the status of its scale.
func (a Autoscaler) SyncExternal(load External, replicas int) Autoscaler {
	return a.adopt(CalculateExternal(load, replicas), nil)
}

// adopt is what a pass makes of a proposal, and of an error.
func (a Autoscaler) adopt(proposed int, err error) Autoscaler {
	if a.Current > a.Bounds.Max || a.Current < a.Bounds.Min { // no metric is asked for
		a.Current = max(a.Bounds.Min, min(a.Current, a.Bounds.Max))
		return a
	}
	if err != nil {
		return a
	}
	a.highest = max(a.highest, proposed)
	a.Current = a.clamp(a.highest)
	return a
}

// clamp keeps a size between the bounds, and from more than doubling
// (convertDesiredReplicasWithRules, horizontal.go:1371, v1.37.2).
func (a Autoscaler) clamp(size int) int {
	return max(a.Bounds.Min, min(size, a.Bounds.Max, max(2*a.Current, 4)))
}

// Settle are the sizes that the target takes while no update is under way, each
// pod measured before the next sync, from the first one to where it stays.
func (a Autoscaler) Settle() (sizes []int, settled Autoscaler) {
	sizes = []int{a.Current}
	for {
		next := a.Sync(Pods{Measured: a.Current})
		if next.Current == a.Current {
			return sizes, next
		}
		sizes, a = append(sizes, next.Current), next
	}
}
