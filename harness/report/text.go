package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reckon.dev/reckon/harness/judge"
)

// TextOptions say what the terminal can do. A Width of 0 means 100 columns.
type TextOptions struct {
	Color bool
	Width int
	// Verbose: every run in full, however many there are.
	Verbose bool
}

// Few is up to how many runs are all told in full. Of more, that is done for
// those that somebody has to look at; the others have a line.
const Few = 4

// Text writes the runs for a terminal. Everything that matters is a word;
// colour only repeats it.
func Text(w io.Writer, rs []Run, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := &textWriter{w: w, o: o, many: len(rs) > Few}
	if t.many {
		t.summary(rs)
	}
	for i, r := range rs {
		if t.many && !o.Verbose && !remarkable(r.Verdict) {
			continue
		}
		if i > 0 || t.many {
			t.print("\n")
		}
		t.run(r)
	}
	if t.many {
		t.print("\n")
		for _, f := range fidelities(rs) {
			t.paragraph("fidelity  ", f)
		}
	}
	if vs := verdictsOf(rs); len(vs) > 1 {
		t.print("\n%s\n", t.colored(title(Outcome(vs)), title(Outcome(vs))+"  "+totals(vs)))
	}
	return t.err
}

// remarkable: the run did not pass, or passed with a broken guard.
func remarkable(v judge.Verdict) bool { return v.Outcome != judge.Pass || tallyGuards(v).broken > 0 }

// summary gives each run a line.
func (t *textWriter) summary(rs []Run) {
	repeated := slices.ContainsFunc(rs, func(r Run) bool { return r.Verdict.Repetition > 1 })
	tab := &table{columns: []column{{"OUTCOME", false}, {"CELL", false}, {"FINDING", true}}}
	if repeated {
		tab.columns = slices.Insert(tab.columns, 2, column{"REPETITION", false})
	}
	for _, r := range rs {
		row := []string{title(r.Verdict.Outcome), r.Verdict.Cell, headline(r.Verdict)}
		if repeated {
			row = slices.Insert(row, 2, strconv.Itoa(r.Verdict.Repetition))
		}
		tab.add(row...)
	}
	t.paintedTable(tab, 0, "")
}

// totals counts runs by outcome, in the order of severity.
func totals(vs []judge.Verdict) string {
	n := map[judge.Outcome]int{}
	for _, v := range vs {
		n[v.Outcome]++
	}
	var parts []string
	for _, o := range []judge.Outcome{judge.Fail, judge.Invalid, judge.Undecided, judge.Pass} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	return count(len(vs), "run") + ": " + strings.Join(parts, ", ")
}

const indent = "  "

// textWriter keeps the first error, so that rendering reads as a list.
type textWriter struct {
	w io.Writer
	o TextOptions
	// many: what all runs have in common is said once, at the end.
	many bool
	err  error
}

