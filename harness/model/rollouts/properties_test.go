package rollouts

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var genGroup = rapid.SampledFrom(Groups())

func genSteps(t *rapid.T) []Step {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 100), SetWeight),
		rapid.Map(rapid.IntRange(1, 60), PauseFor),
		rapid.Just(PauseForever()),
		rapid.Just(AnalysisStep()),
	), 0, 6).Draw(t, "steps")
}

func genSpec(t *rapid.T) Spec {
	return Spec{
		Replicas: rapid.IntRange(1, 40).Draw(t, "replicas"),
		MinPods:  rapid.IntRange(0, 5).Draw(t, "minPods"),
		Steps:    genSteps(t),
		Routing:  rapid.SampledFrom([]Routing{RoutingServices, RoutingSubsets}).Draw(t, "routing"),
	}
}

func TestCountsRespectFloorAndBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, spec := RulesForGroup(genGroup.Draw(t, "group")), genSpec(t)
		spec.DynamicStableScale = rapid.Bool().Draw(t, "dynamicStableScale")
		weight := rapid.IntRange(0, 100).Draw(t, "weight")
		spec.Steps = []Step{SetWeight(weight)}
		v := View{Spec: spec, Status: Status{Stable: "v1", Current: "v2"}}
		canary, stable := rules.Counts(v, nil)
		least := spec.MinPods
		if rules.MinPodsCappedToReplicas {
			least = min(least, spec.Replicas)
		}
		switch {
		case canary < 0 || stable < 0:
			t.Fatalf("negative: %d %d", canary, stable)
		case (canary == 0) != (weight == 0):
			t.Fatalf("weight %d has %d pods", weight, canary)
		case canary > 0 && canary < least:
			t.Fatalf("%d pods, below the floor %d", canary, least)
		case canary > max(spec.Replicas, least):
			t.Fatalf("%d pods of %d", canary, spec.Replicas)
		case !spec.DynamicStableScale && stable != spec.Replicas:
			t.Fatalf("stable is %d", stable)
		}
	})
}

func TestCanaryGrowsWithWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, spec := RulesForGroup(genGroup.Draw(t, "group")), genSpec(t)
		last := 0
		for weight := range 101 {
			spec.Steps = []Step{SetWeight(weight)}
			n, _ := rules.Counts(View{Spec: spec, Status: Status{Stable: "v1", Current: "v2"}}, nil)
			if n < last {
				t.Fatalf("weight %d has %d pods, %d had %d", weight, n, weight-1, last)
			}
			last = n
		}
	})
}

// Any order of moves keeps sizes and weights in their bounds, and the controller stops.
func TestAnyMovesStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		spec.WindowRevisions = rapid.IntRange(0, 3).Draw(t, "window")
		spec.DynamicStableScale = rapid.Bool().Draw(t, "dynamicStableScale")
		m := NewMachine(RulesForGroup(genGroup.Draw(t, "group")), spec)
		m.Deploy("v1")
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			drawMove(t, m)
			if m.Settle(300) == 300 {
				t.Fatalf("does not settle:\n%s", m.Trace())
			}
		}
		for _, row := range m.Trace().Rows {
			checkRow(t, spec, row)
		}
	})
}

func drawMove(t *rapid.T, m *Machine) {
	version := rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")
	switch rapid.SampledFrom([]string{"deploy", "ready", "abort", "retry", "promote", "full", "skip", "all", "elapse", "analysis", "undo"}).Draw(t, "move") {
	case "deploy":
		m.Deploy(version)
	case "ready":
		m.Ready(version, rapid.IntRange(0, 45).Draw(t, "pods"))
	case "abort":
		m.Abort()
	case "retry":
		m.Retry()
	case "promote":
		m.Promote()
	case "full":
		m.PromoteFull()
	case "skip":
		m.SkipStep()
	case "all":
		m.SkipAllSteps()
	case "elapse":
		m.Elapse(rapid.IntRange(0, 40).Draw(t, "seconds"))
	case "analysis":
		m.PassAnalysis()
	case "undo":
		m.Undo(0)
	}
}

func checkRow(t *rapid.T, spec Spec, row Row) {
	if row.Index < 0 || row.Index > len(spec.Steps)+1 {
		t.Fatalf("index out of range: %s", row)
	}
	// promote --full with dynamicStableScale divides by replicas, and the floor can be above them.
	if row.Weight < 0 || row.Weight > 100 && row.Branch != "E" && !spec.DynamicStableScale {
		t.Fatalf("weight out of range: %s", row)
	}
	for version, size := range row.Size {
		if size < 0 || size > max(spec.Replicas, spec.MinPods) {
			t.Fatalf("size of %s out of range: %s", version, row)
		}
		if n := row.Available[version]; n < 0 || n > size {
			t.Fatalf("available of %s out of range: %s", version, row)
		}
	}
}

