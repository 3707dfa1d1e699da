package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/suite"
)

// campaign runs every cell of a plan, and says on standard error why a run has no
// verdict. The codes are those of what no verdict tells: an abort, a clean-up that is
// not complete. The error is that of a build, as it is.
func (a *app) campaign(ctx context.Context, p *plan.Plan, results string) ([]suite.Result, []int, error) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // whoever read our progress may go away: clean up all the same
	defer signal.Stop(broken)
	out, codes, err := a.perform(ctx, p, results, false, func(s *suite.Suite) ([]suite.Result, error) { return s.All(ctx) })
	if err != nil {
		return nil, codes, err
	}
	for _, r := range out {
		a.complain(r)
		for _, code := range codesOf(r) {
			if code == ExitAborted || code == ExitCleanup {
				codes = append(codes, code)
			}
		}
	}
	if ctx.Err() != nil {
		codes = append(codes, ExitAborted)
	}
	return out, codes, nil
}

// judged are the runs that have a verdict.
func judged(results ...suite.Result) []report.Run {
	var out []report.Run
	for _, r := range results {
		if r.Outcome != nil && r.Outcome.Run.Verdict.Outcome != "" {
			out = append(out, r.Outcome.Run)
		}
	}
	return out
}
