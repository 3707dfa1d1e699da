package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/record"
)

// Disturbance is what is done to a cluster on purpose while a script plays,
// such as a restart of its API server. What follows from it is for the judge.
type Disturbance struct {
	// Name is recorded as a step, so that the recording says what was done when.
	Name string
	// Step is the step of the script at whose begin it is done, beside the step.
	Step string
	// Shared: it leaves the cluster fit for others, and may be done to one that
	// runs share.
	Shared bool
	// Do does it. It fails the run if it cannot.
	Do func(ctx context.Context, c cluster.Cluster) error
}

// disturber does the disturbances of one run, each once.
type disturber struct {
	run  *run
	rec  *record.Recorder
	ctx  context.Context
	fail context.CancelCauseFunc

	tasks sync.WaitGroup
	mu    sync.Mutex
	begun map[int]bool
}

func (r *run) newDisturber(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) *disturber {
	return &disturber{run: r, rec: rec, ctx: ctx, fail: fail, begun: map[int]bool{}}
}

// at is told that a step begins.
func (d *disturber) at(step string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, what := range d.run.engine.Disturb {
		if what.Step == step && !d.begun[i] {
			d.begun[i] = true
			d.tasks.Go(func() { d.do(what) })
		}
	}
}

func (d *disturber) do(what Disturbance) {
	d.run.say("%s", what.Name)
	d.rec.StepBegin(what.Name)
	err := what.Do(d.ctx, d.run.cluster)
	d.rec.StepEnd(what.Name, err)
	if err != nil && d.ctx.Err() == nil {
		d.fail(&partFault{what.Name, err})
	}
}

// wait returns when all are done. A run in which one of them never happened,
// though its script came to the end, is not the run that was asked for.
func (d *disturber) wait(scriptErr error) error {
	d.tasks.Wait()
	if scriptErr != nil {
		return scriptErr
	}
	var errs []error
	for i, what := range d.run.engine.Disturb {
		if !d.begun[i] {
			errs = append(errs, fmt.Errorf("%s: the script has no step %q", what.Name, what.Step))
		}
	}
	return errors.Join(errs...)
}
