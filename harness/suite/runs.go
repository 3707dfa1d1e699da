package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
)

// Runs are the repetitions of the selected cells. Those that were chosen ahead
// are worked off, one cluster after the other, by as many workers as are allowed; others are run by
// the spec that asks for them, as under `go test` and the ginkgo command.
type Runs struct {
	suite *Suite
	ctx   context.Context

	mu    sync.Mutex
	tasks map[string]*task
	order []*task
	done  sync.WaitGroup
}

// task is one cell. Its context ends when Ginkgo ends its spec.
type task struct {
	cell    plan.Cell
	ctx     context.Context
	stop    context.CancelCauseFunc
	left    int
	results []Result
	done    chan struct{}
}

func newRuns(ctx context.Context, s *Suite) *Runs {
	return &Runs{suite: s, ctx: ctx, tasks: map[string]*task{}}
}

// choose takes the cells that Ginkgo's filters leave, in their order. The
// report is that of PreviewSpecs.
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
}

// chosen are the cells that were chosen ahead.
func (r *Runs) chosen() []plan.Cell {
	var out []plan.Cell
	for _, t := range r.order {
		out = append(out, t.cell)
	}
	return out
}

// work sets the workers to work on the chosen cells.
func (r *Runs) work() {
	type job struct {
		task       *task
		repetition int
	}
	var queue []job
	for _, c := range plan.ByCluster(r.chosen()) {
		for _, n := range r.suite.repetitions(c) {
			queue = append(queue, job{r.tasks[c.Name], n})
		}
	}
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for _, j := range queue {
			jobs <- j
		}
	}()
	for range max(r.suite.Plan.Parallel, 1) {
		r.done.Go(func() {
			for j := range jobs {
				r.finish(j.task, r.run(j.task, j.repetition))
			}
		})
	}
}

func (r *Runs) add(c plan.Cell) *task {
	t := &task{cell: c, left: len(r.suite.repetitions(c)), done: make(chan struct{})}
	t.ctx, t.stop = context.WithCancelCause(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[c.Name], r.order = t, append(r.order, t)
	return t
}

func (r *Runs) run(t *task, repetition int) Result {
	result := Result{Cell: t.cell, Repetition: repetition}
	if cause := context.Cause(t.ctx); cause != nil {
		result.Err = &engine.AbortError{Cause: cause}
		return result
	}
	limit := r.suite.limit(t.cell)
	ctx, cancel := context.WithTimeoutCause(t.ctx, limit, fmt.Errorf("the run took longer than its limit of %s", limit))
	defer cancel()
	result.Outcome, result.Err = r.suite.Run(ctx, t.cell, repetition)
	return result
}

func (r *Runs) finish(t *task, result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.results = append(t.results, result)
	if t.left--; t.left == 0 {
		slices.SortFunc(t.results, func(a, b Result) int { return cmp.Compare(a.Repetition, b.Repetition) })
		t.stop(nil)
		close(t.done)
	}
}

// of waits for all repetitions of a cell. When Ginkgo ends the spec (a timeout,
// an interrupt), its runs are told to end, and are waited for: their tear-down
// must not be cut short. Other cells go on: one that hangs does not take them along.
func (r *Runs) of(ctx context.Context, c plan.Cell) []Result {
	r.mu.Lock()
	t := r.tasks[c.Name]
	r.mu.Unlock()
	if t == nil {
		t = r.add(c)
		r.done.Go(func() {
			for _, n := range r.suite.repetitions(c) {
				r.finish(t, r.run(t, n))
			}
		})
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		t.stop(context.Cause(ctx))
		<-t.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.results
}

// Results are all runs, cell by cell, in order. It waits for those that are under way.
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
