// Package canarypromote is the scenario canary-promote: somebody pushes an update on, with
// one of the plugin's promote commands, in one of the states in which that is done.
package canarypromote

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	canary.Params
	Command    string `json:"command" enum:"promote,promote-full,skip-step,skip-all" doc:"what is sent: promote, or promote with --full, --skip-current-step or --skip-all-steps"`
	When       string `json:"when" enum:"paused,scaling,no-pods,aborted" doc:"when: in the first pause without end, after it while the next step has one of its new pods, before v2 has any ready pod, or in an aborted update"`
	AbortDelay int    `json:"abortScaleDownDelaySeconds" min:"5" max:"600" doc:"how long an aborted canary is kept; the command comes inside it"`
}

// Values of Params.When.
const (
	WhenPaused  = "paused"
	WhenScaling = "scaling"
	WhenNoPods  = "no-pods"
	WhenAborted = "aborted"
)

// commands are the acts that Params.Command stands for.
var commands = map[string]rollouts.Turn{
	"promote": rollouts.TurnPromote, "promote-full": rollouts.TurnPromoteFull, "skip-step": rollouts.TurnSkipStep, "skip-all": rollouts.TurnSkipAll,
}

// Scenario is canary-promote.
type Scenario struct{ canary.Base }

var _ scenario.Scenario = Scenario{}

var _ canary.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-promote" }

func (Scenario) Summary() string {
	return "promote a canary update, paused or not: does the traffic wait for the pods?"
}

func (Scenario) Defaults() any {
	p := &Params{Params: canary.DefaultParams(), Command: "promote", When: WhenPaused, AbortDelay: 5}
	p.Steps = rollback.Steps{rollback.SetWeight(20), canary.Pause(), rollback.SetWeight(60), canary.Pause()}
	return p
}

// Check also refuses steps in which the moment of the command does not come.
func (Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if p.Replicas < 1 {
		return scenario.Refuse("replicas", "expected at least 1: without pods there is nothing to promote")
	}
	if len(p.Steps) == 0 {
		return scenario.Refuse("steps", "expected at least one: without steps an update promotes itself")
	}
	if p.When == WhenNoPods {
		return nil
	}
	rules, _ := rollouts.RulesFor(versions[scenario.ArgoRollouts])
	c := canary.NewCourse(rules, p.spec())
	c.Update()
	if !c.Machine.Status().Paused {
		return scenario.Refuse("steps", "%s has no pause without end to send the command in or after", p.Steps)
	}
	if p.When != WhenScaling {
		return nil
	}
	c.Command("promote", rollouts.TurnPromote)
	if rs, _ := c.Machine.ReplicaSet(canary.New); rs.Size < rs.Available+2 {
		return scenario.Refuse("when", "scaling wants a step after the first pause that adds two pods at least; with %s and %d replicas it adds %d", p.Steps, p.Replicas, rs.Size-rs.Available)
	}
	return nil
}

func (p *Params) spec() rollouts.Spec {
	spec := p.Model()
	spec.AbortScaleDownDelaySeconds = &p.AbortDelay
	return spec
}

// Rollout is the one under drill.
func (p *Params) Rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		spec.Strategy.Canary.AbortScaleDownDelaySeconds = new(int32(p.AbortDelay))
	}}
}

// Steps of the course, which claims name as windows.
const (
	stepUpdate  = "update to v2"
	stepGrow    = "v2 becomes ready"
	stepUnpause = "promote past the pause"
	stepOneMore = "one more pod of v2 becomes ready"
	stepAbort   = "abort"
	stepCommand = "the command"
	stepAfterV1 = "v1 becomes ready after the command"
	stepAfterV2 = "v2 becomes ready after the command"
	stepDelay   = "abort delay"
)

// Course plays the parameters on the rules.
func (p *Params) Course(rules rollouts.Rules) *canary.Course {
	c := canary.NewCourse(rules, p.spec())
	c.Do(stepUpdate, rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.New})
	if p.When != WhenNoPods {
		c.Grow(stepGrow, canary.New)
	}
	switch p.When {
	case WhenScaling:
		c.Command(stepUnpause, rollouts.TurnPromote)
		rs, _ := c.Machine.ReplicaSet(canary.New)
		c.Do(stepOneMore, rollouts.Leg{Turn: rollouts.TurnHold, Version: canary.New, N: rs.Available + 1})
	case WhenAborted:
		c.Command(stepAbort, rollouts.TurnAbort)
	}
	c.Command(stepCommand, commands[p.Command])
	if c.Machine.Missing(canary.Old) {
		c.Grow(stepAfterV1, canary.Old)
	}
	if c.Machine.Status().Abort {
		c.Delay(stepDelay)
	} else {
		c.Grow(stepAfterV2, canary.New)
	}
	return c
}

// Claims: the greatest weight that the command gives v2 while it lacks pods of those
// that the version at full size has, with how many it had then.
func (p *Params) Claims(k canary.Key) []judge.Claim {
	if k.Course.Machine.Spec().Routing == rollouts.RoutingNone {
		return nil
	}
	weight, available, _ := k.Course.Trace().MaxWeightWhile(canary.New, p.Replicas)
	check := judge.Extremum{
		Of: rollback.Weight, While: judge.Cond{Series: rollback.Available(canary.New), Op: judge.Less, Value: series.Number(float64(p.Replicas))},
		Want: float64(weight), Window: k.Course.Drilled(),
	}
	if weight > 0 {
		check.First = &judge.FirstAt{Of: rollback.Available(canary.New), Want: float64(available), Unit: "available"}
	}
	return []judge.Claim{{
		ID: "exposure", Sentence: "the greatest canary weight while v2 lacks pods of its full size, and how many were available when it came",
		Basis: k.Basis(rollouts.RuleBranchE, rollouts.RuleBranchF1, rollouts.RuleBranchF2, rollouts.RuleStableGuard, rollouts.RuleSubsetGuard), Check: check,
	}}
}
