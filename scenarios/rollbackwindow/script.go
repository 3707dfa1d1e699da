package rollbackwindow

import (
	"context"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// Script brings v1 and v2 up, rolls back to v1 and lets its pods become ready
// one by one.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	s := rollback.NewScript(params.(*Params).Params, st)
	for _, act := range []func(context.Context) error{s.SetUp, s.Rollback, s.Ramp, s.Finish} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}
