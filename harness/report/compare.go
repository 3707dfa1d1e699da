package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
)

// Comparison writes what differs for a terminal. Where nothing does, and every cell
// has a partner, it writes nothing, as diff does.
func Comparison(w io.Writer, c compare.Comparison, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := &textWriter{w: w, o: o}
	first := true
	for _, cell := range c.Cells {
		if !worthTelling(cell) && !(o.Verbose && len(cell.Varies) > 0) {
			continue
		}
		if !first {
			t.print("\n")
		}
		first = false
		t.compared(c, cell)
	}
	t.alone(c)
	return t.err
}

// worthTelling: something differs, or might, or could not be compared.
func worthTelling(c compare.Cell) bool {
	return c.Missing != "" || len(c.Differences) > 0 || len(unmeasured(c.Unsettled)) > 0
}

// unmeasured leaves out numbers that were measured. Of few runs all are different,
// which is told in one sentence.
func unmeasured(ds []compare.Difference) []compare.Difference {
	return slices.DeleteFunc(slices.Clone(ds), func(d compare.Difference) bool { return d.Shift != nil })
}

// cellWord is how a pair of cells compares.
func cellWord(c compare.Cell) string {
	switch {
	case c.Missing != "":
		return "NOT COMPARED"
	case len(c.Differences) > 0:
		return "DIFFERS"
	case len(unmeasured(c.Unsettled)) > 0:
		return "UNSETTLED"
	}
	return "SAME"
}

func (t *textWriter) compared(c compare.Comparison, cell compare.Cell) {
	t.print("%s  %s\n", t.colored(cellWord(cell), cellWord(cell)), visible(cell.Cell))
	a, b := sideLines(cell)
	t.paragraph(indent+"A  ", a)
	t.paragraph(indent+"B  ", b)
	if cell.Missing != "" {
		t.paragraph(indent, cell.Missing)
	}
	t.rows(differenceTable(cell.Differences, t.o.Verbose))
	unsettled := unmeasured(cell.Unsettled)
	if t.o.Verbose {
		unsettled = cell.Unsettled
	}
	if len(unsettled) > 0 {
		t.print("\n")
		t.paragraph(indent, "Not told from chance by "+against(cell.A.Runs, cell.B.Runs)+wouldDo(c)+":")
		t.rows(differenceTable(unsettled, t.o.Verbose))
	}
	if len(cell.Varies) > 0 && (t.o.Verbose || len(cell.Differences) > 0 || len(unmeasured(cell.Unsettled)) > 0) {
		t.print("\n")
		t.paragraph(indent+"varies  ", strings.Join(variations(cell), "; "))
	}
}

func (t *textWriter) rows(data judge.Table) {
	if len(data.Rows) == 0 {
		return
	}
	tab := &table{}
	for _, head := range data.Head {
		tab.columns = append(tab.columns, column{strings.ToUpper(head), true})
	}
	for _, row := range data.Rows {
		tab.add(slices.Clone(row)...)
	}
	t.print("\n")
	t.paintedTable(tab, -1, indent)
}

// alone lists the cells without a partner.
func (t *textWriter) alone(c compare.Comparison) {
	for _, side := range []struct {
		name  string
		cells []compare.Name
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		for _, n := range side.cells {
			t.print("%s\n", t.colored("ONLY IN", "ONLY IN "+side.name)+"  "+visible(n.Cell)+" ("+visible(n.Provider)+")")
		}
	}
}

// sideLines say what stood on each side: how many runs, and the versions in which the
// sides differ.
func sideLines(c compare.Cell) (a, b string) {
	line := func(own, other compare.Side) string {
		out := count(own.Runs, "run")
		var differ []string
		for _, v := range own.Versions {
			if !slices.Contains(other.Versions, v) {
				differ = append(differ, v)
			}
		}
		if len(differ) > 0 {
			out += " of " + strings.Join(differ, ", ")
		}
		if own.Model != other.Model {
			out += ", model " + own.Model
		}
		return out
	}
	return line(c.A, c.B), line(c.B, c.A)
}

// against says how many runs there are: "1 run against 1".
func against(a, b int) string { return fmt.Sprintf("%s against %d", count(a, "run"), b) }

// wouldDo says how many runs it would take.
func wouldDo(c compare.Comparison) string {
	if c.Enough == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d against %d would do)", c.Enough, c.Enough)
}

func differenceTable(ds []compare.Difference, verbose bool) judge.Table {
	out := judge.Table{Title: "what differs", Head: []string{"What", "A", "B", "How so"}}
	for _, d := range ds {
		what := string(d.Kind) + " " + d.Of
		if verbose && d.Sentence != "" {
			what += ": " + d.Sentence
		}
		out.Rows = append(out.Rows, []string{what, sawText(d.A), sawText(d.B), howSo(d)})
	}
	return out
}

