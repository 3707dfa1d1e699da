package eviction

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/kubectl/pkg/drain"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// kubectlDrain is kubectl's own loop, with a shorter delay. That it does not come
// to its end is an observation.
func (r *run) kubectlDrain(ctx context.Context) error {
	if r.Replacement == After {
		r.st.Readiness.After(workload.V1, r.Startup.Std())
	}
	defer r.st.Readiness.After(workload.V1, never)
	k := r.kubectl(ctx)
	k.Out, k.ErrOut = io.Discard, io.Discard
	k.EvictErrorRetryDelay, k.Timeout = r.Interval.Std(), r.timeout()
	if err := drain.RunNodeDrain(k, nodeName(r.st.Namespace, drainedSuffix)); err != nil {
		return fmt.Errorf("the end of the drain (%v): %w", err, stage.ErrNotReached)
	}
	if err := r.running(ctx); err != nil || r.Replacement == Never {
		return err
	}
	if err := r.readyPods(ctx, r.Replicas); err != nil {
		return err
	}
	return r.counted(ctx)
}

// conflicts is how long the API server tries again when evictions at once write the
// same status: 20 times each 500 ms (pkg/registry/core/pod/storage/eviction.go:60,
// v1.37.2). A timeout within that could cut an answer off.
const conflicts = 10 * time.Second

// timeout leaves each pod its time: kubectl looks once a second whether it is gone.
func (p *Params) timeout() time.Duration {
	out := conflicts + time.Duration(p.Patience+1)*p.Interval.Std()
	if p.Replacement == After && granted(p.play(newest)) > 0 {
		out += time.Duration(p.Replicas) * (p.Startup.Std() + p.Interval.Std() + workload.Reaction)
	}
	return out
}

// atOnce: which pod is refused, and how often, is open; how many go is not.
func (k key) atOnce() []judge.Claim {
	refused := 0
	for _, row := range k.trace.Rows {
		if row.Round == 1 && row.Answer.Code == disruption.TooManyRequests {
			refused++
		}
	}
	out := []judge.Claim{{
		ID: "grants", Sentence: "so many evictions are granted, all pods being asked for at once and the refused ones again", Basis: k.answerBasis(),
		Check: judge.Count{Of: Granted, Min: granted(k.trace), Max: granted(k.trace), Witness: Answers, Window: Asking},
	}}
	if refused > 0 {
		out = append(out, judge.Claim{
			ID: "refusals", Sentence: "at first at least so many are refused, which is what the budget cannot pay for; at most each pod once in an interval", Basis: k.answerBasis(),
			Check: judge.Count{Of: Refused, Min: refused, Max: k.mostRefusals(), Witness: Answers, Window: Asking},
		}, k.cause())
	}
	if k.Budget != None {
		most := slices.Max(k.trace.Seen(allowed))
		out = append(out, judge.Claim{
			ID: "allowed", Sentence: "disruptionsAllowed stays between nothing and what all ready pods give", Basis: append(k.apiBasis(disruption.RuleCharge), k.countBasis(disruption.RuleAllowed)...),
			Check: judge.Path{Of: []string{workload.Allowed}, Rule: fmt.Sprintf("0 to %d", most), Window: Drilled, Begin: func() judge.Walk {
				return func(state []series.Value) error {
					if n := state[0].Num; n < 0 || n > float64(most) {
						return fmt.Errorf("disruptionsAllowed was %.6g", n)
					}
					return nil
				}
			}},
		})
	}
	return out
}

// mostRefusals: each pod is asked for again after the interval, until the timeout.
func (k key) mostRefusals() int {
	return k.Replicas * (1 + int(k.timeout()/max(k.Interval.Std(), time.Millisecond)))
}

// cause: a refusal can come before the controller has looked at the last grant, and
// then says something else, by version.
func (k key) cause() judge.Claim {
	return judge.Claim{
		ID: "cause", Sentence: "the refusals give no reason but those of a status before and after the controller's look at a grant", Basis: k.apiBasis(disruption.RuleCause),
		Check: judge.Path{Of: []string{Cause}, Rule: "one of the model's reasons", Window: Asking, Begin: func() judge.Walk {
			return func(state []series.Value) error {
				if !slices.Contains(k.possible(), state[0].Text) {
					return fmt.Errorf("the reason %q", state[0].Text)
				}
				return nil
			}
		}},
	}
}

// possible are the reasons of a spent budget at every healthy count that it can
// have: evictions do not take it below what is desired.
func (k key) possible() []string {
	var out []string
	b := k.budgets()[0]
	for healthy := min(k.trace.Start.DesiredHealthy, k.trace.ReadyAtStart); healthy <= k.Replicas; healthy++ {
		status := k.trace.Start
		status.CurrentHealthy, status.DisruptionsAllowed = healthy, 0
		answer, _ := k.api.Evict(disruption.Request{
			Pod: disruption.Pod{Phase: disruption.Running, Ready: true}, Guards: []disruption.Guard{{Budget: b, Status: status}},
		})
		out = append(out, answer.Cause)
	}
	return out
}
