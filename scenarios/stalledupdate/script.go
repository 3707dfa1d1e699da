package stalledupdate

import (
	"context"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepStall      = "stall"
	StepDeadline   = "wait for the deadline"
	StepNoRollback = "no rollback"
	StepUndo       = "undo"
)

// Script deploys v1, updates to a v2 that stalls, waits for the deadline and
// longer, and undoes the update.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	w := workload.Script{Deployment: p.Deployment, Stage: st}
	limit := 2*s.Expected(params) + workload.ControlLimit
	return workload.InOrder(ctx,
		func(ctx context.Context) error { return w.Deploy(ctx, workload.V1) },
		w.Step(workload.StepUpdate, func(ctx context.Context) error {
			st.Readiness.Hold(workload.V2, p.Ready)
			return w.Apply(ctx, workload.V2)
		}),
		w.Step(StepStall, func(ctx context.Context) error { return w.Still(ctx, limit) }),
		w.Step(StepDeadline, func(ctx context.Context) error {
			return st.Until(ctx, "Progressing False", workload.Deployments, limit, func(v *series.View) bool { return v.Is("Progressing", "False") })
		}),
		w.Step(StepNoRollback, func(ctx context.Context) error { return st.Pass(ctx, p.NoRollback.Std()) }),
		w.Step(StepUndo, func(ctx context.Context) error {
			_, err := w.Undo(ctx, 0)
			return err
		}),
		w.Step(workload.StepSettle, func(ctx context.Context) error { return w.Settle(ctx, workload.V1, limit) }),
		func(ctx context.Context) error { return w.Finish(ctx, p.Quiet.Std()) },
	)
}
