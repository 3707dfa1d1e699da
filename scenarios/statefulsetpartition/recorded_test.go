package statefulsetpartition_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/statefulsetpartition"
	"reckon.dev/reckon/scenarios/workload"
)

// The recordings below testdata are of the cells of drills/statefulsets.yaml, on
// v1.37.2 where their name does not say otherwise.
var recorded = []string{
	"ordered", "max-unavailable", "parallel-max-unavailable", "lingering", "nothing-moves", "raised", "no-pods", "stuck", "stuck-parallel",
	"v1.34.2-max-unavailable", "v1.34.2-stuck", "v1.34.2-stuck-parallel",
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tape := doctored.Load(t, "testdata/"+name)
			if v := tape.Verdict(); v.Outcome != judge.Pass {
				t.Errorf("%s: %q", v.Outcome, v.Reasons)
			}
			for _, f := range tape.Facts {
				if f.Step != nil && f.Step.Error != "" {
					t.Errorf("step %s: %s", f.Step.Name, f.Step.Error)
				}
			}
		})
	}
}

// tape is a recording with what the tests below do to StatefulSets in it.
type tape struct{ *doctored.Tape }

// facts are the indices of the facts about a pod from a step on.
func (tp tape) facts(ordinal int, step string) []int {
	var out []int
	for i := tp.StepBegin(step); i < len(tp.Facts); i++ {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.Pods && o.Name == workload.PodName(ordinal) {
			out = append(out, i)
		}
	}
	return out
}

// before is the last fact about a pod before another fact.
func (tp tape) before(ordinal, fact int) int {
	for i := fact; i >= 0; i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.Pods && o.Name == workload.PodName(ordinal) {
			return i
		}
	}
	panic("the pod was never there")
}

// gone is the nth fact, from 0, that says that a pod is gone.
func (tp tape) gone(ordinal, nth int) int {
	return tp.Find(workload.Pods, nth, func(o *recording.Object, _ *series.View) bool {
		return o.Name == workload.PodName(ordinal) && o.Change == recording.Deleted
	})
}

// lose deletes a pod right after a fact.
func (tp tape) lose(ordinal, after int) {
	tp.Insert(after, tp.before(ordinal, after), func(o *recording.Object) { o.Change = recording.Deleted })
}

// blink deletes a pod right after a fact and brings it back as it was.
func (tp tape) blink(ordinal, after int) {
	was := tp.before(ordinal, after)
	at := tp.Insert(after, was, func(o *recording.Object) { o.Change = recording.Deleted })
	tp.Insert(at, was, func(o *recording.Object) { o.Change = recording.Added })
}

// last is the index of the last fact about the StatefulSet before a step, at
// whose end all of its windows that matter end.
func (tp tape) last(step string) int {
	end := tp.StepBegin(step)
	for i := end; i >= 0; i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.StatefulSets {
			return i
		}
	}
	panic("the set was never there")
}

// status changes a field of the StatefulSet's status in the last fact before a step.
func (tp tape) status(step, field string, value any) { tp.Set(tp.last(step), value, "status", field) }

// view is the object of a fact.
func (tp tape) view(i int) series.View {
	var v series.View
	if err := json.Unmarshal(tp.Facts[i].Object.Body, &v); err != nil {
		panic(err)
	}
	return v
}

// swap gives two pods each other's name.
func (tp tape) swap(a, b int) {
	names := map[string]string{workload.PodName(a): workload.PodName(b), workload.PodName(b): workload.PodName(a)}
	for i, f := range tp.Facts {
		if o := f.Object; o != nil && o.Resource == workload.Pods && names[o.Name] != "" {
			tp.Set(i, names[o.Name], "metadata", "name")
			o.Name = names[o.Name]
		}
	}
}

// on makes the recording one of another version of Kubernetes.
func (tp tape) on(version string) {
	for i, c := range tp.Header.Components {
		if c.Name == "kubernetes" {
			tp.Header.Components[i].Version = version
		}
	}
}

// version gives all pods of an ordinal from a fact on another version.
func (tp tape) version(ordinal, from int, version string) {
	for i := from; i < len(tp.Facts); i++ {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.Pods && o.Name == workload.PodName(ordinal) {
			tp.Set(i, version, "metadata", "labels", stage.VersionLabel)
		}
	}
}

const (
	lower    = statefulsetpartition.StepLower
	rollback = statefulsetpartition.StepRollback
	byHand   = statefulsetpartition.StepByHand
)

