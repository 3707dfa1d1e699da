// Package canaryautoscaled is the scenario canary-autoscaled: a HorizontalPodAutoscaler
// scales a Rollout in the middle of a canary update.
package canaryautoscaled

import (
	"time"

	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	canary.Params
	MinReplicas int    `json:"minReplicas" min:"1" max:"200" doc:"least replicas of the autoscaler"`
	MaxReplicas int    `json:"maxReplicas" min:"1" max:"200" doc:"most replicas of the autoscaler"`
	Load        int    `json:"load" min:"1" max:"20000" doc:"what all pods carry together before and while v2 comes, in percent of what the autoscaler wants one pod to carry"`
	NewLoad     int    `json:"newLoad" min:"1" max:"20000" doc:"what they carry from some time on"`
	When        string `json:"when" enum:"scaling,paused,finishing" doc:"when the load changes: before the first pod of v2 is ready, at the first pause, or before those are that v2 gets after the last one"`
}

// Values of Params.When.
const (
	WhenScaling   = "scaling"
	WhenPaused    = "paused"
	WhenFinishing = "finishing"
)

// Scenario is canary-autoscaled.
type Scenario struct{ canary.Base }

var (
	_ scenario.Scenario   = Scenario{}
	_ scenario.GuardNames = Scenario{}
	_ canary.Drill        = (*Params)(nil)
)

func (Scenario) Name() string { return "canary-autoscaled" }

func (Scenario) Summary() string {
	return "an autoscaler scales a Rollout in the middle of a canary update: does the traffic move before the pods are there?"
}

// Defaults is a load of which each pod carries 95 %, before and after.
func (Scenario) Defaults() any {
	p := &Params{Params: canary.DefaultParams(), MinReplicas: 1, MaxReplicas: 40, Load: 950, NewLoad: 1520, When: WhenPaused}
	p.Steps = rollback.Steps{rollback.SetWeight(20), canary.Pause(), rollback.SetWeight(30), canary.Pause()}
	return p
}

// Check also refuses a size at which the autoscaler does not rest, and courses of which
// nobody can tell when it looks.
func (s Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if err := p.checkSizes(); err != nil {
		return err
	}
	for _, step := range p.Steps {
		if step.Pause != nil && step.Pause.Duration != nil {
			return scenario.Refuse("steps", "%s: a pause with an end may be over before the autoscaler looks, expected pauses without one", p.Steps)
		}
	}
	rules, _ := rollouts.RulesFor(versions[scenario.ArgoRollouts])
	c := p.play(rules)
	if c.unclear != "" {
		return scenario.Refuse("steps", "%s", c.unclear)
	}
	if at := c.Trace().Final(); at.Stable != canary.New || at.Available[canary.New] < at.Size[canary.New] {
		return scenario.Refuse("steps", "with %s and %d replicas the update does not come to its end", p.Steps, p.Replicas)
	}
	if d := s.Expected(p); d > autoscaler.Stabilization-time.Minute {
		return scenario.Refuse("ramp", "the run would take %s: after %s the autoscaler forgets what it proposed", d.Round(time.Second), autoscaler.Stabilization)
	}
	return nil
}

func (p *Params) checkSizes() error {
	if rollouts.Routing(p.Routing) == rollouts.RoutingNone {
		return scenario.Refuse("routing", "%q leaves no weight to hold against pods, expected services or subsets", p.Routing)
	}
	if p.Replicas < p.MinReplicas || p.Replicas > p.MaxReplicas {
		return scenario.Refuse("replicas", "%d is outside the autoscaler's bounds, expected %d to %d", p.Replicas, p.MinReplicas, p.MaxReplicas)
	}
	if n := p.autoscaler().SyncExternal(external(p.Load), p.Replicas).Current; n != p.Replicas {
		return scenario.Refuse("load", "at %d %% the autoscaler makes %d of %d replicas before the update begins, expected a load at which it rests", p.Load, n, p.Replicas)
	}
	if p.Quiet.Std() < 2*autoscaled.SyncPeriod {
		return scenario.Refuse("quiet", "%s has hardly a sync in it, expected at least %s", p.Quiet, 2*autoscaled.SyncPeriod)
	}
	return nil
}

// Rollout is the one under drill.
func (p *Params) Rollout() canary.Rollout { return canary.Rollout{Params: p.Params, Spec: p.Model()} }

// setUp is how long the autoscaler takes to learn of Rollouts and to come to rest. In runs
// it was 20 s.
const setUp = 20 * time.Second

// Expected is that of the course, with half a period before each command and a whole one
// for each answer of the autoscaler.
func (s Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	d := s.Base.Expected(params) + setUp
	for _, leg := range p.Course(rollouts.RulesForGroup(rollouts.Group110)).Legs {
		switch {
		case commanded(leg):
			d += autoscaled.SyncPeriod / 2
		case leg.Leg.Turn == rollouts.TurnScale:
			d += autoscaled.SyncPeriod
		}
	}
	return d
}
