package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/plan"
)

func newPlan(a *app) *cobra.Command {
	var o plan.Overrides
	var output string
	cmd := &cobra.Command{
		Use:   "plan DRILL|SCENARIO",
		Short: "Print cells, versions and what will be made where. Touches nothing",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return usage(err)
			}
			p, err := a.plan(args[0], o)
			if err != nil {
				return err
			}
			if output == "json" {
				return encode(a.Out, struct {
					*plan.Plan
					Hash string `json:"hash"`
				}{p, p.Hash()})
			}
			return printPlan(a.Out, p)
		},
	}
	overrideFlags(cmd, &o)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func printPlan(w io.Writer, p *plan.Plan) error {
	cells := fmt.Sprintf("%d cells", len(p.Cells))
	if len(p.Cells) == 1 {
		cells = "1 cell"
	}
	fmt.Fprintf(w, "drill %s: %s, about %s with %d at a time, hash %s\n\n", p.Drill, cells, p.Expected().Round(time.Second), p.Parallel, p.Hash())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CELL\tVERSIONS\tPROVIDER\tCLUSTER\tREPEAT\tEXPECTED\tGATE")
	for _, c := range p.Cells {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%s\tclaims %s, guards %s\n", c.Name, strings.Join(c.Components(), ", "), c.Provider, clusterOf(c), c.Repeat,
			c.Expected().Round(time.Second), c.Gate.Claims, c.Gate.Guards)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, footnote(p))
	return err
}

func clusterOf(c plan.Cell) string {
	if c.SharesCluster {
		return "shared"
	}
	return "own"
}

// footnote says what is made where.
func footnote(p *plan.Plan) string {
	var own, shared bool
	for _, c := range p.Cells {
		own, shared = own || !c.SharesCluster, shared || c.SharesCluster
	}
	var b strings.Builder
	b.WriteString("\n")
	if own {
		b.WriteString("own: the run makes, and removes again, one embedded cluster (processes on loopback ports, one directory in the\n" +
			"cache) with the namespace drill, and argo-rollouts where that is under test.\n")
	}
	if shared {
		b.WriteString("shared: one such cluster for all runs with the same versions, each in a namespace of its own, removed after the last of them.\n")
	}
	b.WriteString("No other cluster and no other kubeconfig is touched.\n")
	return b.String()
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
