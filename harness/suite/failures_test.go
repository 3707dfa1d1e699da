package suite

import (
	"errors"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/report"
)

func TestASpecFailsForWhatDidNotPassOrIsLeft(t *testing.T) {
	t.Parallel()
	outcome := func(o judge.Outcome, left error) *engine.Outcome {
		return &engine.Outcome{Run: report.Run{Verdict: judge.Verdict{Outcome: o, Reasons: []string{"why"}}}, Cleanup: left}
	}
	left := errors.New("a cluster is left")
	for name, c := range map[string]struct {
		of   Result
		want []string
	}{
		"a pass":                              {Result{Outcome: outcome(judge.Pass, nil)}, nil},
		"a failure":                           {Result{Outcome: outcome(judge.Fail, nil)}, []string{"fail: why"}},
		"a pass that left something":          {Result{Outcome: outcome(judge.Pass, left)}, []string{left.Error()}},
		"an abort that left something":        {Result{Outcome: outcome("", left), Err: errors.New("aborted")}, []string{left.Error(), "aborted"}},
		"an error without an outcome, at all": {Result{Err: errors.New("no plan")}, []string{"no plan"}},
	} {
		if got := failuresOf([]Result{c.of}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
