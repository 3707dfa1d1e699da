// Package bluegreen is the scenario blue-green: an update of a blue-green Rollout and what
// may come between it and its promotion.
package bluegreen

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/moves"
)

// Params are the scenario's parameters.
type Params struct {
	Course               string            `json:"course" enum:"update,abort,retry,superseded,superseded-approved,rollback,rollback-early,forward-again,scaled" doc:"what happens: an update; one that is aborted, or aborted and retried; a third version over the second, before or after its approval; a rollback after the old ReplicaSet is gone, or while it is kept; the way forward again after that; spec.replicas raised in the middle"`
	Replicas             int               `json:"replicas" min:"1" max:"50" doc:"replicas of the Rollout"`
	PreviewReplicaCount  int               `json:"previewReplicaCount" min:"0" max:"50" doc:"pods of a preview before it is approved; 0 leaves it unset, so that a preview has all"`
	Approval             string            `json:"approval" enum:"none,by-hand,seconds" doc:"what an update waits for: nothing; somebody (autoPromotionEnabled: false); or autoPromotionSeconds"`
	AutoPromotionSeconds int               `json:"autoPromotionSeconds" min:"5" max:"600" doc:"how long approval: seconds waits"`
	PromoteEarly         bool              `json:"promoteEarly" doc:"with approval: seconds, somebody promotes before they are over"`
	PromoteFull          bool              `json:"promoteFull" doc:"promote --full at the end of a rollback"`
	MissingPods          int               `json:"missingPods" min:"0" max:"50" doc:"pods that the old version lacks when it is rolled back to early; they come back afterwards"`
	ScaleDownDelay       int               `json:"scaleDownDelaySeconds" min:"1" max:"600" doc:"how long an old ReplicaSet is kept"`
	AbortScaleDownDelay  int               `json:"abortScaleDownDelaySeconds" min:"0" max:"600" doc:"how long the preview of an aborted update is kept; 0 keeps it for good"`
	RollbackWindow       int               `json:"rollbackWindow" min:"0" max:"100" doc:"rollbackWindow.revisions; 0 leaves rollbackWindow unset"`
	Quiet                scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Values of Params.Course.
const (
	Update             = "update"
	Abort              = "abort"
	Retry              = "retry"
	Superseded         = "superseded"
	SupersededApproved = "superseded-approved"
	Rollback           = "rollback"
	RollbackEarly      = "rollback-early"
	ForwardAgain       = "forward-again"
	Scaled             = "scaled"
)

// Values of Params.Approval.
const (
	None    = "none"
	ByHand  = "by-hand"
	Seconds = "seconds"
)

// Scenario is blue-green.
type Scenario struct{ moves.Base }

var _ scenario.Scenario = Scenario{}

var _ moves.Drill = (*Params)(nil)

func (Scenario) Name() string { return "blue-green" }

func (Scenario) Summary() string {
	return "update, abort, supersede or roll back a blue-green Rollout: when does the active Service move, and who approved it?"
}

// Needs: the script decides which pods are ready.
func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Defaults() any {
	return &Params{
		Course: Update, Replicas: 4, PreviewReplicaCount: 1, Approval: ByHand, AutoPromotionSeconds: 8,
		ScaleDownDelay: 20, AbortScaleDownDelay: 10, Quiet: scenario.Duration(10 * time.Second),
	}
}

// Check refuses courses that their parameters leave without a meaning.
func (Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	switch {
	case p.PreviewReplicaCount > p.Replicas:
		return scenario.Refuse("previewReplicaCount", "%d is more than the %d replicas", p.PreviewReplicaCount, p.Replicas)
	case p.Course == SupersededApproved && (p.PreviewReplicaCount == 0 || p.PreviewReplicaCount == p.Replicas || p.Approval != ByHand):
		return scenario.Refuse("course", "%s needs a preview that is smaller than replicas, and approval: %s", p.Course, ByHand)
	case p.PromoteEarly && p.Approval != Seconds:
		return scenario.Refuse("promoteEarly", "goes with approval: %s only", Seconds)
	case p.PromoteFull && p.Course != Rollback:
		return scenario.Refuse("promoteFull", "goes with course: %s only", Rollback)
	case p.MissingPods > 0 && p.Course != RollbackEarly:
		return scenario.Refuse("missingPods", "goes with course: %s only", RollbackEarly)
	case p.MissingPods > p.Replicas:
		return scenario.Refuse("missingPods", "%d is more than the %d replicas", p.MissingPods, p.Replicas)
	case p.Course == Retry && p.AbortScaleDownDelay > 0 && p.AbortScaleDownDelay < leastAbortDelay:
		return scenario.Refuse("abortScaleDownDelaySeconds", "%d may be over before the retry, expected 0 or at least %d", p.AbortScaleDownDelay, leastAbortDelay)
	}
	plan := p.Plan()
	if least := p.leastDelay(plan); p.ScaleDownDelay < least {
		return scenario.Refuse("scaleDownDelaySeconds", "%d may be over before the moves of course %s are, expected at least %d", p.ScaleDownDelay, p.Course, least)
	}
	return plan.Check(versions[scenario.ArgoRollouts], p.Quiet)
}

// leastAbortDelay is enough for a retry to come in time, in seconds.
const leastAbortDelay = 6

// leastDelay is how long old ReplicaSets must be kept for the course to be what it says,
// in seconds: two for each move that is made meanwhile.
func (p *Params) leastDelay(plan moves.Plan) int {
	switch p.Course {
	case Superseded, SupersededApproved, RollbackEarly, ForwardAgain:
		return 2 * len(plan.Drill)
	}
	return 1
}

// spec is the Rollout as the model knows it.
func (p *Params) spec() rollouts.Spec {
	b := &rollouts.BlueGreen{Approval: p.Approval == ByHand}
	if p.Approval == Seconds {
		b.AutoPromotionSeconds = p.AutoPromotionSeconds
	}
	if p.PreviewReplicaCount > 0 {
		b.PreviewReplicas = &p.PreviewReplicaCount
	}
	return rollouts.Spec{Replicas: p.Replicas, BlueGreen: b, WindowRevisions: p.RollbackWindow, ScaleDownDelaySeconds: p.ScaleDownDelay,
		AbortScaleDownDelaySeconds: &p.AbortScaleDownDelay}
}
