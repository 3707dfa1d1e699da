// Package canaryedited is the scenario canary-steps-edited: while a canary is paused at a
// step, somebody edits its steps or its replicas.
package canaryedited

import (
	"time"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/moves"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	moves.Canary
	Edit        string            `json:"edit" enum:"steps,replicas" doc:"what is edited while v2 is paused at its first weight"`
	NewSteps    rollback.Steps    `json:"newSteps" doc:"the steps after edit: steps, as steps above"`
	NewReplicas int               `json:"newReplicas" min:"0" max:"50" doc:"replicas after edit: replicas"`
	ScaleBack   bool              `json:"scaleBack" doc:"after edit: replicas, go back to replicas when v2 is promoted"`
	Quiet       scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Values of Params.Edit.
const (
	Steps    = "steps"
	Replicas = "replicas"
)

// Scenario is canary-steps-edited.
type Scenario struct{ moves.CanaryBase }

var _ scenario.Scenario = Scenario{}

var _ moves.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-steps-edited" }

func (Scenario) Summary() string {
	return "edit the steps or the replicas of a canary while it is paused: what becomes of its weight and pods?"
}

func (Scenario) Defaults() any {
	return &Params{
		Canary: moves.DefaultCanary(), Edit: Steps, NewReplicas: 6,
		NewSteps: rollback.Steps{rollback.SetWeight(20), moves.Forever(), rollback.SetWeight(100)},
		Quiet:    scenario.Duration(10 * time.Second),
	}
}

// Check refuses edits that change nothing or that the model does not know.
func (Scenario) Check(params any, versions map[string]string) error {
	p, version := params.(*Params), versions[scenario.ArgoRollouts]
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Canary.Check(version); err != nil {
		return err
	}
	switch {
	case p.Edit == Steps && p.NewSteps.String() == p.Steps.String():
		return scenario.Refuse("newSteps", "are the same as steps")
	case p.Edit == Replicas && p.NewReplicas == p.Replicas:
		return scenario.Refuse("newReplicas", "are as many as replicas")
	case p.Edit == Replicas && p.NewReplicas > 0 && p.NewReplicas < p.MinPodsPerReplicaSet:
		return scenario.Refuse("newReplicas", "%d is less than minPodsPerReplicaSet", p.NewReplicas)
	case p.Edit == Replicas && p.DynamicStableScale:
		return scenario.Refuse("dynamicStableScale", "does not go with edit: %s: both ReplicaSets would change their sizes at once", Replicas)
	case p.ScaleBack && p.Edit != Replicas:
		return scenario.Refuse("scaleBack", "goes with edit: %s only", Replicas)
	}
	if p.Edit == Steps && len(p.NewSteps) > 0 {
		if err := moves.CheckSteps("newSteps", p.NewSteps); err != nil {
			return err
		}
	}
	return p.Plan().Check(version, p.Quiet)
}

// Plan is the moves of the edit.
func (p *Params) Plan() moves.Plan {
	out := moves.Plan{Spec: p.Spec(), Steps: p.Steps.API(), SetUp: moves.First(p.Replicas), Versions: []string{moves.V1, moves.V2}, Quiet: p.Quiet.Std()}
	out.Drill = p.ToPause(moves.V2)
	if p.Edit == Steps {
		edit := []rollouts.Move{{Act: rollouts.ActSteps, Steps: p.NewSteps.Model()}}
		out.Drill = moves.Join(out.Drill, edit, moves.Promotions(p.NewSteps), p.Gone())
		return out
	}
	out.Drill = moves.Join(out.Drill, p.scaled(p.NewReplicas), moves.Promotions(p.Steps), p.Gone())
	if p.ScaleBack {
		out.Drill = append(out.Drill, p.scaled(p.Replicas)...)
	}
	return out
}

// scaled changes spec.replicas and then lets as many pods of both versions be ready.
func (p *Params) scaled(replicas int) []rollouts.Move {
	return []rollouts.Move{{Act: rollouts.ActReplicas, Count: replicas}, moves.Ready(moves.V1, replicas), moves.Ready(moves.V2, replicas)}
}
