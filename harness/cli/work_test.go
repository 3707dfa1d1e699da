package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/suite"
)

// three is a plan of three cells with three runs each.
func three() *plan.Plan {
	p := &plan.Plan{Drill: "three", Parallel: 2}
	for _, name := range []string{"a", "b", "c"} {
		p.Cells = append(p.Cells, plan.Cell{Name: name, Repeat: 3})
	}
	return p
}

func TestTheRestOfACampaignIsWhatIsLeftOfIt(t *testing.T) {
	t.Parallel()
	p := three()
	w := &work{app: &app{}}
	s := w.rest(p, []campaign.Left{{Cell: p.Cells[0], Repetition: 2}, {Cell: p.Cells[2], Repetition: 1, Again: "it was interrupted"}, {Cell: p.Cells[2], Repetition: 3}})
	var got []string
	for _, c := range s.Plan.Cells {
		got = append(got, fmt.Sprint(c.Name, c.Repeat, s.Repetitions(c)))
	}
	if want := []string{"a1 [2]", "c2 [1 3]"}; !slices.Equal(got, want) || s.Plan.Parallel != 2 {
		t.Errorf("%q with %d at a time, want %q", got, s.Plan.Parallel, want)
	}
	if p.Cells[0].Repeat != 3 {
		t.Error("the plan was changed")
	}
}

// ran is a run of this command.
func ran(cell string, repetition int, o judge.Outcome, err error) suite.Result {
	return suite.Result{Cell: plan.Cell{Name: cell}, Repetition: repetition, Err: err, Outcome: &engine.Outcome{Run: report.Run{Verdict: judge.Verdict{Outcome: o}}}}
}

func TestACampaignIsReportedInTheOrderOfItsPlan(t *testing.T) {
	t.Parallel()
	w := &work{campaign: &campaign.Campaign{Manifest: campaign.Manifest{Plan: three(), Chosen: []string{"a", "b", "c"}}}}
	for _, r := range []struct {
		cell       string
		repetition int
	}{{"a", 1}, {"a", 3}, {"b", 1}, {"b", 2}, {"b", 3}} {
		w.done = append(w.done, campaign.Run{Cell: plan.Cell{Name: r.cell}, Repetition: r.repetition, Dir: "earlier"})
	}
	var got []string
	for _, r := range w.whole([]suite.Result{ran("a", 2, judge.Pass, nil), ran("c", 1, judge.Pass, nil), ran("c", 2, judge.Fail, nil), ran("c", 3, "", errors.New("no"))}) {
		mark := ""
		if r.Outcome.Dir == "earlier" {
			mark = "'"
		}
		got = append(got, fmt.Sprint(r.Cell.Name, r.Repetition, mark))
	}
	if want := "a1' a2 a3' b1' b2' b3' c1 c2 c3"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

func TestWhatIsLeftIsHintedAt(t *testing.T) {
	t.Parallel()
	all := func(o judge.Outcome, err error) (out []suite.Result) {
		for _, cell := range []string{"a", "b", "c"} {
			for n := 1; n <= 3; n++ {
				out = append(out, ran(cell, n, o, err))
			}
		}
		return out
	}
	mixed := all(judge.Pass, nil)
	mixed[0], mixed[4], mixed[8] = ran("a", 1, judge.Fail, nil), ran("b", 2, judge.Invalid, nil), ran("c", 3, "", &engine.AbortError{Cause: context.Canceled})
	for name, c := range map[string]struct {
		results   []suite.Result
		directory string
		want      string
	}{
		"nothing":                     {all(judge.Pass, nil), "results", ""},
		"nothing of what failed":      {all(judge.Fail, nil), "results", ""},
		"what was invalid or aborted": {mixed, "results", "reckon: 2 of 9 runs are left: `reckon run --resume x` goes on\n"},
		"all of it, elsewhere":        {nil, "/r", "reckon: 9 of 9 runs are left: `reckon run --resume x --results /r` goes on\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			w := &work{app: &app{IO: IO{Err: &said}}, flags: &runFlags{results: c.directory},
				campaign: &campaign.Campaign{Manifest: campaign.Manifest{ID: "x", Plan: three(), Chosen: []string{"a", "b", "c"}}}}
			w.hint(c.results)
			if said.String() != c.want {
				t.Errorf("%q, want %q", said.String(), c.want)
			}
		})
	}
}
