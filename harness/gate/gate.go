// Package gate decides whether a new version of a component may take the place of
// the old one, from what differs between runs of both. It is pure.
package gate

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
)

// Format names the schema of a gate's decision as JSON.
const Format = "reckon/gate/v1"

// Class is what became of one cell.
type Class string

// The classes, the worst first.
const (
	// Unknown: something changed that no model predicts, or not as it predicts.
	Unknown Class = "changed, unknown"
	// Worse: a guard is broken on the new side, and its worst value is worse.
	Worse Class = "guard got worse"
	// Unsettled: the runs do not tell, because they disagree, or there are none.
	Unsettled Class = "inconclusive"
	// Known: what changed is what the models of both versions predict.
	Known Class = "changed, known"
	// Unchanged: nothing differs.
	Unchanged Class = "unchanged"
)

// Decision is the gate's answer.
type Decision struct {
	Format    string `json:"format"`
	Component string `json:"component"`
	Old       string `json:"old"`
	New       string `json:"new"`
	// Outcome is pass, fail or inconclusive.
	Outcome judge.Outcome `json:"outcome"`
	Cells   []Cell        `json:"cells"`
	// Comparison is what the classes rest on. Its cells are those of Cells which have
	// a pair, in order.
	Comparison compare.Comparison `json:"comparison"`
}

// Cell is one cell with its class.
type Cell struct {
	compare.Name
	Class   Class    `json:"class"`
	Reasons []string `json:"reasons,omitempty"`
	// Repeat is how many repetitions on each side would tell what is inconclusive, as
	// far as these let guess; 0 where no number would, or nothing is.
	Repeat int `json:"repeat,omitempty"`
	// Details are what the claims of a run without a pair found, such as what became of
	// each object.
	Details []judge.Table `json:"details,omitempty"`
	// Pair is its index in the comparison, -1 for what has no pair.
	Pair int `json:"pair"`
}

// Fails says whether a class keeps the new version out.
func (c Class) Fails() bool { return c == Unknown || c == Worse }

// Decide classes every cell of a comparison, the old version on side A. Swaps are the
// verdicts of runs in which the one version took the place of the other: they have no
// pair, and say by themselves whether anything happened that no model predicts.
func Decide(component, from, to string, c compare.Comparison, swaps []judge.Verdict) Decision {
	d := Decision{Format: Format, Component: component, Old: from, New: to, Comparison: c, Cells: []Cell{}}
	for i, cell := range c.Cells {
		d.Cells = append(d.Cells, class(i, cell, c.Alpha))
	}
	for _, alone := range []struct {
		side  string
		names []compare.Name
	}{{from, c.OnlyB}, {to, c.OnlyA}} {
		for _, n := range alone.names {
			d.Cells = append(d.Cells, Cell{Name: n, Class: Unsettled, Reasons: []string{"there is no run of it with " + alone.side}, Repeat: 1, Pair: -1})
		}
	}
	for _, v := range swaps {
		d.Cells = append(d.Cells, swap(v))
	}
	d.Outcome = outcome(d.Cells)
	return d
}

// outcome: what fails outranks what is not told. A gate without cells has told nothing.
func outcome(cells []Cell) judge.Outcome {
	has := func(which func(Class) bool) bool {
		return slices.ContainsFunc(cells, func(c Cell) bool { return which(c.Class) })
	}
	switch {
	case has(Class.Fails):
		return judge.Fail
	case len(cells) == 0, has(func(c Class) bool { return c == Unsettled }):
		return judge.Undecided
	}
	return judge.Pass
}

// swap classes a run in which the version was replaced, by its own verdict.
func swap(v judge.Verdict) Cell {
	out := Cell{Name: compare.Name{Scenario: v.Scenario, Cell: v.Cell, Provider: v.Cluster.Provider}, Class: Unchanged, Reasons: v.Reasons, Pair: -1}
	switch v.Outcome {
	case judge.Fail:
		out.Class = Unknown
	case judge.Undecided, judge.Invalid:
		out.Class, out.Repeat = Unsettled, 1
	}
	for _, c := range v.Claims {
		if c.Detail != nil && len(c.Detail.Rows) > 0 {
			out.Details = append(out.Details, *c.Detail)
		}
	}
	for _, g := range v.Guards {
		if g.Status == judge.Broken {
			out.Class = Worse
			out.Reasons = append(out.Reasons, fmt.Sprintf("guard %s: %s", g.ID, g.Why))
		}
	}
	return out
}

// class is that of a pair: of its differences, of what makes it unsure, else none.
func class(i int, c compare.Cell, alpha float64) Cell {
	out := Cell{Name: c.Name, Class: Unchanged, Pair: i}
	if c.Missing != "" {
		out.Class, out.Repeat, out.Reasons = Unsettled, 1, []string{c.Missing}
		return out
	}
	for _, d := range c.Differences {
		out.worst(of(d))
		if of(d).Fails() {
			out.Reasons = append(out.Reasons, why(d))
		}
	}
	if out.Class.Fails() {
		return out
	}
	for _, v := range c.Varies {
		if v.Unsure {
			out.worst(Unsettled)
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s %s in %s: %s", v.Kind, v.Of, v.Side, v.What))
			out.Repeat = max(out.Repeat, repeat(v, c, alpha))
		}
	}
	return out
}

// order of the classes, the worst first.
func order() []Class { return []Class{Unknown, Worse, Unsettled, Known, Unchanged} }

func (c *Cell) worst(other Class) {
	if slices.Index(order(), other) < slices.Index(order(), c.Class) {
		c.Class = other
	}
}

// of is the class that one difference alone would give its cell. How long things take
// is the machine's affair too: it is told and decides nothing. So is a guard whose
// worst value is safe; that it changed is a change like any other.
func of(d compare.Difference) Class {
	switch {
	case d.Timing():
		return Unchanged
	case !d.Known:
		return Unknown
	case d.Kind == compare.Guard && d.Worse && d.B.Result != string(judge.Held):
		return Worse
	}
	return Known
}

// why tells a difference that fails in one line.
func why(d compare.Difference) string {
	text := fmt.Sprintf("%s %s: %s with the old version, %s with the new one", d.Kind, d.Of, d.A.Observed, d.B.Observed)
	switch {
	case of(d) == Worse:
		return text + ", as their models predict, and unsafe"
	case d.B.Result == string(judge.Broken) && d.B.Predicted != "":
		return text + ", where its model predicts " + d.B.Predicted
	case d.A.Result == string(judge.Broken) && d.A.Predicted != "":
		return text + ", which the model of the old one does not explain: it predicts " + d.A.Predicted
	}
	return text + ", which no model predicts"
}

// repeat is how many repetitions would tell what varies.
func repeat(v compare.Varied, c compare.Cell, alpha float64) int {
	if v.Held != nil {
		return rank.EnoughFor(v.Held[0].K, v.Held[0].N, v.Held[1].K, v.Held[1].N, alpha)
	}
	flawed := 0 // to be run again
	for _, side := range []compare.Side{c.A, c.B} {
		flawed = max(flawed, side.Outcomes[judge.Invalid]+side.Outcomes[judge.Undecided])
	}
	if flawed == 0 {
		return 0
	}
	return max(c.A.Runs, c.B.Runs) + flawed
}
