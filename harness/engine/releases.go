package engine

import (
	"context"
	"errors"
	"fmt"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/stage"
)

// releases is the Argo Rollouts controller of a run whose script puts one release
// after the other in its place. The first one is the environment, and its end by
// itself a fault; what becomes of the others is what the run is to find out.
type releases struct {
	site *processSite
	rec  *record.Recorder

	running *argorollouts.Controller // nil while none is
	// cancel ends the sampling of its metrics.
	cancel context.CancelFunc
}

var _ stage.Controller = (*releases)(nil)

// begin starts the first release.
func (c *releases) begin(ctx context.Context, fail context.CancelCauseFunc, version string) error {
	if err := c.start(ctx, version); err != nil {
		return err
	}
	go watchPart(ctx, fail, argorollouts.Name, c.running.Process)
	return nil
}

func (c *releases) start(ctx context.Context, version string) error {
	controller, err := c.site.controller(ctx, c.rec, version)
	if err != nil {
		return err
	}
	c.running = controller
	sampling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go c.rec.Sample(sampling, metricsOf(controller))
	return nil
}

// unwatch ends the sampling.
func (c *releases) unwatch() {
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
}

func (c *releases) Stop(ctx context.Context) error {
	return c.end(func(p *process.Process) error { return p.Stop(ctx, stopTimeout) })
}

func (c *releases) Kill(ctx context.Context) error {
	return c.end(func(p *process.Process) error { return p.Kill(ctx) })
}

// end ends the controller that runs, if one does.
func (c *releases) end(how func(*process.Process) error) error {
	c.unwatch()
	if c.running == nil {
		return nil
	}
	running := c.running
	c.running = nil
	if err := how(running.Process); err != nil {
		return fmt.Errorf("stopping Argo Rollouts: %w", err)
	}
	return nil
}

func (c *releases) Install(ctx context.Context, version string) error {
	return c.site.installRollouts(ctx, version)
}

func (c *releases) Start(ctx context.Context, version string) error {
	err := c.start(ctx, version)
	_, crashed := errors.AsType[*process.ExitError](err)
	if crashed || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("a healthy controller: %w: %w", stage.ErrNotReached, err)
	}
	return err
}

func (c *releases) Ended() error {
	if c.running == nil {
		return fmt.Errorf("a controller that lives: %w: none was started", stage.ErrNotReached)
	}
	if err := c.running.Process.Err(); err != nil {
		return fmt.Errorf("a controller that lives: %w: %w", stage.ErrNotReached, err)
	}
	return nil
}
