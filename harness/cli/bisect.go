package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/bisect"
	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
)

type bisectFlags struct {
	plan.Overrides
	component, good, bad string
	results, baselines   string
}

func newBisect(a *app) *cobra.Command {
	f := &bisectFlags{}
	cmd := &cobra.Command{
		Use:   "bisect DRILL --good V --bad V",
		Short: "Find the first release in which a drill goes otherwise than in a good one",
		Long: `Run a drill on the good version and on the bad one, make sure that they differ,
and halve the releases between them that can be had, each compared with the good
one. A release whose runs do not tell, or that cannot be built, is passed by.
Durations do not count. Where a difference comes and goes between the two, a
release is found in which it begins, and not always the first.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.bisect(cmd.Context(), args[0], f) },
	}
	overrideFlags(cmd, &f.Overrides)
	cmd.Flags().StringVar(&f.good, "good", "", "version to compare with")
	cmd.Flags().StringVar(&f.bad, "bad", "", "later version that differs from it")
	cmd.Flags().StringVar(&f.component, "component", "", "component whose versions these are (default: the one that the drill is about)")
	baselinesFlag(cmd, &f.baselines, "search the versions that this directory has recordings of, and run nothing")
	cmd.Flags().StringVar(&f.results, "results", "results", "directory for results")
	cmd.Flags().IntVar(&f.Parallel, "parallel", 0, "runs at a time (default: as the drill says, else 1)")
	return cmd
}

// search is a bisection under way.
type search struct {
	*app
	*bisectFlags
	drill    *drills.Drill
	versions []string
	// with are the runs of the good version.
	with []compare.Run
	// codes apply to the whole command.
	codes []int
}

func (a *app) bisect(ctx context.Context, arg string, f *bisectFlags) error {
	s, err := a.newSearch(ctx, arg, f)
	if err != nil {
		return err
	}
	answer, err := s.ends(ctx)
	if err != nil {
		return err
	}
	if answer != bisect.Differs {
		return s.without(answer)
	}
	found, err := bisect.Search(len(s.versions), func(i int) (bisect.Answer, error) { return s.trial(ctx, s.versions[i]) })
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, s.ending(found))
	if len(found.Between) > 0 {
		s.codes = append(s.codes, ExitInconclusive)
	}
	if code := worst(s.codes); code != ExitPass {
		return &exitError{code: code}
	}
	return nil
}

// ending says what was found.
func (s *search) ending(f bisect.Found) string {
	first, last := s.versions[f.Differs], s.versions[f.Same]
	if len(f.Between) == 0 {
		return fmt.Sprintf("first release that differs: %s (%s is the last that does not)", first, last)
	}
	var between []string
	for _, i := range f.Between {
		between = append(between, s.versions[i])
	}
	return fmt.Sprintf("first release that differs: %s, or one of %s, which could not be told (%s is the last that does not)", first, strings.Join(between, ", "), last)
}

func (a *app) newSearch(ctx context.Context, arg string, f *bisectFlags) (*search, error) {
	d, err := drills.Find(arg)
	if err != nil {
		return nil, usage(err)
	}
	for _, v := range []struct{ flag, version string }{{"--good", f.good}, {"--bad", f.bad}} {
		if v.version == "" {
			return nil, usage(fmt.Errorf("%s: the version is missing", v.flag))
		}
		if !semver.IsValid(v.version) {
			return nil, usage(fmt.Errorf("%s: %q is no release, expected one such as v1.8.2", v.flag, v.version))
		}
	}
	if semver.Compare(f.good, f.bad) >= 0 {
		return nil, usage(fmt.Errorf("--good %s is not before --bad %s", f.good, f.bad))
	}
	if err := f.settleComponent(d); err != nil {
		return nil, usage(err)
	}
	if _, err := versioned(d, f.Overrides, f.component, f.good); err != nil {
		return nil, usage(err)
	}
	versions, err := a.releases(ctx, f)
	return &search{app: a, bisectFlags: f, drill: d, versions: versions}, err
}

// settleComponent finds the one component that the drill varies or puts to the test.
func (f *bisectFlags) settleComponent(d *drills.Drill) error {
	p, err := plan.New(d, f.Overrides)
	if err != nil || f.component != "" {
		return err
	}
	var names []string
	for _, c := range p.Cells {
		for name := range c.Versions {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	tested := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "kubernetes" || name == "kube-controller-manager" })
	switch {
	case len(tested) == 1:
		f.component = tested[0]
	case len(names) == 1:
		f.component = names[0]
	default:
		return fmt.Errorf("--component is missing: the drill has %s", strings.Join(names, ", "))
	}
	return nil
}

// releases are those that can be had from the good version to the bad one.
func (a *app) releases(ctx context.Context, f *bisectFlags) ([]string, error) {
	all, err := a.had(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, v := range []struct{ flag, version string }{{"--good", f.good}, {"--bad", f.bad}} {
		if !slices.Contains(all, v.version) {
			return nil, usage(fmt.Errorf("%s: %s %s is not to be had%s; there are %s", v.flag, f.component, v.version, nearest.Hint(v.version, all), strings.Join(all, ", ")))
		}
	}
	return slices.DeleteFunc(all, func(v string) bool { return semver.Compare(v, f.good) < 0 || semver.Compare(f.bad, v) < 0 }), nil
}

// had are all releases that can be had: recorded ones, or those that can be built.
func (a *app) had(ctx context.Context, f *bisectFlags) ([]string, error) {
	if f.baselines != "" {
		return recordedReleases(f.baselines, f.component)
	}
	b, err := a.builder(a.newStatus())
	if err != nil {
		return nil, usage(err)
	}
	all, err := b.Versions(ctx, f.component)
	if len(all) == 0 && err != nil {
		return nil, usage(err)
	}
	if err != nil {
		fmt.Fprintf(a.Err, "reckon: %v; searching the releases known to build\n", err)
	}
	return all, nil
}

// recordedReleases are those of a component that there are recordings of.
func recordedReleases(dir, component string) ([]string, error) {
	dirs, err := source{path: dir}.dirs()
	if err != nil {
		return nil, usage(err)
	}
	var out []string
	for _, dir := range dirs {
		h, err := engine.ReadHeader(dir)
		if err != nil {
			return nil, &exitError{ExitInvalid, fmt.Errorf("refused: %w", err)}
		}
		for _, v := range (choice{key: component}).of(h) {
			if semver.IsValid(v) && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, semver.Compare)
	return out, nil
}

// ends tries both ends: without a difference between them there is nothing to find.
func (s *search) ends(ctx context.Context) (bisect.Answer, error) {
	fmt.Fprintf(s.Out, "%s %s to %s: %d releases\n", s.component, s.good, s.bad, len(s.versions))
	runs, err := s.runs(ctx, s.good)
	if err != nil {
		return "", err
	}
	s.with = runs
	return s.trial(ctx, s.bad)
}

// without ends a search that did not begin.
func (s *search) without(answer bisect.Answer) error {
	what := "do not differ: there is nothing to find"
	if answer == bisect.Skip {
		what = "could not be told apart: --repeat more"
	}
	return &exitError{worst(append(s.codes, ExitInconclusive)), fmt.Errorf("%s %s and %s %s", s.component, s.good, s.bad, what)}
}

// runs are the runs of the drill on a version.
func (s *search) runs(ctx context.Context, version string) ([]compare.Run, error) {
	p, err := versioned(s.drill, s.Overrides, s.component, version)
	if err != nil {
		return nil, usage(err)
	}
	if s.baselines != "" {
		recorded, err := baselines(ctx, "--baselines", s.baselines, s.component, version, p)
		if err != nil {
			return nil, err
		}
		return comparables(recorded)
	}
	results, codes, err := s.runAll(ctx, p, s.results)
	if err != nil {
		return nil, buildError(ctx, err)
	}
	if s.codes = append(s.codes, codes...); slices.Contains(s.codes, ExitAborted) {
		return nil, &exitError{worst(s.codes), fmt.Errorf("interrupted at %s %s", s.component, version)}
	}
	ran, _ := judged(results)
	return comparables(ran)
}

// trial compares a version with the good one, and says so.
func (s *search) trial(ctx context.Context, version string) (bisect.Answer, error) {
	runs, err := s.runs(ctx, version)
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if err != nil { // cannot be built, or the drill does not go with it
		fmt.Fprintf(s.Out, "%-10s %s: %v\n", version, bisect.Skip, err)
		return bisect.Skip, nil
	}
	c, err := compare.Sides(s.component+" "+s.good, s.with, s.component+" "+version, runs, compare.Options{})
	if err != nil {
		return "", usage(err)
	}
	answer, why := tell(c)
	fmt.Fprintf(s.Out, "%-10s %s: %s\n", version, answer, why)
	return answer, nil
}

// tell is what a comparison says to a bisection.
func tell(c compare.Comparison) (bisect.Answer, string) {
	for _, cell := range c.Cells {
		if ds := cell.Behaviour(); len(ds) > 0 {
			why := fmt.Sprintf("%s: %s %s, %s and %s", cell.Cell, ds[0].Kind, ds[0].Of, ds[0].A.Observed, ds[0].B.Observed)
			return bisect.Differs, why
		}
	}
	if !c.Complete() || slices.ContainsFunc(c.Cells, compare.Cell.Unsure) {
		return bisect.Skip, report.ComparisonStory(c)
	}
	return bisect.Same, report.ComparisonStory(c)
}
