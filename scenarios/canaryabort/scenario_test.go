package canaryabort

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

// ladder goes up in three steps and waits at the top.
var ladder = rollback.Steps{rollback.SetWeight(20), rollback.SetWeight(50), rollback.SetWeight(80), canary.Pause()}

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"defaults":                      func(*Params) {},
	"unset":                         func(p *Params) { p.AbortDelay = -1 },
	"zero":                          func(p *Params) { p.AbortDelay = 0 },
	"zero-with-scale-first":         func(p *Params) { p.AbortDelay, p.Steps = 0, scaleFirst() },
	"stable-missing":                func(p *Params) { p.StableMissing = 1 },
	"stable-missing-subsets":        func(p *Params) { p.StableMissing, p.Routing = 1, "subsets" },
	"canary-missing-subsets":        func(p *Params) { p.CanaryMissing, p.Routing = 3, "subsets" },
	"retry-after":                   func(p *Params) { p.Retry = RetryAfter },
	"retry-at-once-and-abort-again": func(p *Params) { p.Retry, p.Again, p.AbortDelay = RetryAtOnce, true, 10 },
	"dynamic":                       func(p *Params) { p.DynamicStableScale, p.AbortDelay, p.Steps = true, -1, ladder },
	"dynamic-delay":                 func(p *Params) { p.DynamicStableScale, p.Steps = true, ladder },
	"dynamic-delay-retry-after":     func(p *Params) { p.DynamicStableScale, p.Steps, p.Retry = true, ladder, RetryAfter },
	"dynamic-retry-at-once":         func(p *Params) { p.DynamicStableScale, p.AbortDelay, p.Steps, p.Retry = true, -1, ladder, RetryAtOnce },
	"dynamic-min-pods":              func(p *Params) { minPods(p) },
	"dynamic-subsets":               func(p *Params) { p.DynamicStableScale, p.AbortDelay, p.Steps, p.Routing = true, -1, ladder, "subsets" },
	"dynamic-zero":                  func(p *Params) { p.DynamicStableScale, p.AbortDelay, p.Steps = true, 0, ladder },
	"basic":                         func(p *Params) { p.Routing = "none" },
	"dynamic-stable-missing":        func(p *Params) { p.DynamicStableScale, p.AbortDelay, p.Steps, p.StableMissing = true, -1, ladder, 1 },
}

func scaleFirst() rollback.Steps {
	three := 3
	return rollback.Steps{{SetCanaryScale: &rollback.CanaryScale{Replicas: &three}}, rollback.SetWeight(30), canary.Pause()}
}

// minPods is the public report of an abort that parks at the lowest step.
func minPods(p *Params) {
	p.DynamicStableScale, p.AbortDelay, p.MinPodsPerReplicaSet = true, -1, 3
	p.Steps = rollback.Steps{rollback.SetWeight(5), rollback.SetWeight(50), canary.Pause()}
}

func params(change func(*Params)) *Params {
	p := Scenario{}.Defaults().(*Params)
	change(p)
	return p
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
	for name, change := range cells {
		f.Cells[name] = params(change)
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
		"no stable guard, as in 1.7":       {"stable-missing", "v1.8.2", "abort-weights", func(r *rollouts.Rules) { r.StableGuard = false }},
		"no ladder, as in 1.8":             {"dynamic", "v1.9.2", "weights", func(r *rollouts.Rules) { r.AbortLadder = false }},
		"a ladder that gets stuck":         {"dynamic-delay", "v1.8.3", "final-weight", func(r *rollouts.Rules) { r.AbortLadder = true }},
		"a subset guard that lets it pass": {"canary-missing-subsets", "v1.8.2", "abort-weights", func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardSkip }},
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
		"the defaults":                {func(*Params) {}, ""},
		"no pods":                     {func(p *Params) { p.Replicas = 0 }, "replicas: expected at least 1: without pods there is nothing to abort"},
		"too many pods":               {func(p *Params) { p.Replicas = 201 }, "replicas: 201 is too large, expected 0 to 200"},
		"an update that never stops":  {func(p *Params) { p.Steps = rollback.Steps{rollback.SetWeight(50)} }, "steps: [50] never stops, so nothing is left to abort; expected a pause without end"},
		"more missing than there are": {func(p *Params) { p.StableMissing = 11 }, "stableMissing: 11 is more than the 10 pods that v1 has when the abort comes"},
		"more of the canary missing":  {func(p *Params) { p.CanaryMissing = 6 }, "canaryMissing: 6 is more than the 5 pods that v2 has when the abort comes"},
		"a retry after the delay":     {func(p *Params) { p.Retry = RetryAtOnce }, "abortScaleDownDelaySeconds: 5 s are too short to retry in, expected at least 10"},
		"again without a retry":       {func(p *Params) { p.Again = true }, "again: wants a retry, expected retry: at-once or after"},
		"a short quiet":               {func(p *Params) { p.Quiet = 1e9 }, "quiet: expected 5s, which shows that nothing follows, to 1h, got 1s"},
		"a ramp nobody follows":       {func(p *Params) { p.Ramp = 1e6 }, "ramp: expected 200ms, which a controller on a busy machine still follows, to 1m, got 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (Scenario{}).Check(params(c.change), map[string]string{scenario.ArgoRollouts: "v1.8.2"})
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
				t.Errorf("error %s, want %q", got, c.want)
			}
		})
	}
}

// TestWhatIsAcceptedCanBeJudged: whatever Check accepts has a course with steps of
// different names, and an answer key that can be judged.
func TestWhatIsAcceptedCanBeJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := params(func(p *Params) {
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.AbortDelay = rapid.SampledFrom([]int{-1, 0, 10}).Draw(rt, "delay")
			p.StableMissing = rapid.IntRange(0, 3).Draw(rt, "stableMissing")
			p.CanaryMissing = rapid.IntRange(0, 3).Draw(rt, "canaryMissing")
			p.Retry = rapid.SampledFrom([]string{RetryNone, RetryAtOnce, RetryAfter}).Draw(rt, "retry")
			p.Again = rapid.Bool().Draw(rt, "again")
			p.Steps = rapid.SampledFrom([]rollback.Steps{ladder, scaleFirst(), {rollback.SetWeight(100), canary.Pause()}, {canary.Pause()}}).Draw(rt, "steps")
		})
		version := rapid.SampledFrom(canarytest.Versions).Draw(rt, "version")
		if (Scenario{}).Check(p, map[string]string{scenario.ArgoRollouts: version}) != nil {
			return
		}
		rules, _ := rollouts.RulesFor(version)
		seen := map[string]bool{}
		for _, leg := range p.course(rules).Legs {
			if seen[leg.Name] {
				rt.Fatalf("two steps %q", leg.Name)
			}
			seen[leg.Name] = true
		}
		keytest.ReadsDefinedSeries(t, fmt.Sprintf("%+v on %s", p, version), canarytest.Predict(t, Scenario{}, p, version))
	})
}
