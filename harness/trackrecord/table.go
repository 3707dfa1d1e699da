package trackrecord

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

const head = `# Track record

Public reports, and what real controllers were recorded doing in the cells of drills that show them. Made of
[public-issues.yaml](public-issues.yaml) and of the recordings below [baselines](baselines) by ` + "`make track-record`" + `; a test
fails where it is stale. Versions are as the reports say them. A cell without a committed recording was not run, and
what is predicted of it is today's model's word.

`

// NotRun is what is observed where no recording is committed.
const NotRun = "not run"

// Recorded is a committed recording: its verdict, and the path of its directory from
// where the record is.
type Recorded struct {
	Dir     string
	Verdict judge.Verdict
}

// Write writes the table of the issues as Markdown. What is not among the recordings
// was not run.
func Write(w io.Writer, issues []Issue, recorded []Recorded) error {
	var b strings.Builder
	b.WriteString(head)
	row(&b, "Public issue", "Versions bad", "Versions good", "Cell", "Predicted", "Reproduced (observed)", "Command")
	row(&b, "---", "---", "---", "---", "---", "---", "---")
	for _, issue := range issues {
		about := []string{fmt.Sprintf("[%s](%s): %s", short(issue.URL), issue.URL, cell(issue.About)), cell(issue.Bad), cell(issue.Good)}
		if len(issue.Runs) == 0 {
			row(&b, append(about, "no drill yet", "-", NotRun, "-")...)
		}
		for _, run := range issue.Runs {
			columns, err := run.columns(recorded)
			if err != nil {
				return fmt.Errorf("%s: cell %s: %w", issue.URL, run.Cell, err)
			}
			row(&b, append(about, columns...)...)
			about = []string{"", "", ""} // said once
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns are the cell, what was predicted of it, what was seen, and the command.
func (r Run) columns(recorded []Recorded) ([]string, error) {
	c, err := r.Planned()
	if err != nil {
		return nil, err
	}
	command, err := Command(c)
	if err != nil {
		return nil, err
	}
	var predicted, observed []string
	runs := of(c, recorded)
	if len(runs) == 0 {
		predicted, err = foretold(c, r.Shows)
		observed = []string{NotRun}
	} else {
		predicted, observed, err = seen(runs[0].Verdict, r.Shows)
		observed = append(observed, link(runs))
	}
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s of %s", c.Name, r.Drill)
	return []string{cell(name), strings.Join(predicted, "; "), strings.Join(observed, "; "), "`" + cell(command) + "`"}, nil
}

// link leads to the recording that is told.
func link(runs []Recorded) string {
	text := fmt.Sprintf("[recorded](%s)", runs[0].Dir)
	if n := len(runs); n > 1 {
		text += fmt.Sprintf(", first of %d", n)
	}
	return text
}

// of are the recordings of a cell, in the order of repetitions.
func of(c plan.Cell, recorded []Recorded) []Recorded {
	var out []Recorded
	for _, r := range recorded {
		if v := r.Verdict; v.Drill == c.Drill && v.Cell == c.Name && v.Scenario == c.Scenario && sameVersions(c, v) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Recorded) int { return a.Verdict.Repetition - b.Verdict.Repetition })
	return out
}

// sameVersions: what a drill pins today may not be what was recorded.
func sameVersions(c plan.Cell, v judge.Verdict) bool {
	for _, component := range v.Components {
		if want, ok := c.Versions[component.Name]; ok && want != component.Version {
			return false
		}
	}
	return true
}

// seen are the claims and guards of a verdict: what was predicted, and what was seen.
func seen(v judge.Verdict, ids []string) (predicted, observed []string, err error) {
	for _, id := range ids {
		claim := slices.IndexFunc(v.Claims, func(c judge.ClaimResult) bool { return c.ID == id })
		guard := slices.IndexFunc(v.Guards, func(g judge.GuardResult) bool { return g.ID == id })
		switch {
		case claim >= 0:
			c := v.Claims[claim]
			predicted = append(predicted, cell(id+": "+c.Predicted))
			observed = append(observed, cell(id+": "+c.Observed)+unless(c.Status))
		case guard >= 0:
			g := v.Guards[guard]
			predicted = append(predicted, cell(limit(id, g.Limit, g.Expected)))
			observed = append(observed, cell(worst(g)))
		default:
			return nil, nil, fmt.Errorf("the verdict has no claim or guard %q", id)
		}
	}
	return predicted, observed, nil
}

// unless says of a claim that did not hold that it did not.
func unless(s judge.Status) string {
	if s == judge.Held {
		return ""
	}
	return " (**" + strings.ToUpper(string(s)) + "**)"
}

func limit(id string, limit float64, expected *float64) string {
	if expected == nil {
		return fmt.Sprintf("%s: limit %s", id, number(limit))
	}
	return fmt.Sprintf("%s: worst %s, limit %s", id, number(*expected), number(limit))
}

func worst(g judge.GuardResult) string {
	if g.Worst == nil {
		return g.ID + ": nothing seen"
	}
	if g.Status != judge.Broken {
		return fmt.Sprintf("%s: worst %s", g.ID, number(*g.Worst))
	}
	return fmt.Sprintf("%s: worst %s, above %s for %s s", g.ID, number(*g.Worst), number(g.Limit), number(g.AboveSec))
}

// foretold is what today's model predicts of a cell that was not run.
func foretold(c plan.Cell, ids []string) ([]string, error) {
	s, params, err := c.Load()
	if err != nil {
		return nil, err
	}
	p, err := s.Predict(scenario.Input{Params: params, Versions: plan.ModelVersions(c.Versions), On: cluster.Offered(c.Provider), Guards: c.Guards})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		claim := slices.IndexFunc(p.Claims, func(c judge.Claim) bool { return c.ID == id })
		guard := slices.IndexFunc(p.Guards, func(g judge.Guard) bool { return g.ID == id })
		switch {
		case claim >= 0:
			out = append(out, cell(id+": "+p.Claims[claim].Check.Predicted()))
		case guard >= 0:
			out = append(out, cell(limit(id, p.Guards[guard].Limit, p.Guards[guard].Expected)))
		default:
			return nil, fmt.Errorf("the model has no claim or guard %q", id)
		}
	}
	return out, nil
}

// number prints a value without needless digits.
func number(v float64) string { return series.Number(v).String() }

// short is what people call an issue: owner/name#number.
func short(url string) string {
	name := strings.TrimPrefix(url, "https://github.com/")
	for _, kind := range []string{"/issues/", "/pull/"} {
		name = strings.Replace(name, kind, "#", 1)
	}
	return name
}

// cell keeps a text in its cell of the table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
