// Package canarysizes is the scenario canary-sizes: an update walks its steps to the end,
// and at each the two ReplicaSets have the sizes that weight, setCanaryScale,
// minPodsPerReplicaSet, maxSurge and maxUnavailable give them.
package canarysizes

import (
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	canary.Params
	MaxSurge       int `json:"maxSurge" min:"-1" max:"200" doc:"pods above the replicas that the basic canary may have; -1 leaves it unset, that is 25 %"`
	MaxUnavailable int `json:"maxUnavailable" min:"-1" max:"200" doc:"pods below the replicas that the basic canary may lack; -1 leaves it unset, that is 25 %"`
}

// Scenario is canary-sizes.
type Scenario struct{ canary.Base }

var _ scenario.Scenario = Scenario{}

var _ canary.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-sizes" }

func (Scenario) Summary() string {
	return "how many pods each version has at each step of a canary update, with and without traffic routing"
}

func (Scenario) Defaults() any {
	p := &Params{Params: canary.DefaultParams(), MaxSurge: -1, MaxUnavailable: -1}
	p.MinPodsPerReplicaSet = 2
	p.Steps = rollback.Steps{rollback.SetWeight(5), canary.Pause(), rollback.SetWeight(50), canary.Pause()}
	return p
}

// Check also refuses bounds that let no pod go and none come.
func (Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if p.MaxSurge == 0 && p.MaxUnavailable == 0 {
		return scenario.Refuse("maxUnavailable", "is 0 and so is maxSurge: Argo Rollouts refuses the two together (pkg/apis/rollouts/validation/validation.go, v1.8.2)")
	}
	rules, _ := rollouts.RulesFor(versions[scenario.ArgoRollouts])
	if at := p.Course(rules).Trace().Final(); at.Available[canary.New] < at.Size[canary.New] {
		return scenario.Refuse("steps", "with %s and %d replicas the update does not come to rest", p.Steps, p.Replicas)
	}
	return nil
}

func (p *Params) spec() rollouts.Spec {
	spec := p.Model()
	if p.MaxSurge >= 0 {
		spec.MaxSurge = &p.MaxSurge
	}
	if p.MaxUnavailable >= 0 {
		spec.MaxUnavailable = &p.MaxUnavailable
	}
	return spec
}

// Rollout is the one under drill.
func (p *Params) Rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		if p.MaxSurge >= 0 {
			spec.Strategy.Canary.MaxSurge = new(intstr.FromInt32(int32(p.MaxSurge)))
		}
		if p.MaxUnavailable >= 0 {
			spec.Strategy.Canary.MaxUnavailable = new(intstr.FromInt32(int32(p.MaxUnavailable)))
		}
	}}
}

// Course walks the steps: each pause without end is promoted once its pods are there.
func (p *Params) Course(rules rollouts.Rules) *canary.Course {
	c := canary.NewCourse(rules, p.spec())
	c.Update()
	for range p.Steps {
		s := c.Machine.Status()
		if !s.Paused || s.Index >= len(p.Steps) {
			break
		}
		c.Command(fmt.Sprintf("promote past step %d", s.Index+1), rollouts.TurnPromote)
		c.Grow(fmt.Sprintf("v2 becomes ready after step %d", s.Index+1), canary.New)
	}
	return c
}

// Claims: sizes are those of every course.
func (*Params) Claims(canary.Key) []judge.Claim { return nil }
