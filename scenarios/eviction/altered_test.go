package eviction_test

import (
	"path/filepath"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/eviction"
	"reckon.dev/reckon/scenarios/workload"
)

// Recordings of real runs, by what they are about.
const (
	oneOfThree      = "testdata/v1.37.2/one-of-three"
	mustBeAvailable = "testdata/v1.37.2/must-be-available"
	noBudget        = "testdata/v1.37.2/one-without-a-budget"
	ifHealthy       = "testdata/v1.37.2/if-healthy-budget"
	alwaysAllow     = "testdata/v1.37.2/always-allow"
	twoBudgets      = "testdata/v1.37.2/two-budgets"
	drain           = "testdata/v1.37.2/drain"
	endless         = "testdata/v1.34.2/drain-that-never-ends"
	atOnce          = "testdata/v1.37.2/kubectl-never-ends"
)

func TestRealRunsKeepEveryClaim(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("testdata/*/*/" + engine.RecordingFile)
	if err != nil || len(found) < 12 {
		t.Fatalf("%d recordings, %v", len(found), err)
	}
	for _, file := range found {
		if v := doctored.Load(t, filepath.Dir(file)).Verdict(); v.Outcome != judge.Pass {
			t.Errorf("%s: %s, %v", file, v.Outcome, v.Reasons)
		}
	}
}

// answer returns the nth eviction of a tape.
func answer(t *testing.T, tape *doctored.Tape, nth int) *recording.Call {
	t.Helper()
	for i := range tape.Facts {
		if c := tape.Facts[i].Call; c != nil && c.Resource == "pods/eviction" {
			if nth--; nth < 0 {
				return c
			}
		}
	}
	t.Fatal("there are not so many evictions")
	return nil
}

func grant(c *recording.Call) { c.Code, c.Error, c.Failure = 201, "", nil }

func every(*recording.Object, *series.View) bool { return true }

func allows(n int) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool { return v.Status.DisruptionsAllowed == n }
}

func ready(_ *recording.Object, v *series.View) bool { return v.Is("Ready", "True") }

// remove deletes a ready pod in the store when the step begins.
func remove(tape *doctored.Tape, step string) {
	pod := tape.Find(workload.Pods, 0, ready)
	tape.Insert(tape.StepBegin(step), pod, func(o *recording.Object) {
		o.Change, o.RV = recording.Deleted, 1<<40
	})
}

func TestAlteredRecordingsBreakTheClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir    string
		alter  func(t *testing.T, tape *doctored.Tape)
		claims []string
	}{
		"a refusal was a grant": {mustBeAvailable, func(t *testing.T, tape *doctored.Tape) {
			grant(answer(t, tape, 3))
		}, []string{"answers"}},
		"a refusal of the drain was a grant": {endless, func(t *testing.T, tape *doctored.Tape) {
			grant(answer(t, tape, 2))
		}, []string{"answers"}},
		"an unready pod was let go by IfHealthyBudget": {ifHealthy, func(t *testing.T, tape *doctored.Tape) {
			grant(answer(t, tape, 0))
		}, []string{"answers"}},
		"an unready pod was kept by AlwaysAllow": {alwaysAllow, func(t *testing.T, tape *doctored.Tape) {
			last := *answer(t, tape, 2)
			*answer(t, tape, 1) = last
		}, []string{"answers"}},
		"another reason": {mustBeAvailable, func(t *testing.T, tape *doctored.Tape) {
			answer(t, tape, 0).Failure = []byte(`{"kind":"Status","status":"Failure","code":429,"message":"not now"}`)
		}, []string{"cause"}},
		"an error came as a success": {twoBudgets, func(t *testing.T, tape *doctored.Tape) {
			answer(t, tape, 1).Code = 201
		}, []string{"http"}},
		"a pod went though the budget was spent": {mustBeAvailable, func(_ *testing.T, tape *doctored.Tape) {
			remove(tape, eviction.StepEvict)
		}, []string{"live", "ready", "floor"}},
		"the charge was forgotten": {oneOfThree, func(_ *testing.T, tape *doctored.Tape) {
			for i := tape.StepBegin(eviction.StepEvict); i < len(tape.Facts); i++ {
				if o := tape.Facts[i].Object; o != nil && o.Resource == workload.Budgets {
					tape.Set(i, 1, "status", "disruptionsAllowed")
				}
			}
		}, []string{"allowed"}},
		"an allowance too many": {oneOfThree, func(_ *testing.T, tape *doctored.Tape) {
			tape.Set(tape.Find(workload.Budgets, 2, allows(1)), 2, "status", "disruptionsAllowed")
		}, []string{"allowed"}},
		"a pod counted as healthy for longer": {oneOfThree, func(_ *testing.T, tape *doctored.Tape) {
			tape.Set(tape.Find(workload.Budgets, 0, func(_ *recording.Object, v *series.View) bool { return v.Status.CurrentHealthy == 2 }), 4, "status", "currentHealthy")
		}, []string{"healthy"}},
		"another number desired": {oneOfThree, func(_ *testing.T, tape *doctored.Tape) {
			tape.Set(tape.Find(workload.Budgets, 1, allows(1)), 1, "status", "desiredHealthy")
		}, []string{"desired"}},
		"a pod was made before one went": {mustBeAvailable, func(_ *testing.T, tape *doctored.Tape) {
			tape.Insert(tape.StepBegin(eviction.StepEvict), tape.Find(workload.Pods, 0, every), func(o *recording.Object) {
				o.Name, o.Change, o.RV = "drill-other", recording.Added, 1<<40
			})
		}, []string{"no-surge", "live"}},
		"the ReplicaSet was made larger": {mustBeAvailable, func(_ *testing.T, tape *doctored.Tape) {
			at := tape.Insert(tape.StepBegin(eviction.StepEvict), tape.Find(workload.ReplicaSets, 0, every), func(o *recording.Object) { o.RV = 1 << 40 })
			tape.Set(at, 2, "spec", "replicas")
		}, []string{"size"}},
		"the new pod was ready at once": {noBudget, func(_ *testing.T, tape *doctored.Tape) {
			old := ""
			tape.Find(workload.Pods, 0, func(o *recording.Object, _ *series.View) bool { old = o.Name; return true })
			at := tape.Find(workload.Pods, 0, func(o *recording.Object, _ *series.View) bool { return o.Name != old })
			tape.Set(at, []obj{{"type": "Ready", "status": "True"}}, "status", "conditions")
		}, []string{"outage"}},
		"a pod stayed on the node": {drain, func(_ *testing.T, tape *doctored.Tape) {
			pod := tape.Find(workload.Pods, 0, ready)
			tape.Insert(tape.StepBegin(workload.StepQuiet), pod, func(o *recording.Object) { o.Name, o.RV = "drill-stayed", 1<<40 })
		}, []string{"left-on-node"}},
		"a pod was made nowhere": {drain, func(_ *testing.T, tape *doctored.Tape) {
			pod := tape.Find(workload.Pods, 0, func(o *recording.Object, v *series.View) bool {
				return len(v.Spec.NodeName) > 7 && v.Spec.NodeName[len(v.Spec.NodeName)-7:] == "-refuge"
			})
			tape.Insert(tape.StepBegin(workload.StepQuiet), pod, func(o *recording.Object) { o.Change, o.RV = recording.Deleted, 1<<40 })
		}, []string{"on-other-node"}},
		"a grant too many, all at once": {atOnce, func(t *testing.T, tape *doctored.Tape) {
			for nth := 0; ; nth++ {
				if c := answer(t, tape, nth); c.Code != 201 {
					grant(c)
					return
				}
			}
		}, []string{"grants"}},
		"nothing refused, all at once": {atOnce, func(_ *testing.T, tape *doctored.Tape) {
			tape.Facts = slices.DeleteFunc(tape.Facts, func(f recording.Fact) bool {
				return f.Call != nil && f.Call.Resource == "pods/eviction" && f.Call.Code == 429
			})
		}, []string{"refusals"}},
		"a reason of another version": {atOnce, func(t *testing.T, tape *doctored.Tape) {
			answer(t, tape, 4).Failure = []byte(`{"kind":"Status","status":"Failure","code":429,"message":"The disruption budget drill needs 3 healthy pods and has 4 currently"}`)
		}, []string{"cause"}},
		"three pods went at once": {atOnce, func(_ *testing.T, tape *doctored.Tape) {
			remove(tape, workload.StepQuiet)
		}, []string{"floor"}},
		"more disruptions allowed than pods give": {atOnce, func(_ *testing.T, tape *doctored.Tape) {
			at := tape.Insert(tape.StepBegin(eviction.StepEvict), tape.Find(workload.Budgets, 0, allows(2)), func(o *recording.Object) { o.RV = 1 << 40 })
			tape.Set(at, 3, "status", "disruptionsAllowed")
		}, []string{"allowed"}},
		"the budget moved after the end": {mustBeAvailable, func(_ *testing.T, tape *doctored.Tape) {
			at := tape.Insert(tape.StepBegin(workload.StepQuiet), tape.Find(workload.Budgets, 0, every), func(o *recording.Object) { o.RV = 1 << 40 })
			tape.Set(at, obj{"observedGeneration": 1, "disruptionsAllowed": 1}, "status")
			tape.Facts[at].T++
		}, []string{"quiet-budget"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, claim := range c.claims {
				tape := doctored.Load(t, c.dir)
				c.alter(t, tape)
				tape.Breaks(claim)
			}
		})
	}
}

