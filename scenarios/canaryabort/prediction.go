package canaryabort

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Claims: whether the abort lasts, who is told, and how long the canary is kept.
func (p *Params) Claims(k canary.Key) []judge.Claim {
	trace := k.Course.Trace()
	told := trace.Count(rollouts.EventAborted)
	out := []judge.Claim{
		{
			ID: "abort-status", Sentence: "status.abort takes exactly these values (1 = aborted), in this order",
			Basis: k.Basis(rollouts.RuleBranchC, rollouts.RuleRemoveAbort),
			Check: judge.Sequence{Of: rollback.Abort, Want: judge.Numbers(aborts(trace)...), Window: k.Course.Drilled()},
		},
		{
			ID: "abort-events", Sentence: "how often the controller logs RolloutAborted",
			Basis: k.Basis(rollouts.RuleBranchC, rollouts.RuleSubsetGuard),
			Check: judge.Count{Of: rollback.Aborted, Min: told, Max: told, Witness: rollback.Logged, Window: k.Course.Drilled()},
		},
	}
	for _, name := range []string{stepDelay, stepDelayed} {
		if leg, ok := k.Course.Leg(name); ok && leg.Trace.Start.Size[canary.New] > 0 && leg.Trace.Final().Size[canary.New] == 0 {
			out = append(out, p.delay(k, leg))
		}
	}
	return out
}

// aborts is status.abort as a watch sees it: the command's own write counts too.
func aborts(t rollouts.Trace) []int {
	out := []int{0}
	for _, r := range t.Rows {
		if last := out[len(out)-1]; r.Abort != (last == 1) {
			out = append(out, 1-last)
		}
	}
	return out
}

// late is how much later than its deadline a canary may go: the retry limiter.
const late = 10 * time.Second

// delay: the canary is kept for the delay, counted from when it gets nothing and v1 is
// whole. The deadline is an annotation in whole seconds, so it may come a second early.
func (p *Params) delay(k canary.Key, leg canary.Leg) judge.Claim {
	from, since := judge.Cond{Series: rollback.Weight, Op: judge.Equal, Value: series.Number(0)}, stepAbort
	if leg.Name == stepDelayed {
		since = stepAgain
	}
	if whole, ok := k.Course.Leg(map[string]string{stepDelay: stepBackV1, stepDelayed: stepReagain}[leg.Name]); ok {
		from, since = judge.Cond{Series: rollback.Available(canary.Old), Op: judge.GreaterEqual, Value: series.Number(float64(p.Replicas))}, whole.Name
	}
	wait := time.Duration(leg.Leg.N) * time.Second
	return judge.Claim{
		ID: canary.Slug(leg.Name), Sentence: fmt.Sprintf("v2 is kept for %s from when it gets nothing and v1 is whole", wait),
		Basis: k.Basis(rollouts.RuleAbortDelay, rollouts.RuleDelaysAbort, rollouts.RuleDeadlines),
		Check: judge.Within{
			From: from, To: judge.Cond{Series: rollback.Size(canary.New), Op: judge.Equal, Value: series.Number(0)},
			Min: wait - time.Second, Max: wait + late, Window: series.Window{From: since, To: leg.Name},
		},
	}
}
