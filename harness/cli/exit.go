package cli

import (
	"context"
	"errors"
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/suite"
)

// Exit codes. When several apply: 7 > 5 > 1 > 4 > 3.
const (
	ExitPass         = 0 // all pass; of compare, nothing differs
	ExitFail         = 1 // a claim or a guard failed; of compare, something differs
	ExitUsage        = 2 // usage, drill file, or a component that cannot be built
	ExitInconclusive = 3 // too little was seen to tell
	ExitInvalid      = 4 // the environment or the recorder failed
	ExitAborted      = 5 // interrupted, or a guard aborted
	ExitRefused      = 6 // the cluster is not allowed, or the plan's hash differs
	ExitCleanup      = 7 // something of ours is still there
)

// exitError ends a command with a code. A nil err was reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{ExitUsage, err}
}

// precedence, most important first.
var precedence = []int{ExitCleanup, ExitAborted, ExitFail, ExitInvalid, ExitInconclusive}

// worst is the code that wins when several apply.
func worst(codes []int) int {
	have := map[int]bool{}
	for _, c := range codes {
		have[c] = true
	}
	for _, c := range precedence {
		if have[c] {
			return c
		}
	}
	return ExitPass
}

func codeOf(o judge.Outcome) int {
	switch o {
	case judge.Pass:
		return ExitPass
	case judge.Fail:
		return ExitFail
	case judge.Undecided:
		return ExitInconclusive
	}
	return ExitInvalid
}

// codesOf are all codes that apply to a run.
func codesOf(r suite.Result) []int {
	var out []int
	if r.Outcome != nil && r.Outcome.Cleanup != nil {
		out = append(out, ExitCleanup)
	}
	if cluster.LeftOf(r.Err) != nil {
		out = append(out, ExitCleanup)
	}
	_, aborted := errors.AsType[*engine.AbortError](r.Err)
	switch {
	case aborted || errors.Is(r.Err, context.Canceled):
		out = append(out, ExitAborted)
	case r.Err != nil:
		out = append(out, ExitInvalid)
	default:
		out = append(out, codeOf(r.Outcome.Run.Verdict.Outcome))
	}
	return out
}

// codesOfFailure are all codes that apply where the environment failed.
func codesOfFailure(ctx context.Context, err error) []int {
	out := []int{ExitInvalid}
	if ctx.Err() != nil {
		out = append(out, ExitAborted)
	}
	if cluster.LeftOf(err) != nil {
		out = append(out, ExitCleanup)
	}
	return out
}
