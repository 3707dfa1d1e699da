package canarysizes

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
		"a floor that is capped, as in 1.10":       {"one-replica", "v1.9.2", "canary-sizes", func(r *rollouts.Rules) { r.MinPodsCappedToReplicas = true }},
		"a promotion with more pods, as in 1.9":    {"one-replica", "v1.8.3", "promotion", func(r *rollouts.Rules) { r.PromoteAtLeast = true }},
		"a floor above the replicas, as until 1.9": {"one-dynamic", "v1.10.1", "canary-sizes", func(r *rollouts.Rules) { r.MinPodsCappedToReplicas = false }},
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
		"the defaults":                 {func(*Params) {}, ""},
		"no room for any change":       {func(p *Params) { p.MaxSurge, p.MaxUnavailable = 0, 0 }, "maxUnavailable: is 0 and so is maxSurge: Argo Rollouts refuses the two together (pkg/apis/rollouts/validation/validation.go, v1.8.2)"},
		"an unknown routing":           {func(p *Params) { p.Routing = "non" }, `routing: "non" is unknown, expected services | subsets | none, did you mean "none"?`},
		"a scale without routing":      {func(p *Params) { p.Routing, p.Steps = "none", matched() }, "steps[0].setCanaryScale: does not go with routing: none, where pods are the weights"},
		"a dynamic scale without one":  {func(p *Params) { p.Routing, p.DynamicStableScale = "none", true }, "dynamicStableScale: does not go with routing: none, which always scales the stable ReplicaSet down"},
		"a surge that is out of range": {func(p *Params) { p.MaxSurge = -2 }, "maxSurge: -2 is too small, expected -1 to 200"},
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
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.MaxSurge = rapid.IntRange(-1, 3).Draw(rt, "surge")
			p.MaxUnavailable = rapid.IntRange(-1, 3).Draw(rt, "unavailable")
			p.Steps = rapid.SampledFrom([]rollback.Steps{{}, {rollback.SetWeight(100)}, {canary.Pause()}, matched(), {rollback.SetWeight(30), canary.Pause(), rollback.SetWeight(10), canary.Pause()}}).Draw(rt, "steps")
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
