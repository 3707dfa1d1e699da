// Package keytest is for tests: what holds for the answer key of every scenario.
package keytest

import (
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

// Empty is what the definitions read from a recording without facts.
func Empty(t testing.TB, defs []series.Definition) *series.Set {
	t.Helper()
	set, err := series.Read(recordingtest.Of(t, 0), defs)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ReadsDefinedSeries: every series that the key uses is defined, and a recording
// without facts leaves it and each of its claims inconclusive.
func ReadsDefinedSeries(t testing.TB, name string, p judge.Prediction) {
	t.Helper()
	set := Empty(t, p.Definitions)
	v, err := judge.Judge(recording.Header{}, p, set, judge.Gate{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if v.Outcome != judge.Undecided {
		t.Errorf("%s: an empty recording is judged %s: %q", name, v.Outcome, v.Reasons)
	}
	for _, c := range v.Claims {
		if c.Status != judge.Inconclusive {
			t.Errorf("%s: claim %s is %s without a sample", name, c.ID, c.Status)
		}
	}
	for _, of := range used(p) {
		if _, err := set.Get(of); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// used are the series that claims, guards and chart read.
func used(p judge.Prediction) []string {
	out := slices.Clone(p.Chart.Marks)
	for _, panel := range p.Chart.Panels {
		for _, line := range panel.Lines {
			out = append(out, line.Series)
			if line.Band != nil {
				out = append(out, line.Band.Low, line.Band.High)
			}
		}
	}
	for _, c := range p.Claims {
		out = append(out, c.Check.Series()...)
	}
	for _, g := range p.Guards {
		out = append(out, g.Series)
	}
	for _, m := range p.Measures {
		out = append(out, m.Series()...)
	}
	return out
}

// HasBasis: every claim has an id of its own, a sentence and what it rests on,
// and every row of a table fits its head.
func HasBasis(t testing.TB, name string, p judge.Prediction) {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range p.Claims {
		if ids[c.ID] {
			t.Errorf("%s: two claims %s", name, c.ID)
		}
		ids[c.ID] = true
		if len(c.Basis) == 0 || c.Sentence == "" {
			t.Errorf("%s: claim %s has the basis %q and the sentence %q", name, c.ID, c.Basis, c.Sentence)
		}
		for _, b := range c.Basis {
			if b == "" || strings.Contains(b, ":0 ") || strings.HasPrefix(b, ":") {
				t.Errorf("%s: claim %s rests on %q", name, c.ID, b)
			}
		}
	}
	for _, table := range p.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("%s: row %q does not fit the head %q", name, row, table.Head)
			}
		}
	}
}
