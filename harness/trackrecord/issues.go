// Package trackrecord holds public reports of what controllers do against what real
// controllers were recorded doing: a table with what was predicted, what was seen, and
// the command that shows it again.
package trackrecord

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/strict"
)

// Issue is one public report.
type Issue struct {
	// URL is its page, About what happens in one sentence.
	URL   string `json:"url"`
	About string `json:"about"`
	// Bad and Good are the versions with and without it, as the report says.
	Bad  string `json:"bad"`
	Good string `json:"good"`
	// Source is what the controller's source says where it does not agree with the
	// report, with file, line and version; none where it does.
	Source string `json:"source,omitempty"`
	// Runs are the cells that show it, none where no drill does.
	Runs []Run `json:"runs,omitempty"`
}

// Run is one cell of a drill, with what of its verdict is about the issue.
type Run struct {
	Drill string `json:"drill"`
	// Kubernetes is the version in place of the drill's, as part of the cell's name.
	Kubernetes string `json:"kubernetes,omitempty"`
	Cell       string `json:"cell"`
	// Shows are ids of claims and guards.
	Shows []string `json:"shows"`

	// cell is what Load found.
	cell plan.Cell
}

// Load reads the list of issues. Errors name the source and the line.
func Load(source string, text []byte) ([]Issue, error) {
	doc, err := strict.Parse(source, text)
	if err != nil {
		return nil, err
	}
	var list struct {
		Issues []Issue `json:"issues"`
	}
	if err := doc.Decode(&list); err != nil {
		return nil, err
	}
	plans := plans{}
	for i, issue := range list.Issues {
		at := doc.Root().Find("issues").Index(i)
		for field, value := range map[string]string{"url": issue.URL, "about": issue.About, "bad": issue.Bad, "good": issue.Good} {
			if value == "" {
				return nil, at.Errorf("%s is missing", field)
			}
		}
		for j := range issue.Runs {
			run := &issue.Runs[j]
			if run.cell, err = plans.cell(*run); err != nil {
				return nil, at.Find("runs").Index(j).Errorf("%v", err)
			}
			if len(run.Shows) == 0 {
				return nil, at.Find("runs").Index(j).Errorf("shows is missing: which claims and guards are about the issue?")
			}
		}
	}
	return list.Issues, nil
}

// plans are those of drills and versions of Kubernetes: many runs are cells of a few,
// and some drills have hundreds of cells.
type plans map[[2]string]*plan.Plan

// cell is a run's, as its drill plans it today.
func (p plans) cell(r Run) (plan.Cell, error) {
	of := [2]string{r.Drill, r.Kubernetes}
	if p[of] == nil {
		d, err := drills.Find(r.Drill)
		if err != nil {
			return plan.Cell{}, err
		}
		if p[of], err = plan.New(d, plan.Overrides{Kubernetes: r.Kubernetes}); err != nil {
			return plan.Cell{}, err
		}
	}
	cells := p[of].Cells
	i := slices.IndexFunc(cells, func(c plan.Cell) bool { return c.Name == r.Cell })
	if i < 0 {
		return plan.Cell{}, fmt.Errorf("the drill %s has no cell %s", r.Drill, r.Cell)
	}
	return cells[i], nil
}
