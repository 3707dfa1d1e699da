package campaign

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
)

// DiffersError says that what a campaign began with is not what there is today. Its
// runs and those of today would be no rows of one table.
type DiffersError struct {
	ID string
	// What differs, each in one line.
	What []string
}

func (e *DiffersError) Error() string {
	more := ""
	if n := len(e.What) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("the campaign %s cannot go on, begin another: %s%s", e.ID, e.What[0], more)
}

// Check holds the plan that the campaign's drill gives today, and today's models,
// against what the campaign began with. The error is a *DiffersError.
func (m *Manifest) Check(today *plan.Plan) error {
	out := plansDiffer(m.Plan.Cells, today.Cells)
	for _, c := range m.Cells() {
		if len(out) > 0 {
			break // keys of other cells differ anyway
		}
		key, err := KeyOf(c)
		if err != nil {
			return err
		}
		out = keysDiffer(c.Name, m.Keys[c.Name], key)
	}
	return m.differ(out)
}

func (m *Manifest) differ(what []string) error {
	if len(what) == 0 {
		return nil
	}
	return &DiffersError{ID: m.ID, What: what}
}

func plansDiffer(then, now []plan.Cell) []string {
	var out []string
	byName := map[string]plan.Cell{}
	for _, c := range now {
		byName[c.Name] = c
	}
	for _, c := range then {
		other, ok := byName[c.Name]
		if !ok {
			out = append(out, fmt.Sprintf("its drill has no cell %s any more", c.Name))
			continue
		}
		delete(byName, c.Name)
		out = append(out, cellsDiffer(c, other)...)
	}
	for _, c := range now {
		if _, added := byName[c.Name]; added {
			out = append(out, fmt.Sprintf("its drill has a cell %s that it had not", c.Name))
		}
	}
	return out
}

// cellsDiffer compares what is run and how it counts, not how long that is said to take.
func cellsDiffer(then, now plan.Cell) []string {
	of := func(what string) string { return fmt.Sprintf("cell %s: %s", then.Name, what) }
	out := changes(of(""), text(then.Versions), text(now.Versions))
	out = append(out, changes(of("parameter "), fieldsOf(then.Params), fieldsOf(now.Params))...)
	out = append(out, changes(of("guard "), text(then.Guards), text(now.Guards))...)
	return append(out, changes(of(""), settings(then), settings(now))...)
}

// settings are what else a cell says.
func settings(c plan.Cell) map[string]string {
	return map[string]string{
		"scenario": c.Scenario, "provider": c.Provider, "nodes": fmt.Sprint(c.Nodes), "node image": c.NodeImage,
		"gate of claims": c.Gate.Claims, "gate of guards": c.Gate.Guards, "repetitions": fmt.Sprint(c.Repeat),
	}
}

func text[V any](values map[string]V) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		out[name] = fmt.Sprint(v)
	}
	return out
}

// fieldsOf are the members of a JSON object, each as it is written there.
func fieldsOf(raw json.RawMessage) map[string]string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return map[string]string{"all": string(raw)}
	}
	out := map[string]string{}
	for name, v := range members {
		out[name] = compact(v)
	}
	return out
}

// compact takes out the blanks that the manifest's indentation put in.
func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func keysDiffer(cell string, then, now Key) []string {
	of := "cell " + cell + ": "
	out := changes(of+"the ", map[string]string{"model": then.Model}, map[string]string{"model": now.Model})
	out = append(out, changes(of+"the prediction of claim ", then.Claims, now.Claims)...)
	return append(out, changes(of+"the prediction of guard ", then.Guards, now.Guards)...)
}

// changes says of each name whose text differs what it was and what it is.
func changes(of string, then, now map[string]string) []string {
	names := map[string]bool{}
	for name := range then {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := then[name]
		is, has := now[name]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("%s%s was not there and is %s", of, name, quoted(is)))
		case !has:
			out = append(out, fmt.Sprintf("%s%s was %s and is not there", of, name, quoted(was)))
		case was != is:
			out = append(out, fmt.Sprintf("%s%s was %s and is %s", of, name, quoted(was), quoted(is)))
		}
	}
	return out
}

func quoted(s string) string {
	if s == "" {
		return "empty"
	}
	return s
}

// Parts are what a run of a cell would use, as a recording's header says it.
type Parts struct {
	Cell       plan.Cell
	Components []recording.Component
}

// CheckBinaries holds what the next runs would use against what the done ones used:
// the same version may have been built anew, or its directory edited. The error is a
// *DiffersError.
func (m *Manifest) CheckBinaries(done []Run, next []Parts) error {
	var out []string
	for _, r := range done {
		for _, then := range r.Report.Header.Components {
			for _, p := range next {
				for _, now := range p.Components {
					if then.Name == now.Name && r.Cell.Versions[then.Name] == p.Cell.Versions[now.Name] {
						out = append(out, binariesDiffer(then, now)...)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return m.differ(slices.Compact(out))
}

// binariesDiffer compares what has a digest: what nodes bring along has none.
func binariesDiffer(then, now recording.Component) []string {
	var out []string
	if len(then.Digests) > 0 && len(now.Digests) > 0 && then.Version != now.Version { // a directory, whose version is its content
		return []string{fmt.Sprintf("%s was %s and is %s", then.Name, then.Version, now.Version)}
	}
	for _, name := range slices.Sorted(maps.Keys(then.Digests)) {
		if is, ok := now.Digests[name]; ok && is != then.Digests[name] {
			out = append(out, fmt.Sprintf("%s %s is another binary: %s was %s and is %s", then.Name, then.Version, name, short(then.Digests[name]), short(is)))
		}
	}
	return out
}

// short is as much of a digest as tells two apart.
func short(digest string) string {
	algorithm, sum, _ := strings.Cut(digest, ":")
	return algorithm + ":" + sum[:min(len(sum), 12)]
}