func (t *textWriter) print(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// paragraph writes a wrapped text; lines after the first hang under it.
func (t *textWriter) paragraph(lead, text string) {
	pad := strings.Repeat(" ", len([]rune(lead)))
	for i, line := range wrap(visible(text), t.o.Width-len(pad)) {
		if i > 0 {
			lead = pad
		}
		t.print("%s%s\n", lead, line)
	}
}

// table writes a table whose last column is a result.
func (t *textWriter) table(tab *table) {
	t.print("\n")
	t.paintedTable(tab, len(tab.columns)-1, indent)
}

// paintedTable writes a table in which one column has results.
func (t *textWriter) paintedTable(tab *table, results int, indent string) {
	tab.paint = func(column int, cell, padded string) string {
		if column != results {
			return padded
		}
		return t.colored(cell, padded)
	}
	if t.err == nil {
		t.err = tab.write(t.w, indent, t.o.Width)
	}
}

// colored paints a text by the result word that it stands for.
func (t *textWriter) colored(result, text string) string {
	if !t.o.Color {
		return text
	}
	code := "33"
	switch {
	case strings.HasPrefix(result, "PASS"), result == "HELD":
		code = "32"
	case strings.HasPrefix(result, "FAIL"), strings.HasPrefix(result, "BROKEN"):
		code = "31"
	case strings.HasPrefix(result, "INVALID"):
		code = "35"
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

func (t *textWriter) run(r Run) {
	v := r.Verdict
	t.headline(v)
	t.paragraph(indent, story(v))
	if len(v.Components) > 0 {
		t.paragraph(indent+"versions  ", strings.Join(versions(v), ", "))
	}
	for _, e := range edits(v) {
		t.paragraph(indent+"edited    ", e)
	}
	if v.Model != "" { // a run that cannot be read has none
		t.paragraph(indent+"model     ", v.Model)
	}
	if len(r.Changed) > 0 {
		t.paragraph(indent+"params    ", strings.Join(r.Changed, " "))
	}
	for _, n := range v.Notes {
		t.paragraph(indent+"note      ", n)
	}
	t.claims(v)
	t.guards(v)
	t.traffic(v)
	t.reasons(v)
	t.evidence(v)
	t.print("\n")
	if !t.many {
		t.paragraph(indent+"fidelity  ", fidelity(v))
	}
	t.print("%srecorded  %s, %s\n", indent, count(int(v.Facts), "fact"), secs(v.LastedSec))
}

func (t *textWriter) headline(v judge.Verdict) {
	lead := title(v.Outcome) + "  "
	for i, line := range wrap(visible(v.Scenario+" · "+runName(v)), t.o.Width-len(lead)) {
		if i > 0 {
			t.print("%s%s\n", strings.Repeat(" ", len(lead)), line)
			continue
		}
		t.print("%s  %s\n", t.colored(title(v.Outcome), title(v.Outcome)), line)
	}
}

func (t *textWriter) claims(v judge.Verdict) {
	if len(v.Claims) == 0 {
		return
	}
	tab := &table{columns: []column{{"CLAIM", true}, {"PREDICTED", true}, {"OBSERVED", true}, {"RESULT", false}}}
	for _, c := range v.Claims {
		tab.add(c.ID, c.Predicted, c.Observed, claimWord(c, v.Gate))
	}
	t.table(tab)
}

func (t *textWriter) guards(v judge.Verdict) {
	if len(v.Guards) == 0 {
		return
	}
	tab := &table{columns: []column{{"GUARD", true}, {"LIMIT", false}, {"PREDICTED WORST", true}, {"OBSERVED WORST", true}, {"ABOVE FOR", true}, {"RESULT", false}}}
	for _, g := range v.Guards {
		tab.add(g.ID, number(g.Limit), optional(g.Expected), optional(g.Worst), secs(g.AboveSec), guardWord(g))
	}
	t.table(tab)
	for _, g := range v.Guards {
		if m := guardMeaning(g, v.Gate); m != "" {
			t.paragraph(indent+visible(g.ID)+": ", m)
		}
	}
}

// keptWhole is up to how many runes the cells of a column are not cut in two.
const keptWhole = 14

// traffic tells where weights and answers did not agree, and what was measured.
func (t *textWriter) traffic(v judge.Verdict) {
	tables := measureTables(v)
	if len(v.Disagreements) > 0 {
		tables = slices.Insert(tables, 0, threeWay(v))
	}
	for _, data := range tables {
		tab := &table{}
		for i, head := range data.Head {
			long := slices.ContainsFunc(data.Rows, func(row []string) bool { return utf8.RuneCountInString(row[i]) > keptWhole })
			tab.columns = append(tab.columns, column{visible(strings.ToUpper(head)), long})
		}
		for _, row := range data.Rows {
			tab.add(slices.Clone(row)...)
		}
		t.print("\n%s%s\n", indent, visible(data.Title))
		t.paintedTable(tab, -1, indent)
	}
}

func (t *textWriter) reasons(v judge.Verdict) {
	if v.Outcome == judge.Pass {
		return
	}
	t.print("\n%s%s:\n", indent, whyTitle(v.Outcome))
	for _, r := range v.Reasons {
		t.paragraph(indent+"- ", r)
	}
}

// evidence tells of each claim that did not hold what it said, where that
// comes from and which object versions decided.
func (t *textWriter) evidence(v judge.Verdict) {
	for _, c := range v.Claims {
		if c.Status == judge.Held {
			continue
		}
		t.print("\n")
		t.paragraph(indent+"claim "+visible(c.ID)+": ", c.Sentence)
		t.facts(c.Why, c.AtSec, c.Objects, c.Basis, c.Samples)
	}
	for _, g := range v.Guards {
		if g.Status == judge.Held {
			continue
		}
		t.print("\n")
		t.paragraph(indent+"guard "+visible(g.ID)+": ", g.Sentence)
		t.facts(g.Why, g.AtSec, g.Objects, g.Basis, g.Samples)
	}
}

func (t *textWriter) facts(why string, at *float64, objects, basis []string, samples int) {
	const lead = indent + indent
	t.paragraph(lead+"why       ", why)
	if at != nil {
		t.print("%sat        %s of the recording, %s\n", lead, secs(*at), count(samples, "sample"))
	}
	if len(objects) > 0 {
		t.paragraph(lead+"seen in   ", seenIn(objects...))
	}
	for _, b := range basis {
		t.paragraph(lead+"basis     ", b)
	}
}
