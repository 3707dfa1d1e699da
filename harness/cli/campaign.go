package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/suite"
)

const resumeFlag = "resume"

// longestReason is as much as a line says of why a run is run again.
const longestReason = 200

// planned are the flags whose say a campaign has already.
var planned = []string{"set", "version", "kubernetes", "provider", "node-image", "repeat", "label-filter", "sem-ver-filter", "plan", "junit"}

// campaignOf is the campaign that --resume means: its value, or the argument.
func campaignOf(cmd *cobra.Command, args []string, f *runFlags) (string, error) {
	for _, name := range planned {
		if cmd.Flags().Changed(name) {
			return "", fmt.Errorf("--%s and --%s: what is run stands in the campaign", resumeFlag, name)
		}
	}
	switch {
	case f.resume == "":
		return "", fmt.Errorf("--%s: the campaign is missing", resumeFlag)
	case len(args) == 0:
		return f.resume, nil
	case f.resume != campaign.Latest:
		return "", fmt.Errorf("--%s: %s and %s are two campaigns", resumeFlag, f.resume, args[0])
	}
	return args[0], nil
}

// work is a campaign under way in this command.
type work struct {
	*app
	flags    *runFlags
	engine   *engine.Engine
	progress *progress
	parts    map[string]engine.Parts
	campaign *campaign.Campaign
	// done are the runs that earlier commands did.
	done []campaign.Run
}

func (a *app) newWork(f *runFlags) (*work, error) {
	st := a.newStatus()
	e, err := a.engine(f.results, f.keep, st)
	if err != nil {
		return nil, err
	}
	w := &work{app: a, flags: f, engine: e, progress: &progress{status: st, verbose: a.verbose}, parts: map[string]engine.Parts{}}
	e.Progress = w.progress.step
	return w, nil
}

// suite runs the cells of a plan, and tells of it.
func (w *work) suite(p *plan.Plan) *suite.Suite {
	return &suite.Suite{
		Plan: p,
		Run: func(ctx context.Context, c plan.Cell, repetition int) (*engine.Outcome, error) {
			under := w.progress.start(c)
			out, err := w.engine.Run(ctx, c, w.parts[c.Name], repetition)
			w.progress.end(under, repetition, out, err)
			return out, err
		},
	}
}

// begin writes the manifest of a new campaign.
func (w *work) begin(drill string, p *plan.Plan, cells []plan.Cell) error {
	m := campaign.Manifest{Began: w.Clock.Now(), Reckon: ownVersion(), Drill: drillPath(drill), Overrides: w.flags.Overrides, Plan: p}
	c, err := campaign.Begin(w.flags.results, m, cells)
	if err != nil {
		return &exitError{ExitInvalid, err}
	}
	w.hold(c, c.All(), p.Parallel)
	return nil
}

// hold makes it the campaign of this command, with so much of it left.
func (w *work) hold(c *campaign.Campaign, left []campaign.Left, parallel int) {
	w.campaign, w.engine.Campaign = c, c.ID
	w.progress.begin(c.Runs(), left, parallel, campaign.Earlier(w.flags.results))
	w.progress.line("campaign %s: %s", c.ID, w.progress.outlook())
}

// drillPath makes the path of a drill's file one that holds everywhere.
func drillPath(drill string) string {
	if info, err := os.Stat(drill); err == nil && info.Mode().IsRegular() && strings.ContainsAny(drill, "./") {
		if path, err := filepath.Abs(drill); err == nil {
			return path
		}
	}
	return drill
}

// prepare builds what cells need, before the first of them runs.
func (w *work) prepare(ctx context.Context, cells []plan.Cell) error {
	w.engine.Expect(cells)
	return buildAll(ctx, w.engine, cells, w.parts)
}

// close takes down what runs shared, and returns the exit codes of that.
func (w *work) close(ctx context.Context) []int {
	err := w.engine.Close(context.WithoutCancel(ctx))
	w.progress.pin("")
	if err == nil {
		return nil
	}
	fmt.Fprintf(w.Err, "reckon: %v\n", err)
	return []int{ExitCleanup}
}

// carryOut runs the suite and reports the campaign, with what was done of it before.
func (w *work) carryOut(ctx context.Context, s *suite.Suite, o suite.Options) error {
	results, err := surviving(func() ([]suite.Result, error) { return s.Execute(ctx, o) })
	codes := w.close(ctx)
	if w.campaign != nil {
		defer w.campaign.Release()
	}
	switch {
	case errors.Is(err, suite.ErrNothing):
		return err
	case err != nil:
		if ctx.Err() != nil {
			w.hint(nil)
		}
		return buildError(ctx, err)
	}
	if ctx.Err() != nil && !w.flags.keep { // also when every run had come to its end by then
		codes = append(codes, ExitAborted)
	}
	err = w.finish(w.whole(results), w.flags.output, codes...)
	w.hint(results)
	return err
}