// Without a window and without promotions by hand the weight never runs ahead of the step.
func TestWalkedWeightNeverExceedsTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		trace := RollbackWindow(RulesForGroup(genGroup.Draw(t, "group")), spec, RollbackOptions{PromotePauses: true})
		for _, row := range trace.Rows {
			allowed := 0
			for _, step := range spec.Steps[:min(row.Index+1, len(spec.Steps))] {
				if step.SetWeight != nil {
					allowed = max(allowed, *step.SetWeight)
				}
			}
			if row.Index >= len(spec.Steps) {
				allowed = 100
			}
			if row.Weight > allowed {
				t.Fatalf("weight above the walked steps:\n%s", trace)
			}
		}
	})
}

// In the window, by Services and with a full stable, the canary takes the last setWeight
// as soon as it has a pod.
func TestWindowTakesTheLastSetWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSpec(t)
		spec.Replicas = rapid.IntRange(2, 40).Draw(t, "replicas again")
		spec.MinPods = min(spec.MinPods, spec.Replicas)
		spec.Routing, spec.WindowRevisions = RoutingServices, rapid.IntRange(1, 3).Draw(t, "window")
		trace := RollbackWindow(RulesForGroup(genGroup.Draw(t, "group")), spec, RollbackOptions{})
		if trace.Invalid != "" {
			t.Fatal(trace.Invalid)
		}
		weight, available, _ := trace.MaxWeightWhile("v1", spec.Replicas)
		if weight != spec.LastWeight() || weight > 0 && available != 1 {
			t.Fatalf("max weight %d at %d, last setWeight %d:\n%s", weight, available, spec.LastWeight(), trace)
		}
		if reason, _ := trace.Completed(); reason != "Rollback within window" {
			t.Fatalf("completed: %q\n%s", reason, trace)
		}
	})
}

// A settled machine stays as it is, and a clone does not share state.
func TestCloneIsIndependent(t *testing.T) {
	m := NewMachine(RulesForGroup(Group19), Spec{Replicas: 4, Steps: []Step{SetWeight(50), PauseForever()}})
	if err := m.BringUp("v1"); err != nil {
		t.Fatal(err)
	}
	before := m.World()
	c := m.Clone()
	c.Deploy("v2")
	c.Settle(50)
	if diff := cmp.Diff(before, m.World()); diff != "" {
		t.Errorf("the clone changed its origin:\n%s", diff)
	}
	if _, ok := c.ReplicaSet("v2"); !ok {
		t.Error("the clone did not deploy")
	}
}

// The rules are plain data: changing one on purpose changes the prediction.
func TestOneChangedRuleChangesThePrediction(t *testing.T) {
	spec := Spec{Replicas: 20, MinPods: 2, Steps: []Step{SetWeight(5), PauseFor(1), SetWeight(100)}, Routing: RoutingSubsets, WindowRevisions: 3}
	rules, _ := RulesFor("v1.9.2")
	_, _, size := RollbackWindow(rules, spec, RollbackOptions{}).MaxWeightWhile("v1", 20)
	rules.SubsetGuard = SubsetGuardSkip
	_, _, changed := RollbackWindow(rules, spec, RollbackOptions{}).MaxWeightWhile("v1", 20)
	if size != 2 || changed != 20 {
		t.Errorf("size at full weight %d and, without the guard, %d; want 2 and 20", size, changed)
	}
}

// v1.8.0 has the subset guard but not the stable guard.
func TestVersion180HasNoStableGuard(t *testing.T) {
	spec := Spec{Replicas: 20, MinPods: 2, Steps: []Step{SetWeight(5), PauseFor(1)}, WindowRevisions: 3}
	short := 18
	for version, want := range map[string][]int{"v1.8.0": {0, 5, 100, 0}, "v1.8.2": {0, 100, 0}} {
		rules, _ := RulesFor(version)
		got := RollbackWindow(rules, spec, RollbackOptions{StableAvailable: &short}).WeightSequence()
		if !slices.Equal(got, want) {
			t.Errorf("%s: weights %v, want %v", version, got, want)
		}
	}
}

// Every branch and rule that a group has names a line.
func TestEveryRuleHasABasis(t *testing.T) {
	for rule := range places {
		if b := Group110.Basis(rule); b.Line == 0 || b.Source == "" || b.Tag != "v1.10.1" {
			t.Errorf("%s has no basis: %+v", rule, b)
		}
	}
	if got := Group180.Basis(RuleBranchF1).String(); got != "rollout/trafficrouting.go:247 (v1.8.2)" {
		t.Error(got)
	}
	if got := Group17.Basis(RuleStableGuard).Line; got != 0 {
		t.Errorf("1.7 has a stable guard at line %d", got)
	}
}
