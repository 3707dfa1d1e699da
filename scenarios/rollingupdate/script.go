package rollingupdate

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepHold     = "hold"
	StepScale    = "scale"
	StepRollover = "update to v3"
)

// Script deploys v1, changes to v2, does what is asked meanwhile and waits for the end.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	w := workload.Script{Deployment: p.Deployment, Stage: st, App: p.App(p.Deployment, p.Startup.Std())}
	limit := st.Patience(2*s.Expected(params) + workload.ControlLimit)
	last := p.last()
	acts := []workload.Act{
		func(ctx context.Context) error { return w.Deploy(ctx, workload.V1) },
		w.Serve(p.serving()),
		w.Step(workload.StepUpdate, func(ctx context.Context) error {
			if p.Meanwhile == Nothing {
				p.ready(st, workload.V2)
			} else {
				st.Readiness.Hold(workload.V2, p.Held)
			}
			return w.Apply(ctx, workload.V2)
		}),
	}
	atRest := func(ctx context.Context) error { return w.Still(ctx, limit) }
	switch p.Meanwhile {
	case Scale:
		acts = append(acts, w.Step(StepHold, atRest), w.Step(StepScale, func(ctx context.Context) error {
			if err := w.Scale(ctx, p.ScaleTo); err != nil {
				return err
			}
			return w.Still(ctx, limit)
		}))
	case Rollover:
		acts = append(acts, w.Step(StepHold, atRest), w.Step(StepRollover, func(ctx context.Context) error {
			return w.Apply(ctx, workload.V3)
		}))
	}
	acts = append(acts,
		w.Step(workload.StepSettle, func(ctx context.Context) error {
			p.ready(st, last)
			return w.Settle(ctx, last, limit)
		}),
		func(ctx context.Context) error { return w.Finish(ctx, p.Quiet.Std()) },
		w.EndRequests(p.serving()),
	)
	return workload.InOrder(ctx, acts...)
}

// serving is without requests where no pod is that could answer them.
func (p *Params) serving() workload.Serving {
	out := p.Serving
	if p.Replicas == 0 {
		out.Rate = 0
	}
	return out
}

// last is the version that the Deployment ends with.
func (p *Params) last() string {
	if p.Meanwhile == Rollover {
		return workload.V3
	}
	return workload.V2
}

func (p *Params) ready(st *stage.Stage, version string) {
	if p.Readiness == OneByOne {
		st.Readiness.Ramp(version, max(p.Startup.Std(), time.Millisecond))
		return
	}
	st.Startup(version, p.Startup.Std())
}
