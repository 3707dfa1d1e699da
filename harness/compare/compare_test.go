package compare_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

// told is a run as the tests write it: a line for each series with its VALUE@SECOND,
// "step NAME FROM..TO", or "claim ID PREDICTED OBSERVED STATUS about SERIES,...", or
// "guard ID EXPECTED WORST STATUS", whose limit is 1.
type told string

// at shifts a run by so many seconds: it must not matter.
func (lines told) run(t *testing.T, shift float64) compare.Run {
	t.Helper()
	r := compare.Run{Header: recording.Header{Scenario: "toy", Cell: "toy", Params: json.RawMessage("{}")}, Verdict: judge.Verdict{Outcome: judge.Pass}}
	var facts []recording.Fact
	var defs []series.Definition
	for line := range strings.SplitSeq(string(lines), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "claim":
			of := judge.Sequence{Of: words[6]}
			var check judge.Check = of
			if names := strings.Split(words[6], ","); len(names) > 1 {
				check = judge.Path{Of: names}
			}
			r.Prediction.Claims = append(r.Prediction.Claims, judge.Claim{ID: words[1], Check: check})
			r.Verdict.Claims = append(r.Verdict.Claims, judge.ClaimResult{ID: words[1], Predicted: words[2], Observed: words[3], Status: judge.Status(words[4])})
		case words[0] == "guard":
			g := judge.GuardResult{ID: words[1], Series: words[1], Limit: 1, Status: judge.Status(words[4])}
			if v, err := strconv.ParseFloat(words[2], 64); err == nil {
				g.Expected = &v
			}
			worst := number(t, words[3])
			g.Worst = &worst
			r.Verdict.Guards = append(r.Verdict.Guards, g)
		case words[0] == "outcome":
			r.Verdict.Outcome = judge.Outcome(words[1])
		case words[0] == "step":
			from, to, _ := strings.Cut(words[2], "..")
			facts = append(facts, fact(number(t, from)+shift, recording.Fact{Step: &recording.Step{Name: words[1], Phase: "begin"}}),
				fact(number(t, to)+shift, recording.Fact{Step: &recording.Step{Name: words[1], Phase: "end"}}))
		default:
			defs = append(defs, state(words[0]))
			r.Prediction.Chart.Panels = append(r.Prediction.Chart.Panels, judge.Panel{Lines: []judge.Line{{Series: words[0]}}})
			for _, w := range words[1:] {
				value, at, _ := strings.Cut(w, "@")
				body := fmt.Sprintf(`{"metadata":{"name":"o"},"message":%q}`, value)
				facts = append(facts, fact(number(t, at)+shift, recording.Fact{Object: &recording.Object{Change: recording.Modified, Resource: words[0], Name: "o", Body: json.RawMessage(body)}}))
			}
		}
	}
	slices.SortStableFunc(facts, func(a, b recording.Fact) int { return int(a.T - b.T) })
	for i := range facts {
		if facts[i].Object != nil {
			facts[i].Object.RV = uint64(i + 1)
		}
	}
	set, err := series.Read(recordingtest.Of(t, time.Hour, facts...), defs)
	if err != nil {
		t.Fatal(err)
	}
	r.Set = set
	return r
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func fact(at float64, f recording.Fact) recording.Fact {
	f.T = int64(at * 1e9)
	return f
}

func state(name string) series.Definition {
	return series.Definition{Name: name, Object: &series.FromObject{Resource: name, Value: func(v *series.View) (series.Value, bool) {
		if n, err := strconv.ParseFloat(v.Message, 64); err == nil {
			return series.Number(n), true
		}
		return series.Text(v.Message), true
	}}}
}

// times repeats a run, each repetition a bit later than the one before.
func times(t *testing.T, n int, lines told) []compare.Run {
	t.Helper()
	var out []compare.Run
	for i := range n {
		out = append(out, lines.run(t, float64(i)*0.2))
	}
	return out
}

