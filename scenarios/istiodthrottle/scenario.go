// Package istiodthrottle is the scenario istiod-throttle: an istiod with a limit on
// CPU pushes changes of configuration to many proxies. What is used in a second says
// little of how often the kernel holds it up.
package istiodthrottle

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/controlplane"
)

// Who sets GOMAXPROCS.
const (
	Chart   = "chart"
	Runtime = "runtime"
)

// Params are the scenario's parameters.
type Params struct {
	CPU         quota.Limit       `json:"cpu" doc:"limits.cpu of istiod, which the kernel enforces in periods of 100 ms"`
	Procs       string            `json:"procs" enum:"chart,runtime" doc:"who sets GOMAXPROCS: the chart, to the limit rounded up; or Go's runtime, to that and 2 at least, of processes only"`
	Connections int               `json:"connections" min:"1" max:"5000" doc:"proxies, with one connection each"`
	Services    int               `json:"services" min:"1" max:"2000" doc:"ServiceEntries that each proxy has a listener for: what a push costs"`
	Quiet       scenario.Duration `json:"quiet" doc:"how long nothing is changed before"`
	Every       scenario.Duration `json:"every" doc:"between two changes of a ServiceEntry, each of which is pushed to all proxies"`
	Push        scenario.Duration `json:"push" doc:"for how long it is changed"`
}

// Steps of the script.
const (
	StepServices = "write the services"
	StepQuiet    = "quiet"
	StepPush     = "push"
	StepRest     = "rest"
)

// Scenario is istiod-throttle.
type Scenario struct{ controlplane.Base }

var (
	_ scenario.Scenario   = Scenario{}
	_ scenario.GuardNames = Scenario{}
)

func (Scenario) Name() string { return "istiod-throttle" }

func (Scenario) Summary() string {
	return "push changes from an istiod with a limit on CPU: how often is it throttled, and what does its use say of that?"
}

// Guards lists the guard with a sentence.
func (Scenario) Guards() map[string]string {
	return map[string]string{ThrottledGuard: guardSentence}
}

// Needs a process where the chart has no say.
func (Scenario) Needs(params any) cluster.Capabilities {
	needs := cluster.Capabilities{cluster.ScriptedMesh}
	if params.(*Params).Procs == Runtime {
		needs = append(needs, cluster.Processes)
	}
	return needs
}

func (Scenario) Defaults() any {
	return &Params{
		CPU: 600, Procs: Chart, Connections: 150, Services: 50,
		Quiet: scenario.Duration(10 * time.Second), Every: scenario.Duration(time.Second), Push: scenario.Duration(30 * time.Second),
	}
}

// Bounds of the parameters that no tag can say.
const (
	leastCPU = 300 * quota.Core / 1000
	mostCPU  = 16 * quota.Core
	// leastEvery is twice as long as istiod waits for more changes (PILOT_DEBOUNCE_AFTER),
	// so that each is a push of its own.
	leastEvery = 200 * time.Millisecond
	leastPush  = 5 * time.Second
)

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.CPU < leastCPU || p.CPU > mostCPU {
		return scenario.Refuse("cpu", "%s is not between %s (with less, CPU time decides how fast istiod admits proxies) and %s", p.CPU, leastCPU, mostCPU)
	}
	if least := int(leastSpan.Seconds() * p.admitted() / part); p.Connections < least {
		return scenario.Refuse("connections", "%d are admitted too soon to tell at what rate: expected %d or more", p.Connections, least)
	}
	if p.Every.Std() < leastEvery {
		return scenario.Refuse("every", "%s is less than %s: istiod would push several changes at once", p.Every, leastEvery)
	}
	if p.Push.Std() < max(leastPush, p.Every.Std()) {
		return scenario.Refuse("push", "%s is less than %s: too few pushes to measure", p.Push, max(leastPush, p.Every.Std()))
	}
	return nil
}

// admitted is how many new streams a second istiod admits.
func (p *Params) admitted() float64 { return mesh.RequestLimit(p.procs(mostCPUs)) }

// procs is GOMAXPROCS on a machine of so many CPUs.
func (p *Params) procs(cpus int) int {
	if p.Procs == Runtime {
		return p.CPU.RuntimeProcs(cpus)
	}
	return p.CPU.ChartProcs()
}

// mostCPUs is a machine on which nothing but the limit decides over GOMAXPROCS.
const mostCPUs = int(mostCPU / quota.Core)

func (p *Params) istiod() stage.Istiod {
	return stage.Istiod{Replicas: 1, CPULimit: int(p.CPU), OwnProcs: p.Procs == Runtime}
}

// Expected is how long the script takes.
func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	ramp := time.Duration(float64(p.Connections) / p.admitted() * float64(time.Second))
	return 2*controlplane.Start + ramp + time.Duration(p.Services)*writeTime + p.Quiet.Std() + p.Push.Std() + rest
}

// writeTime is about what writing a ServiceEntry takes.
const writeTime = 10 * time.Millisecond
