package trackrecord

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
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

// Write writes the table of the issues as Markdown. What is not among the recordings
// was not run.
func Write(w io.Writer, issues []Issue, recorded []Recorded) error {
	var b strings.Builder
	b.WriteString(head)
	Row(&b, "Public issue", "Versions bad", "Versions good", "Cell", "Predicted", "Reproduced (observed)", "Command")
	Rule(&b, 7)
	for _, issue := range issues {
		about := []string{issue.about(), Escaped(issue.Bad), Escaped(issue.Good)}
		if len(issue.Runs) == 0 {
			Row(&b, append(about, "no drill yet", "-", NotRun, "-")...)
		}
		for _, run := range issue.Runs {
			columns, err := run.columns(recorded)
			if err != nil {
				return fmt.Errorf("%s: cell %s: %w", issue.URL, run.Cell, err)
			}
			Row(&b, append(about, columns...)...)
			about = []string{"", "", ""} // said once
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (i Issue) about() string {
	text := fmt.Sprintf("[%s](%s): %s", short(i.URL), i.URL, Escaped(i.About))
	if i.Source != "" {
		text += "<br>The source says: " + Escaped(i.Source)
	}
	return text
}

// columns are the cell, what was predicted of it, what was seen, and the command.
func (r Run) columns(recorded []Recorded) ([]string, error) {
	command, err := Command(r.cell)
	if err != nil {
		return nil, err
	}
	runs := Of(r.cell, recorded)
	var told judge.Verdict
	if len(runs) > 0 {
		told = runs[0].Verdict
	} else if told, err = Foretold(r.cell); err != nil {
		return nil, err
	}
	predicted, observed, err := seen(told, r.Shows)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		observed = []string{NotRun}
	} else {
		observed = append(observed, link(runs))
	}
	name := fmt.Sprintf("%s of %s", r.cell.Name, r.Drill)
	return []string{Escaped(name), strings.Join(predicted, "; "), strings.Join(observed, "; "), "`" + Escaped(command) + "`"}, nil
}

// link leads to the recording that is told.
func link(runs []Recorded) string {
	text := fmt.Sprintf("[recorded](%s)", runs[0].Dir)
	if n := len(runs); n > 1 {
		text += fmt.Sprintf(", first of %d", n)
	}
	return text
}

// seen are the claims and guards of a verdict: what was predicted, and what was seen.
func seen(v judge.Verdict, ids []string) (predicted, observed []string, err error) {
	for _, id := range ids {
		claim := slices.IndexFunc(v.Claims, func(c judge.ClaimResult) bool { return c.ID == id })
		guard := slices.IndexFunc(v.Guards, func(g judge.GuardResult) bool { return g.ID == id })
		switch {
		case claim >= 0:
			c := v.Claims[claim]
			predicted = append(predicted, Escaped(id+": "+c.Predicted))
			observed = append(observed, Escaped(id+": "+c.Observed)+unless(c.Status))
		case guard >= 0:
			g := v.Guards[guard]
			predicted = append(predicted, Escaped(limit(id, g.Limit, g.Expected)))
			observed = append(observed, Escaped(worst(g)))
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
