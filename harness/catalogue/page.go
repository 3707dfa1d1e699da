package catalogue

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/trackrecord"
)

const head = `# Catalogue

What each version of %s does in the cells of some drills: predicted, and recorded of real controllers. Made of
[catalogue.yaml](catalogue.yaml) and of the recordings below [baselines](baselines) by ` + "`make track-record`" + `; a test fails where it is
stale, where a recording is not as predicted and nothing explains why, and where something explains what agrees.

- A row is a cell without its version. **≠** marks rows in which versions differ from each other; the columns of versions
  then have the fewest claims that tell them apart, and *the same for all* what is the same and says most.
- *18 of 18* claims held: the recording is as predicted, and the words say both. *not run*: no recording is committed,
  and the words are today's model's. **differs**: the recording is not as predicted.
- A guard in bold, such as **overload 20**, is the worst value where it is above the drill's limit, as recorded, or as
  predicted where nothing is.

`

// notRun is what is observed where no recording is committed.
const notRun = trackrecord.NotRun

// page is the catalogue with all that is known of its cells.
type page struct {
	*Catalogue
	lines map[string]lineUp // by drill and row
}

// Write writes the catalogue as Markdown. Recordings that are not as predicted and not
// explained are errors, and so are explanations of what agrees.
func (c *Catalogue) Write(w io.Writer, recorded []trackrecord.Recorded) error {
	p := page{c, map[string]lineUp{}}
	for _, t := range c.tables {
		for _, r := range t.rows {
			for _, version := range t.versions {
				cell, ok := r.cells[version]
				if !ok {
					continue
				}
				s, err := squareOf(cell, recorded)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", cell.Name, t.drill, err)
				}
				p.lines[key(t, r)] = append(p.lines[key(t, r)], s)
			}
		}
	}
	if err := errors.Join(p.explained(), p.told()); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, c.Component)
	p.summary(&b)
	for _, t := range c.tables {
		p.table(&b, t)
	}
	p.differences(&b)
	p.coverage(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func key(t table, r row) string { return t.drill + "/" + r.name }

// told finds the claims of tells that no cell of their scenario makes.
func (p page) told() error {
	var errs []error
	for name, ids := range p.Tells {
		made := lineUp{}
		for _, l := range p.lines {
			if l[0].cell.Scenario == name {
				made = append(made, l...)
			}
		}
		all := made.ids(nil)
		for _, id := range ids {
			if !slices.Contains(all, id) {
				errs = append(errs, fmt.Errorf("tells: %s makes no claim %q%s", name, id, nearest.Hint(id, all)))
			}
		}
	}
	return errors.Join(errs...)
}

// explained holds the explanations against what there is to explain.
func (p page) explained() error {
	var errs []error
	explained := map[string]bool{}
	for _, e := range p.Disagreements {
		for _, cell := range e.Cells {
			for _, id := range e.Of {
				explained[e.Drill+"/"+cell+"/"+id] = true
			}
		}
	}
	for _, t := range p.tables {
		for _, r := range t.rows {
			for _, s := range p.lines[key(t, r)] {
				for _, id := range s.differs() {
					name := t.drill + "/" + s.cell.Name + "/" + id
					if !explained[name] {
						errs = append(errs, fmt.Errorf("%s of %s: %s was predicted as %q and observed as %q: disagreements has no explanation of it", s.cell.Name, t.drill, id, s.predicted(id), s.observed(id)))
					}
					delete(explained, name)
				}
			}
		}
	}
	for _, e := range p.Disagreements {
		for _, cell := range e.Cells {
			for _, id := range e.Of {
				if explained[e.Drill+"/"+cell+"/"+id] {
					errs = append(errs, fmt.Errorf("disagreements explains %s of %s of %s, where no recording differs from its prediction", id, cell, e.Drill))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// summary counts.
func (p page) summary(b *strings.Builder) {
	var rows, apart, cells, run, differ int
	for _, l := range p.lines {
		rows++
		if p.differ(l) {
			apart++
		}
		for _, s := range l {
			cells++
			if len(s.runs) > 0 {
				run++
			}
			if len(s.differs()) > 0 {
				differ++
			}
		}
	}
	fmt.Fprintf(b, "%d cells in %d rows, %d of them with versions that differ. Recorded: %d; as predicted: %d; otherwise: %d.\n", cells, rows, apart, run, run-differ, differ)
}

func (p page) differ(l lineUp) bool { return len(l.apart(p.Tells[l[0].cell.Scenario])) > 0 }

// table writes a drill.
func (p page) table(b *strings.Builder, t table) {
	fmt.Fprintf(b, "\n## %s\n\n", t.drill)
	columns := []string{"", "Cell", "The same for all"}
	for _, version := range t.versions {
		if version == "" {
			version = "Recorded"
		}
		columns = append(columns, version)
	}
	trackrecord.Row(b, columns...)
	trackrecord.Rule(b, len(columns))
	for _, r := range t.rows {
		trackrecord.Row(b, p.row(t, r)...)
	}
}

func (p page) row(t table, r row) []string {
	l := p.lines[key(t, r)]
	tells := p.Tells[r.scenario]
	apart, alike, guards := l.apart(tells), l.alike(tells), l.unsafe()
	out := []string{"", trackrecord.Escaped(r.name), strings.Join(append(l[0].tell(alike), guards...), "; ")}
	if len(apart) > 0 {
		out[0] = "**≠**"
	}
	next := 0
	for _, version := range t.versions {
		if _, ok := r.cells[version]; !ok {
			out = append(out, "")
			continue
		}
		out = append(out, l[next].words(apart, guards))
		next++
	}
	return out
}

// unsafe are the guards that are above their limits alike in all squares.
func (l lineUp) unsafe() []string {
	var out []string
	for _, g := range l[0].unsafe() {
		if !slices.ContainsFunc(l, func(s square) bool { return !slices.Contains(s.unsafe(), g) }) {
			out = append(out, g)
		}
	}
	return out
}

// tell says what was predicted, and what was observed where that is something else.
func (s square) tell(ids []string) []string {
	var out []string
	for _, id := range ids {
		text := s.predicted(id)
		if text == "" || guardAt(s.told.Verdict, id) >= 0 && s.above(id) {
			continue // in bold, with what else is above its limit
		}
		if seen := s.otherwise(id); seen != "" {
			text += ", observed " + seen
		}
		out = append(out, trackrecord.Escaped(id+" "+text))
	}
	return out
}

// above says that a guard is among the unsafe ones.
func (s square) above(id string) bool {
	return slices.ContainsFunc(s.unsafe(), func(text string) bool { return strings.HasPrefix(text, "**"+id+" ") })
}

// words are what stands in the column of a version.
func (s square) words(apart, alike []string) string {
	parts := s.tell(apart)
	for _, g := range s.unsafe() {
		if !slices.Contains(alike, g) {
			parts = append(parts, g)
		}
	}
	return strings.Join(append(parts, s.result()), "; ")
}

// result says how the recordings went.
func (s square) result() string {
	if len(s.runs) == 0 {
		return notRun
	}
	text := fmt.Sprintf("[%s](%s)", s.held(), s.told.Dir)
	if n := len(s.runs); n > 1 {
		text += fmt.Sprintf(", one of %d runs", n)
	}
	if ids := s.differs(); len(ids) > 0 {
		text = "**differs**: " + trackrecord.Escaped(strings.Join(ids, ", ")) + " (see [below](#where-they-differ)), " + text
	}
	return text
}

// differences writes the explanations.
func (p page) differences(b *strings.Builder) {
	b.WriteString("\n## Where they differ\n\n")
	if len(p.Disagreements) == 0 {
		b.WriteString("Nowhere: every committed recording is as predicted.\n")
		return
	}
	trackrecord.Row(b, "Cells", "Of", "Why", "Source")
	trackrecord.Rule(b, 4)
	for _, e := range p.Disagreements {
		trackrecord.Row(b, trackrecord.Escaped(strings.Join(e.Cells, "; ")+" of "+e.Drill), trackrecord.Escaped(strings.Join(e.Of, ", ")),
			trackrecord.Escaped(e.Why), "`"+trackrecord.Escaped(e.Source)+"`")
	}
}

// coverage writes which rows cover what.
func (p page) coverage(b *strings.Builder) {
	b.WriteString("\n## What the catalogue covers\n\n")
	trackrecord.Row(b, "Situation", "Covered by", "Not covered")
	trackrecord.Rule(b, 3)
	for _, s := range p.Situations {
		by, lacks := p.by(s.Rows), s.Lacks
		if len(s.Rows) == 0 {
			by, lacks = "-", "**all of it**: "+lacks
		}
		trackrecord.Row(b, trackrecord.Escaped(s.What), by, trackrecord.Escaped(lacks))
	}
}

// by lists rows below their drills, each with how many of its cells are recorded.
func (p page) by(rows []string) string {
	var out strings.Builder
	last := ""
	for _, name := range rows {
		drill, row, _ := strings.Cut(name, "/")
		switch {
		case drill == last:
			out.WriteString(", ")
		case last != "":
			out.WriteString("; ")
		}
		if drill != last {
			fmt.Fprintf(&out, "[%s](#%s): ", drill, drill)
		}
		last = drill
		run := 0
		for _, s := range p.lines[name] {
			run += min(1, len(s.runs))
		}
		fmt.Fprintf(&out, "%s (%d of %d recorded)", trackrecord.Escaped(row), run, len(p.lines[name]))
	}
	return out.String()
}
