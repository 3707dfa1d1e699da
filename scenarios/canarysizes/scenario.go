// Package canarysizes is the scenario canary-sizes: an update walks its steps to the end,
// and at each the two ReplicaSets have the sizes that weight, setCanaryScale,
// minPodsPerReplicaSet, maxSurge and maxUnavailable give them.
package canarysizes

import (
	"context"
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
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
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "canary-sizes" }

func (Scenario) Summary() string {
	return "how many pods each version has at each step of a canary update, with and without traffic routing"
}

func (Scenario) Needs(any) cluster.Capabilities { return canary.Needs() }

func (Scenario) Components(on cluster.Capabilities) []string { return canary.Components(on) }

func (Scenario) Defaults() any {
	p := &Params{Params: canary.DefaultParams(), MaxSurge: -1, MaxUnavailable: -1}
	p.MinPodsPerReplicaSet = 2
	p.Steps = rollback.Steps{rollback.SetWeight(5), canary.Pause(), rollback.SetWeight(50), canary.Pause()}
	return p
}

func (Scenario) Guards() map[string]string { return canary.GuardNames() }

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
	if at := p.course(rules).Trace().Final(); at.Available[canary.New] < at.Size[canary.New] {
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

// rollout is the Rollout under drill.
func (p *Params) rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		if p.MaxSurge >= 0 {
			spec.Strategy.Canary.MaxSurge = new(intstr.FromInt32(int32(p.MaxSurge)))
		}
		if p.MaxUnavailable >= 0 {
			spec.Strategy.Canary.MaxUnavailable = new(intstr.FromInt32(int32(p.MaxUnavailable)))
		}
	}}
}

// course walks the steps: each pause without end is promoted once its pods are there.
func (p *Params) course(rules rollouts.Rules) *canary.Course {
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

// Expected adds up what a run takes.
func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	return canary.Expected(p.Params, p.course(rollouts.RulesForGroup(rollouts.Group110)))
}

// Predict plays the course on the model of the version.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p, version := in.Params.(*Params), in.Versions[scenario.ArgoRollouts]
	rules, known := rollouts.RulesFor(version)
	return p.predict(rules, version, known, in.Guards), nil
}

func (p *Params) predict(rules rollouts.Rules, version string, known bool, guards map[string]float64) judge.Prediction {
	return canary.NewKey(p.Params, p.course(rules)).Prediction(version, known, guards)
}

// Script makes the moves on the controller.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	rules, _ := rollouts.RulesFor(st.Versions[scenario.ArgoRollouts])
	return canary.Run(ctx, p.rollout(), p.course(rules), st)
}
