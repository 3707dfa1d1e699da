package report

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
)

// markdownObserved writes one table for each scenario with several runs: a row
// a run, a column a claim, so that versions can be compared at a glance.
func markdownObserved(b *strings.Builder, vs []judge.Verdict) {
	var scenarios []string
	byScenario := map[string][]judge.Verdict{}
	for _, v := range vs {
		if !slices.Contains(scenarios, v.Scenario) {
			scenarios = append(scenarios, v.Scenario)
		}
		byScenario[v.Scenario] = append(byScenario[v.Scenario], v)
	}
	for _, name := range scenarios {
		if runs := byScenario[name]; len(runs) > 1 {
			fmt.Fprintf(b, "\n## Observed: %s\n\n", md(name))
			observedTable(b, runs)
		}
	}
}

func observedTable(b *strings.Builder, vs []judge.Verdict) {
	head, rule := []string{"Cell"}, []string{"---"}
	for _, id := range columns(vs) {
		head, rule = append(head, md(id)), append(rule, "---")
	}
	markdownRow(b, head...)
	markdownRow(b, rule...)
	for _, v := range vs {
		row := []string{md(v.Cell)}
		for _, id := range columns(vs) {
			row = append(row, md(observed(v, id)))
		}
		markdownRow(b, row...)
	}
}

// columns are the ids of all claims, then of all guards, in order of appearance.
func columns(vs []judge.Verdict) []string {
	var claims, guards []string
	for _, v := range vs {
		for _, c := range v.Claims {
			if !slices.Contains(claims, c.ID) {
				claims = append(claims, c.ID)
			}
		}
		for _, g := range v.Guards {
			if !slices.Contains(guards, g.ID) {
				guards = append(guards, g.ID)
			}
		}
	}
	return append(claims, guards...)
}

// observed is what a run saw of a claim or guard, with a word when it did not hold.
func observed(v judge.Verdict, id string) string {
	for _, c := range v.Claims {
		switch {
		case c.ID != id:
		case c.Status == judge.Held:
			return c.Observed
		default:
			return fmt.Sprintf("%s (%s: %s was predicted)", c.Observed, c.Status, c.Predicted)
		}
	}
	for _, g := range v.Guards {
		if g.ID == id {
			return fmt.Sprintf("worst %s, above %s for %s", optional(g.Worst), number(g.Limit), secs(g.AboveSec))
		}
	}
	return "-"
}
