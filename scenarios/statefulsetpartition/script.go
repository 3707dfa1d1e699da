package statefulsetpartition

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepStaged   = "down to the partition"
	StepLower    = "move the partition"
	StepStuck    = "a pod is stuck"
	StepRollback = "roll the template back"
	StepNoHelp   = "the rollback is left alone"
	StepByHand   = "delete the stuck pod by hand"
)

// Script deploys v1 and updates it to v2 down to the partition; then it lowers the
// partition, or rolls the template back and at last deletes the stuck pod.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	r := run{p, workload.StatefulScript{StatefulSet: p.StatefulSet, Stage: st}, 2*s.Expected(params) + workload.ControlLimit}
	acts := []workload.Act{
		func(ctx context.Context) error { return r.w.Deploy(ctx, workload.V1) },
		r.w.Step(workload.StepUpdate, r.update),
	}
	switch {
	case p.Stuck != None:
		acts = append(acts, r.rollback()...)
	default:
		acts = append(acts, r.lower()...)
	}
	acts = append(acts, func(ctx context.Context) error { return r.w.Finish(ctx, p.Quiet.Std()) })
	return workload.InOrder(ctx, acts...)
}

// run is a script under way.
type run struct {
	p     *Params
	w     workload.StatefulScript
	limit time.Duration
}

// update changes the template. The name of a pod stays, so the stuck one is
// refused at v2 only.
func (r run) update(ctx context.Context) error {
	ready := r.w.Stage.Readiness
	if r.p.Stuck != None {
		ready.RefuseAt(workload.PodName(r.p.Stuck), workload.V2, true)
	}
	ready.After(workload.V2, r.p.Startup.Std())
	ready.After(workload.V1, r.p.Startup.Std())
	return r.w.Apply(ctx, workload.V2)
}

func (r run) lower() []workload.Act {
	staged := max(0, r.p.Replicas-r.p.Partition)
	acts := []workload.Act{r.updated(StepStaged, workload.V2, staged)}
	if r.p.ThenPartition == None {
		return append(acts, r.updated(workload.StepSettle, workload.V2, staged))
	}
	lowered := max(staged, r.p.Replicas-r.p.ThenPartition) // raising it takes nothing back
	return append(acts,
		r.w.Step(StepLower, func(ctx context.Context) error { return r.w.MovePartition(ctx, r.p.ThenPartition) }),
		r.updated(workload.StepSettle, workload.V2, lowered),
	)
}

// updated is a step that waits until so many pods are at a version.
func (r run) updated(step, version string, pods int) workload.Act {
	return r.w.Step(step, func(ctx context.Context) error { return r.w.Updated(ctx, version, pods, r.limit) })
}

// rollback waits where nothing can be waited for until nothing moves: which pods
// move at all is what the claims are about.
func (r run) rollback() []workload.Act {
	return []workload.Act{
		r.w.Step(StepStuck, func(ctx context.Context) error {
			if err := r.w.Exists(ctx, r.p.Stuck, workload.V2, r.limit); err != nil {
				return err
			}
			return r.w.Still(ctx, r.p.rest(), r.limit)
		}),
		r.w.Step(StepRollback, func(ctx context.Context) error { return r.w.Apply(ctx, workload.V1) }),
		r.w.Step(StepNoHelp, func(ctx context.Context) error {
			if err := r.w.Still(ctx, r.p.rest(), r.limit); err != nil {
				return err
			}
			return r.w.Stage.Pass(ctx, r.p.Quiet.Std())
		}),
		r.w.Step(StepByHand, func(ctx context.Context) error { return r.w.DeleteByHand(ctx, r.p.Stuck, workload.V2) }),
		r.updated(workload.StepSettle, workload.V1, r.p.Replicas),
	}
}
