package canarypromote

import (
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// cells are parameters that reach all branches of the prediction.
func cells() map[string]func(*Params) {
	out := map[string]func(*Params){}
	add := func(name string, change func(*Params)) { out[name] = change }
	for _, when := range []string{WhenPaused, WhenScaling, WhenNoPods, WhenAborted} {
		for command := range commands {
			add(when+"-"+command, func(p *Params) { p.When, p.Command = when, command })
		}
	}
	for _, command := range []string{"promote", "promote-full"} {
		add("dynamic-"+command, func(p *Params) { p.DynamicStableScale, p.Command = true, command })
		add("dynamic-scaling-"+command, func(p *Params) { p.DynamicStableScale, p.When, p.Command = true, WhenScaling, command })
		add("subsets-scaling-"+command, func(p *Params) { p.Routing, p.When, p.Command = "subsets", WhenScaling, command })
		add("basic-"+command, func(p *Params) { p.Routing, p.Command = "none", command })
	}
	add("one-replica-full", func(p *Params) {
		two := 2
		p.Replicas, p.DynamicStableScale, p.Command = 1, true, "promote-full"
		p.Steps = rollback.Steps{{SetCanaryScale: &rollback.CanaryScale{Replicas: &two}}, canary.Pause()}
	})
	return out
}

func TestScenario(t *testing.T) {
	t.Parallel()
	canarytest.Family[*Params]{
		Scenario: Scenario{}, Cells: cells(),
		Wrong: map[string]canarytest.Wrong{
			"no subset guard, as in 1.7": {Cell: "subsets-scaling-promote", Version: "v1.9.2", Claim: "exposure", Alter: func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardNone }},
		},
		On: "v1.8.2",
		Refused: map[string]canarytest.Refused[*Params]{
			"the defaults":              {Change: func(*Params) {}, Says: ""},
			"no pods":                   {Change: func(p *Params) { p.Replicas = 0 }, Says: "replicas: expected at least 1: without pods there is nothing to promote"},
			"no steps":                  {Change: func(p *Params) { p.Steps = rollback.Steps{} }, Says: "steps: expected at least one: without steps an update promotes itself"},
			"no pause":                  {Change: func(p *Params) { p.Steps = rollback.Steps{rollback.SetWeight(20)} }, Says: "steps: [20] has no pause without end to send the command in or after"},
			"no pause, but no need":     {Change: func(p *Params) { p.Steps, p.When = rollback.Steps{rollback.SetWeight(20)}, WhenNoPods }, Says: ""},
			"a last step without pods":  {Change: func(p *Params) { p.When, p.Replicas = WhenScaling, 2 }, Says: "when: scaling wants a step after the first pause that adds two pods at least; with [20, pause forever, 60, pause forever] and 2 replicas it adds 1"},
			"a delay that is over soon": {Change: func(p *Params) { p.AbortDelay = 4 }, Says: "abortScaleDownDelaySeconds: 4 is too small, expected 5 to 600"},
			"an unknown command":        {Change: func(p *Params) { p.Command = "full" }, Says: `command: "full" is unknown, expected promote | promote-full | skip-step | skip-all`},
		},
		Draw: func(rt *rapid.T, p *Params) {
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.Command = rapid.SampledFrom([]string{"promote", "promote-full", "skip-step", "skip-all"}).Draw(rt, "command")
			p.When = rapid.SampledFrom([]string{WhenPaused, WhenScaling, WhenNoPods, WhenAborted}).Draw(rt, "when")
			p.Steps = rapid.SampledFrom([]rollback.Steps{p.Steps, {canary.Pause()}, {canary.Pause(), rollback.SetWeight(100)}, {rollback.SetWeight(100), canary.Pause()}}).Draw(rt, "steps")
		},
	}.Test(t)
}
