package canaryautoscaled_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

// Recordings of real runs, by what they are about.
const (
	baselines = "../../results/baselines/catalogue-a-canary-autoscaled-"
	paused    = baselines + "at-a-pause-argo-rollouts-v1.9.2-1"
	subsets   = baselines + "at-a-pause-by-subsets-argo-rollouts-v1.8.2-1"
	dynamic   = baselines + "at-a-pause-and-dynamic-argo-rollouts-v1.8.3-1"
	adopted   = baselines + "issue-4847-a-canary-pod-is-adopted-argo-rollouts-v1.10.1-1"
)

// weighs matches the VirtualService at a canary weight.
func weighs(weight float64, routing rollouts.Routing) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool {
		got, ok := rollback.WeightIn(rollback.Name, routing)(v)
		return ok && got.Num == weight
	}
}

// early writes the weight 30 at the begin of a step.
func early(tp *doctored.Tape, step string, routing rollouts.Routing) {
	at := tp.StepBegin(step)
	i := tp.Insert(at, tp.Find(rollback.VirtualServices, 0, weighs(30, routing)), func(*recording.Object) {})
	tp.Facts[i].T++ // after the begin of the step
}

// sizes writes a size into every Rollout from a step on.
func sizes(tp *doctored.Tape, step string, replicas int) {
	canarydoctored.Each(tp, step, rollback.Rollouts, canarydoctored.Any, replicas, "spec", "replicas")
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	blind := []any{map[string]any{"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric"}}
	for name, c := range map[string]struct {
		dir   string
		alter func(tp *doctored.Tape)
		claim string
	}{
		"the weight moves before v1 has its pods": {paused, func(tp *doctored.Tape) { early(tp, "v2 becomes ready after the pause", "services") }, "early"},
		"it moves with the share, and not with all": {subsets, func(tp *doctored.Tape) {
			early(tp, "11 pods of v1 are ready", "subsets")
		}, "v1-becomes-ready-weights"},
		"the load changes nothing": {paused, func(tp *doctored.Tape) { sizes(tp, "the load changes", 10) }, "replicas"},
		"it makes one more":        {paused, func(tp *doctored.Tape) { sizes(tp, "the load changes", 17) }, "replicas"},
		"v1 gets no pods of it": {paused, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "the load changes", rollback.ReplicaSets, canarydoctored.Sized(canary.Old, 16), 10, "spec", "replicas")
		}, "the-load-changes-v1"},
		"v2 gets no pods of it": {paused, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "the load changes", rollback.ReplicaSets, canarydoctored.Sized(canary.New, 4), 2, "spec", "replicas")
		}, "the-load-changes-v2"},
		"v1 keeps what it has no traffic for": {dynamic, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "update to v2", rollback.ReplicaSets, canarydoctored.Sized(canary.Old, 12), 13, "spec", "replicas")
		}, "stable-sizes"},
		"the canary pod is not adopted": {adopted, func(tp *doctored.Tape) { sizes(tp, "update to v2", 10) }, "replicas"},
		"the autoscaler does not want it": {adopted, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "update to v2", autoscaled.Autoscalers, canarydoctored.Any, 10, "status", "desiredReplicas")
		}, "desired"},
		"it wants one more": {paused, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "promote past step 4", autoscaled.Autoscalers, canarydoctored.Any, 17, "status", "desiredReplicas")
		}, "desired"},
		"it cannot read its metric": {paused, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "update to v2", autoscaled.Autoscalers, canarydoctored.Any, blind, "status", "conditions")
		}, "active"},
		"it does not look": {paused, func(tp *doctored.Tape) { canarydoctored.Forget(tp, "update to v2", autoscaled.Autoscalers) }, "syncs"},
		"the size changes after the end": {paused, func(tp *doctored.Tape) {
			at := tp.StepBegin(canary.StepQuiet)
			i := tp.Insert(at, tp.Find(rollback.Rollouts, 0, canarydoctored.Any), func(*recording.Object) {})
			tp.Facts[i].T++ // after the begin of the step
			tp.Set(i, 17, "spec", "replicas")
		}, "quiet-autoscaler"},
	} {
		doctored.AlterBreaks(t, name, c.dir, c.alter, c.claim)
	}
}

// An autoscaler that does not look after the end may want anything.
func TestASilentAutoscalerProvesNothing(t *testing.T) {
	t.Parallel()
	tp := doctored.Load(t, paused)
	canarydoctored.Forget(tp, canary.StepQuiet, autoscaled.Autoscalers)
	for _, c := range tp.Verdict().Claims {
		if c.ID == "quiet-autoscaler" && c.Status != judge.Inconclusive {
			t.Errorf("it is %s: %s", c.Status, c.Why)
		}
	}
}

// What the model predicts of the canary pod that is adopted is unsafe, and a guard says so.
func TestTheGuardBreaksAsPredicted(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]judge.Status{paused: judge.Held, adopted: judge.Broken} {
		for _, g := range doctored.Load(t, dir).Verdict().Guards {
			if g.ID == "excess" && g.Status != want {
				t.Errorf("%s: %s %s", dir, g.ID, g.Status)
			}
		}
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, paused, subsets, dynamic, adopted)
}