// TestAlteredRecordingsBreakTheirClaims: each alteration is something that a
// controller could do wrong, and breaks the claims that are about it.
func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	broken := map[string]bool{}
	for name, c := range map[string]struct {
		recording string
		alter     func(tp tape)
		breaks    string
	}{
		"a pod below the partition is deleted": {"ordered", func(tp tape) { tp.lose(0, tp.gone(3, 0)) },
			"order moves below-partition ordinal-0 least-ready"},
		"a pod below the partition is replaced": {"ordered", func(tp tape) { tp.blink(1, tp.gone(3, 0)) },
			"order moves below-partition ordinal-1"},
		"a pod below both partitions is deleted": {"raised", func(tp tape) { tp.lose(1, tp.StepBegin(lower)-1) },
			"order moves below-partition ordinal-1"},
		"a pod where nothing moves is deleted": {"nothing-moves", func(tp tape) { tp.lose(4, tp.StepBegin(workload.StepSettle)-1) },
			"order moves below-partition ordinal-4 least-ready"},
		"the highest two in the other order":        {"ordered", func(tp tape) { tp.swap(3, 4) }, "order moves"},
		"the second too early":                      {"ordered", func(tp tape) { tp.lose(3, tp.gone(4, 0)) }, "moves least-ready"},
		"a third where two may be down":             {"max-unavailable", func(tp tape) { tp.lose(2, tp.gone(3, 0)) }, "moves least-ready"},
		"a third where two may be down at once":     {"parallel-max-unavailable", func(tp tape) { tp.lose(2, tp.gone(3, 0)) }, "moves least-ready"},
		"the last at the old revision":              {"ordered", func(tp tape) { tp.version(0, tp.gone(0, 0)+1, workload.V1) }, "moves ordinal-0"},
		"one above the partition remade at the old": {"raised", func(tp tape) { tp.version(4, tp.gone(4, 0)+1, workload.V1) }, "moves ordinal-4"},
		"one is not deleted at all": {"ordered", func(tp tape) {
			all := tp.facts(0, workload.StepSettle)
			for _, i := range slices.Backward(all) {
				tp.Drop(i)
			}
		}, "order ordinal-0"},
		"only one down where two may be": {"v1.34.2-max-unavailable", func(tp tape) { tp.on("v1.37.2") }, "least-ready max-unavailable"},
		"two down where one may be":      {"max-unavailable", func(tp tape) { tp.on("v1.34.2") }, "least-ready moves max-unavailable"},
		"another version's order of a Parallel set that is stuck": {"v1.34.2-stuck-parallel", func(tp tape) { tp.on("v1.37.2") },
			"order moves least-ready"},
		"and the other way round": {"stuck-parallel", func(tp tape) { tp.on("v1.34.2") }, "order moves least-ready"},
		"the stuck pod is deleted, and not by hand": {"stuck", func(tp tape) {
			for _, i := range tp.facts(2, byHand) {
				tp.Set(i, nil, "metadata", "labels", workload.ByHandLabel)
			}
		}, "moves"},
		"the rollback replaces a pod":         {"stuck", func(tp tape) { tp.blink(2, tp.StepBegin(byHand)-1) }, "rollback-quiet order moves ordinal-2"},
		"the rollback replaces a healthy pod": {"stuck", func(tp tape) { tp.blink(4, tp.StepBegin(byHand)-1) }, "rollback-quiet order moves ordinal-4"},
		"the stuck pod becomes ready": {"stuck", func(tp tape) {
			i := tp.before(2, tp.StepBegin(rollback))
			tp.Set(i, []any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions")
		}, "stuck-pod rollback-pod"},
		"a pod more than replicas":                {"ordered", func(tp tape) { tp.status(lower, "replicas", 6) }, "no-surge"},
		"a status that counts too many, half-way": {"ordered", func(tp tape) { tp.status(lower, "updatedReplicas", 4) }, "staged-updated"},
		"an update that is complete too early": {"ordered", func(tp tape) {
			i := tp.last(lower)
			tp.Set(i, tp.view(i).Status.UpdateRevision, "status", "currentRevision")
		}, "staged-completed"},
		"a template that is never observed": {"nothing-moves", func(tp tape) {
			for i := tp.StepBegin(workload.StepUpdate); i < len(tp.Facts); i++ {
				if o := tp.Facts[i].Object; o != nil && o.Resource == workload.StatefulSets {
					tp.Set(i, 1, "status", "observedGeneration")
				}
			}
		}, "staged-observed final-observed"},
		"an update that is never complete": {"ordered", func(tp tape) { tp.status(workload.StepQuiet, "currentRevision", "drill-0") }, "final-completed"},
		"a status that counts too few":     {"ordered", func(tp tape) { tp.status(workload.StepQuiet, "updatedReplicas", 4) }, "final-updated"},
		"a pod is replaced after the end":  {"ordered", func(tp tape) { tp.blink(3, tp.StepBegin(workload.StepAsk)-1) }, "quiet order moves ordinal-3"},
		"without pods, a pod":              {"no-pods", func(tp tape) { tp.status(workload.StepQuiet, "replicas", 1) }, "no-surge"},
	} {
		for id := range strings.SplitSeq(c.breaks, " ") {
			broken[id] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := tape{doctored.Load(t, "testdata/"+c.recording)}
			c.alter(tp)
			v := tp.Verdict()
			for id := range strings.SplitSeq(c.breaks, " ") {
				i := slices.IndexFunc(v.Claims, func(r judge.ClaimResult) bool { return r.ID == id })
				if i < 0 || v.Claims[i].Status != judge.Broken {
					t.Errorf("claim %s did not break: %q", id, v.Reasons)
				}
			}
			if v.Outcome != judge.Fail {
				t.Errorf("the verdict is %s", v.Outcome)
			}
		})
	}
	for _, name := range recorded { // no claim that nothing can break
		for _, r := range doctored.Load(t, "testdata/"+name).Verdict().Claims {
			if !broken[r.ID] && !strings.HasPrefix(r.ID, "ordinal-") {
				t.Errorf("no alteration breaks the claim %s of %s", r.ID, name)
			}
		}
	}
}

