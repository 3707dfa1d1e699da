package autoscaledupdate_test

import (
	"path/filepath"
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/workload"
)

// Recordings of real runs, by what they are about.
const (
	atTarget = "testdata/v1.37.2-at-the-target"
	above    = "testdata/v1.37.2-above-the-target"
	below    = "testdata/v1.37.2-below-the-target"
	unbound  = "testdata/v1.37.2-far-from-the-bound"
)

func recordings(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/" + engine.RecordingFile)
	if err != nil || len(found) < 8 {
		t.Fatalf("%d recordings, %v", len(found), err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

func TestRealRunsKeepEveryClaim(t *testing.T) {
	t.Parallel()
	for _, dir := range recordings(t) {
		if v := doctored.Load(t, dir).Verdict(); v.Outcome != judge.Pass {
			t.Errorf("%s: %s, %v", dir, v.Outcome, v.Reasons)
		}
	}
}

// The prediction counts syncs; the clusters say how often they are.
func TestTheSyncPeriodIsThatOfTheClusters(t *testing.T) {
	t.Parallel()
	for _, dir := range recordings(t) {
		tp := doctored.Load(t, dir)
		if got := tp.Header.Cluster.Facts["horizontal-pod-autoscaler-sync-period"]; got != autoscaled.SyncPeriod.String() {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

func every(*recording.Object, *series.View) bool { return true }

// during returns the first fact about a resource after a step's begin.
func during(tp *doctored.Tape, step, resource string) int {
	begin := tp.StepBegin(step)
	for nth := 0; ; nth++ {
		if i := tp.Find(resource, nth, every); i > begin {
			return i
		}
	}
}

// write inserts, right after fact at, the object of fact i with a field changed.
func write(tp *doctored.Tape, at, i int, value any, path ...string) int {
	at = tp.Insert(at, i, func(o *recording.Object) { o.Change = recording.Modified })
	tp.Set(at, value, path...)
	return at
}

// resize inserts a Deployment of another size when the update is under way.
func resize(tp *doctored.Tape, size int) {
	i := during(tp, workload.StepSettle, workload.Deployments)
	write(tp, i, i, size, "spec", "replicas")
}

// set changes a field of every status of the autoscaler from the update on.
func set(tp *doctored.Tape, value any, path ...string) {
	for i := tp.StepBegin(workload.StepUpdate); i < len(tp.Facts); i++ {
		if o := tp.Facts[i].Object; o != nil && o.Resource == autoscaled.Autoscalers {
			tp.Set(i, value, path...)
		}
	}
}

// silence drops what was seen of the autoscaler in a step, and after it if the
// step is the last that it was seen in.
func silence(tp *doctored.Tape, from, to string) {
	begin, end := tp.StepBegin(from), tp.StepBegin(to)
	for i := end; i > begin; i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == autoscaled.Autoscalers {
			tp.Drop(i)
		}
	}
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claims    []string
	}{
		"the surged count becomes the size": {atTarget, func(tp *doctored.Tape) { resize(tp, 10) }, []string{"replicas"}},
		"one pod more":                      {atTarget, func(tp *doctored.Tape) { resize(tp, 9) }, []string{"replicas"}},
		"one pod less":                      {atTarget, func(tp *doctored.Tape) { resize(tp, 7) }, []string{"replicas"}},
		"the surged count is wanted": {atTarget, func(tp *doctored.Tape) {
			tp.Set(during(tp, workload.StepSettle, autoscaled.Autoscalers), 10, "status", "desiredReplicas")
		}, []string{"desired"}},
		"the autoscaler does not look during the update": {atTarget, func(tp *doctored.Tape) {
			silence(tp, workload.StepUpdate, workload.StepQuiet)
		}, []string{"syncs"}},
		"it looks, and cannot read the metric": {atTarget, func(tp *doctored.Tape) {
			set(tp, []any{map[string]any{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}}, "status", "conditions")
		}, []string{"active"}},
		"it never could": {atTarget, func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == autoscaled.Autoscalers {
					tp.Set(i, []any{map[string]any{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}}, "status", "conditions")
				}
			}
		}, []string{"active"}},
		"it reads something else": {atTarget, func(tp *doctored.Tape) {
			set(tp, []any{map[string]any{"resource": map[string]any{"name": "memory", "current": map[string]any{"averageValue": "80Mi"}}}}, "status", "currentMetrics")
		}, []string{"reading", "syncs"}},
		"the size changes after the end": {atTarget, func(tp *doctored.Tape) {
			at := tp.StepBegin(workload.StepQuiet)
			at = write(tp, at, tp.Find(workload.Deployments, 0, every), 9, "spec", "replicas")
			tp.Facts[at].T++ // after the begin of the step
		}, []string{"quiet-autoscaler"}},
		"the size before the update is another": {above, func(tp *doctored.Tape) {
			i := tp.Find(workload.Deployments, 0, func(_ *recording.Object, v *series.View) bool { return *v.Spec.Replicas == 11 })
			tp.Set(i, 13, "spec", "replicas")
		}, []string{"settled"}},
		"more than maxReplicas": {above, func(tp *doctored.Tape) { resize(tp, 15) }, []string{"replicas"}},
		"the size is not raised": {below, func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.Deployments {
					tp.Set(i, 8, "spec", "replicas")
				}
			}
			set(tp, 8, "status", "desiredReplicas")
		}, []string{"replicas", "desired"}},
		"it is raised by more than the surge explains": {unbound, func(tp *doctored.Tape) { resize(tp, 14) }, []string{"rescales"}},
		"it is raised beyond maxReplicas":              {unbound, func(tp *doctored.Tape) { resize(tp, 41) }, []string{"rescales", "replicas"}},
		"it falls again": {unbound, func(tp *doctored.Tape) {
			i := during(tp, workload.StepQuiet, workload.Deployments)
			write(tp, tp.StepBegin(workload.StepQuiet), i, 8, "spec", "replicas")
		}, []string{"rescales"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, claim := range c.claims {
				tp := doctored.Load(t, c.recording)
				c.alter(tp)
				tp.Breaks(claim)
			}
		})
	}
}

