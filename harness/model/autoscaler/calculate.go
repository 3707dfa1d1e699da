package autoscaler

import (
	"errors"
	"math"
)

// tolerance is --horizontal-pod-autoscaler-tolerance as it is by default
// (pkg/controller/podautoscaler/config/v1alpha1/defaults.go:53, v1.37.2).
const tolerance = 0.1

// Pods are the pods that the target's selector matches, all with the same usage.
// Those that are being deleted, or have failed, are none
// (replica_calculator.go:427, v1.37.2).
type Pods struct {
	// Measured run and have a reading, ready or not: readiness counts for cpu only.
	Measured int
	// Missing run and have no reading yet.
	Missing int
	// Pending do not run yet.
	Pending int
}

// ErrNoReading is returned when no pod has a reading: the sync fails and changes nothing.
var ErrNoReading = errors.New("no pod has a reading")

// Usage is what each measured pod uses, and what it is to use.
type Usage struct{ Each, Target int64 }

// Calculate proposes a size (calcPlainMetricReplicas, replica_calculator.go:193, v1.37.2).
func Calculate(current int, usage Usage, pods Pods) (int, error) {
	if pods.Measured == 0 {
		return 0, ErrNoReading
	}
	ratio := usage.ratio(pods.Measured, pods.Measured, 0)
	upWithPending := pods.Pending > 0 && ratio > 1
	if !upWithPending && pods.Missing == 0 {
		if within(ratio) {
			return current, nil
		}
		return ceil(ratio, pods.Measured), nil // the pods of a surge, too, and in either direction
	}
	counted, atTarget := pods.Measured, 0
	if ratio != 1 { // nothing is assumed about missing pods when all others are at the target
		counted += pods.Missing
	}
	if ratio < 1 {
		atTarget = pods.Missing
	}
	if upWithPending {
		counted += pods.Pending
	}
	return again(current, ratio, usage.ratio(pods.Measured, counted, atTarget), counted), nil
}

// again is what becomes of a proposal for which readings had to be assumed.
func again(current int, before, now float64, counted int) int {
	if within(now) || before < 1 && now > 1 || before > 1 && now < 1 {
		return current
	}
	proposed := ceil(now, counted)
	if now < 1 && proposed > current || now > 1 && proposed < current {
		return current
	}
	return proposed
}

// ratio is the usage of all counted pods to the target: of the measured ones, of
// those that are taken to be at the target, and of the others, which use nothing
// (GetMetricUsageRatio, metrics/utilization.go:57, v1.37.2).
func (u Usage) ratio(measured, counted, atTarget int) float64 {
	total := u.Each*int64(measured) + u.Target*int64(atTarget)
	return float64(total/int64(counted)) / float64(u.Target)
}

// within says whether a ratio is near enough to 1 for nothing to change.
// Variables, for the sums must be rounded as they are at run time in the original:
// the constant 1.0 + 0.1 is another number.
func within(ratio float64) bool {
	one, t := 1.0, tolerance
	return one-t <= ratio && ratio <= one+t
}

func ceil(ratio float64, pods int) int { return int(math.Ceil(ratio * float64(pods))) }

// External is something that all pods carry together, such as requests a second, and
// what each of them is to carry: an external metric with a target of AverageValue.
type External struct{ Total, Target int64 }

// CalculateExternal proposes a size (GetExternalPerPodMetricReplicas,
// replica_calculator.go:382, v1.37.2). Inside the tolerance that is the number of
// replicas in the target's status, not in its spec.
func CalculateExternal(load External, replicas int) int {
	if within(float64(load.Total) / (float64(load.Target) * float64(replicas))) {
		return replicas
	}
	return int(math.Ceil(float64(load.Total) / float64(load.Target)))
}
