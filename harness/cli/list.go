package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios"
)

func newScenarios(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "scenarios [NAME]",
		Short:             "List scenarios, or print the parameters of one",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.describe(args[0])
			}
			tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			for _, s := range scenarios.All() {
				fmt.Fprintf(tw, "%s\t%s\n", s.Name(), s.Summary())
			}
			return tw.Flush()
		},
	}
}

func (a *app) describe(name string) error {
	s, err := scenarios.Get(name)
	if err != nil {
		return usage(fmt.Errorf("%w; there are %s", err, strings.Join(scenarios.Names(), ", ")))
	}
	fmt.Fprintf(a.Out, "%s: %s\n", s.Name(), s.Summary())
	needs := s.Needs(s.Defaults())
	fmt.Fprintf(a.Out, "needs: %s\n", needs)
	for _, provider := range cluster.Providers() {
		if on := cluster.Offered(provider); len(on.Missing(needs)) == 0 {
			fmt.Fprintf(a.Out, "components on %s: %s\n", provider, strings.Join(append([]string{scenario.Kubernetes}, s.Components(on)...), ", "))
		}
	}
	fmt.Fprintln(a.Out)
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PARAMETER\tTYPE\tDEFAULT\tBOUNDS\tMEANING")
	for _, p := range scenario.Describe(s.Defaults()) {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Type, p.Default, p.Bounds, p.Doc)
	}
	if g, ok := s.(scenario.GuardNames); ok {
		fmt.Fprintln(tw, "\nGUARD\tMEANING")
		for _, name := range slices.Sorted(maps.Keys(g.Guards())) {
			fmt.Fprintf(tw, "%s\t%s\n", name, g.Guards()[name])
		}
	}
	return tw.Flush()
}

func newDrills(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "drills",
		Short: "List the drills that ship with reckon",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			for _, name := range drills.Shipped() {
				d, err := drills.LoadShipped(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(tw, "%s\t%s\n", name, d.Metadata.Summary)
			}
			return tw.Flush()
		},
	}
}

func render(v judge.Verdict) (string, error) {
	var text strings.Builder
	err := report.JSON(&text, v)
	return text.String(), err
}