// sawText is what a side did, with the prediction where it did something else.
func sawText(s compare.Saw) string {
	if s.Result == "" || s.Result == string(judge.Held) || s.Predicted == "" {
		return s.Observed
	}
	if s.Predicted == s.Observed {
		return s.Observed + " (" + s.Result + ")"
	}
	return fmt.Sprintf("%s (%s, predicted %s)", s.Observed, s.Result, s.Predicted)
}

// howSo says what a difference rests on, and what it means.
func howSo(d compare.Difference) string {
	var out []string
	switch {
	case d.Known:
		out = append(out, "as both models predict")
	case d.Basis == compare.OnModel:
		out = append(out, "not as predicted")
	case d.Basis == compare.OnRuns && d.Shift == nil:
		out = append(out, "no model says so")
	}
	if d.Worse {
		out = append(out, "worse")
	}
	if d.Better {
		out = append(out, "better")
	}
	if s := d.Shift; s != nil && d.Basis != compare.OnModel {
		out = append(out, shiftText(*s, d.Unit))
	}
	return strings.Join(out, ", ")
}

// shiftText prints a shift with its interval: "+1.2 s (0.9 to 1.6)".
func shiftText(s rank.Shift, unit string) string {
	if unit != "" {
		unit = " " + unit
	}
	text := fmt.Sprintf("%+.4g%s", s.Median, unit)
	if s.Bounded {
		text += fmt.Sprintf(" (%+.4g to %+.4g)", s.Low, s.High)
	}
	return text
}

// variations print what is not the same in all repetitions of a side.
func variations(c compare.Cell) []string {
	var out []string
	for _, v := range c.Varies {
		out = append(out, fmt.Sprintf("%s %s in %s: %s", v.Kind, v.Of, v.Side, v.What))
	}
	return out
}

// ComparisonStory tells a comparison in one sentence.
func ComparisonStory(c compare.Comparison) string {
	differing, measured := 0, 0
	for _, cell := range c.Cells {
		if len(cell.Differences) > 0 {
			differing++
		}
		measured += len(cell.Unsettled) - len(unmeasured(cell.Unsettled))
	}
	out := count(len(c.Cells), "cell") + " compared: "
	switch n := c.Differences(); {
	case len(c.Cells) == 0:
		out = "no cell of one side has a partner on the other"
	case n == 0:
		out += "no difference"
	default:
		out += fmt.Sprintf("%s in %s", count(n, "difference"), count(differing, "cell"))
	}
	if n := len(c.OnlyA) + len(c.OnlyB); n > 0 {
		out += fmt.Sprintf("; %s without a partner", count(n, "cell"))
	}
	if measured > 0 {
		out += fmt.Sprintf("; too few runs to tell %s from chance%s", count(measured, "measured number"), wouldDo(c))
	}
	return out
}

// ComparisonJSON writes a comparison with the exit code that the command ends with.
func ComparisonJSON(w io.Writer, c compare.Comparison, exitCode int) error {
	return encode(w, struct {
		compare.Comparison
		ExitCode int `json:"exitCode"`
	}{c, exitCode})
}

// ComparisonMarkdown writes what differs for a pull request.
func ComparisonMarkdown(w io.Writer, c compare.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Compared\n\n%s.\n\n- A: %s\n- B: %s\n", md(ComparisonStory(c)), md(c.A), md(c.B))
	for _, cell := range c.Cells {
		if worthTelling(cell) {
			markdownCompared(&b, c, cell)
		}
	}
	for _, side := range []struct {
		name  string
		cells []compare.Name
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(side.cells) > 0 {
			fmt.Fprintf(&b, "\n## Only in %s\n\n", side.name)
			for _, n := range side.cells {
				fmt.Fprintf(&b, "- %s (%s)\n", md(n.Cell), md(n.Provider))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownCompared(b *strings.Builder, c compare.Comparison, cell compare.Cell) {
	lineA, lineB := sideLines(cell)
	fmt.Fprintf(b, "\n## %s: %s\n\n- A: %s\n- B: %s\n", cellWord(cell), md(cell.Cell), md(lineA), md(lineB))
	if cell.Missing != "" {
		fmt.Fprintf(b, "- %s\n", md(cell.Missing))
	}
	if t := differenceTable(cell.Differences, true); len(t.Rows) > 0 {
		b.WriteString("\n")
		markdownTable(b, t)
	}
	if t := differenceTable(unmeasured(cell.Unsettled), true); len(t.Rows) > 0 {
		fmt.Fprintf(b, "\nNot told from chance by %s%s:\n\n", against(cell.A.Runs, cell.B.Runs), wouldDo(c))
		markdownTable(b, t)
	}
	for i, v := range variations(cell) {
		if i == 0 {
			b.WriteString("\nVaries between the repetitions of a side:\n\n")
		}
		fmt.Fprintf(b, "- %s\n", md(v))
	}
}
