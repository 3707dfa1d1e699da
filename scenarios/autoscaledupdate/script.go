package autoscaledupdate

import (
	"context"
	"fmt"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepMeter     = "stub the metrics API"
	StepAutoscale = "autoscale"
)

// Script deploys v1, gives it an autoscaler, lets that come to rest, and updates to v2.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	w := workload.Script{Deployment: p.Deployment, Stage: st}
	m := &meter{st: st, usage: usageMi(p.Usage), measured: map[string]bool{}}
	limit := 2*s.Expected(params) + workload.ControlLimit
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { stop(nil); <-done }()
	start := func(ctx context.Context) error {
		go func() {
			defer close(done)
			if err := m.run(ctx); err != nil {
				stop(err)
			}
		}()
		return nil
	}
	if err := w.Step(StepMeter, func(ctx context.Context) error { return podMetrics.Serve(ctx, st) })(ctx); err != nil {
		close(done)
		return err
	}
	return workload.InOrder(ctx,
		start,
		func(ctx context.Context) error { return w.Deploy(ctx, workload.V1) },
		w.Step(StepAutoscale, func(ctx context.Context) error { return p.autoscale(ctx, &w, m) }),
		w.Step(workload.StepUpdate, func(ctx context.Context) error {
			st.Readiness.After(workload.V2, p.Startup.Std())
			return w.Apply(ctx, workload.V2)
		}),
		w.Step(workload.StepSettle, func(ctx context.Context) error { return w.Settle(ctx, workload.V2, limit) }),
		func(ctx context.Context) error { return w.Finish(ctx, p.Quiet.Std()) },
	)
}

// autoscale makes the autoscaler, when every pod has a reading, and waits until it
// has come to rest at the size that is predicted for it.
func (p *Params) autoscale(ctx context.Context, w *workload.Script, m *meter) error {
	if err := m.waitFor(ctx, p.Replicas); err != nil {
		return err
	}
	hpa, err := autoscaled.Autoscaler("workload/autoscaler.yaml", w.Stage.Namespace, p.MinReplicas, p.MaxReplicas)
	if err != nil {
		return err
	}
	if err := w.Stage.Client.Create(ctx, hpa); err != nil {
		return fmt.Errorf("creating the autoscaler: %w", err)
	}
	rest := p.sizes().rest.Current
	if err := w.Stage.Until(ctx, fmt.Sprintf("an autoscaler that wants %d pods", rest), autoscaled.Autoscalers, workload.SetUpLimit, autoscaled.Rests(rest)); err != nil {
		return err
	}
	if err := w.Complete(ctx, workload.V1, workload.ControlLimit); err != nil {
		return err
	}
	return w.Still(ctx, workload.ControlLimit)
}
