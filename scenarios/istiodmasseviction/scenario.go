// Package istiodmasseviction is the scenario istiod-mass-eviction: most replicas of
// istiod go at once, and others come in their place. Their connections gather on the
// survivors, and stay there.
package istiodmasseviction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/controlplane"
)

// How replicas are taken away.
const (
	Kill      = "kill"
	Terminate = "terminate"
	Evict     = "evict"
	Stop      = "stop"
)

// Params are the scenario's parameters.
type Params struct {
	controlplane.Fleet
	Evict         int               `json:"evict" min:"1" max:"40" doc:"how many replicas go at once, the oldest first"`
	How           string            `json:"how" enum:"kill,terminate,evict,stop" doc:"kill: SIGKILL, or of a pod a deletion without grace; terminate: SIGTERM, or a deletion; evict: the Eviction API, which a PodDisruptionBudget may refuse (of a process: SIGTERM); stop: SIGSTOP, as if the node were gone, of processes only"`
	ReplacedAfter scenario.Duration `json:"replacedAfter" doc:"how long after that others are started in their place, which a Deployment's pods are at once"`
}

// StepEvict is the stimulus.
const StepEvict = "evict istiod"

// Scenario is istiod-mass-eviction.
type Scenario struct{ controlplane.Base }

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "istiod-mass-eviction" }

func (Scenario) Summary() string {
	return "take most replicas of istiod away at once: how uneven do the connections get, for how long, and who is without a control plane?"
}

// Needs hands on processes for what nobody can ask of a Deployment.
func (Scenario) Needs(params any) cluster.Capabilities {
	p := params.(*Params)
	needs := p.Fleet.Needs()
	if p.How == Stop || p.ReplacedAfter > 0 {
		needs = append(needs, cluster.Processes)
	}
	return needs
}

func (Scenario) Defaults() any {
	return &Params{Fleet: controlplane.DefaultFleet(8, 400), Evict: 6, How: Kill}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.Evict > p.Replicas {
		return scenario.Refuse("evict", "%d of %d replicas: there are not so many", p.Evict, p.Replicas)
	}
	return p.Fleet.Check()
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	return p.ReplacedAfter.Std() + p.Fleet.Expected(p.Settled(p.events()))
}

// events are those of the model, after the stimulus.
func (p *Params) events() []mesh.Event {
	ready := slices.Repeat([]time.Duration{p.ReplacedAfter.Std() + controlplane.Start}, p.Evict)
	return append(mesh.Leave(0, p.departure(), mesh.First(p.Evict)...), mesh.Ready(ready...)...)
}

func (p *Params) departure() mesh.Departure {
	switch p.How {
	case Kill:
		return controlplane.Departure(controlplane.SIGKILL)
	case Stop:
		return controlplane.Departure(controlplane.SIGSTOP)
	}
	return controlplane.Departure(controlplane.SIGTERM)
}

// Script evicts the oldest replicas and waits for others.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	return p.Fleet.Script(ctx, st, controlplane.Stimulus{
		Step: StepEvict, Replicas: p.Replicas, Settled: p.Settled(p.events()),
		Do: func(ctx context.Context, st *stage.Stage) error { return p.evict(ctx, st) },
	})
}

func (p *Params) evict(ctx context.Context, st *stage.Stage) error {
	victims := st.ControlPlane.Replicas()
	if len(victims) < p.Evict {
		return fmt.Errorf("%d replicas of istiod are there, %d are to be taken away", len(victims), p.Evict)
	}
	_, err := st.ControlPlane.Evict(ctx, victims[:p.Evict], stage.Eviction{By: p.by(st.On), ReplacedAfter: p.ReplacedAfter.Std()})
	if errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// by is the way that fits what istiod runs as.
func (p *Params) by(on cluster.Capabilities) string {
	if on.Has(cluster.Kubelet) {
		return map[string]string{Kill: controlplane.Force, Terminate: controlplane.Delete, Evict: controlplane.Eviction}[p.How]
	}
	return map[string]string{Kill: controlplane.SIGKILL, Terminate: controlplane.SIGTERM, Evict: controlplane.SIGTERM, Stop: controlplane.SIGSTOP}[p.How]
}
