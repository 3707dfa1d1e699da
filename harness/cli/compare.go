package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/report"
)

func newCompare(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Tell what differs between two runs, campaigns or baselines, aligned by event",
		Long: `Compare recordings: A and B are a run directory, or a directory of such. Of a
directory, PATH@KEY=VALUE,... takes those of a component's version, drill,
scenario or repetition (a number, odd or even):

  reckon compare results/baselines@argo-rollouts=v1.8.2 results/baselines@argo-rollouts=v1.9.2

Cells are paired by scenario and parameters, whatever their versions, and their
repetitions are laid beside each other by what happened, not by the clock. What
differs is printed, and nothing where nothing does. What varies between the
repetitions of one side is no difference (--verbose tells it); durations are
compared by ranks, with the interval of their shift.

Exit codes: 0 nothing differs, 1 something does, 3 not all could be compared.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json", "markdown", "html"); err != nil {
				return usage(err)
			}
			return a.compare(cmd.Context(), args[0], args[1], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json, markdown or html")
	return cmd
}

func (a *app) compare(ctx context.Context, nameA, nameB, output string) error {
	var sides [2][]report.Run
	for i, arg := range []string{nameA, nameB} {
		from, err := parseSource(arg)
		if err != nil {
			return usage(err)
		}
		if sides[i], err = from.load(ctx); err != nil {
			return err
		}
	}
	c, err := compareRuns(nameA, sides[0], nameB, sides[1])
	if err != nil {
		return err
	}
	code := comparedCode(c)
	if err := a.printComparison(c, sides[0], sides[1], output, code); err != nil {
		return err
	}
	if !a.quiet {
		fmt.Fprintln(a.Err, report.ComparisonStory(c))
	}
	if code == ExitPass {
		return nil
	}
	return &exitError{code: code}
}

// compareRuns compares judged runs.
func compareRuns(nameA string, a []report.Run, nameB string, b []report.Run) (compare.Comparison, error) {
	before, err := comparables(a)
	if err != nil {
		return compare.Comparison{}, err
	}
	after, err := comparables(b)
	if err != nil {
		return compare.Comparison{}, err
	}
	c, err := compare.Sides(nameA, before, nameB, after, compare.Options{})
	return c, usage(err)
}

// comparedCode is as diff's where it can be: what was not compared is neither the
// same nor different.
func comparedCode(c compare.Comparison) int {
	switch {
	case c.Differences() > 0:
		return ExitFail
	case !c.Complete():
		return ExitInconclusive
	}
	return ExitPass
}

func (a *app) printComparison(c compare.Comparison, sideA, sideB []report.Run, output string, code int) error {
	switch output {
	case "json":
		return report.ComparisonJSON(a.Out, c, code)
	case "markdown":
		return report.ComparisonMarkdown(a.Out, c)
	case "html":
		return report.ComparisonHTML(a.Out, c, sideA, sideB)
	}
	return report.Comparison(a.Out, c, a.textOptions())
}
