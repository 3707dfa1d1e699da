// Package canary holds what the scenarios of a canary update share: a Rollout whose v1
// is stable goes on to v2, stops somewhere, and something happens to it. What happens is
// a course of moves. The model plays it first; the script makes the same moves on the
// real controller and waits for what the model says; claims say whether it came.
package canary

import (
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/rollback"
)

// The versions of the workload: v1 is stable when v2 comes.
const (
	Old = rollback.Old
	New = rollback.New
)

// Params are the parameters that the scenarios share.
type Params struct {
	Replicas             int               `json:"replicas" min:"0" max:"200" doc:"replicas of the Rollout"`
	MinPodsPerReplicaSet int               `json:"minPodsPerReplicaSet" min:"0" max:"200" doc:"least pods of a ReplicaSet that has any; 0 leaves it unset"`
	Steps                rollback.Steps    `json:"steps" doc:"canary steps as in a Rollout (setWeight, pause, setCanaryScale), or short: [20, pause forever]; the update stops at the first pause without end"`
	Routing              string            `json:"routing" enum:"services,subsets,none" doc:"what Istio tells the versions apart by: two Services, or two subsets of a DestinationRule; none is the basic canary, whose pods are its weights"`
	DynamicStableScale   bool              `json:"dynamicStableScale" doc:"scale the stable ReplicaSet with its share of the traffic"`
	Ramp                 scenario.Duration `json:"ramp" doc:"one more pod of a version becomes ready each"`
	Quiet                scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Pause is a pause without end, as a step.
func Pause() rollback.Step { return rollback.Step{Pause: &rollback.Pause{}} }

// DefaultParams is an update that goes to half of the traffic and waits.
func DefaultParams() Params {
	return Params{
		Replicas: 10, Routing: string(rollouts.RoutingServices),
		Steps: rollback.Steps{rollback.SetWeight(50), Pause()},
		Ramp:  scenario.Duration(500 * time.Millisecond), Quiet: scenario.Duration(10 * time.Second),
	}
}

// Check refuses what the controller would refuse, before anything starts.
func (p Params) Check() error {
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Steps.Check(); err != nil {
		return err
	}
	if p.basic() {
		if err := p.checkBasic(); err != nil {
			return err
		}
	}
	if p.Ramp < scenario.Duration(200*time.Millisecond) || p.Ramp > scenario.Duration(time.Minute) {
		return scenario.Refuse("ramp", "expected 200ms, which a controller on a busy machine still follows, to 1m, got %s", p.Ramp)
	}
	if p.Quiet < scenario.Duration(5*time.Second) || p.Quiet > scenario.Duration(time.Hour) {
		return scenario.Refuse("quiet", "expected 5s, which shows that nothing follows, to 1h, got %s", p.Quiet)
	}
	return nil
}

// base are the parameters as those of the rollback scenarios, whose objects these are.
func (p Params) base() rollback.Params {
	return rollback.Params{
		Replicas: p.Replicas, MinPodsPerReplicaSet: p.MinPodsPerReplicaSet, Steps: p.Steps, Routing: p.Routing,
		ScaleDownDelay: ScaleDownDelay, DynamicStableScale: p.DynamicStableScale, Quiet: p.Quiet,
	}
}

// ScaleDownDelay is scaleDownDelaySeconds of the Rollout: a version that was replaced
// goes as soon as it can.
const ScaleDownDelay = 1

// Model is the part of the Rollout that the model reads.
func (p Params) Model() rollouts.Spec { return p.base().Spec() }

// checkBasic follows the controller's own validation of a canary without traffic routing
// (pkg/apis/rollouts/validation/validation.go:286-333, v1.8.2).
func (p Params) checkBasic() error {
	if p.DynamicStableScale {
		return scenario.Refuse("dynamicStableScale", "does not go with routing: none, which always scales the stable ReplicaSet down")
	}
	for i, step := range p.Steps {
		if step.SetCanaryScale != nil {
			return scenario.Refuse(fmt.Sprintf("steps[%d].setCanaryScale", i), "does not go with routing: none, where pods are the weights")
		}
	}
	return nil
}

// basic says that there is no traffic routing.
func (p Params) basic() bool { return rollouts.Routing(p.Routing) == rollouts.RoutingNone }

func (p Params) bySubsets() bool { return rollouts.Routing(p.Routing) == rollouts.RoutingSubsets }

// A Rollout is one with these parameters and whatever else a scenario sets: Shape sets
// in the object what Spec, which the model reads, has beside Params.Model.
type Rollout struct {
	Params
	Spec  rollouts.Spec
	Shape func(*v1alpha1.RolloutSpec)
}
