// Package revisions is the scenario revisions: what undo does to the list of
// revisions, and whom a ReplicaSet owns. Three templates and an undo; pods that
// share labels with a ReplicaSet, match its selector or stop matching it; and
// the deletion of a Deployment along its owner references.
package revisions

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// What is done to the Deployment.
const (
	Undo   = "undo"
	UndoTo = "undo-to"
	Adopt  = "adopt"
	Delete = "delete"
)

// How the deletion of the Deployment is passed on.
const (
	Background = "background"
	Foreground = "foreground"
	Orphan     = "orphan"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	Act         string            `json:"act" enum:"undo,undo-to,adopt,delete" doc:"undo or undo-to after three templates; pods that match a ReplicaSet or do not; the deletion of the Deployment"`
	ToRevision  int               `json:"toRevision" min:"1" max:"1000" doc:"undo-to: the revision to go back to, which may be gone"`
	Propagation string            `json:"propagation" enum:"background,foreground,orphan" doc:"delete: what becomes of what the Deployment owns"`
	Quiet       scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Scenario is revisions.
type Scenario struct{}

var (
	_ scenario.Scenario  = Scenario{}
	_ scenario.Exclusive = Scenario{}
)

func (Scenario) Name() string { return "revisions" }

func (Scenario) Summary() string {
	return "undo, adoption and deletion: which revisions remain, whom does a ReplicaSet own, what goes with its owner?"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	return &Params{
		Deployment: workload.DefaultDeployment(2),
		Act:        Undo, ToRevision: 1, Propagation: Background, Quiet: workload.Quiet,
	}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := p.Deployment.Check(); err != nil {
		return err
	}
	if p.Act == Delete && p.RevisionHistoryLimit == 0 {
		return scenario.Refuse("revisionHistoryLimit", "0 leaves no old ReplicaSet whose end could be looked at, expected at least 1")
	}
	if p.Replicas == 0 && !p.undoes() {
		return scenario.Refuse("replicas", "%s is about pods, expected at least 1", p.Act)
	}
	return nil
}

// Exclusive says so for large Deployments.
func (Scenario) Exclusive(params any) bool { return workload.Crowd(params.(*Params).Replicas) }

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	rollouts := map[string]int{Undo: 4, UndoTo: 4, Adopt: 2, Delete: 3}[p.Act]
	each := 2*time.Second + p.Linger.Std() + time.Duration(p.MinReadySeconds*max(1, p.Replicas))*time.Second +
		time.Duration(p.Replicas)*200*time.Millisecond
	return 4*time.Second + time.Duration(rollouts)*each + p.Quiet.Std()
}

func (p *Params) undoes() bool { return p.Act == Undo || p.Act == UndoTo }

// versions are the templates that the drill applies, in order.
func (p *Params) versions() []string {
	return map[string][]string{
		Undo:   {workload.V1, workload.V2, workload.V3},
		UndoTo: {workload.V1, workload.V2, workload.V3},
		Adopt:  {workload.V1},
		Delete: {workload.V1, workload.V2},
	}[p.Act]
}
