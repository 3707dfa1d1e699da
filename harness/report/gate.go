package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/gate"
	"reckon.dev/reckon/harness/judge"
)

// Gate writes a gate's decision for a terminal: a line for each cell, and then what
// differs of those in which something does.
func Gate(w io.Writer, d gate.Decision, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := &textWriter{w: w, o: o}
	t.print("%s  ", t.colored(title(d.Outcome), title(d.Outcome)))
	t.paragraph("", gateTitle(d)+": "+gateStory(d))
	tab := &table{columns: []column{{"CLASS", false}, {"CELL", true}, {"FINDING", true}}}
	for _, c := range d.Cells {
		tab.add(strings.ToUpper(string(c.Class)), c.Cell, finding(d, c))
	}
	t.print("\n")
	t.paintedTable(tab, -1, indent)
	for _, c := range d.Cells {
		if c.Pair >= 0 && worthTelling(d.Comparison.Cells[c.Pair]) {
			t.print("\n")
			t.compared(d.Comparison, d.Comparison.Cells[c.Pair])
		}
		for _, detail := range c.Details {
			t.detail(c.Cell, detail)
		}
	}
	return t.err
}

// detailRows is how many rows of a detail a terminal shows.
const detailRows = 25

// detail is what a claim found, the first rows of it: its tables are too wide for a
// terminal.
func (t *textWriter) detail(cell string, of judge.Table) {
	t.print("\n")
	t.paragraph("", cell+": "+of.Title)
	for i, row := range of.Rows {
		if i == detailRows {
			t.paragraph(indent, fmt.Sprintf("and %s more, see -o markdown", count(len(of.Rows)-i, "row")))
			return
		}
		var said []string
		for j, value := range row[1:] {
			if value != "" {
				said = append(said, of.Head[j+1]+" "+value)
			}
		}
		t.paragraph(indent+row[0]+"  ", strings.Join(said, "; "))
	}
}

func gateTitle(d gate.Decision) string {
	return fmt.Sprintf("%s %s → %s", d.Component, d.Old, d.New)
}

// gateStory counts the cells by class.
func gateStory(d gate.Decision) string {
	if len(d.Cells) == 0 {
		return "no cell was compared, so nothing is told"
	}
	var parts []string
	for _, class := range []gate.Class{gate.Unknown, gate.Worse, gate.Unsettled, gate.Known, gate.Unchanged} {
		n := 0
		for _, c := range d.Cells {
			if c.Class == class {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, class))
		}
	}
	return count(len(d.Cells), "cell") + ": " + strings.Join(parts, "; ")
}

// finding is the line of a cell: its first reason, or what differs as it should.
func finding(d gate.Decision, c gate.Cell) string {
	var out string
	switch {
	case len(c.Reasons) > 0:
		if out = c.Reasons[0]; len(c.Reasons) > 1 {
			out += fmt.Sprintf(" (and %d more)", len(c.Reasons)-1)
		}
	case c.Pair >= 0:
		var of []string
		for _, diff := range d.Comparison.Cells[c.Pair].Differences {
			if what := string(diff.Kind) + " " + diff.Of; !slices.Contains(of, what) {
				of = append(of, what)
			}
		}
		out = strings.Join(of, ", ")
	}
	if c.Repeat > 1 {
		out += fmt.Sprintf("; --repeat %d would tell, should it go on so", c.Repeat)
	}
	return out
}

// GateJSON writes a decision with the exit code that the command ends with.
func GateJSON(w io.Writer, d gate.Decision, exitCode int) error {
	return encode(w, struct {
		gate.Decision
		ExitCode int `json:"exitCode"`
	}{d, exitCode})
}

// GateMarkdown writes a decision for a pull request.
func GateMarkdown(w io.Writer, d gate.Decision) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s.\n\n", title(d.Outcome), md(gateTitle(d)), md(gateStory(d)))
	t := judge.Table{Head: []string{"Class", "Cell", "Finding"}}
	for _, c := range d.Cells {
		t.Rows = append(t.Rows, []string{string(c.Class), c.Cell, finding(d, c)})
	}
	markdownTable(&b, t)
	for _, c := range d.Comparison.Cells {
		if worthTelling(c) {
			markdownCompared(&b, d.Comparison, c)
		}
	}
	for _, c := range d.Cells {
		for _, detail := range c.Details {
			fmt.Fprintf(&b, "\n## %s: %s\n\n", md(c.Cell), md(detail.Title))
			markdownTable(&b, detail)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GateHTML writes one page: the decision, and each cell with the timelines of both
// versions beside each other.
func GateHTML(w io.Writer, d gate.Decision, old, new []Run) error {
	v := comparedView{
		Title: title(d.Outcome) + " " + gateTitle(d), Outcome: title(d.Outcome), Class: string(d.Outcome), Headline: gateTitle(d),
		Story: gateStory(d) + ".", A: d.Comparison.A, B: d.Comparison.B,
	}
	for _, c := range d.Cells {
		v.Details = append(v.Details, c.Details...)
		var pair compare.Cell
		if c.Pair >= 0 {
			pair = d.Comparison.Cells[c.Pair]
		}
		if c.Pair < 0 || !worthTelling(pair) && c.Class == gate.Unchanged {
			v.Alone = append(v.Alone, strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", c.Cell, c.Class, finding(d, c)), ": "))
			continue
		}
		view, err := compareCell(d.Comparison, pair, string(c.Class), old, new)
		if err != nil {
			return err
		}
		view.Notes = append(view.Notes, c.Reasons...)
		v.Cells = append(v.Cells, view)
	}
	return v.write(w)
}
