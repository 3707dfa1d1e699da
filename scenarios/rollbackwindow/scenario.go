// Package rollbackwindow is the scenario rollback-window: a canary Rollout is
// rolled back to a version whose ReplicaSet is at 0, inside rollbackWindow.
package rollbackwindow

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	rollback.Params
}

// Scenario is rollback-window.
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "rollback-window" }

func (Scenario) Summary() string {
	return "roll a canary back inside its rollbackWindow: how much traffic do the first pods get?"
}

func (Scenario) Needs(any) cluster.Capabilities { return rollback.Needs() }

// MostPods is both versions at full size.
func (Scenario) MostPods(params any) int { return params.(*Params).Params.MostPods() }

func (Scenario) Components(on cluster.Capabilities) []string { return rollback.Components(on) }

func (Scenario) Defaults() any { return &Params{Params: rollback.DefaultParams()} }

func (Scenario) Guards() map[string]string { return rollback.GuardNames() }

func (Scenario) Check(params any, versions map[string]string) error {
	return params.(*Params).Params.Check(versions[scenario.ArgoRollouts])
}

func (Scenario) Expected(params any) time.Duration { return params.(*Params).Params.Expected() }

// Predict plays the rollback on the model of the version.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p, version := in.Params.(*Params), in.Versions[scenario.ArgoRollouts]
	trace, _, known := p.Model(version, rollouts.RollbackOptions{})
	return p.Params.Predict(trace, version, known, in), nil
}