func TestSides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b []compare.Run
		// want has a line for each difference; those that the runs are too few to tell
		// begin with "?", what varies with "~".
		want   string
		enough int
	}{
		"the same at other times is the same": {
			a: times(t, 3, "step go 1..9\nweight 0@2 100@5"), b: times(t, 2, "step go 101..109\nweight 0@102 100@105"),
		},
		"a value that four of four have and none of four": {
			a: times(t, 4, "weight 0@1 5@2 100@3"), b: times(t, 4, "weight 0@1 100@3"),
			want: "transition weight: 0 → 5 → 100 | 0 → 100 (runs)",
		},
		"three against three cannot tell": {
			a: times(t, 3, "weight 0@1 5@2 100@3"), b: times(t, 3, "weight 0@1 100@3"),
			want: "? transition weight: 0 → 5 → 100 | 0 → 100", enough: 4,
		},
		"a value in some runs of a side varies": {
			a:    append(times(t, 3, "weight 0@1 5@2 100@3"), times(t, 3, "weight 0@1 100@3")...),
			b:    times(t, 6, "weight 0@1 100@3"),
			want: "~ transition weight in A: 2 courses in 6 runs",
		},
		"a side against itself differs in nothing, though it varies": {
			a:    append(times(t, 1, "weight 0@1 5@2 100@3\nguard load - 7 held"), times(t, 1, "weight 0@1 100@3\nguard load - 8 held")...),
			b:    append(times(t, 1, "weight 0@1 5@2 100@3\nguard load - 7 held"), times(t, 1, "weight 0@1 100@3\nguard load - 8 held")...),
			want: "~ transition weight in A: 2 courses in 2 runs\n~ transition weight in B: 2 courses in 2 runs",
		},
		"two that change places": {
			a:    times(t, 4, "weight 0@0 100@2\npods 0@0 1@1 2@3"),
			b:    times(t, 4, "weight 0@0 100@4\npods 0@0 1@1 2@3"),
			want: "order weight = 100: before pods = 2 | after pods = 2 (runs)",
		},
		"two that are as close as a race keep their places": {
			a: times(t, 4, "weight 0@0 100@2.9\npods 0@0 1@1 2@3"),
			b: times(t, 4, "weight 0@0 100@3.1\npods 0@0 1@1 2@3"),
		},
		"a step before which something happened": {
			a:    times(t, 4, "weight 0@0 100@2\nstep abort 3..4"),
			b:    times(t, 4, "weight 0@0 100@5\nstep abort 3..4"),
			want: "order weight = 100: before step abort | after step abort (runs)",
		},
		"a step's place, of which no model speaks": {
			a:    times(t, 1, "weight 0@0 100@2\nstep abort 3..4\nclaim weights 1 1 held about weight"),
			b:    times(t, 1, "weight 0@0 100@5\nstep abort 3..4\nclaim weights 2 2 held about weight"),
			want: "claim weights: 1 | 2 (model, known)\n? order weight = 100: before step abort | after step abort", enough: 4,
		},
		"one run each, where both models say it": {
			a:    times(t, 1, "weight 0@0 100@2\npods 0@0 1@1 2@3\nclaim exposure 1 1 held about weight,pods"),
			b:    times(t, 1, "weight 0@0 100@4\npods 0@0 1@1 2@3\nclaim exposure 2 2 held about weight,pods"),
			want: "claim exposure: 1 | 2 (model, known)\norder weight = 100: before pods = 2 | after pods = 2 (model, known)",
		},
		"one run each, where one side broke its claim": {
			a:    times(t, 1, "weight 0@0 100@2\nclaim weights 0→100 0→100 held about weight"),
			b:    times(t, 1, "weight 0@0 50@2\nclaim weights 0→100 0→50 broken about weight"),
			want: "claim weights: 0→100 | 0→50 (model)\ntransition weight: 0 → 100 | 0 → 50 (model)\nextreme highest weight: 100 | 50 (model)",
		},
		"a claim that only one side's model makes": {
			a:    times(t, 2, "claim dip 1 1 held about weight"),
			b:    times(t, 2, "claim other 1 1 held about weight"),
			want: "claim dip: 1 | (not claimed) (model)\nclaim other: (not claimed) | 1 (model)",
		},
		"a result that repetitions disagree on varies": {
			a:    times(t, 3, "claim c 1 1 held about weight"),
			b:    append(times(t, 2, "claim c 1 1 held about weight"), times(t, 1, "claim c 1 2 broken about weight")...),
			want: "~ claim c in B: held in 2 of 3, broken in 1 of 3 (unsure)",
		},
		"a guard that is worse, as both models say": {
			a:    times(t, 1, "guard load 10 10 broken"),
			b:    times(t, 1, "guard load 20 20 broken"),
			want: "guard load: worst 10 | worst 20 (model, known, worse)",
		},
		"a guard that is better, and milder than its model says": {
			a:    times(t, 1, "guard load 20 20 broken"),
			b:    times(t, 1, "guard load 10 8 broken"),
			want: "guard load: worst 20 | worst 8 (model, known)",
		},
		"a guard that is better, and worse than its model says": {
			a:    times(t, 1, "guard load 20 20 broken"),
			b:    times(t, 1, "guard load 10 12 broken"),
			want: "guard load: worst 20 | worst 12 (model)",
		},
		"a guard that no model predicts wants runs": {
			a:    times(t, 1, "guard load - 10 broken"),
			b:    times(t, 1, "guard load - 20 broken"),
			want: "? guard load: worst 10 | worst 20", enough: 4,
		},
		"a guard that breaks on one side": {
			a:    times(t, 1, "guard load 1 1 held"),
			b:    times(t, 1, "guard load 1 20 broken"),
			want: "guard load: worst 1 | worst 20 (model, worse)",
		},
		"a step that takes longer": {
			a:    steps(t, 1, 1.1, 1.2, 1.3, 1.4),
			b:    steps(t, 2, 2.1, 2.2, 2.3, 2.4),
			want: "duration step go: 1 to 1.4 s (median 1.2 s) | 2 to 2.4 s (median 2.2 s) (runs)",
		},
		"a step that takes a hair longer": {
			a: steps(t, 1, 1.001, 1.002, 1.003, 1.004), b: steps(t, 1.01, 1.011, 1.012, 1.013, 1.014),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compare.Sides("A", c.a, "B", c.b, compare.Options{})
			if err != nil || len(got.Cells) != 1 {
				t.Fatalf("%v, %d cells", err, len(got.Cells))
			}
			if text := brief(got.Cells[0]); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
			if got.Enough != c.enough {
				t.Errorf("%d runs are said to be enough, want %d", got.Enough, c.enough)
			}
		})
	}
}