// TestGuards: a gap and pods that are left on the node break the guards, as the
// model says of these cells, and a drill's own limits decide instead.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recording string
		limits    map[string]float64
		guard     string
		worst     float64
		status    judge.Status
	}{
		{oneOfThree, nil, workload.Gap, 0, judge.Held},
		{mustBeAvailable, nil, workload.Gap, 0, judge.Held},
		{noBudget, nil, workload.Gap, 1, judge.Broken},
		{noBudget, map[string]float64{workload.Gap: 1}, workload.Gap, 1, judge.Held},
		{drain, nil, eviction.Left, 0, judge.Held},
		{endless, nil, workload.Gap, 0, judge.Held},
		{endless, nil, eviction.Left, 2, judge.Broken},
		{endless, map[string]float64{eviction.Left: 2}, eviction.Left, 2, judge.Held},
		{atOnce, nil, workload.Gap, 0, judge.Held},
		{atOnce, nil, eviction.Left, 3, judge.Broken},
	} {
		tape := doctored.Load(t, c.recording)
		tape.Header.Guards = c.limits
		guards := tape.Verdict().Guards
		i := slices.IndexFunc(guards, func(g judge.GuardResult) bool { return g.ID == c.guard })
		if i < 0 {
			t.Errorf("%s has no guard %s", c.recording, c.guard)
			continue
		}
		if g := guards[i]; g.Status != c.status || g.Worst == nil || *g.Worst != c.worst || g.Expected == nil || *g.Expected != c.worst {
			t.Errorf("%s, limits %v: %+v", c.recording, c.limits, g)
		}
	}
}

// TestWhatWasSeen: a path that was allowed says what it was.
func TestWhatWasSeen(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]map[string]string{
		drain:  {"left-on-node": "0 pods", "on-other-node": "3 pods"},
		atOnce: {"left-on-node": "3 pods", "on-other-node": "2 pods", "allowed": "0 to 2"},
		"testdata/v1.34.2/kubectl-drain-of-30": {"cause": "65 refusals, 3 reasons: The disruption budget drill needs 24 healthy pods and has 25 currently; " +
			"The disruption budget drill needs 24 healthy pods and has 24 currently; …"},
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

// A controller that says nothing when it is asked afterwards proves nothing.
func TestADisruptionControllerThatDiedProvesNothing(t *testing.T) {
	t.Parallel()
	tape := doctored.Load(t, mustBeAvailable)
	begin := tape.StepBegin(eviction.StepAskBudget)
	for i := len(tape.Facts) - 1; i > begin; i-- {
		if o := tape.Facts[i].Object; o != nil && o.Resource == workload.Budgets {
			tape.Drop(i)
		}
	}
	if v := tape.Verdict(); v.Outcome != judge.Undecided {
		t.Errorf("%s, %v", v.Outcome, v.Reasons)
	}
}

type obj = map[string]any
