// Package stalledupdate is the scenario stalled-update: pods of the new version
// never become ready. The update stops at exact sizes, is reported as stuck after
// its deadline, is never rolled back by itself, and comes back by `kubectl
// rollout undo`.
package stalledupdate

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	Ready      int               `json:"ready" min:"0" max:"2000" doc:"pods of the new version that become ready before the update stalls"`
	NoRollback scenario.Duration `json:"noRollback" doc:"how long after the deadline nothing may be rolled back"`
	Quiet      scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Scenario is stalled-update.
type Scenario struct{}

var (
	_ scenario.Scenario  = Scenario{}
	_ scenario.Exclusive = Scenario{}
)

func (Scenario) Name() string { return "stalled-update" }

func (Scenario) Summary() string {
	return "update to pods that never become ready: where does it stop, when is it reported, what does undo do?"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Guards() map[string]string { return workload.GuardNames() }

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	d := workload.DefaultDeployment(10)
	d.ProgressDeadlineSeconds = 10
	return &Params{Deployment: d, NoRollback: scenario.Duration(10 * time.Second), Quiet: workload.Quiet}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.Replicas == 0 {
		return scenario.Refuse("replicas", "an update without pods does not stall, expected at least 1")
	}
	if p.Ready >= p.Replicas {
		return scenario.Refuse("ready", "%d pods of %d make the update complete, expected fewer", p.Ready, p.Replicas)
	}
	return p.Deployment.Check()
}

// Exclusive says so for large Deployments.
func (Scenario) Exclusive(params any) bool { return workload.Crowd(params.(*Params).Replicas) }

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	deadline := time.Duration(p.ProgressDeadlineSeconds) * time.Second
	return 10*time.Second + workload.PodTime(2*p.Replicas) + deadline + p.NoRollback.Std() + p.Linger.Std() + p.Quiet.Std()
}
