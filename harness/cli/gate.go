package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/gate"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/suite"
	"reckon.dev/reckon/scenarios"
)

// gateFlags are the wishes of a gate.
type gateFlags struct {
	plan.Overrides
	drill, fleet, baselines, recorded, results, output string

	component, from, to string
}

// committed is where the recordings of releases are.
const committed = "results/baselines"

func newGate(a *app) *cobra.Command {
	f := &gateFlags{}
	cmd := &cobra.Command{
		Use:   "gate COMPONENT OLD NEW",
		Short: "Run a drill on two versions and tell whether the new one may take the old one's place",
		Long: `Run the cells of a drill on the old and on the new version (releases, or
directories as in --version), compare, and class each cell:

  unchanged          nothing differs
  changed, known     what differs is what the models of both versions predict
  changed, unknown   something differs that no model predicts: fails
  guard got worse    a limit is broken with the new version, and worse: fails
  inconclusive       repetitions disagree or are invalid, or a side has no run; the
                     repetitions that would tell are said

Durations that differ are told and decide nothing.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.component, f.from, f.to = args[0], args[1], args[2]
			if err := checkOutput(f.output, "text", "json", "markdown", "html"); err != nil {
				return usage(err)
			}
			return a.gate(cmd.Context(), f)
		},
	}
	overrideFlags(cmd, &f.Overrides)
	cmd.Flags().StringVar(&f.drill, "drill", "", "drill file, shipped drill or scenario (default: rollouts-upgrade for argo-rollouts, deployments for kubernetes)")
	cmd.Flags().StringVar(&f.fleet, "fleet", "", "directory of manifests: they live through the change from OLD to NEW too (scenario upgrade-noop)")
	baselinesFlag(cmd, &f.baselines, "take the old version's runs from this directory of recordings in place of running it")
	cmd.Flags().StringVar(&f.recorded, "recorded", "", "run nothing: decide anew from this directory of recordings, such as an earlier gate's RESULTS/runs")
	cmd.MarkFlagsMutuallyExclusive("baselines", "recorded")
	cmd.Flags().StringVar(&f.results, "results", "results", "directory for results")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json, markdown or html")
	cmd.Flags().IntVar(&f.Parallel, "parallel", 0, "runs at a time (default: as the drill says, else 1)")
	return cmd
}

func baselinesFlag(cmd *cobra.Command, dir *string, usage string) {
	cmd.Flags().StringVar(dir, "baselines", "", usage)
	cmd.Flags().Lookup("baselines").NoOptDefVal = committed
}

// gatePlan is what a gate runs, and what is compared with what.
type gatePlan struct {
	old, new, swaps *plan.Plan
}

func (a *app) gate(ctx context.Context, f *gateFlags) error {
	p, err := f.plan()
	if err != nil {
		return usage(err)
	}
	if f.recorded != "" {
		sides, err := f.fromRecordings(ctx, p)
		if err != nil {
			return err
		}
		return a.decide(f, sides, nil)
	}
	var before []report.Run
	if f.baselines != "" {
		if before, err = baselines(ctx, "--baselines", f.baselines, f.component, f.from, p.old); err != nil {
			return err
		}
		p.old = &plan.Plan{Drill: p.old.Drill}
	}
	joined, of := plan.Join(p.old, p.new, p.swaps)
	results, codes, err := a.runAll(ctx, joined, f.results)
	if err != nil {
		return buildError(ctx, err)
	}
	var sides [3][]report.Run
	for _, r := range results {
		side := of[slices.IndexFunc(joined.Cells, func(c plan.Cell) bool { return c.Name == r.Cell.Name })]
		runs, _ := judged([]suite.Result{r})
		sides[side] = append(sides[side], runs...)
	}
	sides[0] = append(before, sides[0]...)
	return a.decide(f, sides, codes)
}

// fromRecordings are the runs of both versions, and of the change between them, all of
// which must have been recorded.
func (f *gateFlags) fromRecordings(ctx context.Context, p gatePlan) (sides [3][]report.Run, err error) {
	for i, side := range []struct {
		version string
		of      *plan.Plan
	}{{f.from, p.old}, {f.to, p.new}, {f.from, p.swaps}} {
		if len(side.of.Cells) == 0 {
			continue
		}
		if sides[i], err = baselines(ctx, "--recorded", f.recorded, f.component, side.version, side.of); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// decide compares and prints, and ends with the gate's exit code.
func (a *app) decide(f *gateFlags, sides [3][]report.Run, codes []int) error {
	c, err := compareRuns(f.component+" "+f.from, sides[0], f.component+" "+f.to, sides[1])
	if err != nil {
		return err
	}
	var swaps []judge.Verdict
	for _, r := range sides[2] {
		swaps = append(swaps, r.Verdict)
	}
	d := gate.Decide(f.component, f.from, f.to, c, swaps)
	code := worst(append(codes, codeOf(d.Outcome)))
	switch f.output {
	case "json":
		err = report.GateJSON(a.Out, d, code)
	case "markdown":
		err = report.GateMarkdown(a.Out, d)
	case "html":
		err = report.GateHTML(a.Out, d, sides[0], sides[1])
	default:
		err = report.Gate(a.Out, d, a.textOptions())
	}
	if err != nil || code == ExitPass {
		return err
	}
	return &exitError{code: code}
}

// plan makes the plans of both versions, and that of the change between them.
func (f *gateFlags) plan() (gatePlan, error) {
	name := f.drill
	if name == "" {
		name = defaultGate(f.component)
	}
	if name == "" {
		return gatePlan{}, fmt.Errorf("--drill is missing: no drill is the default for %s", f.component)
	}
	d, err := drills.Find(name)
	if err != nil {
		return gatePlan{}, err
	}
	var out gatePlan
	if out.old, err = versioned(d, f.Overrides, f.component, f.from); err != nil {
		return out, err
	}
	if out.new, err = versioned(d, f.Overrides, f.component, f.to); err != nil {
		return out, err
	}
	out.swaps, err = f.swapPlan()
	return out, err
}

// defaultGate is the drill that shows what a release of a component changed.
func defaultGate(component string) string {
	switch component {
	case scenario.ArgoRollouts:
		return "rollouts-upgrade"
	case scenario.Kubernetes:
		return "deployments"
	}
	return ""
}

// versioned plans a drill with a version of a component, and leaves out the cells in
// which that takes no part.
func versioned(d *drills.Drill, o plan.Overrides, component, version string) (*plan.Plan, error) {
	o.Versions = append(slices.Clone(o.Versions), component+"="+version)
	p, err := plan.New(d, o)
	if err != nil {
		return nil, err
	}
	p.Cells = slices.DeleteFunc(p.Cells, func(c plan.Cell) bool { return c.Versions[component] == "" })
	if len(p.Cells) == 0 {
		return nil, fmt.Errorf("%s takes part in no cell of the drill %s", component, d.Metadata.Name)
	}
	return p, nil
}

// upgradeNoop is the scenario in which the new version takes the place of the old one
// under a fleet that lies still. Its parameters are the versions and the fleet.
const upgradeNoop = "upgrade-noop"

// swapPlan plans the change from the old version to the new one, for the component
// whose fleets there is a scenario for. These cells have no pair: they hold both
// versions.
func (f *gateFlags) swapPlan() (*plan.Plan, error) {
	if f.component != scenario.ArgoRollouts || !slices.Contains(scenarios.Names(), upgradeNoop) {
		if f.fleet != "" {
			return nil, fmt.Errorf("--fleet: there is no scenario in which %s is replaced under a fleet", f.component)
		}
		return &plan.Plan{}, nil
	}
	o := plan.Overrides{
		Set:      []string{"from=" + f.from, "to=" + f.to},
		Versions: f.Versions, Kubernetes: f.Kubernetes, Provider: f.Provider, NodeImage: f.NodeImage, Repeat: f.Repeat, Parallel: f.Parallel,
	}
	if f.fleet != "" {
		o.Set = append(o.Set, "fleet="+f.fleet)
	}
	return plan.New(drills.ForScenario(upgradeNoop), o)
}

// baselines are the recordings of a version's cells, whatever drill they were made by.
func baselines(ctx context.Context, flag, dir, component, version string, p *plan.Plan) ([]report.Run, error) {
	from := source{path: dir, picks: []choice{{component, version}}}
	runs, err := from.load(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := comparables(runs)
	if err != nil {
		return nil, err
	}
	var out []report.Run
	for i, r := range ready {
		if slices.ContainsFunc(p.Cells, func(c plan.Cell) bool { return isOf(r, c) }) {
			out = append(out, runs[i])
		}
	}
	if len(out) == 0 {
		return nil, usage(fmt.Errorf("%s: none of the recordings of %s %s is of a cell of the drill %s", flag, component, version, p.Drill))
	}
	return out, nil
}

// isOf says whether a recording is of what a cell would run.
func isOf(r compare.Run, c plan.Cell) bool {
	if r.Header.Scenario != c.Scenario || r.Header.Cluster.Provider != c.Provider || !bytes.Equal(r.Params, c.Params) {
		return false
	}
	for component, version := range c.Versions {
		if !slices.ContainsFunc(r.Header.Components, func(h recording.Component) bool { return h.Name == component && h.Version == version }) {
			return false
		}
	}
	return true
}
