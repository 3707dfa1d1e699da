package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
)

// cells are the repetitions of one cell.
type cells struct {
	key  string
	name Name
	runs []Run
}

// group puts the repetitions of each cell together, in order of appearance.
func group(side string, runs []Run) ([]cells, error) {
	var out []cells
	for _, r := range runs {
		name := nameOf(r)
		key := strings.Join([]string{name.Scenario, name.Provider, string(name.Params)}, "\x00")
		g := find(out, key)
		if g == nil {
			out = append(out, cells{key: key, name: name})
			g = &out[len(out)-1]
		}
		if len(g.runs) > 0 && versions(g.runs[0].Header) != versions(r.Header) {
			return nil, fmt.Errorf("%s has %s with several versions, of which one must be chosen: %s, and %s",
				side, g.name.Cell, versions(g.runs[0].Header), versions(r.Header))
		}
		g.runs = append(g.runs, r)
	}
	return out, nil
}

func find(all []cells, key string) *cells {
	i := slices.IndexFunc(all, func(c cells) bool { return c.key == key })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func nameOf(r Run) Name {
	params := r.Params
	if len(params) == 0 {
		params = r.Header.Params
	}
	return Name{Scenario: r.Header.Scenario, Cell: Unversioned(r.Header), Provider: r.Header.Cluster.Provider, Params: bytes.TrimSpace(params)}
}

// Unversioned is the name of a run's cell without the versions of components:
// "rollback-window[routing=subsets]".
func Unversioned(h recording.Header) string {
	name, list, ok := strings.Cut(strings.TrimSuffix(h.Cell, "]"), "[")
	if !ok {
		return h.Cell
	}
	var labels []string
	for label := range strings.SplitSeq(list, ",") {
		key, _, _ := strings.Cut(label, "=")
		if !slices.ContainsFunc(h.Components, func(c recording.Component) bool { return c.Name == key }) {
			labels = append(labels, label)
		}
	}
	if len(labels) == 0 {
		return name
	}
	return name + "[" + strings.Join(labels, ",") + "]"
}

// versions are those of all components: what makes two cells different ones.
func versions(h recording.Header) string { return strings.Join(versionsOf(h), ", ") }

func versionsOf(h recording.Header) []string {
	out := make([]string, len(h.Components))
	for i, c := range h.Components {
		out[i] = c.Name + " " + c.Version
		if c.Base != "" {
			out[i] += " (based on " + c.Base + ")"
		}
	}
	slices.Sort(out)
	return out
}

func (c cells) valid() []Run {
	return slices.DeleteFunc(slices.Clone(c.runs), func(r Run) bool { return r.Verdict.Outcome == judge.Invalid || r.Set == nil })
}

func (c cells) side() Side {
	out := Side{Runs: len(c.valid()), Outcomes: map[judge.Outcome]int{}, Versions: versionsOf(c.runs[0].Header), Model: c.runs[0].Verdict.Model}
	for _, r := range c.runs {
		out.Outcomes[r.Verdict.Outcome]++
		out.RunIDs = append(out.RunIDs, r.Header.RunID)
	}
	return out
}

// missing says why a side has nothing to compare, with the first reason that its runs
// give; nothing if it has something.
func (c cells) missing(side string, valid []Run) []string {
	if len(valid) > 0 {
		return nil
	}
	text := fmt.Sprintf("none of the runs of %s is valid", side)
	for _, r := range c.runs {
		if len(r.Verdict.Reasons) > 0 {
			return []string{text + " (" + r.Verdict.Reasons[0] + ")"}
		}
	}
	return []string{text}
}