// TestTheGuard: more than one pod down at once is broken, as the model says of
// these cells, and a drill's own limit decides instead.
func TestTheGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recording string
		limits    map[string]float64
		worst     float64
		status    judge.Status
	}{
		{"ordered", nil, 1, judge.Held},
		{"ordered", map[string]float64{statefulsetpartition.Unready: 0}, 1, judge.Broken},
		{"max-unavailable", nil, 2, judge.Broken},
		{"max-unavailable", map[string]float64{statefulsetpartition.Unready: 2}, 2, judge.Held},
		{"v1.34.2-max-unavailable", nil, 1, judge.Held},
		{"stuck-parallel", nil, 1, judge.Held},
		{"v1.34.2-stuck-parallel", nil, 2, judge.Broken},
		{"nothing-moves", nil, 0, judge.Held},
	} {
		tp := tape{doctored.Load(t, "testdata/"+c.recording)}
		tp.Header.Guards = c.limits
		g := tp.Verdict().Guards[0]
		if g.Status != c.status || g.Worst == nil || *g.Worst != c.worst || g.Expected == nil || *g.Expected != c.worst {
			t.Errorf("%s, limits %v: %+v", c.recording, c.limits, g)
		}
	}
	if guards := doctored.Load(t, "testdata/no-pods").Verdict().Guards; len(guards) != 0 {
		t.Errorf("without pods there are guards: %+v", guards)
	}
}

// TestWhatWasSeen: a path that was allowed says what it was.
func TestWhatWasSeen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		"max-unavailable": {
			"order": "leaving: 4 → 3 → 2 → 1 → 0", "moves": "5 pods deleted, 5 made", "below-partition": "untouched",
			"staged-updated": "4 pods", "staged-completed": "no", "final-completed": "yes",
		},
		"nothing-moves": {"order": "no pod leaves", "moves": "0 pods deleted, 0 made"},
		"stuck":         {"order": "leaving: 4 → 3 → 2 → 2 → 4 → 3"},
	} {
		for _, c := range doctored.Load(t, "testdata/"+name).Verdict().Claims {
			if text, ok := want[c.ID]; ok && c.Observed != text {
				t.Errorf("%s: %s is %q, want %q", name, c.ID, c.Observed, text)
			}
			delete(want, c.ID)
		}
		if len(want) > 0 {
			t.Errorf("%s: no claims %v", name, want)
		}
	}
}

// TestAControllerThatDoesNotAnswer: without a sign of life afterwards the quiet
// proves nothing.
func TestAControllerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	tp := tape{doctored.Load(t, "testdata/ordered")}
	for i := len(tp.Facts) - 1; i > tp.StepBegin(workload.StepAsk); i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == workload.StatefulSets {
			tp.Drop(i)
		}
	}
	for _, r := range tp.Verdict().Claims {
		if r.ID == "quiet" && r.Status != judge.Inconclusive {
			t.Errorf("quiet is %s", r.Status)
		}
	}
}