// An autoscaler that does not look after the end may want anything.
func TestASilentAutoscalerProvesNothing(t *testing.T) {
	t.Parallel()
	tp := doctored.Load(t, atTarget)
	silence(tp, workload.StepQuiet, workload.StepAsk)
	for _, c := range tp.Verdict().Claims {
		if c.ID == "quiet-autoscaler" && c.Status != judge.Inconclusive {
			t.Errorf("it is %s: %s", c.Status, c.Why)
		}
	}
}

// A path that was allowed says what it was.
func TestWhatWasSeen(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]map[string]string{
		unbound:  {"rescales": "8 → 9 → 11 → 12 → 13 → 15", "syncs": "7 syncs", "reading": "always 85Mi"},
		atTarget: {"desired": "always 8", "active": "always True/ValidMetricFound"},
	} {
		for _, c := range doctored.Load(t, dir).Verdict().Claims {
			if text, ok := want[c.ID]; ok && c.Observed != text {
				t.Errorf("%s: %s is %q, want %q", dir, c.ID, c.Observed, text)
			}
			delete(want, c.ID)
		}
		if len(want) > 0 {
			t.Errorf("%s: no claims %v", dir, want)
		}
	}
}

// What the model predicts of usage below the target is unsafe, and the guard says so.
func TestTheGuardBreaksAsPredicted(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]judge.Status{atTarget: judge.Held, above: judge.Held, below: judge.Broken, unbound: judge.Broken} {
		if g := doctored.Load(t, dir).Verdict().Guards[0]; g.Status != want || want == judge.Broken && *g.Worst <= 0 {
			t.Errorf("%s: %s %s", dir, g.ID, g.Status)
		}
	}
}
