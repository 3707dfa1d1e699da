// Package rollbackabort is the scenario rollback-window-abort: during a
// rollback inside rollbackWindow somebody reaches for a way out.
package rollbackabort

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	rollback.Params
	Escape   string `json:"escape" enum:"abort,promote-full" doc:"what is tried: abort once the weight is reached, or promote --full before the first pod is available"`
	AtWeight int    `json:"atWeight" min:"0" max:"100" doc:"canary weight at which abort is sent"`
}

// Values of Params.Escape.
const (
	Abort       = "abort"
	PromoteFull = "promote-full"
)

// Scenario is rollback-window-abort.
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "rollback-window-abort" }

func (Scenario) Summary() string {
	return "abort (or promote --full) during a rollback inside rollbackWindow: does it help?"
}

func (Scenario) Needs(any) cluster.Capabilities { return rollback.Needs() }

// MostPods is both versions at full size.
func (Scenario) MostPods(params any) int { return params.(*Params).Params.MostPods() }

func (Scenario) Components(on cluster.Capabilities) []string { return rollback.Components(on) }

func (Scenario) Defaults() any {
	return &Params{Params: rollback.DefaultParams(), Escape: Abort, AtWeight: 100}
}

func (Scenario) Guards() map[string]string { return rollback.GuardNames() }

func (Scenario) Expected(params any) time.Duration { return params.(*Params).Params.Expected() }

// Check also refuses an abort at a weight that the model never reaches.
func (Scenario) Check(params any, versions map[string]string) error {
	p, version := params.(*Params), versions[scenario.ArgoRollouts]
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(version); err != nil {
		return err
	}
	if p.Escape != Abort {
		return nil
	}
	if p.DynamicStableScale {
		return scenario.Refuse("escape", "abort does not go with dynamicStableScale yet: the controller scales v2 before or after it sees the abort, and the model knows one order only")
	}
	trace, _, _ := p.Model(version, rollouts.RollbackOptions{})
	reached := 0
	for _, w := range trace.WeightSequence() {
		reached = max(reached, w)
	}
	if p.AtWeight > reached {
		return scenario.Refuse("atWeight", "%d is never reached: with steps %s the model of %s goes to %d at most", p.AtWeight, p.Steps, version, reached)
	}
	return nil
}

func (p *Params) options() rollouts.RollbackOptions {
	if p.Escape == PromoteFull {
		return rollouts.RollbackOptions{PromoteFullBeforeFirst: true}
	}
	return rollouts.RollbackOptions{AbortAtWeight: &p.AtWeight}
}

// Predict plays the rollback and the way out on the model of the version.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p, version := in.Params.(*Params), in.Versions[scenario.ArgoRollouts]
	trace, rules, known := p.Model(version, p.options())
	out := p.Params.Predict(trace, version, known, in)
	if p.Escape == Abort {
		out.Claims = append(out.Claims, abortClaims(trace, rules)...)
	}
	return out, nil
}

// abortClaims: whether the abort lasts, and whether anybody is told.
func abortClaims(trace rollouts.Trace, rules rollouts.Rules) []judge.Claim {
	basis := []string{rules.Basis(rollouts.RuleRemoveAbort).String(), rules.Basis(rollouts.RuleBranchC).String()}
	told := trace.Count(rollouts.EventAborted)
	want := judge.Numbers(0, 1, 0)
	if trace.Final().Abort {
		want = judge.Numbers(0, 1)
	}
	out := []judge.Claim{
		{
			ID: "abort-status", Sentence: "status.abort takes exactly these values (1 = aborted), in this order",
			Basis: basis, Check: judge.Sequence{Of: rollback.Abort, Want: want, Window: rollback.Drilled},
		},
		{
			ID: "abort-event", Sentence: "how often the controller logs RolloutAborted",
			Basis: basis, Check: judge.Count{Of: rollback.Aborted, Min: told, Max: told, Witness: rollback.Logged, Window: rollback.Drilled},
		},
	}
	if told == 0 {
		never := judge.Cond{Series: rollback.Condition, Op: judge.Equal, Value: series.Number(0)}
		out = append(out, judge.Claim{
			ID: "abort-condition", Sentence: "no condition says RolloutAborted (0 = none)",
			Basis: basis, Check: judge.Always{Cond: never, Window: rollback.Drilled},
		})
	}
	return out
}

// stepEscape names the step in which the way out is taken.
func (p *Params) stepEscape() string {
	if p.Escape == PromoteFull {
		return "promote --full"
	}
	return fmt.Sprintf("abort at weight %d", p.AtWeight)
}
