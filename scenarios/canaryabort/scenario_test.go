package canaryabort

import (
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/rollouts"
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

func TestScenario(t *testing.T) {
	t.Parallel()
	canarytest.Family[*Params]{
		Scenario: Scenario{}, Cells: cells,
		Wrong: map[string]canarytest.Wrong{
			"no stable guard, as in 1.7":       {Cell: "stable-missing", Version: "v1.8.2", Claim: "abort-weights", Alter: func(r *rollouts.Rules) { r.StableGuard = false }},
			"no ladder, as in 1.8":             {Cell: "dynamic", Version: "v1.9.2", Claim: "weights", Alter: func(r *rollouts.Rules) { r.AbortLadder = false }},
			"a ladder that gets stuck":         {Cell: "dynamic-delay", Version: "v1.8.3", Claim: "final-weight", Alter: func(r *rollouts.Rules) { r.AbortLadder = true }},
			"a subset guard that lets it pass": {Cell: "canary-missing-subsets", Version: "v1.8.2", Claim: "abort-weights", Alter: func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardSkip }},
		},
		On: "v1.8.2",
		Refused: map[string]canarytest.Refused[*Params]{
			"the defaults":                {Change: func(*Params) {}, Says: ""},
			"no pods":                     {Change: func(p *Params) { p.Replicas = 0 }, Says: "replicas: expected at least 1: without pods there is nothing to abort"},
			"too many pods":               {Change: func(p *Params) { p.Replicas = 201 }, Says: "replicas: 201 is too large, expected 0 to 200"},
			"an update that never stops":  {Change: func(p *Params) { p.Steps = rollback.Steps{rollback.SetWeight(50)} }, Says: "steps: [50] never stops, so nothing is left to abort; expected a pause without end"},
			"more missing than there are": {Change: func(p *Params) { p.StableMissing = 11 }, Says: "stableMissing: 11 is more than the 10 pods that v1 has when the abort comes"},
			"more of the canary missing":  {Change: func(p *Params) { p.CanaryMissing = 6 }, Says: "canaryMissing: 6 is more than the 5 pods that v2 has when the abort comes"},
			"a retry after the delay":     {Change: func(p *Params) { p.Retry = RetryAtOnce }, Says: "abortScaleDownDelaySeconds: 5 s are too short to retry in, expected at least 10"},
			"again without a retry":       {Change: func(p *Params) { p.Again = true }, Says: "again: wants a retry, expected retry: at-once or after"},
			"a short quiet":               {Change: func(p *Params) { p.Quiet = 1e9 }, Says: "quiet: expected 5s, which shows that nothing follows, to 1h, got 1s"},
			"a ramp nobody follows":       {Change: func(p *Params) { p.Ramp = 1e6 }, Says: "ramp: expected 200ms, which a controller on a busy machine still follows, to 1m, got 1ms"},
		},
		Draw: func(rt *rapid.T, p *Params) {
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
		},
	}.Test(t)
}
