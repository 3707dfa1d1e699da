package cli

import (
	"context"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/suite"
)

// runAll runs every cell of a plan, and says on standard error why a run has no
// verdict. The codes are those of what no verdict tells: an abort, a clean-up that is
// not complete. The error is that of a build, as it is.
func (a *app) runAll(ctx context.Context, p *plan.Plan, results string) ([]suite.Result, []int, error) {
	w, err := a.newWork(&runFlags{results: results})
	if err != nil {
		return nil, nil, err
	}
	every := campaign.Manifest{Plan: p}
	for _, c := range p.Cells {
		every.Chosen = append(every.Chosen, c.Name)
	}
	w.progress.begin(every.Runs(), every.All(), p.Parallel, campaign.Earlier(results))
	s := w.suite(p)
	s.Prepare = w.prepare
	out, err := surviving(func() ([]suite.Result, error) { return s.All(ctx) })
	codes := w.close(ctx)
	if err != nil {
		return nil, codes, err
	}
	a.complain(out)
	for _, r := range out {
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
