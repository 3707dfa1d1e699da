package workload

import (
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/series"
)

// Guards of updates with more than one old ReplicaSet. There the fences are no
// promise: a pass that has not yet seen its own last write scales against a
// ReplicaSet that is no longer so, and passes them. The claim "moves" knows
// that; whether it was safe is for the guards.
const (
	CeilingGuard = "ceiling"
	ShortGuard   = "short"
)

// Gap is the guard, and its series, on instants without a ready pod.
const Gap = "gap"

// GapSentence says what Gap limits.
const GapSentence = "1 while no pod is ready; by default never"

// GapDefinition is the series that Gap limits.
func GapDefinition() series.Definition {
	return series.Definition{Name: Gap, Doc: "1 while no pod is ready", Derive: &series.Derived{
		Inputs: []string{Ready}, Value: func(in []float64) float64 {
			if in[0] > 0 {
				return 0
			}
			return 1
		},
	}}
}

// GuardNames says what each guard limits.
func GuardNames() map[string]string {
	return map[string]string{
		CeilingGuard: "pods that all ReplicaSets want together; by default replicas + surge",
		ShortGuard:   "available pods that are missing below replicas - unavailable; by default none",
	}
}

// ShortDefinition is the series that ShortGuard limits.
func ShortDefinition(least int) series.Definition {
	return series.Definition{Name: Short, Unit: "pods", Doc: "available pods that are missing below the lower fence", Derive: &series.Derived{
		Inputs: []string{Available}, Value: func(in []float64) float64 { return max(0, float64(least)-in[0]) },
	}}
}

// GuardsOf are the fences as limits, as far as the drill sets any: where the
// fences are claims already, they are asked for as guards only if somebody does.
func (k Key) GuardsOf(limits map[string]float64, most int, window series.Window) []judge.Guard {
	return slices.DeleteFunc(k.Guards(limits, most, window), func(g judge.Guard) bool {
		_, asked := limits[g.ID]
		return !asked
	})
}

// Guards are the fences as limits. The prediction needs ShortDefinition.
func (k Key) Guards(limits map[string]float64, most int, window series.Window) []judge.Guard {
	names := GuardNames()
	return []judge.Guard{
		{ID: CeilingGuard, Sentence: names[CeilingGuard], Basis: k.Basis(deployment.RuleFenceposts), Series: Total,
			Limit: judge.LimitOf(limits, CeilingGuard, float64(most)), Expected: new(float64(most)), Window: window},
		{ID: ShortGuard, Sentence: names[ShortGuard], Basis: k.Basis(deployment.RuleFenceposts), Series: Short,
			Limit: judge.LimitOf(limits, ShortGuard, 0), Expected: new(0.0), Window: window},
	}
}
