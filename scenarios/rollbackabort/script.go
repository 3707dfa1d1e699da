package rollbackabort

import (
	"context"

	"golang.org/x/sync/errgroup"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// Script rolls back as rollback-window does and takes the way out meanwhile:
// promote --full before any pod of v1 is ready, abort as soon as the weight is seen.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	s := rollback.NewScript(p.Params, st)
	if err := s.SetUp(ctx); err != nil {
		return err
	}
	if err := s.Rollback(ctx); err != nil {
		return err
	}
	if p.Escape == PromoteFull {
		if err := st.Step(ctx, p.stepEscape(), s.PromoteFull); err != nil {
			return err
		}
		if err := s.Ramp(ctx); err != nil {
			return err
		}
		return s.Finish(ctx)
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Ramp(gctx) })
	group.Go(func() error {
		return st.Step(gctx, p.stepEscape(), func(ctx context.Context) error { return s.AbortAt(ctx, p.AtWeight) })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return s.Finish(ctx)
}