func steps(t *testing.T, seconds ...float64) []compare.Run {
	t.Helper()
	var out []compare.Run
	for _, s := range seconds {
		out = append(out, told(fmt.Sprintf("step go 1..%g", 1+s)).run(t, 0))
	}
	return out
}

func brief(c compare.Cell) string {
	var out []string
	line := func(mark string, d compare.Difference, basis string) {
		out = append(out, fmt.Sprintf("%s%s %s: %s | %s%s", mark, d.Kind, d.Of, d.A.Observed, d.B.Observed, basis))
	}
	for _, d := range c.Differences {
		basis := []string{string(d.Basis)}
		if d.Known {
			basis = append(basis, "known")
		}
		if d.Worse {
			basis = append(basis, "worse")
		}
		line("", d, " ("+strings.Join(basis, ", ")+")")
	}
	for _, d := range c.Unsettled {
		line("? ", d, "")
	}
	for _, v := range c.Varies {
		text := fmt.Sprintf("~ %s %s in %s: %s", v.Kind, v.Of, v.Side, v.What)
		if v.Unsure {
			text += " (unsure)"
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func TestCellsArePairedByScenarioAndParameters(t *testing.T) {
	t.Parallel()
	cell := func(params, version, cell string) compare.Run {
		r := told("weight 0@1").run(t, 0)
		r.Header.Cell, r.Params = cell, json.RawMessage(params)
		r.Header.Components = []recording.Component{{Name: "argo-rollouts", Version: version}}
		return r
	}
	old := []compare.Run{cell(`{"n":1}`, "v1", "toy[argo-rollouts=v1,n=1]"), cell(`{"n":2}`, "v1", "toy[argo-rollouts=v1,n=2]")}
	new := []compare.Run{cell(`{"n":3}`, "v2", "toy[argo-rollouts=v2,n=3]"), cell(`{"n":1}`, "v2", "other[argo-rollouts=v2]")}
	got, err := compare.Sides("old", old, "new", new, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cells) != 1 || got.Cells[0].Cell != "toy[n=1]" || len(got.OnlyA) != 1 || got.OnlyA[0].Cell != "toy[n=2]" || len(got.OnlyB) != 1 || got.OnlyB[0].Cell != "toy[n=3]" {
		t.Errorf("got %+v", got)
	}
	if got.Complete() {
		t.Error("complete, with cells that have no partner")
	}
	_, err = compare.Sides("old", append(old, cell(`{"n":1}`, "v3", "toy")), "new", new, compare.Options{})
	if want := "old has toy[n=1] with several versions, of which one must be chosen: argo-rollouts v1, and argo-rollouts v3"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestInvalidRunsAreLeftOut(t *testing.T) {
	t.Parallel()
	valid, invalid := told("weight 0@1").run(t, 0), told("outcome invalid\nweight 7@1").run(t, 0)
	got, err := compare.Sides("A", []compare.Run{valid, invalid}, "B", []compare.Run{valid}, compare.Options{})
	if err != nil || len(got.Cells) != 1 || got.Cells[0].A.Runs != 1 || !got.Cells[0].Unsure() || got.Differences() != 0 {
		t.Errorf("one invalid run of two: %+v, %v", got, err)
	}
	invalid.Verdict.Reasons = []string{"set-up: too late"}
	got, err = compare.Sides("A", []compare.Run{valid}, "B", []compare.Run{invalid}, compare.Options{})
	if err != nil || got.Cells[0].Missing != "none of the runs of B is valid (set-up: too late)" || got.Complete() {
		t.Errorf("no valid run: %+v, %v", got, err)
	}
}
