// Package autoscaledupdate is the scenario autoscaled-update: a Deployment under a
// HorizontalPodAutoscaler is updated while every pod uses the same, and nothing but
// the update's surge changes the number of pods.
package autoscaledupdate

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/workload"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	MinReplicas int               `json:"minReplicas" min:"1" max:"100" doc:"least replicas of the autoscaler"`
	MaxReplicas int               `json:"maxReplicas" min:"1" max:"100" doc:"most replicas of the autoscaler"`
	Usage       int               `json:"usage" min:"1" max:"1000" doc:"what each pod uses, always, in percent of the autoscaler's target"`
	Startup     scenario.Duration `json:"startup" doc:"how long a new pod runs, and has a metric, before it is ready"`
	Quiet       scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Scenario is autoscaled-update.
type Scenario struct{}

var (
	_ scenario.Scenario   = Scenario{}
	_ scenario.Exclusive  = Scenario{}
	_ scenario.GuardNames = Scenario{}
)

func (Scenario) Name() string { return "autoscaled-update" }

func (Scenario) Summary() string {
	return "update a Deployment under a HorizontalPodAutoscaler: are the surge's pods taken for load?"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

// Exclusive: the definition that stands in for the metrics API is cluster-wide.
func (Scenario) Exclusive(any) bool { return true }

func (Scenario) Defaults() any {
	return &Params{
		Deployment: workload.DefaultDeployment(8), MinReplicas: 1, MaxReplicas: 20, Usage: 100,
		Startup: scenario.Duration(8 * time.Second), Quiet: scenario.Duration(12 * time.Second),
	}
}

func (s Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := p.Deployment.Check(); err != nil {
		return err
	}
	if p.Strategy == workload.Recreate {
		return scenario.Refuse("strategy", "%q has no surge, expected %s", p.Strategy, workload.RollingUpdate)
	}
	if p.Replicas < p.MinReplicas || p.Replicas > p.MaxReplicas {
		return scenario.Refuse("replicas", "%d is outside the autoscaler's bounds, expected %d to %d", p.Replicas, p.MinReplicas, p.MaxReplicas)
	}
	if least, _ := p.Fences(); least == 0 {
		return scenario.Refuse("maxUnavailable", "with no pod left there is no metric, expected at least one pod that stays")
	}
	if p.Startup.Std() < autoscaled.AtMost {
		return scenario.Refuse("startup", "%s may be over before the autoscaler looks, expected at least %s", p.Startup, autoscaled.AtMost)
	}
	if p.Quiet.Std() < 2*autoscaled.SyncPeriod {
		return scenario.Refuse("quiet", "%s has hardly a sync in it, expected at least %s", p.Quiet, 2*autoscaled.SyncPeriod)
	}
	if d := s.Expected(p); d > autoscaler.Stabilization-time.Minute {
		return scenario.Refuse("startup", "the run would take %s: after %s the autoscaler forgets what it proposed", d.Round(time.Second), autoscaler.Stabilization)
	}
	return nil
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	each := p.Startup.Std() + time.Duration(p.MinReadySeconds)*time.Second + time.Second
	sizes := p.sizes()
	return 10*time.Second + time.Duration(len(sizes.before))*autoscaled.SyncPeriod + time.Duration(p.waves(sizes.during.Greatest()))*each + p.Quiet.Std()
}

// waves is how often new pods have to become available, one lot after the other.
func (p *Params) waves(replicas int) int {
	d := p.at(replicas)
	least, most := d.Fences()
	lot := max(1, most-least)
	return (replicas + lot - 1) / lot
}

// at is the Deployment at another size.
func (p *Params) at(replicas int) workload.Deployment {
	d := p.Deployment
	d.Replicas = replicas
	return d
}
