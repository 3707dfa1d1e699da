// Package rollingupdate is the scenario rolling-update: a Deployment's template
// changes, and the two ReplicaSets change places between two fences. Meanwhile
// it may be scaled, or changed once more.
package rollingupdate

import (
	"cmp"
	"maps"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// What happens while the update is under way.
const (
	Nothing  = "nothing"
	Scale    = "scale"
	Rollover = "rollover"
)

// How the new pods become ready.
const (
	StartUp  = "start-up"
	OneByOne = "one-by-one"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	Readiness string            `json:"readiness" enum:"start-up,one-by-one" doc:"each new pod becomes ready so long after it runs, or one new pod each"`
	Startup   scenario.Duration `json:"startup" doc:"the time of readiness"`
	Meanwhile string            `json:"meanwhile" enum:"nothing,scale,rollover" doc:"what happens while the update is held: nothing, another number of replicas, or a third template"`
	Held      int               `json:"held" min:"0" max:"2000" doc:"ready pods of the new version at which the update is held for that"`
	ScaleTo   int               `json:"scaleTo" min:"0" max:"2000" doc:"replicas after the scaling"`
	Quiet     scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
	workload.Serving
}

// Scenario is rolling-update.
type Scenario struct{}

var (
	_ scenario.Scenario  = Scenario{}
	_ scenario.Exclusive = Scenario{}
)

func (Scenario) Name() string { return "rolling-update" }

func (Scenario) Summary() string {
	return "change a Deployment's template: how few pods are available, how many exist, in which order?"
}

// Needs a script's hand on readiness where the update is held, or goes on pod by pod.
func (Scenario) Needs(params any) cluster.Capabilities {
	if p := params.(*Params); p.Meanwhile != Nothing || p.Readiness != StartUp {
		return cluster.Capabilities{cluster.ScriptedReadiness}
	}
	return cluster.Capabilities{cluster.StartupTime}
}

func (Scenario) Guards() map[string]string {
	names := workload.GuardNames()
	maps.Copy(names, workload.RequestGuardNames())
	return names
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	return &Params{
		Deployment: workload.DefaultDeployment(4),
		Readiness:  StartUp, Startup: scenario.Duration(500 * time.Millisecond),
		Meanwhile: Nothing, Held: 1, ScaleTo: 8, Quiet: workload.Quiet, Serving: workload.DefaultServing(),
	}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := cmp.Or(p.Deployment.Check(), p.Serving.Check(p.Deployment)); err != nil {
		return err
	}
	if p.Meanwhile != Nothing && p.Strategy == workload.Recreate {
		return scenario.Refuse("meanwhile", "%q is not there for the strategy Recreate, which cannot be held half-way", p.Meanwhile)
	}
	return nil
}

// Exclusive says so for large Deployments.
func (Scenario) Exclusive(params any) bool {
	p := params.(*Params)
	return workload.Crowd(p.biggest())
}

// MostPods is the upper fence; no surge is larger than the new version.
func (Scenario) MostPods(params any) int {
	p := params.(*Params)
	_, most := p.Fences()
	return min(most, 2*p.Replicas)
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	each := p.Startup.Std() + time.Duration(p.MinReadySeconds)*time.Second + p.Linger.Std()
	rounds := p.Replicas
	if least, most := p.Fences(); p.Readiness == StartUp && most > least {
		rounds = (p.Replicas + most - least - 1) / (most - least)
	}
	if p.Meanwhile != Nothing {
		rounds *= 2
	}
	return 6*time.Second + workload.PodTime(2*p.Replicas) + time.Duration(rounds)*(each+200*time.Millisecond) + p.Quiet.Std()
}
