package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/judge"
)

var comparePage = template.Must(template.New("compare.html.tmpl").Funcs(pageFuncs()).ParseFS(assets, "report.html.tmpl", "compare.html.tmpl"))

// comparedView is what the page of a comparison reads.
type comparedView struct {
	CSS                             template.CSS
	Title, Outcome, Class, Headline string
	Story, A, B                     string
	Reasons, Alone                  []string
	Cells                           []comparedCell
	Details                         []judge.Table
}

// comparedCell is a pair of cells with the course of a run of each side.
type comparedCell struct {
	Name, Word, LineA, LineB string
	Notes, Varies            []string
	Settled, Unsettled       *judge.Table
	ChartA, ChartB           *chart
}

// ComparisonHTML writes one page that needs nothing else: what differs of each cell,
// and below it the timelines of a run of either side beside each other.
func ComparisonHTML(w io.Writer, c compare.Comparison, a, b []Run) error {
	v := comparedView{
		Title: "Compared", Headline: "A against B", Story: ComparisonStory(c) + ".", A: c.A, B: c.B, Alone: aloneLines(c),
		Outcome: "SAME", Class: string(judge.Pass),
	}
	switch {
	case c.Differences() > 0:
		v.Outcome, v.Class = "DIFFERS", string(judge.Fail)
	case !c.Complete():
		v.Outcome, v.Class = "INCOMPLETE", string(judge.Undecided)
	}
	for _, cell := range c.Cells {
		if worthTelling(cell) {
			view, err := compareCell(c, cell, cellWord(cell), a, b)
			if err != nil {
				return err
			}
			v.Cells = append(v.Cells, view)
		}
	}
	return v.write(w)
}

func (v comparedView) write(w io.Writer) error {
	for _, name := range []string{"report.css", "compare.css"} {
		css, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		v.CSS += template.CSS(css) // ours, embedded: safe by origin
	}
	// A template that fails half-way must not leave half a page behind.
	var out bytes.Buffer
	if err := comparePage.Execute(&out, v); err != nil {
		return fmt.Errorf("rendering the comparison: %w", err)
	}
	_, err := out.WriteTo(w)
	return err
}

func compareCell(c compare.Comparison, cell compare.Cell, word string, a, b []Run) (comparedCell, error) {
	out := comparedCell{Name: cell.Cell, Word: word, Varies: variations(cell)}
	out.LineA, out.LineB = sideLines(cell)
	if cell.Missing != "" {
		out.Notes = append(out.Notes, cell.Missing)
	}
	if t := differenceTable(cell.Differences, true); len(t.Rows) > 0 {
		out.Settled = &t
	}
	if t := differenceTable(cell.Unsettled, true); len(t.Rows) > 0 {
		t.Title = "Not told from chance by " + against(cell.A.Runs, cell.B.Runs) + wouldDo(c)
		out.Unsettled = &t
	}
	var err error
	if out.ChartA, err = chartOf(cell.A, a); err != nil {
		return out, err
	}
	out.ChartB, err = chartOf(cell.B, b)
	return out, err
}

// chartOf is the timeline of a side's first run that can be drawn.
func chartOf(side compare.Side, runs []Run) (*chart, error) {
	for _, r := range runs {
		if r.Set != nil && r.Verdict.Outcome != judge.Invalid && slices.Contains(side.RunIDs, r.Header.RunID) {
			return newChart(r)
		}
	}
	return nil, nil
}

func aloneLines(c compare.Comparison) []string {
	var out []string
	for _, n := range c.OnlyA {
		out = append(out, fmt.Sprintf("only in A: %s (%s)", n.Cell, n.Provider))
	}
	for _, n := range c.OnlyB {
		out = append(out, fmt.Sprintf("only in B: %s (%s)", n.Cell, n.Provider))
	}
	return out
}
