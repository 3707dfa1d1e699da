package rollouts

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// underWay is a canary of ten pods at its first pause.
func underWay(t *testing.T, group Group, steps ...Step) *Machine {
	t.Helper()
	m := NewMachine(RulesForGroup(group), Spec{Replicas: 10, Steps: steps, ScaleDownDelaySeconds: 1})
	if err := m.BringUp("v1"); err != nil {
		t.Fatal(err)
	}
	m.Play(Leg{Turn: TurnUpdate, Version: "v2"})
	m.Play(Leg{Turn: TurnGrow, Version: "v2"})
	return m
}

func TestAnotherReleaseGoesOnWithWhatIsStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		from, to := rapid.SampledFrom(Groups()).Draw(rt, "from"), rapid.SampledFrom(Groups()).Draw(rt, "to")
		m := underWay(t, from, SetWeight(30), PauseForever(), SetWeight(100))
		before := m.World()
		m.Replace(RulesForGroup(to))
		m.Settle(settleMax)
		after := m.World()
		if !reflect.DeepEqual(after.Sets, before.Sets) || after.Weight != before.Weight || after.Status.Index != before.Status.Index || !after.Status.Paused {
			rt.Fatalf("%s to %s: from %+v to %+v", from, to, before, after)
		}
		if m.Rules().Group != to {
			rt.Fatalf("the rules are those of %s", m.Rules().Group)
		}
	})
}

func TestForgottenStepsBeginAgain(t *testing.T) {
	t.Parallel()
	m := underWay(t, Group19, SetWeight(20), SetWeight(50), AnalysisStep(), SetWeight(100))
	if !m.Analysing() || m.Weight() != 50 {
		t.Fatalf("at weight %d, analysing: %t", m.Weight(), m.Analysing())
	}
	m.Replace(RulesForGroup(Group183))
	m.ForgetSteps()
	trace := m.Play(Leg{Turn: TurnNone})
	if got := trace.WeightSequence(); !reflect.DeepEqual(got, []int{50, 0, 20}) {
		t.Errorf("weights %v\n%s", got, trace)
	}
	m.Play(Leg{Turn: TurnGrow, Version: "v2"})
	if !m.Analysing() {
		t.Errorf("it does not get back to its analysis: %+v", m.Status())
	}
	m.Play(Leg{Turn: TurnPassAnalysis})
	if m.Analysing() || m.Status().Index != 3 {
		t.Errorf("the analysis does not end: %+v", m.Status())
	}
}

func TestNothingIsWrittenWhileNoControllerRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leg   Leg
		index int
	}{
		"a promotion is kept for later":  {Leg{Turn: TurnPromote}, 2},
		"an abort is kept for later":     {Leg{Turn: TurnAbort}, 0},
		"time goes by":                   {Leg{Turn: TurnElapse, N: 60}, 1},
		"pods of v2 go, and are missing": {Leg{Turn: TurnHold, Version: "v2", N: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := underWay(t, Group183, SetWeight(30), PauseForever(), SetWeight(100))
			before := m.World()
			trace := m.Alone(c.leg)
			after := m.World()
			if len(trace.Rows) != 1 || trace.Final().Phase != trace.Start.Phase || after.Weight != before.Weight || after.Status.Index != before.Status.Index {
				t.Errorf("from %+v to %+v\n%s", before, after, trace)
			}
			m.Replace(RulesForGroup(Group19))
			if m.Settle(settleMax); m.Status().Index != c.index {
				t.Errorf("it goes on at step %d, want %d", m.Status().Index, c.index)
			}
		})
	}
}
