// Package singlereplica is the scenario single-replica-restart: `kubectl rollout
// restart` of a Deployment with one pod. Whether that costs an outage follows
// from how two percentages are rounded.
package singlereplica

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	Startup scenario.Duration `json:"startup" doc:"how long the new pod runs before it is ready"`
	Budget  bool              `json:"budget" doc:"a PodDisruptionBudget with minAvailable 1 stands beside the Deployment"`
	Flap    bool              `json:"flap" doc:"the new pod loses its readiness once, before it has been ready for minReadySeconds"`
	Quiet   scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
	workload.Serving
}

// Scenario is single-replica-restart.
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "single-replica-restart" }

func (Scenario) Summary() string {
	return "restart a Deployment of one pod: is there an instant without an available pod, and for how long?"
}

// Needs a script's hand on readiness only for what no program does by itself.
func (Scenario) Needs(params any) cluster.Capabilities {
	if params.(*Params).Flap {
		return cluster.Capabilities{cluster.ScriptedReadiness}
	}
	return cluster.Capabilities{cluster.StartupTime}
}

func (Scenario) Guards() map[string]string {
	names := workload.RequestGuardNames()
	names[workload.Gap] = workload.GapSentence
	return names
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	return &Params{Deployment: workload.DefaultDeployment(1), Startup: scenario.Duration(2 * time.Second), Quiet: workload.Quiet, Serving: workload.DefaultServing()}
}

// flapTime is how long a flapping pod is ready, and then is not.
const flapTime = time.Second

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.Replicas != 1 {
		return scenario.Refuse("replicas", "%d is not one replica: the scenario rolling-update takes any number", p.Replicas)
	}
	if p.Flap && p.MinReadySeconds < 3 {
		return scenario.Refuse("flap", "a flap needs minReadySeconds of at least 3, not %d: the pod is ready for %s before it loses its readiness, and timestamps have whole seconds", p.MinReadySeconds, flapTime)
	}
	if err := p.Serving.Check(p.Deployment); err != nil {
		return err
	}
	return p.Deployment.Check()
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	total := 5*time.Second + p.Startup.Std() + 2*time.Duration(p.MinReadySeconds)*time.Second + p.Linger.Std() + p.Quiet.Std()
	if p.Flap {
		total += 2 * flapTime
	}
	return total
}
