package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/suite"
)

func TestTheWorstCodeWins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		codes []int
		want  int
	}{
		"nothing applies":                      {nil, ExitPass},
		"all pass":                             {[]int{ExitPass, ExitPass}, ExitPass},
		"one failed":                           {[]int{ExitPass, ExitFail}, ExitFail},
		"one is inconclusive":                  {[]int{ExitInconclusive, ExitPass}, ExitInconclusive},
		"invalid outranks inconclusive":        {[]int{ExitInconclusive, ExitInvalid}, ExitInvalid},
		"a failure outranks an invalid run":    {[]int{ExitInvalid, ExitFail, ExitInconclusive}, ExitFail},
		"aborted outranks a failure":           {[]int{ExitFail, ExitAborted}, ExitAborted},
		"what is left behind outranks all":     {[]int{ExitFail, ExitAborted, ExitCleanup, ExitInvalid}, ExitCleanup},
		"the order in which they came is none": {[]int{ExitCleanup, ExitFail}, ExitCleanup},
	} {
		if got := worst(c.codes); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestCodesOfAnEnvironmentThatFailed(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	failed := errors.New("not ready")
	left := errors.Join(failed, &cluster.LeftError{What: "cluster c", Err: errors.New("no answer")})
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"it failed":                          {t.Context(), failed, ExitInvalid},
		"it was interrupted":                 {ended, failed, ExitAborted},
		"something is left":                  {t.Context(), left, ExitCleanup},
		"interrupted, and something is left": {ended, left, ExitCleanup},
	} {
		if got := worst(codesOfFailure(c.ctx, c.err)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestCodesOfARun(t *testing.T) {
	t.Parallel()
	outcome := func(o judge.Outcome, cleanup error) *engine.Outcome {
		return &engine.Outcome{Run: report.Run{Verdict: judge.Verdict{Outcome: o}}, Cleanup: cleanup}
	}
	left := &cluster.LeftError{What: "a process", Err: errors.New("it does not end")}
	for name, c := range map[string]struct {
		result suite.Result
		want   int
	}{
		"pass":                        {suite.Result{Outcome: outcome(judge.Pass, nil)}, ExitPass},
		"fail":                        {suite.Result{Outcome: outcome(judge.Fail, nil)}, ExitFail},
		"inconclusive":                {suite.Result{Outcome: outcome(judge.Undecided, nil)}, ExitInconclusive},
		"invalid":                     {suite.Result{Outcome: outcome(judge.Invalid, nil)}, ExitInvalid},
		"an error":                    {suite.Result{Err: errors.New("no cluster")}, ExitInvalid},
		"interrupted":                 {suite.Result{Err: fmt.Errorf("step: %w", context.Canceled)}, ExitAborted},
		"pass, but not cleaned up":    {suite.Result{Outcome: outcome(judge.Pass, left)}, ExitCleanup},
		"error while cleaning up":     {suite.Result{Err: fmt.Errorf("down: %w", left)}, ExitCleanup},
		"aborted, and not cleaned up": {suite.Result{Outcome: outcome("", left), Err: &engine.AbortError{Cause: context.Canceled}}, ExitCleanup},
		"an outcome nobody knows of":  {suite.Result{Outcome: outcome("perhaps", nil)}, ExitInvalid},
	} {
		if got := worst(codesOf(c.result)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestAReportThatCouldNotBeWrittenIsNotNamed(t *testing.T) {
	t.Parallel()
	dir := engine.RunDir(t.TempDir())
	if got, want := whereReport(dir), "report: none could be written in "+string(dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(dir.File(engine.HTMLFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := whereReport(dir), "report: "+dir.File(engine.HTMLFile); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
