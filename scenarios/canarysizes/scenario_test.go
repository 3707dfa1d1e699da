package canarysizes

import (
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"defaults":       func(*Params) {},
	"one-replica":    func(p *Params) { p.Replicas = 1 }, // fewer than minPodsPerReplicaSet
	"no-replicas":    func(p *Params) { p.Replicas = 0 },
	"one-dynamic":    func(p *Params) { p.Replicas, p.DynamicStableScale = 1, true },
	"dynamic":        func(p *Params) { p.DynamicStableScale = true },
	"scale-replicas": func(p *Params) { p.Steps = scaled(scale(func(c *rollback.CanaryScale) { c.Replicas = new(1) })) },
	"scale-weight":   func(p *Params) { p.Steps = scaled(scale(func(c *rollback.CanaryScale) { c.Weight = new(30) })) },
	"scale-match":    func(p *Params) { p.Steps = matched() },
	"scale-dynamic": func(p *Params) {
		p.DynamicStableScale, p.Steps = true, scaled(scale(func(c *rollback.CanaryScale) { c.Replicas = new(1) }))
	},
	"subsets":             func(p *Params) { p.Routing = "subsets" },
	"basic":               func(p *Params) { p.Routing = "none" },
	"basic-no-surge":      func(p *Params) { p.Routing, p.MaxSurge, p.MaxUnavailable = "none", 0, 1 },
	"basic-surge-only":    func(p *Params) { p.Routing, p.MaxSurge, p.MaxUnavailable = "none", 3, 0 },
	"basic-one":           func(p *Params) { p.Routing, p.Replicas, p.MaxSurge, p.MaxUnavailable = "none", 1, 0, 1 },
	"basic-one-surge":     func(p *Params) { p.Routing, p.Replicas, p.MaxSurge, p.MaxUnavailable = "none", 1, 1, 0 },
	"basic-none":          func(p *Params) { p.Routing, p.Replicas = "none", 0 },
	"routed-with-a-surge": func(p *Params) { p.Replicas, p.MaxSurge, p.MaxUnavailable = 20, 2, 0 },
}

func scale(set func(*rollback.CanaryScale)) rollback.Step {
	c := &rollback.CanaryScale{}
	set(c)
	return rollback.Step{SetCanaryScale: c}
}

func scaled(first rollback.Step) rollback.Steps {
	return rollback.Steps{first, canary.Pause(), rollback.SetWeight(40), canary.Pause()}
}

// matched gives the canary three pods at a weight that wants four, and then the weight's.
func matched() rollback.Steps {
	match := scale(func(c *rollback.CanaryScale) { c.MatchTrafficWeight = true })
	three := scale(func(c *rollback.CanaryScale) { c.Replicas = new(3) })
	return rollback.Steps{three, rollback.SetWeight(40), canary.Pause(), match, canary.Pause()}
}

func TestScenario(t *testing.T) {
	t.Parallel()
	canarytest.Family[*Params]{
		Scenario: Scenario{}, Cells: cells,
		Wrong: map[string]canarytest.Wrong{
			"a floor that is capped, as in 1.10":       {Cell: "one-replica", Version: "v1.9.2", Claim: "canary-sizes", Alter: func(r *rollouts.Rules) { r.MinPodsCappedToReplicas = true }},
			"a promotion with more pods, as in 1.9":    {Cell: "one-replica", Version: "v1.8.3", Claim: "promotion", Alter: func(r *rollouts.Rules) { r.PromoteAtLeast = true }},
			"a floor above the replicas, as until 1.9": {Cell: "one-dynamic", Version: "v1.10.1", Claim: "canary-sizes", Alter: func(r *rollouts.Rules) { r.MinPodsCappedToReplicas = false }},
		},
		On: "v1.8.2",
		Refused: map[string]canarytest.Refused[*Params]{
			"the defaults":                 {Change: func(*Params) {}, Says: ""},
			"no room for any change":       {Change: func(p *Params) { p.MaxSurge, p.MaxUnavailable = 0, 0 }, Says: "maxUnavailable: is 0 and so is maxSurge: Argo Rollouts refuses the two together (pkg/apis/rollouts/validation/validation.go, v1.8.2)"},
			"an unknown routing":           {Change: func(p *Params) { p.Routing = "non" }, Says: `routing: "non" is unknown, expected services | subsets | none, did you mean "none"?`},
			"a scale without routing":      {Change: func(p *Params) { p.Routing, p.Steps = "none", matched() }, Says: "steps[0].setCanaryScale: does not go with routing: none, where pods are the weights"},
			"a dynamic scale without one":  {Change: func(p *Params) { p.Routing, p.DynamicStableScale = "none", true }, Says: "dynamicStableScale: does not go with routing: none, which always scales the stable ReplicaSet down"},
			"a surge that is out of range": {Change: func(p *Params) { p.MaxSurge = -2 }, Says: "maxSurge: -2 is too small, expected -1 to 200"},
		},
		Draw: func(rt *rapid.T, p *Params) {
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.MaxSurge = rapid.IntRange(-1, 3).Draw(rt, "surge")
			p.MaxUnavailable = rapid.IntRange(-1, 3).Draw(rt, "unavailable")
			p.Steps = rapid.SampledFrom([]rollback.Steps{{}, {rollback.SetWeight(100)}, {canary.Pause()}, matched(), {rollback.SetWeight(30), canary.Pause(), rollback.SetWeight(10), canary.Pause()}}).Draw(rt, "steps")
		},
	}.Test(t)
}
