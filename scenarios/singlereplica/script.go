package singlereplica

import (
	"context"

	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepFlap   = "readiness flaps"
	StepSteady = "ready for good"
)

// Script deploys one pod, restarts the Deployment and waits for the end.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	w := workload.Script{Deployment: p.Deployment, Stage: st, App: p.App(p.Deployment, p.Startup.Std())}
	limit := st.Patience(2*s.Expected(params) + workload.ControlLimit)
	acts := []workload.Act{func(ctx context.Context) error { return w.Deploy(ctx, workload.V1) }}
	if p.Budget {
		acts = append(acts, w.Step("add a budget", func(ctx context.Context) error { return budget(ctx, st) }))
	}
	acts = append(acts, w.Serve(p.Serving), w.Step(workload.StepUpdate, func(ctx context.Context) error {
		if p.Flap {
			st.Readiness.Hold(workload.V2, 0)
		} else {
			st.Startup(workload.V2, p.Startup.Std())
		}
		return w.Restart(ctx, workload.V2)
	}))
	if p.Flap {
		acts = append(acts,
			w.Step(StepFlap, func(ctx context.Context) error { return p.flap(ctx, &w) }),
			w.Step(StepSteady, func(ctx context.Context) error {
				st.Readiness.Open(workload.V2)
				return w.Complete(ctx, workload.V2, limit)
			}))
	}
	acts = append(acts,
		w.Step(workload.StepSettle, func(ctx context.Context) error { return w.Settle(ctx, workload.V2, limit) }),
		func(ctx context.Context) error { return w.Finish(ctx, p.Quiet.Std()) },
		w.EndRequests(p.Serving),
	)
	return workload.InOrder(ctx, acts...)
}

// budget creates the budget and waits until the disruption controller counts.
func budget(ctx context.Context, st *stage.Stage) error {
	if err := st.Client.Create(ctx, workload.Budget(st.Namespace, intstr.FromInt32(1))); err != nil {
		return err
	}
	return st.Until(ctx, "the budget counts its pod", workload.Budgets, workload.ControlLimit, func(v *series.View) bool {
		return v.Status.ExpectedPods == 1 && v.Status.CurrentHealthy == 1
	})
}

// flap readies the new pod, waits until the ReplicaSet has taken note, and takes
// the readiness away for a while.
func (p *Params) flap(ctx context.Context, w *workload.Script) error {
	st := w.Stage
	ready := func(want int) func(v *series.View) bool {
		return func(v *series.View) bool {
			return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == workload.V2 && v.Status.ReadyReplicas == want
		}
	}
	err := st.Until(ctx, "a new pod", workload.ReplicaSets, workload.ControlLimit+p.Linger.Std(), func(v *series.View) bool {
		return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == workload.V2 && v.Status.Replicas == 1
	})
	if err != nil {
		return err
	}
	if err := st.Pass(ctx, p.Startup.Std()); err != nil {
		return err
	}
	for _, n := range []int{1, 0} {
		st.Readiness.Hold(workload.V2, n)
		if err := st.Until(ctx, "the flap noticed", workload.ReplicaSets, workload.ControlLimit, ready(n)); err != nil {
			return err
		}
		if err := st.Pass(ctx, flapTime); err != nil {
			return err
		}
	}
	return nil
}
