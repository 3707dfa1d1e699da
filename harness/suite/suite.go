// Package suite is the Ginkgo front end over cells: labels, version filters,
// timeouts, clean-up on interrupt, JUnit. One spec is one cell; the engine
// under it is plain Go, so everything here could be run without Ginkgo.
package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
)

// Suite runs the cells of a plan, as many at a time as the plan says. Ginkgo
// itself runs one spec after the other in one process; the runs that its specs
// wait for are what is parallel.
type Suite struct {
	Plan *plan.Plan
	// Prepare, if set, is called by Execute with the selected cells before the
	// first of them runs.
	Prepare func(ctx context.Context, cells []plan.Cell) error
	// Run runs one repetition of a cell.
	Run RunFunc
	// Repetitions, if set, are the numbers of the repetitions of a cell that are run,
	// as many as the cell's Repeat says; nil is from 1 on.
	Repetitions func(c plan.Cell) []int
	// Close, if set, is for callers of Register: it takes down what runs shared,
	// after RunSpecs.
	Close func(ctx context.Context) error
	// Limit is how long one run of a cell may take; nil is a generous one.
	Limit func(c plan.Cell) time.Duration
}

// RunFunc runs one repetition of a cell. The error is why there is no verdict.
type RunFunc func(ctx context.Context, c plan.Cell, repetition int) (*engine.Outcome, error)

// Result is one repetition of a cell that was run.
type Result struct {
	Cell       plan.Cell
	Repetition int
	Outcome    *engine.Outcome
	Err        error
}

// ErrNothing says that filters left every cell out.
var ErrNothing = errors.New("no cell was selected")

// Register declares one spec for each cell. It must be called from a function
// that runs before RunSpecs, never from an importable package's variables
// (onsi/ginkgo#1206). The results are complete when RunSpecs has returned.
func (s *Suite) Register(ctx context.Context) *Runs {
	runs := newRuns(ctx, s)
	ginkgo.Describe(s.Plan.Drill, func() {
		for _, cell := range s.Plan.Cells {
			body := func(ctx ginkgo.SpecContext) { spec(ctx, runs, cell) }
			ginkgo.It(cell.Name, append(s.decorations(cell), body)...)
		}
	})
	return runs
}

// decorations are the labels by which cells are chosen: scenario, provider and
// each component with its version; versions can be filtered as versions too.
func (s *Suite) decorations(c plan.Cell) []any {
	labels := ginkgo.Labels{c.Scenario, c.Provider}
	out := []any{ginkgo.SpecTimeout(s.patience()), ginkgo.GracePeriod(time.Minute)}
	for component, version := range c.Versions {
		if dir, _ := plan.SplitVersion(version); dir == "" {
			labels = append(labels, component+"-"+version)
			out = append(out, ginkgo.ComponentSemVerConstraint(component, "= "+strings.TrimPrefix(version, "v")))
		}
	}
	return append(out, labels)
}

// limit is how long one run of a cell may take, from its own begin: it ends a
// run that hangs, it judges nothing.
func (s *Suite) limit(c plan.Cell) time.Duration {
	if s.Limit != nil {
		return s.Limit(c)
	}
	return 3*c.Expected() + 5*time.Minute
}

// repetitions are the numbers of the runs of a cell.
func (s *Suite) repetitions(c plan.Cell) []int {
	if s.Repetitions != nil {
		return s.Repetitions(c)
	}
	out := make([]int, c.Repeat)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// patience is how long a spec may wait: its runs may come after all others.
func (s *Suite) patience() time.Duration {
	total := time.Minute
	for _, c := range s.Plan.Cells {
		total += time.Duration(c.Repeat) * (s.limit(c) + time.Minute)
	}
	return total
}

func spec(ctx ginkgo.SpecContext, runs *Runs, cell plan.Cell) {
	results := runs.of(ctx, cell)
	for _, r := range results {
		if r.Err == nil {
			ginkgo.AddReportEntry(fmt.Sprintf("verdict %d", r.Repetition), string(r.Outcome.Run.Verdict.Outcome), ginkgo.ReportEntryVisibilityFailureOrVerbose)
		}
	}
	if failures := failuresOf(results); len(failures) > 0 {
		ginkgo.Fail(strings.Join(failures, "\n"))
	}
}

// failuresOf says what of the runs did not pass, or was left behind.
func failuresOf(results []Result) []string {
	var failures []string
	for _, r := range results {
		if r.Outcome != nil && r.Outcome.Cleanup != nil { // whatever the verdict
			failures = append(failures, r.Outcome.Cleanup.Error())
		}
		if r.Err != nil {
			failures = append(failures, r.Err.Error())
			continue
		}
		if v := r.Outcome.Run.Verdict; v.Outcome != judge.Pass {
			failures = append(failures, fmt.Sprintf("%s: %s", v.Outcome, strings.Join(v.Reasons, "; ")))
		}
	}
	return failures
}
