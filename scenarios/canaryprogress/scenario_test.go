package canaryprogress

import (
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// half goes to half of the traffic, and then to all of it.
var half = rollback.Steps{rollback.SetWeight(50)}

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"defaults":            func(*Params) {},
	"abort":               func(p *Params) { p.DeadlineAbort = true },
	"abort-without-a-pod": func(p *Params) { p.DeadlineAbort, p.Ready = true, 0 },
	"abort-by-subsets":    func(p *Params) { p.DeadlineAbort, p.Routing = true, "subsets" },
	"abort-dynamic":       func(p *Params) { p.DeadlineAbort, p.DynamicStableScale = true, true },
	"abort-basic":         func(p *Params) { p.DeadlineAbort, p.Routing, p.Ready = true, "none", 2 },
	"all-ready":           func(p *Params) { p.Ready = 5 },
	"pods":                func(p *Params) { p.Threshold, p.Enough = ThresholdPods, 2 },
	"pods-to-the-end":     func(p *Params) { p.Threshold, p.Enough, p.Steps = ThresholdPods, 2, half },
	"percent":             func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 60 },
	"percent-to-the-end":  func(p *Params) { p.Threshold, p.Enough, p.Steps, p.Ready = ThresholdPercent, 50, half, 5 },
	"percent-of-too-few":  func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 80 },
	"no-pods-are-enough":  func(p *Params) { p.Threshold, p.Enough, p.Ready, p.Steps = ThresholdPods, 0, 0, half },
	"fewer-than-min-pods": func(p *Params) { p.Replicas, p.MinPodsPerReplicaSet, p.Ready = 1, 2, 0 },
}

func TestScenario(t *testing.T) {
	t.Parallel()
	canarytest.Family[*Params]{
		Scenario: Scenario{}, Cells: cells,
		Wrong: map[string]canarytest.Wrong{
			"a threshold, as in 1.9":  {Cell: "pods-to-the-end", Version: "v1.8.3", Claim: "some-pods-of-v2-become-ready-weights", Alter: func(r *rollouts.Rules) { r.ProgressThreshold = true }},
			"no threshold, as in 1.8": {Cell: "pods", Version: "v1.9.2", Claim: "weights", Alter: func(r *rollouts.Rules) { r.ProgressThreshold = false }},
		},
		On: "v1.9.2",
		Refused: map[string]canarytest.Refused[*Params]{
			"the defaults":                    {Change: func(*Params) {}, Says: ""},
			"more ready than wanted":          {Change: func(p *Params) { p.Ready = 6 }, Says: "ready: 6 is more than the 5 pods that v2 has in its first step"},
			"more than there are":             {Change: func(p *Params) { p.Ready = 11 }, Says: "ready: 11 is more than the 10 replicas"},
			"more than all pods":              {Change: func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 101 }, Says: "enough: 101 % is more than all pods"},
			"a deadline that is over at once": {Change: func(p *Params) { p.Deadline = 5 }, Says: "progressDeadlineSeconds: 5 is too small, expected 6 to 600"},
		},
		Draw: func(rt *rapid.T, p *Params) {
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.DeadlineAbort = rapid.Bool().Draw(rt, "abort")
			p.Ready = rapid.IntRange(0, 6).Draw(rt, "ready")
			p.Threshold = rapid.SampledFrom([]string{ThresholdNone, ThresholdPods, ThresholdPercent}).Draw(rt, "threshold")
			p.Enough = rapid.IntRange(0, 100).Draw(rt, "enough")
			p.Steps = rapid.SampledFrom([]rollback.Steps{{}, half, {canary.Pause()}, {rollback.SetWeight(30), canary.Pause(), rollback.SetWeight(60)}}).Draw(rt, "steps")
		},
	}.Test(t)
}
