package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/suite"
	"reckon.dev/reckon/scenarios"
)

const defaultResults = "results"

type runFlags struct {
	plan.Overrides
	results      string
	label        string
	versions     string
	junit        string
	planHash     string
	output       string
	resume       string
	keep, ginkgo bool
}

func newRun(a *app) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run DRILL|SCENARIO",
		Short: "Run cells, record, judge and report",
		Long: `Run the cells of a drill file, of a shipped drill, or of a scenario with its
defaults. A drill goes before the scenario that it has its name from, which is
scenario:NAME. Each run leaves a directory below RESULTS/runs with its
recording, verdict and report.

All runs of a command are a campaign, which stands below RESULTS/campaigns. With
--resume [CAMPAIGN] what an interrupted one left is run, and all of it reported:
the latest, that of a name, or the latest of a drill. Runs that passed, failed
or were inconclusive stay; those that were interrupted or invalid are run again.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed(resumeFlag) {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("parallel") && f.Parallel < 1 {
				return usage(fmt.Errorf("--parallel: %d is no number of runs at a time, expected 1 to %d", f.Parallel, drills.MaxParallel))
			}
			if !cmd.Flags().Changed(resumeFlag) {
				return a.run(cmd.Context(), args[0], f)
			}
			name, err := campaignOf(cmd, args, f)
			if err != nil {
				return usage(err)
			}
			return a.resume(cmd.Context(), name, f)
		},
	}
	overrideFlags(cmd, &f.Overrides)
	cmd.Flags().StringVar(&f.results, "results", defaultResults, "directory for results")
	cmd.Flags().StringVar(&f.label, "label-filter", "", "Ginkgo label filter over scenarios, providers and versions, e.g. 'rollback-window && argo-rollouts-v1.8.2'")
	cmd.Flags().StringVar(&f.versions, "sem-ver-filter", "", "Ginkgo version filter, e.g. argo-rollouts=1.8.2")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write Ginkgo's JUnit report of all cells to this file")
	cmd.Flags().StringVar(&f.planHash, "plan", "", "run only if the plan has this hash")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or markdown")
	cmd.Flags().IntVar(&f.Parallel, "parallel", 0, "runs at a time (default: as the drill says, else 1)")
	cmd.Flags().StringVar(&f.resume, resumeFlag, "", "run what is left of a campaign, by default the latest, and report all of it")
	cmd.Flags().Lookup(resumeFlag).NoOptDefVal = campaign.Latest
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave each cluster up after its run until Ctrl-C")
	cmd.Flags().BoolVar(&f.ginkgo, "ginkgo", false, "show Ginkgo's own output on standard error")
	return cmd
}

// overrideFlags are the wishes that run, plan and predict share.
func overrideFlags(cmd *cobra.Command, o *plan.Overrides) {
	cmd.Flags().StringArrayVar(&o.Set, "set", nil, "set a parameter, PARAMETER=YAML")
	cmd.Flags().StringArrayVar(&o.Versions, "version", nil, "use a component version or directory, COMPONENT=VERSION")
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes", "", "short for --version kubernetes=VERSION")
	cmd.Flags().StringVar(&o.Provider, "provider", "", "cluster provider: embedded (simulated pods) or kind (real pods)")
	cmd.Flags().StringVar(&o.NodeImage, "node-image", "", "kind: auto (kind's own if the engine has or can pull it, else build), build, or a reference")
	cmd.Flags().IntVar(&o.Repeat, "repeat", 0, "repetitions of each cell (default: as the drill says)")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("kubernetes") && o.Kubernetes == "" {
			return usage(errors.New("--kubernetes: the version is missing"))
		}
		if cmd.Flags().Changed("repeat") && o.Repeat < 1 {
			return usage(fmt.Errorf("--repeat: %d is no number of repetitions, expected at least 1", o.Repeat))
		}
		return nil
	}
}

func (f *runFlags) check() error {
	if f.results == "" {
		return errors.New("--results: the directory is missing")
	}
	if err := suite.CheckFilters(f.label, f.versions); err != nil {
		return err
	}
	return checkOutput(f.output, "text", "json", "markdown")
}

func (a *app) plan(arg string, o plan.Overrides) (*plan.Plan, error) {
	d, err := drills.Find(arg)
	if err != nil {
		return nil, usage(err)
	}
	p, err := plan.New(d, o)
	return p, usage(orScenario(arg, o, err))
}

// orScenario says of a drill that cannot run so that the scenario of its name can:
// mostly it was that which was meant.
func orScenario(arg string, o plan.Overrides, err error) error {
	if err == nil || !slices.Contains(drills.Shipped(), arg) || !slices.Contains(scenarios.Names(), arg) {
		return err
	}
	if _, alone := plan.New(drills.ForScenario(arg), o); alone != nil {
		return err
	}
	return fmt.Errorf("%w; this is the drill %s, and the scenario of that name can run so: %s%s", err, arg, drills.ScenarioPrefix, arg)
}

func (a *app) run(ctx context.Context, arg string, f *runFlags) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	p, err := a.plan(arg, f.Overrides)
	if err != nil {
		return err
	}
	if f.planHash != "" && f.planHash != p.Hash() {
		return &exitError{ExitRefused, fmt.Errorf("the plan has the hash %s, not %s: look at `reckon plan %s` again", p.Hash(), f.planHash, arg)}
	}
	w, err := a.newWork(f)
	if err != nil {
		return usage(err)
	}
	s := w.suite(p)
	s.Prepare = func(ctx context.Context, cells []plan.Cell) error {
		if err := w.begin(arg, p, cells); err != nil {
			return err
		}
		return w.prepare(ctx, cells)
	}
	options := w.options()
	options.LabelFilter, options.SemVerFilter = f.label, f.versions
	err = w.carryOut(ctx, s, options)
	if errors.Is(err, suite.ErrNothing) {
		return usage(fmt.Errorf("%w: the filters %q and %q left none of %d", err, f.label, f.versions, len(p.Cells)))
	}
	return err
}

// surviving runs what must clean up behind itself. Whoever read our progress may go away
// meanwhile: that must not cost the clean-up, as a SIGPIPE that is not caught would.
func surviving(run func() ([]suite.Result, error)) ([]suite.Result, error) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	return run()
}

// Suite is the suite of a plan for callers that bring their own Ginkgo, such
// as `go test`. What a cell needs is built when its spec runs.
func Suite(p *plan.Plan, results string, streams IO) (*suite.Suite, error) {
	a := &app{IO: streams}
	e, err := a.engine(results, false, a.newStatus())
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, c plan.Cell, repetition int) (*engine.Outcome, error) {
		parts, err := e.Build(ctx, c)
		if err != nil {
			return nil, err
		}
		return e.Run(ctx, c, parts, repetition)
	}
	return &suite.Suite{Plan: p, Run: run, Close: e.Close}, nil
}

// buildAll builds what every cell needs before anything starts, so that a
// version that cannot be had costs no cluster.
func buildAll(ctx context.Context, e *engine.Engine, cells []plan.Cell, into map[string]engine.Parts) error {
	if err := prepareAll(ctx, e, cells); err != nil {
		return err
	}
	for _, c := range cells {
		parts, err := e.Build(ctx, c)
		if err != nil {
			return err
		}
		into[c.Name] = parts
	}
	return nil
}

// prepareAll looks for the images of nodes, once each. An environment that fails
// otherwise makes runs invalid, which their verdicts say.
func prepareAll(ctx context.Context, e *engine.Engine, cells []plan.Cell) error {
	type image struct{ provider, kubernetes, want string }
	seen := map[image]bool{}
	for _, c := range cells {
		of := image{c.Provider, c.Versions[scenario.Kubernetes], c.NodeImage}
		if seen[of] {
			continue
		}
		seen[of] = true
		if err := e.Prepare(ctx, c); errors.Is(err, kind.ErrNoImage) || err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func buildError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{ExitAborted, fmt.Errorf("interrupted while building: %w", err)}
	}
	if told, ok := errors.AsType[*exitError](err); ok {
		return told
	}
	return usage(err)
}

// finish prints the verdicts and picks the exit code, from those of the runs
// and those that apply to all of them.
func (a *app) finish(results []suite.Result, output string, codes ...int) error {
	for _, r := range results {
		codes = append(codes, codesOf(r)...)
	}
	a.complain(results)
	runs, dirs := judged(results)
	code, missing := worst(codes), len(results)-len(runs)
	if missing > 0 && output == "markdown" { // before a headline that does not know of them
		fmt.Fprintf(a.Out, "> **NOT DONE**: %d of %d runs have no verdict\n\n", missing, len(results))
	}
	if err := a.print(runs, output, code); err != nil {
		return err
	}
	if output == "text" {
		a.printPaths(runs, dirs)
	}
	if missing > 0 && output == "text" {
		fmt.Fprintf(a.Out, "\nNOT DONE  %d of %d runs have no verdict\n", missing, len(results))
	}
	if code == ExitPass {
		return nil
	}
	return &exitError{code: code}
}

// printPaths says where the reports are: of many runs only those that did not
// pass, and the directory of all.
func (a *app) printPaths(runs []report.Run, dirs []engine.RunDir) {
	many := len(runs) > report.Few
	fmt.Fprintln(a.Out)
	for i, dir := range dirs {
		if !many || a.verbose || runs[i].Verdict.Outcome != judge.Pass {
			fmt.Fprintln(a.Out, whereReport(dir))
		}
	}
	if many {
		fmt.Fprintf(a.Out, "reports: a %s for each run below %s\n", engine.HTMLFile, filepath.Dir(string(dirs[0])))
	}
}

// whereReport says where the report is, or that there is none: a full disk.
func whereReport(dir engine.RunDir) string {
	if _, err := os.Stat(dir.File(engine.HTMLFile)); err != nil {
		return fmt.Sprintf("report: none could be written in %s", dir)
	}
	return "report: " + dir.File(engine.HTMLFile)
}

// judged are the results with a verdict, also where their reports could not be written.
func judged(results []suite.Result) (runs []report.Run, dirs []engine.RunDir) {
	for _, r := range results {
		if r.Outcome != nil && r.Outcome.Run.Verdict.Outcome != "" {
			runs, dirs = append(runs, r.Outcome.Run), append(dirs, r.Outcome.Dir)
		}
	}
	return runs, dirs
}

// complain says why runs have no verdict, and what they left behind. Those that an
// interrupt came before are counted only.
func (a *app) complain(results []suite.Result) {
	unbegun := 0
	for _, r := range results {
		_, aborted := errors.AsType[*engine.AbortError](r.Err)
		if aborted && r.Outcome == nil {
			unbegun++
			continue
		}
		if r.Err != nil {
			fmt.Fprintf(a.Err, "reckon: %s, run %d: %v\n", r.Cell.Name, r.Repetition, r.Err)
		}
		if r.Outcome != nil && r.Outcome.Cleanup != nil {
			fmt.Fprintf(a.Err, "reckon: %s, run %d: %v\n", r.Cell.Name, r.Repetition, r.Outcome.Cleanup)
		}
	}
	if unbegun > 0 {
		fmt.Fprintf(a.Err, "reckon: %d of %d runs were not begun\n", unbegun, len(results))
	}
}

func (a *app) print(runs []report.Run, output string, code int) error {
	verdicts := make([]judge.Verdict, len(runs))
	for i, r := range runs {
		verdicts[i] = r.Verdict
	}
	switch output {
	case "json":
		return report.JSONRuns(a.Out, verdicts, code)
	case "markdown":
		return report.Markdown(a.Out, runs)
	case "junit":
		return report.JUnit(a.Out, verdicts)
	}
	if len(runs) == 0 {
		return nil
	}
	return report.Text(a.Out, runs, a.textOptions())
}

func checkOutput(got string, known ...string) error {
	for _, k := range known {
		if got == k {
			return nil
		}
	}
	return fmt.Errorf("unknown output %q%s, expected one of %s", got, nearest.Hint(got, known), strings.Join(known, ", "))
}
