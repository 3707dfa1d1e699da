// Package canarydoctored is for tests: alterations of real recordings of canary updates that
// several scenarios share.
package canarydoctored

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Sized matches the ReplicaSet of a version at a size.
func Sized(version string, size int) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool {
		return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version && v.Spec.Replicas != nil && *v.Spec.Replicas == size
	}
}

// Any matches every object.
func Any(*recording.Object, *series.View) bool { return true }

// Each changes every object of the resource that matches, from a step on.
func Each(tp *doctored.Tape, step, resource string, match func(*recording.Object, *series.View) bool, value any, path ...string) {
	for i := tp.StepBegin(step); i < len(tp.Facts); i++ {
		if o := tp.Facts[i].Object; o != nil && o.Resource == resource && tp.Is(i, match) {
			tp.Set(i, value, path...)
		}
	}
}

// Forget leaves out what is known of a resource from a step on.
func Forget(tp *doctored.Tape, step, resource string) {
	for i := len(tp.Facts) - 1; i > tp.StepBegin(step); i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == resource {
			tp.Drop(i)
		}
	}
}

// Unsay leaves out the controller's log lines with that text.
func Unsay(tp *doctored.Tape, text string) {
	tp.Facts = slices.DeleteFunc(tp.Facts, func(f recording.Fact) bool { return f.Log != nil && strings.Contains(f.Log.Line, text) })
}

// WriteInQuiet writes an object of the resource once more, unchanged, after the end.
func WriteInQuiet(tp *doctored.Tape, resource string) {
	at := tp.StepBegin(canary.StepQuiet)
	i := tp.Insert(at, tp.Find(resource, 0, Any), func(*recording.Object) {})
	tp.Facts[i].T++ // after the begin of the step
	tp.Set(i, fmt.Sprint(tp.Facts[i].Object.RV), "metadata", "resourceVersion")
}

// SayInQuiet adds a line to the controller's log after the end.
func SayInQuiet(tp *doctored.Tape, line string) {
	at := tp.StepBegin(canary.StepQuiet)
	tp.Facts = slices.Insert(tp.Facts, at+1, recording.Fact{T: tp.Facts[at].T + 1, Log: &recording.Log{Component: argorollouts.Name, Line: line}})
}

// LookInQuiet lets the controller pass over the Rollout as often, after the end.
func LookInQuiet(tp *doctored.Tape, times float64) {
	at, last := tp.StepBegin(canary.StepQuiet), 0.0
	for _, f := range tp.Facts {
		if f.Sample != nil && f.Sample.Series == "rollout_reconcile_count" {
			last = max(last, f.Sample.Value)
		}
	}
	tp.Facts = slices.Insert(tp.Facts, at+1, recording.Fact{T: tp.Facts[at].T + 1, Sample: &recording.Sample{
		Series: "rollout_reconcile_count", Labels: map[string]string{"name": rollback.Name}, Value: last + times,
	}})
}

// StopLooking takes away every pass over the Rollout after the end.
func StopLooking(tp *doctored.Tape) {
	begin := tp.Facts[tp.StepBegin(canary.StepQuiet)].T
	tp.Facts = slices.DeleteFunc(tp.Facts, func(f recording.Fact) bool {
		return f.T >= begin && f.Sample != nil && f.Sample.Series == "rollout_reconcile_count"
	})
}

// InPhase matches a Rollout in a phase.
func InPhase(phase string) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool { return v.Status.Phase == phase }
}
