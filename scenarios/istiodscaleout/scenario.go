// Package istiodscaleout is the scenario istiod-scale-out: istiod gets more
// replicas, and its connections do not move to them until their age ends them.
package istiodscaleout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/controlplane"
)

// Params are the scenario's parameters.
type Params struct {
	controlplane.Fleet
	To       int               `json:"to" min:"2" max:"40" doc:"replicas of istiod after the scale-out"`
	Grow     int               `json:"grow" min:"0" max:"5000" doc:"proxies that come with it"`
	GrowOver scenario.Duration `json:"growOver" doc:"over how long they come, evenly"`
}

// StepScale is the stimulus.
const StepScale = "scale istiod out"

// Scenario is istiod-scale-out.
type Scenario struct{ controlplane.Base }

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "istiod-scale-out" }

func (Scenario) Summary() string {
	return "give istiod more replicas: when do they carry their share of the connections?"
}

func (Scenario) Needs(params any) cluster.Capabilities { return params.(*Params).Fleet.Needs() }

func (Scenario) Defaults() any {
	return &Params{Fleet: controlplane.DefaultFleet(3, 300), To: 6}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.To <= p.Replicas {
		return scenario.Refuse("to", "%d replicas are no more than the %d there are at the begin", p.To, p.Replicas)
	}
	if p.Grow == 0 && p.GrowOver > 0 {
		return scenario.Refuse("growOver", "%s for no proxy: set grow too", p.GrowOver)
	}
	return p.Fleet.Check()
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	return p.GrowOver.Std() + p.Fleet.Expected(p.Settled(p.events()))
}

// events are those of the model, after the stimulus.
func (p *Params) events() []mesh.Event {
	ready := slices.Repeat([]time.Duration{controlplane.Start}, p.To-p.Replicas)
	return append(mesh.Ready(ready...), mesh.Arrive(p.Grow, 0, p.GrowOver.Std())...)
}

// Script scales istiod out, and lets proxies come meanwhile.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	return p.Fleet.Script(ctx, st, controlplane.Stimulus{
		Step: StepScale, Replicas: p.To, Settled: p.Settled(p.events()),
		Do: func(ctx context.Context, st *stage.Stage) error {
			if err := st.ControlPlane.Scale(ctx, p.To); err != nil || p.Grow == 0 {
				return err
			}
			return st.ControlPlane.Grow(ctx, p.Grow, p.GrowOver.Std())
		},
	})
}

// Predict plays the model with nominal start times; its claims play it with the
// recorded ones.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	n, err := p.Nominal(p.events())
	if err != nil {
		return judge.Prediction{}, err
	}
	k := controlplane.NewKey(p.Fleet, in)
	out := k.Prediction(in.Guards, n)
	out.Claims = append(k.Steady(),
		k.Spread(StepScale, n.SpreadText(), mesh.RuleScaleOut, mesh.RuleHardEnd, mesh.RuleGrowth),
		k.Reconnects(StepScale, fmt.Sprintf("%.2f 1/s throughout", n.Fleet().ReconnectRate()), mesh.RuleSteadyRate),
		k.Even(StepScale, n.EvenText(), mesh.RuleHardEnd),
		k.Back(p.Connections+p.Grow))
	out.Tables = []judge.Table{p.laws(), n.Table("the fleet after the scale-out")}
	return out, nil
}

func (p *Params) laws() judge.Table {
	s := mesh.ScaleOut{Connections: p.Connections, From: p.Replicas, To: p.To, Joining: p.Grow, Lifetime: p.Lifetime()}
	f := s.Fleet()
	life := p.Lifetime()
	rate, chance := controlplane.EquilibriumRows(f, " at the end")
	return controlplane.Laws(
		rate, chance,
		[2]string{"CoV when the new replicas are Ready", fmt.Sprintf("%.0f %%", 100*s.CoV(0))},
		[2]string{"and half a mean life later", fmt.Sprintf("%.0f %%", 100*s.CoV(life.Mean()/2))},
		[2]string{"nine in ten connections have chosen anew after", controlplane.Seconds(life.Shortest())},
		[2]string{"all of them after", controlplane.Seconds(life.Longest())},
	)
}
