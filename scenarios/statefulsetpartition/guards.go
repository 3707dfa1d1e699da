package statefulsetpartition

import (
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Unready is the guard on pods that are down at once, and its series.
const Unready = "unready"

var _ scenario.GuardNames = Scenario{}

// Guards says what the guard limits.
func (Scenario) Guards() map[string]string {
	return map[string]string{Unready: "pods of the set that are not ready at once; by default 1, which is what an update of one pod at a time costs"}
}

func unready() series.Definition {
	return series.Definition{Name: Unready, Unit: "pods", Doc: "pods of the set that are missing or not ready", Derive: &series.Derived{
		Inputs: []string{workload.Replicas, workload.Ready}, Value: func(in []float64) float64 { return max(0, in[0]-in[1]) },
	}}
}

func (k key) guard(limits map[string]float64) judge.Guard {
	g := judge.Guard{
		ID: Unready, Sentence: Scenario{}.Guards()[Unready], Series: Unready, Limit: judge.LimitOf(limits, Unready, 1), Window: Drilled,
		Basis: k.basis(append(k.updating(), statefulset.RuleBudget, statefulset.RuleMaxUnavailable)...),
	}
	// Of several that may be down at once, one may be back before the next goes.
	if worst := k.Replicas - k.played.trace.LeastReady(); worst <= 1 || k.Startup.Std() >= sure {
		g.Expected = new(float64(worst))
	}
	return g
}
