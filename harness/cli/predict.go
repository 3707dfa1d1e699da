package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios"
)

func newPredict(a *app) *cobra.Command {
	var o plan.Overrides
	var output string
	var basis bool
	cmd := &cobra.Command{
		Use:   "predict SCENARIO|DRILL",
		Short: "Print the answer key, without a cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return usage(err)
			}
			if slices.Contains(scenarios.Names(), args[0]) { // also where a drill has the same name
				p, err := plan.New(drills.ForScenario(args[0]), o)
				if err != nil {
					return usage(err)
				}
				return a.predict(p, output, basis)
			}
			p, err := a.plan(args[0], o)
			if err != nil {
				return err
			}
			return a.predict(p, output, basis)
		},
		ValidArgsFunction: cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveNoFileComp),
	}
	overrideFlags(cmd, &o)
	cmd.Flags().BoolVar(&basis, "basis", false, "also print the lines of source that each claim rests on")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// answerKey is the JSON form of a prediction.
type answerKey struct {
	Cell   string        `json:"cell"`
	Model  string        `json:"model"`
	Notes  []string      `json:"notes,omitempty"`
	Claims []answer      `json:"claims"`
	Guards []guardAnswer `json:"guards"`
	Tables []judge.Table `json:"tables"`
}

type answer struct {
	ID        string   `json:"id"`
	Sentence  string   `json:"sentence"`
	Predicted string   `json:"predicted"`
	Basis     []string `json:"basis"`
}

type guardAnswer struct {
	ID       string   `json:"id"`
	Limit    float64  `json:"limit"`
	Expected *float64 `json:"expected"`
}

func (a *app) predict(p *plan.Plan, output string, basis bool) error {
	var keys []answerKey
	var changed [][]string
	for _, c := range p.Cells {
		s, params, err := c.Load()
		if err != nil {
			return usage(err)
		}
		prediction, err := s.Predict(scenario.Input{Params: params, Versions: plan.ModelVersions(c.Versions), On: cluster.Offered(c.Provider), Guards: c.Guards})
		if err != nil {
			return usage(err)
		}
		keys = append(keys, keyOf(c.Name, prediction))
		changed = append(changed, scenario.Changed(s.Defaults(), params))
	}
	if output == "json" {
		return encode(a.Out, keys)
	}
	for i, k := range keys {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		if err := printKey(a.Out, k, p.Cells[i], changed[i], basis); err != nil {
			return err
		}
	}
	return nil
}

func keyOf(cell string, p judge.Prediction) answerKey {
	k := answerKey{Cell: cell, Model: p.Model, Notes: p.Notes, Tables: p.Tables}
	for _, c := range p.Claims {
		k.Claims = append(k.Claims, answer{c.ID, c.Sentence, c.Check.Predicted(), c.Basis})
	}
	for _, g := range p.Guards {
		k.Guards = append(k.Guards, guardAnswer{g.ID, g.Limit, g.Expected})
	}
	return k
}

func printKey(w io.Writer, k answerKey, c plan.Cell, changed []string, basis bool) error {
	if len(changed) == 0 {
		changed = []string{"defaults"}
	}
	fmt.Fprintf(w, "%s, %s, model %s\n", k.Cell, versionsOf(c), k.Model)
	fmt.Fprintf(w, "parameters: %s\n", strings.Join(changed, " "))
	for _, n := range k.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nCLAIM\tPREDICTED\tMEANING")
	for _, cl := range k.Claims {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", cl.ID, cl.Predicted, cl.Sentence)
		if basis {
			for _, b := range cl.Basis {
				fmt.Fprintf(tw, "\t\t  basis: %s\n", b)
			}
		}
	}
	if len(k.Guards) > 0 {
		fmt.Fprintln(tw, "\nGUARD\tLIMIT\tPREDICTED WORST")
	}
	for _, g := range k.Guards {
		expected := "-"
		if g.Expected != nil {
			expected = fmt.Sprintf("%.4g", *g.Expected)
			if *g.Expected > g.Limit {
				expected += " (unsafe)"
			}
		}
		fmt.Fprintf(tw, "%s\t%.4g\t%s\n", g.ID, g.Limit, expected)
	}
	for _, t := range k.Tables {
		fmt.Fprintf(tw, "\n%s\n%s\n", t.Title, strings.ToUpper(strings.Join(t.Head, "\t")))
		for _, row := range t.Rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
	}
	return tw.Flush()
}

// versionsOf names what a cell is about: Kubernetes, or what is under test on it.
func versionsOf(c plan.Cell) string {
	out := slices.DeleteFunc(c.Components(), func(text string) bool {
		return strings.HasPrefix(text, scenario.Kubernetes+" ") && c.Versions[scenario.ArgoRollouts] != ""
	})
	return strings.Join(out, ", ")
}
