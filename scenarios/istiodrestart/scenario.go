// Package istiodrestart is the scenario istiod-restart: every replica of istiod is
// replaced, as a rollout restart or an upgrade does. Every connection moves, and those
// that moved together end together.
package istiodrestart

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/mod/semver"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/controlplane"
)

// Params are the scenario's parameters.
type Params struct {
	controlplane.Fleet
	To       string      `json:"to" doc:"version of istiod that takes the place of the cell's, a release or directory@release; empty: the same again"`
	MaxSurge share.Share `json:"maxSurge" doc:"how many replicas there may be beyond the others while they are replaced, a number or a percentage, rounded up; the chart's default is 100%"`
}

// StepRestart is the stimulus.
const StepRestart = "restart istiod"

// Scenario is istiod-restart.
type Scenario struct{ controlplane.Base }

var (
	_ scenario.Scenario = Scenario{}
	_ scenario.Upgrader = Scenario{}
)

func (Scenario) Name() string { return "istiod-restart" }

func (Scenario) Summary() string {
	return "replace every replica of istiod: how long are proxies without a control plane, and what comes back an age later?"
}

func (Scenario) Needs(params any) cluster.Capabilities { return params.(*Params).Fleet.Needs() }

func (Scenario) Defaults() any {
	return &Params{Fleet: controlplane.DefaultFleet(4, 300), MaxSurge: share.Share{Value: 100, Percent: true}}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if v := scenario.ModelVersion(p.To); p.To != "" && !semver.IsValid(v) {
		return scenario.Refuse("to", "%q is no version, expected one that `reckon build --list` has, or directory@version", p.To)
	}
	if p.MaxSurge.Value < 1 {
		return scenario.Refuse("maxSurge", "%s lets no replica begin before another has gone, and none goes before: expected at least one replica", p.MaxSurge)
	}
	return p.Fleet.Check()
}

// Releases are the cell's own and the one that takes its place.
func (Scenario) Releases(params any) map[string][]string {
	p := params.(*Params)
	if p.To == "" {
		return nil
	}
	return map[string][]string{scenario.Istiod: {"", p.To}}
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	batches := (p.Replicas + p.surge() - 1) / p.surge()
	return time.Duration(batches)*controlplane.Start + p.Fleet.Expected(p.settled())
}

// surge is in replicas.
func (p *Params) surge() int { return max(1, min(p.Replicas, p.MaxSurge.Of(p.Replicas, true))) }

// events are those of the model: a replica goes when another is Ready.
func (p *Params) events() []mesh.Event {
	return mesh.Restart{Replicas: p.Replicas, Batch: p.surge(), ReadyAfter: controlplane.Start, How: controlplane.Departure(controlplane.SIGTERM)}.Events()
}

// settled is how long the fleet is watched: until the echo of the restart is over.
func (p *Params) settled() time.Duration { return p.Lifetime().Longest() + echoTail }

// echoTail is what the echo comes later than a life: the time in which the proxies
// were cut and found another replica.
const echoTail = 25 * time.Second

// Script replaces all replicas and watches for an age.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	return p.Fleet.Script(ctx, st, controlplane.Stimulus{
		Step: StepRestart, Replicas: p.Replicas, Settled: p.settled(),
		Do: func(ctx context.Context, st *stage.Stage) error {
			spec := p.Istiod()
			spec.Version = p.To
			return st.ControlPlane.Restart(ctx, spec, p.surge())
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
	typical, longest := n.OutageTexts()
	out := k.Prediction(in.Guards)
	out.Claims = append(k.Steady(),
		k.Spread(StepRestart, n.SpreadText(), mesh.RuleTerm, mesh.RuleChoice),
		k.Reconnects(StepRestart, n.RateText(p.Lifetime().Shortest()), mesh.RuleTerm, mesh.RuleEcho),
		k.Even(StepRestart, n.EvenText(), mesh.RuleHardEnd))
	out.Claims = append(out.Claims, k.Outages(typical, longest)...)
	out.Claims = append(out.Claims, k.Back(p.Connections))
	out.Tables = []judge.Table{p.laws(), n.Table("the fleet after the restart")}
	return out, nil
}

func (p *Params) laws() judge.Table {
	f := mesh.Fleet{Connections: p.Connections, Replicas: p.Replicas, Lifetime: p.Lifetime()}
	from, to := p.Lifetime().Wave(1)
	half, _ := p.Lifetime().HalfLife()
	rate, chance := controlplane.EquilibriumRows(f, "")
	return controlplane.Laws(
		rate, chance,
		[2]string{"replicas replaced at once", fmt.Sprintf("%d of %d", p.surge(), p.Replicas)},
		[2]string{"connections that move", fmt.Sprintf("all %d, those of early replicas to such as go later more than once", p.Connections)},
		[2]string{"the echo, after a connection was made", fmt.Sprintf("%.1f to %.1f s", from.Seconds(), to.Seconds())},
		[2]string{"of the herd is left, an age later", fmt.Sprintf("%.1f %%", 100*p.Lifetime().Harmonic())},
		[2]string{"half of it after", half.Round(time.Second).String()},
	)
}
