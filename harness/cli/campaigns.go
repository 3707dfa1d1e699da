package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/judge"
)

func newCampaigns(a *app) *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use:   "campaigns",
		Short: "List campaigns, and what is left of each",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.listCampaigns(results)
		},
	}
	cmd.Flags().StringVar(&results, "results", defaultResults, "directory for results")
	return cmd
}

func (a *app) listCampaigns(results string) error {
	all, err := campaign.List(results)
	if err != nil {
		return usage(err)
	}
	if len(all) == 0 {
		fmt.Fprintf(a.Out, "no campaign has begun in %s\n", results)
		return nil
	}
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CAMPAIGN\tDONE\tOUTCOMES\tSTATE")
	for _, m := range all {
		outcomes, err := m.Peek(results)
		if err != nil {
			return usage(err)
		}
		fmt.Fprintf(tw, "%s\t%d of %d\t%s\t%s\n", m.ID, outcomes.Done(), m.Runs(), outcomeWords(outcomes), stateOf(results, m, outcomes))
	}
	return tw.Flush()
}

func outcomeWords(outcomes campaign.Outcomes) string {
	var words []string
	for _, o := range []judge.Outcome{judge.Fail, judge.Invalid, judge.Undecided, judge.Pass} {
		if n := outcomes[o]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

func stateOf(results string, m *campaign.Manifest, outcomes campaign.Outcomes) string {
	by, running := campaign.RunBy(results, m.ID)
	switch left := m.Runs() - outcomes.Done(); {
	case running:
		return fmt.Sprintf("being run by process %d", by.PID)
	case left == 0:
		return "complete"
	default:
		return fmt.Sprintf("%d left", left)
	}
}
