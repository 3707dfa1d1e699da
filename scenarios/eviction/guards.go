package eviction

import (
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Left is the guard on pods that a drain leaves; workload.Gap is the other one.
const Left = "left"

var _ scenario.GuardNames = Scenario{}

// Guards says what each guard limits.
func (Scenario) Guards() map[string]string {
	return map[string]string{
		workload.Gap: workload.GapSentence,
		Left:         "pods that are left on the node at the end of a drain; by default none",
	}
}

// guards ask whether the answers were safe: a budget that lets the only pod go
// keeps its word, and so does one that blocks a drain for ever.
func (k key) guards(limits map[string]float64) []judge.Guard {
	guard := func(id, of string, expected *float64, window series.Window, basis []string) judge.Guard {
		return judge.Guard{
			ID: id, Sentence: Scenario{}.Guards()[id], Basis: basis, Series: of,
			Limit: limits[id], Expected: expected, Window: window,
		}
	}
	out := []judge.Guard{guard(workload.Gap, workload.Gap, k.gap(), Drilled, append(k.answerBasis(), k.countBasis(disruption.RuleActive)...))}
	if k.drains() {
		out = append(out, guard(Left, OnNode, new(float64(k.left())), series.Window{From: workload.StepQuiet, To: workload.StepQuiet}, k.answerBasis()))
	}
	return out
}

// gap is 1 where the model says that there is an instant without a ready pod.
// Where all pods are asked for at once, new ones may be ready before the last
// old one goes: then only a floor, or that none becomes ready, says anything.
func (k key) gap() *float64 {
	orderly := k.How != Kubectl || k.Replicas == 1
	gone := k.trace.ReadyAtStart == 0 || k.Replacement == Never && k.left() == 0
	switch {
	case k.trace.LeastReady() == 0 && (orderly || gone):
		return new(1.0)
	case k.trace.LeastReady() > 0 && (orderly || k.floor() > 0):
		return new(0.0)
	}
	return nil
}

// left is how many pods are never evicted.
func (k key) left() int { return k.Replicas - granted(k.trace) }

// floor is how many ready pods a budget keeps, if so many are ready at the begin.
func (k key) floor() int { return min(k.trace.Start.DesiredHealthy, k.trace.ReadyAtStart) }
