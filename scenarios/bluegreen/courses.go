package bluegreen

import (
	"slices"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/moves"
)

// Plan is the moves of the course.
func (p *Params) Plan() moves.Plan {
	out := moves.Plan{Spec: p.spec(), SetUp: moves.First(p.Replicas), Versions: []string{moves.V1, moves.V2}, Quiet: p.Quiet.Std()}
	gone := []rollouts.Move{moves.Elapse(p.ScaleDownDelay)}
	switch p.Course {
	case Update:
		out.Drill = slices.Concat(p.update(moves.V2), gone)
	case Abort:
		out.Drill = append(p.previewed(moves.V2), moves.Do(rollouts.ActAbort))
		if p.AbortScaleDownDelay > 0 {
			out.Drill = append(out.Drill, moves.Elapse(p.AbortScaleDownDelay))
		}
	case Retry:
		out.Drill = append(p.previewed(moves.V2), moves.Do(rollouts.ActAbort), moves.Do(rollouts.ActRetry))
		out.Drill = slices.Concat(out.Drill, p.approved(moves.V2), gone)
	case Superseded, SupersededApproved:
		out.Versions = append(out.Versions, moves.V3)
		out.Drill = p.previewed(moves.V2)
		if p.Course == SupersededApproved {
			out.Drill = append(out.Drill, moves.Do(rollouts.ActPromote))
		}
		out.Drill = slices.Concat(out.Drill, p.update(moves.V3), gone)
	case Rollback:
		out.SetUp = slices.Concat(out.SetUp, p.update(moves.V2), gone, []rollouts.Move{moves.Ready(moves.V1, 0)})
		out.Drill = p.update(moves.V1)
		if p.PromoteFull {
			out.Drill = append(out.Drill, moves.Do(rollouts.ActPromoteFull))
		}
		out.Drill = slices.Concat(out.Drill, gone)
	case RollbackEarly:
		out.SetUp = slices.Concat(out.SetUp, p.update(moves.V2))
		if p.MissingPods > 0 {
			out.Drill = []rollouts.Move{moves.Ready(moves.V1, p.Replicas-p.MissingPods)}
		}
		out.Drill = append(out.Drill, moves.Deploy(moves.V1), moves.Ready(moves.V1, p.Replicas))
		out.Drill = slices.Concat(out.Drill, p.approval(), gone)
	case ForwardAgain:
		out.SetUp = slices.Concat(out.SetUp, p.update(moves.V2), []rollouts.Move{moves.Deploy(moves.V1)})
		out.Drill = slices.Concat([]rollouts.Move{moves.Deploy(moves.V2)}, p.approval(), gone)
	case Scaled:
		more := p.Replicas + 2
		out.Drill = append(p.previewed(moves.V2), rollouts.Move{Act: rollouts.ActReplicas, Count: more}, moves.Ready(moves.V1, more))
		out.Drill = slices.Concat(out.Drill, p.approval(), moves.OneByOne(moves.V2, p.stage(), more), gone)
	}
	return out
}

// stage is how many pods a preview has.
func (p *Params) stage() int {
	if p.PreviewReplicaCount == 0 {
		return p.Replicas
	}
	return p.PreviewReplicaCount
}

// previewed deploys a version and lets the pods of its preview become ready.
func (p *Params) previewed(version string) []rollouts.Move {
	return append([]rollouts.Move{moves.Deploy(version)}, moves.OneByOne(version, 0, p.stage())...)
}

// approval is what ends the wait of an update.
func (p *Params) approval() []rollouts.Move {
	switch {
	case p.Approval == ByHand:
		return []rollouts.Move{moves.Do(rollouts.ActPromote)}
	case p.Approval == Seconds && p.PromoteEarly:
		return []rollouts.Move{moves.Do(rollouts.ActPromote), moves.Elapse(p.AutoPromotionSeconds)}
	case p.Approval == Seconds:
		return []rollouts.Move{moves.Elapse(p.AutoPromotionSeconds)}
	}
	return nil
}

// approved ends the wait and lets the other pods become ready.
func (p *Params) approved(version string) []rollouts.Move {
	return slices.Concat(p.approval(), moves.OneByOne(version, p.stage(), p.Replicas))
}

// update is the whole of an update.
func (p *Params) update(version string) []rollouts.Move {
	return slices.Concat(p.previewed(version), p.approved(version))
}
