package canarypromote

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// cells are parameters that reach all branches of the prediction.
func cells() map[string]*Params {
	out := map[string]*Params{}
	add := func(name string, change func(*Params)) {
		p := Scenario{}.Defaults().(*Params)
		change(p)
		out[name] = p
	}
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

func family() canarytest.Family {
	f := canarytest.Family{
		Scenario: Scenario{}, Cells: map[string]any{},
		Course: func(params any, rules rollouts.Rules) (canary.Params, *canary.Course) {
			p := params.(*Params)
			return p.Params, p.course(rules)
		},
		Predict: func(params any, rules rollouts.Rules) judge.Prediction {
			return params.(*Params).predict(rules, "v1.8.2", true, nil)
		},
	}
	for name, p := range cells() {
		f.Cells[name] = p
	}
	return f
}

func TestAnswerKeys(t *testing.T) {
	t.Parallel()
	family().Keys(t)
}

func TestWhatTheModelDoesIsWhatItPredicts(t *testing.T) {
	t.Parallel()
	family().Acts(t)
}

// TestAWrongModelIsCaught alters one rule and holds what the true one does against it.
func TestAWrongModelIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cell, version, claim string
		alter                func(*rollouts.Rules)
	}{
		"no subset guard, as in 1.7": {"subsets-scaling-promote", "v1.9.2", "exposure", func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardNone }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			family().Catches(t, c.cell, c.version, c.claim, c.alter)
		})
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Params)
		want   string
	}{
		"the defaults":              {func(*Params) {}, ""},
		"no pods":                   {func(p *Params) { p.Replicas = 0 }, "replicas: expected at least 1: without pods there is nothing to promote"},
		"no steps":                  {func(p *Params) { p.Steps = rollback.Steps{} }, "steps: expected at least one: without steps an update promotes itself"},
		"no pause":                  {func(p *Params) { p.Steps = rollback.Steps{rollback.SetWeight(20)} }, "steps: [20] has no pause without end to send the command in or after"},
		"no pause, but no need":     {func(p *Params) { p.Steps, p.When = rollback.Steps{rollback.SetWeight(20)}, WhenNoPods }, ""},
		"a last step without pods":  {func(p *Params) { p.When, p.Replicas = WhenScaling, 2 }, "when: scaling wants a step after the first pause that adds two pods at least; with [20, pause forever, 60, pause forever] and 2 replicas it adds 1"},
		"a delay that is over soon": {func(p *Params) { p.AbortDelay = 4 }, "abortScaleDownDelaySeconds: 4 is too small, expected 5 to 600"},
		"an unknown command":        {func(p *Params) { p.Command = "full" }, `command: "full" is unknown, expected promote | promote-full | skip-step | skip-all`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Scenario{}.Defaults().(*Params)
			c.change(p)
			err := (Scenario{}).Check(p, map[string]string{scenario.ArgoRollouts: "v1.8.2"})
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
				t.Errorf("error %s, want %q", got, c.want)
			}
		})
	}
}

// TestWhatIsAcceptedCanBeJudged: whatever Check accepts has an answer key that can be judged.
func TestWhatIsAcceptedCanBeJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := Scenario{}.Defaults().(*Params)
		p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
		p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
		p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
		p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
		p.Command = rapid.SampledFrom([]string{"promote", "promote-full", "skip-step", "skip-all"}).Draw(rt, "command")
		p.When = rapid.SampledFrom([]string{WhenPaused, WhenScaling, WhenNoPods, WhenAborted}).Draw(rt, "when")
		p.Steps = rapid.SampledFrom([]rollback.Steps{p.Steps, {canary.Pause()}, {canary.Pause(), rollback.SetWeight(100)}, {rollback.SetWeight(100), canary.Pause()}}).Draw(rt, "steps")
		version := rapid.SampledFrom(canarytest.Versions).Draw(rt, "version")
		if (Scenario{}).Check(p, map[string]string{scenario.ArgoRollouts: version}) != nil {
			return
		}
		keytest.ReadsDefinedSeries(t, fmt.Sprintf("%+v on %s", p, version), canarytest.Predict(t, Scenario{}, p, version))
	})
}
