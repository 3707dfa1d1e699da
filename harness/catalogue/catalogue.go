// Package catalogue lays drills out as tables with a cell a row and a version a column:
// what was predicted, what real controllers were recorded doing, and why where the two
// differ.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/nearest"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/strict"
)

// Catalogue is what the tables are made of, beside recordings.
type Catalogue struct {
	// Component is the one whose versions are the columns.
	Component string `json:"component"`
	// Drills have a table each.
	Drills []string `json:"drills"`
	// Tells are ids of claims that say most of a cell, by scenario.
	Tells map[string][]string `json:"tells"`
	// Situations are what should be covered.
	Situations []Situation `json:"situations"`
	// Disagreements explain where recordings and predictions differ.
	Disagreements []Explanation `json:"disagreements,omitempty"`

	tables []table
}

// Situation is something that a controller's version may get wrong.
type Situation struct {
	What string `json:"what"`
	// Rows cover it: the drill, "/" and the row.
	Rows []string `json:"rows,omitempty"`
	// Lacks says what no row covers, none where all of it is.
	Lacks string `json:"lacks,omitempty"`
}

// Explanation says why some recordings are not as predicted.
type Explanation struct {
	Drill string   `json:"drill"`
	Cells []string `json:"cells"`
	// Of are the claims and guards.
	Of  []string `json:"of"`
	Why string   `json:"why"`
	// Source is the file and line at a version that decides.
	Source string `json:"source"`
}

// Load reads a catalogue and plans its drills. Errors name the source and the line.
func Load(source string, text []byte) (*Catalogue, error) {
	doc, err := strict.Parse(source, text)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{}
	if err := doc.Decode(c); err != nil {
		return nil, err
	}
	for i, name := range c.Drills {
		t, err := planned(name, c.Component)
		if err != nil {
			return nil, doc.Root().Find("drills").Index(i).Errorf("%v", err)
		}
		c.tables = append(c.tables, t)
	}
	for i, s := range c.Situations {
		if err := c.checkSituation(s, doc.Root().Find("situations").Index(i)); err != nil {
			return nil, err
		}
	}
	for i, e := range c.Disagreements {
		if err := c.checkExplanation(e, doc.Root().Find("disagreements").Index(i)); err != nil {
			return nil, err
		}
	}
	return c, c.checkTells(doc.Root().Find("tells"))
}

func (c *Catalogue) checkSituation(s Situation, at strict.Node) error {
	switch {
	case s.What == "":
		return at.Errorf("what is missing")
	case len(s.Rows) == 0 && s.Lacks == "":
		return at.Errorf("rows or lacks is missing: what covers it, or why does nothing?")
	}
	for i, name := range s.Rows {
		if _, err := c.row(name); err != nil {
			return at.Find("rows").Index(i).Errorf("%v", err)
		}
	}
	return nil
}

func (c *Catalogue) checkExplanation(e Explanation, at strict.Node) error {
	if len(e.Cells) == 0 || len(e.Of) == 0 || e.Why == "" || e.Source == "" {
		return at.Errorf("expected cells, of, why and source")
	}
	i := slices.IndexFunc(c.tables, func(t table) bool { return t.drill == e.Drill })
	if i < 0 {
		return at.Errorf("no drill %q%s", e.Drill, nearest.Hint(e.Drill, c.Drills))
	}
	var names []string
	for _, r := range c.tables[i].rows {
		for _, cell := range r.cells {
			names = append(names, cell.Name)
		}
	}
	for j, name := range e.Cells {
		if !slices.Contains(names, name) {
			return at.Find("cells").Index(j).Errorf("the drill %s has no cell %q%s", e.Drill, name, nearest.Hint(name, names))
		}
	}
	return nil
}

func (c *Catalogue) checkTells(at strict.Node) error {
	var names []string
	for _, t := range c.tables {
		for _, r := range t.rows {
			names = append(names, r.scenario)
		}
	}
	for name := range c.Tells {
		if !slices.Contains(names, name) {
			return at.Find(name).Errorf("no drill of the catalogue has the scenario %s%s", name, nearest.Hint(name, names))
		}
	}
	return nil
}

// row finds the row that a situation names.
func (c *Catalogue) row(name string) (row, error) {
	drill, rest, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(c.tables, func(t table) bool { return t.drill == drill })
	if i < 0 {
		return row{}, fmt.Errorf("%q: no drill %q%s, expected drill/row", name, drill, nearest.Hint(drill, c.Drills))
	}
	rows := c.tables[i].rows
	j := slices.IndexFunc(rows, func(r row) bool { return r.name == rest })
	if j < 0 {
		var names []string
		for _, r := range rows {
			names = append(names, r.name)
		}
		return row{}, fmt.Errorf("the drill %s has no row %q%s", drill, rest, nearest.Hint(rest, names))
	}
	return rows[j], nil
}

// table is one drill: its versions, the oldest first, and its rows.
type table struct {
	drill    string
	versions []string
	rows     []row
}

// row are the cells of a drill that differ in nothing but the component's version.
type row struct {
	name     string
	scenario string
	// cells are by version, each with the same name but for that.
	cells map[string]plan.Cell
}

// planned is a drill's table. Cells that replace a version by another are rows of
// their own, with no version as their column.
func planned(name, component string) (table, error) {
	d, err := drills.Find(name)
	if err != nil {
		return table{}, err
	}
	p, err := plan.New(d, plan.Overrides{})
	if err != nil {
		return table{}, err
	}
	t := table{drill: name}
	for _, c := range p.Cells {
		version := c.Versions[component]
		if len(c.Later[component]) > 0 {
			version = ""
		}
		if !slices.Contains(t.versions, version) {
			t.versions = append(t.versions, version)
		}
		r := t.at(without(c.Name, component+"="+version), c.Scenario)
		if _, twice := r.cells[version]; twice {
			return table{}, fmt.Errorf("the cells of %s have the version %s twice", r.name, version)
		}
		r.cells[version] = c
	}
	slices.SortFunc(t.versions, semver.Compare)
	return t, nil
}

// at is the row of a name, a new one where there is none.
func (t *table) at(name, scenario string) *row {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.name == name })
	if i < 0 {
		i, t.rows = len(t.rows), append(t.rows, row{name, scenario, map[string]plan.Cell{}})
	}
	return &t.rows[i]
}

// without takes one label out of a cell's name.
func without(cell, label string) string {
	return strings.NewReplacer("["+label+"]", "", "["+label+",", "[", ","+label, "").Replace(cell)
}
