package suite

import (
	"context"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"reckon.dev/reckon/harness/plan"
)

// Runs are the repetitions of the selected cells. Those that were chosen ahead
// are worked off in order by as many workers as are allowed; others are run by
// the spec that asks for them, as under `go test` and the ginkgo command.
type Runs struct {
	suite *Suite
	ctx   context.Context
	stop  context.CancelCauseFunc

	mu    sync.Mutex
	tasks map[string]*task
	order []*task
	done  sync.WaitGroup
}

// task is one cell.
type task struct {
	cell    plan.Cell
	left    int
	results []Result
	done    chan struct{}
}

func newRuns(ctx context.Context, s *Suite) *Runs {
	r := &Runs{suite: s, tasks: map[string]*task{}}
	r.ctx, r.stop = context.WithCancelCause(ctx)
	return r
}

// choose takes the cells that Ginkgo's filters leave, in their order, and sets
// the workers to work. The report is that of PreviewSpecs.
func (r *Runs) choose(preview ginkgo.Report) {
	selected := map[string]bool{}
	for _, spec := range preview.SpecReports {
		selected[spec.LeafNodeText] = !spec.State.Is(types.SpecStateSkipped | types.SpecStatePending)
	}
	for _, cell := range r.suite.Plan.Cells {
		if selected[cell.Name] {
			r.add(cell)
		}
	}
	type job struct {
		task       *task
		repetition int
	}
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for _, t := range r.order {
			for n := 1; n <= t.cell.Repeat; n++ {
				jobs <- job{t, n}
			}
		}
	}()
	for range max(r.suite.Parallel, 1) {
		r.done.Go(func() {
			for j := range jobs {
				r.finish(j.task, r.run(j.task.cell, j.repetition))
			}
		})
	}
}

func (r *Runs) add(c plan.Cell) *task {
	t := &task{cell: c, left: c.Repeat, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[c.Name], r.order = t, append(r.order, t)
	return t
}

func (r *Runs) run(c plan.Cell, repetition int) Result {
	result := Result{Cell: c, Repetition: repetition}
	if result.Err = context.Cause(r.ctx); result.Err == nil {
		result.Outcome, result.Err = r.suite.Run(r.ctx, c, repetition)
	}
	return result
}

func (r *Runs) finish(t *task, result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.results = append(t.results, result)
	if t.left--; t.left == 0 {
		close(t.done)
	}
}

// of waits for all repetitions of a cell. When Ginkgo ends the spec (a timeout,
// an interrupt), every run is told to end, and is waited for: its tear-down
// must not be cut short.
func (r *Runs) of(ctx context.Context, c plan.Cell) []Result {
	r.mu.Lock()
	t := r.tasks[c.Name]
	r.mu.Unlock()
	if t == nil {
		t = r.add(c)
		r.done.Go(func() {
			for n := 1; n <= c.Repeat; n++ {
				r.finish(t, r.run(c, n))
			}
		})
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		r.stop(context.Cause(ctx))
		<-t.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.results
}

// Results are all runs, cell by cell. It waits for those that are under way.
func (r *Runs) Results() []Result {
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Result
	for _, t := range r.order {
		out = append(out, t.results...)
	}
	return out
}
