package judge_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// verdict judges a small recording whose numbers, notes and cuts reach every
// field of a verdict.
func verdict(t *testing.T) judge.Verdict {
	t.Helper()
	c := &corpusCase{end: 10}
	p := &parser{file: "f"}
	p.cases = []*corpusCase{c}
	for _, line := range []string{
		"state weight 0@1 100@4", "state available 3@1", "events logged x@2", "derived load = weight / available", "step drill 1..9", "gap weight 5..6 lossless",
	} {
		p.parse(line)
	}
	expected := 100.0 / 3
	window := series.Window{From: "drill", To: "drill"}
	v, err := judge.Judge(
		recording.Header{
			RunID: "run", Drill: "d", Cell: "c", Repetition: 2, Scenario: "s", Cluster: recording.Cluster{Provider: "embedded", Facts: map[string]string{"b": "2", "a": "1"}},
			Components: []recording.Component{{Name: "argo-rollouts", Version: "v1.8.2", Digests: map[string]string{"y": "2", "x": "1"}}},
		},
		judge.Prediction{
			Model: "m", Notes: []string{"note"},
			Claims: []judge.Claim{
				{ID: "w", Sentence: "weights", Basis: []string{"file.go:1"}, Check: judge.Sequence{Of: "weight", Want: judge.Numbers(0, 100), Window: window}},
				{ID: "f", Sentence: "the end", Check: judge.Final{Of: "weight", Want: series.Number(0)}},
			},
			Guards: []judge.Guard{{ID: "load", Sentence: "load", Basis: []string{"weight / available"}, Series: "load", Limit: 1.5, Expected: &expected, Window: window}},
		},
		c.set(t), judge.Gate{Claims: "fail", Guards: "fail"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerdictIsTheSameForTheSameInput(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 20 {
		raw, err := json.Marshal(verdict(t))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = raw
		}
		if string(raw) != string(first) {
			t.Fatalf("the same input gave\n%s\nand\n%s", first, raw)
		}
	}
}

func TestVerdictHoldsTheRun(t *testing.T) {
	t.Parallel()
	v := verdict(t)
	if v.Format != judge.VerdictFormat || v.RunID != "run" || v.Drill != "d" || v.Cell != "c" || v.Repetition != 2 || v.Scenario != "s" || v.Model != "m" ||
		v.Outcome != judge.Fail || v.LastedSec != 10 || v.Facts != 7 || len(v.Components) != 1 || v.Cluster.Provider != "embedded" || !slices.Equal(v.Notes, []string{"note"}) {
		t.Errorf("verdict %+v", v)
	}
	if want := []string{"claim f: weight ended as 100", "guard load: load reached 33.33, the limit is 1.5"}; !slices.Equal(v.Reasons, want) {
		t.Errorf("reasons %q", v.Reasons)
	}
	g := v.Guards[0]
	if g.Series != "load" || g.Unit != "x" || g.Status != judge.Broken || g.AboveSec != 5 || *g.AtSec != 4 || len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "uncertain") {
		t.Errorf("guard %+v", g)
	}
}

func TestAVerdictWithoutClaimsHasLists(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(judge.Unreadable(recording.Header{RunID: "r"}, "the recording was cut"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"outcome":"invalid"`, `"reasons":["the recording was cut"]`, `"claims":[]`, `"guards":[]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
}

func TestChecksSayWhatTheyPredictAndRead(t *testing.T) {
	t.Parallel()
	below := judge.Cond{Series: "available", Op: judge.Less, Value: series.Number(20)}
	for name, c := range map[string]struct {
		check     judge.Check
		predicted string
		series    []string
	}{
		"sequence":                    {judge.Sequence{Of: "w", Want: judge.Numbers(0, 100)}, "0 → 100", []string{"w"}},
		"sequence of nothing":         {judge.Sequence{Of: "w", Witness: "l"}, "(nothing)", []string{"w", "l"}},
		"extremum":                    {judge.Extremum{Of: "w", While: below, Want: 100}, "100", []string{"w", "available"}},
		"extremum with its companion": {judge.Extremum{Of: "w", While: below, Want: 100, First: &judge.FirstAt{Of: "size", Want: 2, Unit: "pods"}}, "100, first at 2 pods", []string{"w", "available", "size"}},
		"always":                      {judge.Always{Cond: below}, "always < 20", []string{"available"}},
		"count":                       {judge.Count{Of: "e", Min: 1, Max: 1, Witness: "l"}, "1", []string{"e", "l"}},
		"count between bounds":        {judge.Count{Of: "e", Min: 1, Max: 3}, "1 to 3", []string{"e"}},
		"final":                       {judge.Final{Of: "p", Want: series.Text("Healthy")}, "Healthy", []string{"p"}},
		"quiet":                       {judge.Quiet{Of: []string{"a", "b"}, For: 10 * time.Second}, "no change for 10.000 s", []string{"a", "b"}},
		"within":                      {judge.Within{From: below, To: judge.Cond{Series: "w"}, Min: time.Second, Max: 2 * time.Second}, "1.000 s to 2.000 s", []string{"available", "w"}},
	} {
		if got := c.check.Predicted(); got != c.predicted {
			t.Errorf("%s: predicted %q, want %q", name, got, c.predicted)
		}
		if got := c.check.Series(); !slices.Equal(got, c.series) {
			t.Errorf("%s: series %q, want %q", name, got, c.series)
		}
	}
}