// whole are the results of the campaign in the order of its plan: those of this
// command, and those that were there.
func (w *work) whole(results []suite.Result) []suite.Result {
	all := slices.Clone(results)
	for _, r := range w.done {
		all = append(all, suite.Result{Cell: r.Cell, Repetition: r.Repetition, Outcome: &engine.Outcome{Dir: r.Dir, Run: r.Report}})
	}
	place := map[string]int{}
	for i, name := range w.campaign.Chosen {
		place[name] = i
	}
	slices.SortStableFunc(all, func(a, b suite.Result) int {
		if a.Cell.Name != b.Cell.Name {
			return place[a.Cell.Name] - place[b.Cell.Name]
		}
		return a.Repetition - b.Repetition
	})
	return all
}

// hint says how to go on where runs are left.
func (w *work) hint(results []suite.Result) {
	if w.campaign == nil {
		return
	}
	left := w.campaign.Runs() - len(w.done)
	for _, r := range results {
		if r.Outcome != nil && campaign.Counts(r.Outcome.Run.Verdict.Outcome) {
			left--
		}
	}
	if left == 0 {
		return
	}
	in := ""
	if w.flags.results != defaultResults {
		in = fmt.Sprintf(" --results %s", w.flags.results)
	}
	fmt.Fprintf(w.Err, "reckon: %d of %d runs are left: `reckon run --resume %s%s` goes on\n", left, w.campaign.Runs(), w.campaign.ID, in)
}

// options are Ginkgo's, but for what chooses cells.
func (w *work) options() suite.Options {
	o := suite.Options{JUnit: w.flags.junit}
	if w.flags.ginkgo {
		o.Output = w.Err
	}
	return o
}

// resume runs what is left of a campaign, and reports all of it.
func (a *app) resume(ctx context.Context, name string, f *runFlags) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	w, err := a.newWork(f)
	if err != nil {
		return usage(err)
	}
	c, err := campaign.Resume(f.results, drillPath(name))
	if err != nil {
		return refusal(err)
	}
	p, left, err := w.takeUp(c)
	if err != nil {
		c.Release()
		return refusal(err)
	}
	if len(left) == 0 {
		defer c.Release()
		return w.finish(w.whole(nil), f.output)
	}
	return w.carryOut(ctx, w.rest(p, left), w.options())
}

// refusal is the end of a command that does not resume a campaign.
func refusal(err error) error {
	_, held := errors.AsType[*campaign.HeldError](err)
	_, differs := errors.AsType[*campaign.DiffersError](err)
	if held || differs {
		return &exitError{ExitRefused, err}
	}
	return usage(err)
}

// takeUp makes a campaign's plan again, and finds what of it is done and what is left.
func (w *work) takeUp(c *campaign.Campaign) (*plan.Plan, []campaign.Left, error) {
	o := c.Overrides
	if w.flags.Parallel > 0 {
		o.Parallel = w.flags.Parallel
	}
	p, err := w.plan(c.Drill, o)
	if err != nil {
		return nil, nil, &campaign.DiffersError{ID: c.ID, What: []string{err.Error()}}
	}
	if err := c.Check(p); err != nil {
		return nil, nil, err
	}
	w.progress.line("campaign %s: judging again what is done", c.ID)
	done, left, err := c.Survey(w.flags.results)
	if err != nil {
		return nil, nil, err
	}
	w.done = done
	w.hold(c, left, p.Parallel)
	if now := ownVersion(); c.Reckon != now {
		w.progress.line("reckon %s began it, this is %s: plan, answer keys and verdicts are the same", c.Reckon, now)
	}
	for _, l := range left {
		if l.Again != "" {
			why := strings.Join(strings.Fields(l.Again), " ") // logs may be quoted there
			w.progress.line("again: %s, run %d: %s", l.Cell.Name, l.Repetition, cut(why, longestReason))
		}
	}
	return p, left, nil
}

// rest is the suite of what is left of a plan.
func (w *work) rest(p *plan.Plan, left []campaign.Left) *suite.Suite {
	cells, repetitions := map[string]plan.Cell{}, map[string][]int{}
	for _, l := range left {
		repetitions[l.Cell.Name] = append(repetitions[l.Cell.Name], l.Repetition)
	}
	few := &plan.Plan{Drill: p.Drill, Parallel: p.Parallel}
	for _, c := range p.Cells {
		if n := len(repetitions[c.Name]); n > 0 {
			cells[c.Name], c.Repeat = c, n
			few.Cells = append(few.Cells, c)
		}
	}
	s := w.suite(few)
	run := s.Run
	s.Run = func(ctx context.Context, c plan.Cell, repetition int) (*engine.Outcome, error) {
		return run(ctx, cells[c.Name], repetition) // as the plan has it, for plan.json
	}
	s.Repetitions = func(c plan.Cell) []int { return repetitions[c.Name] }
	s.Prepare = func(ctx context.Context, cells []plan.Cell) error {
		if err := w.prepare(ctx, cells); err != nil {
			return err
		}
		return w.checkBinaries(cells)
	}
	return s
}

// checkBinaries refuses to mix runs of different binaries.
func (w *work) checkBinaries(cells []plan.Cell) error {
	var next []campaign.Parts
	for _, c := range cells {
		next = append(next, campaign.Parts{Cell: c, Components: w.parts[c.Name].Components(c)})
	}
	if err := w.campaign.CheckBinaries(w.done, next); err != nil {
		return refusal(err)
	}
	return nil
}
