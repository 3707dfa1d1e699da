package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// releases is the Argo Rollouts controller of a run whose script puts one release
// after the other in its place, or beside it. The first one is the environment, and its
// end by itself a fault; what becomes of the others is what the run is to find out.
type releases struct {
	site *processSite
	rec  *record.Recorder

	// running are those that were started and not stopped, in the order of their start.
	running []*release
	// started is how many there ever were.
	started int
}

// release is one that runs, or ended by itself.
type release struct {
	*argorollouts.Controller
	// unwatch ends the sampling of its metrics.
	unwatch context.CancelFunc
}

var _ stage.Controller = (*releases)(nil)

// elects says whether several controllers may run at a time.
func (r *run) elects() bool {
	e, ok := r.scenario.(scenario.Elector)
	return ok && e.Elects(r.params)
}

// begin starts the first release.
func (c *releases) begin(ctx context.Context, fail context.CancelCauseFunc, version string) error {
	if err := c.start(ctx, version); err != nil {
		return err
	}
	go watchPart(ctx, fail, argorollouts.Name, c.running[0].Process)
	return nil
}

func (c *releases) start(ctx context.Context, version string) error {
	c.started++
	controller, err := c.site.controller(ctx, c.rec, version, which{number: c.started, elects: c.site.run.elects()})
	if err != nil {
		return err
	}
	sampling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.running = append(c.running, &release{Controller: controller, unwatch: cancel})
	go c.rec.Sample(sampling, metricsOf(controller))
	return nil
}

// unwatch ends the sampling.
func (c *releases) unwatch() {
	for _, r := range c.running {
		r.unwatch()
	}
}

func (c *releases) Stop(ctx context.Context) error {
	return c.end(func(p *process.Process) error { return p.Stop(ctx, stopTimeout) })
}

func (c *releases) Kill(ctx context.Context) error {
	return c.end(func(p *process.Process) error { return p.Kill(ctx) })
}

// end ends the first controller that runs, if one does.
func (c *releases) end(how func(*process.Process) error) error {
	if len(c.running) == 0 {
		return nil
	}
	first := c.running[0]
	c.running = slices.Delete(c.running, 0, 1)
	first.unwatch()
	if err := how(first.Process); err != nil {
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
	if len(c.running) == 0 {
		return fmt.Errorf("a controller that lives: %w: none was started", stage.ErrNotReached)
	}
	for _, r := range c.running {
		if err := r.Process.Err(); err != nil {
			return fmt.Errorf("a controller that lives: %w: %w", stage.ErrNotReached, err)
		}
	}
	return nil
}
