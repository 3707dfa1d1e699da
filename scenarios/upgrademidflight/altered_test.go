package upgrademidflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

const leaseResource = "leases.coordination.k8s.io"

const (
	runs    = "../../results/baselines/rollouts-mid-flight-upgrade-mid-flight-"
	paused  = runs + "1.8-to-1.9-when-paused-1"
	scaling = runs + "1.8-to-1.9-when-scaling-1"
	aborted = runs + "1.8-to-1.9-when-aborting-1"
	dynamic = runs + "with-dynamicStableScale-from-v1.8.3-to-v1.9.2-1"
	elected = runs + "elected-how-graceful-1"
)

// Steps of those runs.
const (
	start = "start v1.9.2"
	away  = "no controller"
	leads = "v1.9.2 leads"
)

// leaseOf matches the lease of the leader.
func leaseOf(o *recording.Object, _ *series.View) bool { return o.Name == argorollouts.Lock }

// says finds a line of a process of the controller.
func says(tp *doctored.Tape, process int, text string) int {
	return slices.IndexFunc(tp.Facts, func(f recording.Fact) bool {
		return f.Log != nil && f.Log.Process == process && strings.Contains(f.Log.Line, text)
	})
}

// fails makes a step end with an error.
func fails(tp *doctored.Tape, step string) {
	i := slices.IndexFunc(tp.Facts, func(f recording.Fact) bool { return f.Step != nil && f.Step.Name == step && f.Step.Phase == "end" })
	tp.Facts[i].Step.Error = "a healthy controller: not reached"
}

// during writes the last known object of the resource that matches once more, in a step,
// changed.
func during(tp *doctored.Tape, step, resource string, match func(*recording.Object, *series.View) bool, change func(i int)) {
	at := tp.StepBegin(step)
	i := tp.Insert(at, tp.Find(resource, 0, match), func(*recording.Object) {})
	tp.Facts[i].T++ // after the begin of the step
	tp.Set(i, fmt.Sprint(tp.Facts[i].Object.RV), "metadata", "resourceVersion")
	change(i)
}

// another makes one more object of a resource in a step.
func another(tp *doctored.Tape, step, resource string) {
	during(tp, step, resource, canarydoctored.Any, func(i int) {
		tp.Facts[i].Object.Name = "another"
		tp.Set(i, "another", "metadata", "name")
	})
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	each := func(step string, value any, path ...string) func(*doctored.Tape) {
		return func(tp *doctored.Tape) {
			canarydoctored.Each(tp, step, rollback.Rollouts, canarydoctored.Any, value, path...)
		}
	}
	for name, c := range map[string]struct {
		dir   string
		alter func(tp *doctored.Tape)
		claim string
	}{
		"the other version does not start": {paused, func(tp *doctored.Tape) { fails(tp, start) }, "starts"},
		"it ends before the end":           {paused, func(tp *doctored.Tape) { fails(tp, canary.StepQuiet) }, "lives"},
		"a route is written without one": {paused, func(tp *doctored.Tape) {
			during(tp, away, rollback.VirtualServices, canarydoctored.Any, func(int) {})
		}, "nobody-writes"},
		"a selector is written without one": {paused, func(tp *doctored.Tape) {
			during(tp, away, rollback.Services, canarydoctored.Any, func(int) {})
		}, "nobody-writes"},
		"a size is written without one": {scaling, func(tp *doctored.Tape) {
			during(tp, away, rollback.ReplicaSets, canarydoctored.Sized(canary.New, 3), func(i int) { tp.Set(i, 4, "spec", "replicas") })
		}, "nobody-writes"},
		"the Rollout is written without one": {scaling, func(tp *doctored.Tape) {
			during(tp, away, rollback.Rollouts, canarydoctored.Any, func(int) {})
		}, "nobody-writes"},
		"it begins again":            {paused, each(start, 0, "status", "currentStepIndex"), "goes-on"},
		"it never gets to the end":   {paused, each(start, 2, "status", "currentStepIndex"), "steps"},
		"it forgets the abort":       {aborted, each(start, false, "status", "abort"), "abort-status"},
		"it makes a revision":        {paused, each(start, "9", "metadata", "annotations", "rollout.argoproj.io/revision"), "revisions"},
		"it calls v2 something else": {paused, each(start, "5f57f8dc9b", "status", "currentPodHash"), "revisions"},
		"it makes a ReplicaSet":      {paused, func(tp *doctored.Tape) { another(tp, start, rollback.ReplicaSets) }, "revisions"},
		"it never sizes v2":          {paused, func(tp *doctored.Tape) { canarydoctored.Forget(tp, start, rollback.ReplicaSets) }, "canary-sizes"},
		"it never writes a weight":   {scaling, func(tp *doctored.Tape) { canarydoctored.Forget(tp, start, rollback.VirtualServices) }, "weights"},
		"the weight does not go down by the steps": {dynamic, func(tp *doctored.Tape) {
			canarydoctored.Forget(tp, "the rest of v1 becomes ready", rollback.VirtualServices)
		}, "weights"},
		"somebody else has the lease": {elected, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, leads, leaseResource, leaseOf, "somebody", "spec", "holderIdentity")
		}, "leaders"},
		"the lease comes back": {elected, func(tp *doctored.Tape) {
			during(tp, canary.StepQuiet, leaseResource, leaseOf, func(int) {})
		}, "leaders"},
		"nobody leads any more": {elected, func(tp *doctored.Tape) { canarydoctored.Unsay(tp, "I am the new leader") }, "without-a-leader"},
		"the other version leads at once": {elected, func(tp *doctored.Tape) {
			line := tp.Facts[says(tp, 2, "I am the new leader")]
			at := tp.StepBegin(away)
			line.T = tp.Facts[at].T
			tp.Facts = slices.Insert(tp.Facts, at+1, line)
		}, "without-a-leader"},
		"both write at a time": {elected, func(tp *doctored.Tape) {
			begin := tp.StepBegin("roll back to v1")
			i := slices.IndexFunc(tp.Facts[begin:], func(f recording.Fact) bool { return f.Log != nil && strings.Contains(f.Log.Line, "Patched: ") })
			tp.Facts[begin+i].Log.Process = 2
		}, "writers"},
		"the first version writes after its end": {elected, func(tp *doctored.Tape) {
			tp.Facts[says(tp, 2, "Patched: ")].Log.Process = 1
		}, "writers"},
		"it does not promote": {paused, func(tp *doctored.Tape) { canarydoctored.Unsay(tp, "Completed all") }, "promotion"},
	} {
		doctored.AlterBreaks(t, name, c.dir, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, paused, scaling, aborted, dynamic, elected)
}

func TestAControllerThatDoesNotStartFailsTheRun(t *testing.T) {
	t.Parallel()
	tp := doctored.Load(t, paused)
	end := slices.IndexFunc(tp.Facts, func(f recording.Fact) bool { return f.Step != nil && f.Step.Name == start && f.Step.Phase == "end" })
	tp.Facts[end].Step.Error = "a healthy controller: not reached"
	tp.Facts = tp.Facts[:end+1] // the script ends there
	v := tp.Verdict()
	if v.Outcome != judge.Fail || !strings.Contains(strings.Join(v.Reasons, "\n"), "claim starts") {
		t.Errorf("%s: %q", v.Outcome, v.Reasons)
	}
}
