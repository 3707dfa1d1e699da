package eviction

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
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
			Check: workload.Worded{
				Check: judge.Count{Of: Refused, Min: refused, Max: k.mostRefusals(), Witness: Answers, Window: Asking},
				Words: func(value string) string { // the most depends on the timeout, and says nothing
					if least, _, ok := strings.Cut(value, " to "); ok {
						return "at least " + least
					}
					return value
				},
			},
		}, k.cause())
	}
	if k.Budget != None {
		most := slices.Max(k.trace.Seen(allowed))
		out = append(out, judge.Claim{
			ID: "allowed", Sentence: "disruptionsAllowed stays between nothing and what all ready pods give", Basis: append(k.apiBasis(disruption.RuleCharge), k.countBasis(disruption.RuleAllowed)...),
			Check: judge.Path{Of: []string{workload.Allowed}, Rule: span(0, most), Saw: spanned, Window: Drilled, Begin: func() judge.Walk {
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

// span says between which values something stays.
func span(low, high int) string {
	if low == high {
		return fmt.Sprintf("always %d", low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

func spanned(states [][]series.Value) string {
	low, high := states[0][0].Num, states[0][0].Num
	for _, s := range states {
		low, high = min(low, s[0].Num), max(high, s[0].Num)
	}
	return span(int(low), int(high))
}

// mostRefusals: each pod is asked for again after the interval, until the timeout.
func (k key) mostRefusals() int {
	return k.Replicas * (1 + int(k.timeout()/max(k.Interval.Std(), time.Millisecond)))
}

// cause: a refusal can come before the controller has looked at the last grant, and
// then says something else, by version.
func (k key) cause() judge.Claim {
	possible := k.possible()
	return judge.Claim{
		ID: "cause", Sentence: "the refusals give no reason but those of a status before and after the controller's look at a grant", Basis: k.apiBasis(disruption.RuleCause),
		Check: causes{judge.Path{Of: []string{Cause}, Rule: reasons(possible), Window: Asking, Begin: func() judge.Walk {
			return func(state []series.Value) error {
				if !slices.Contains(possible, state[0].Text) {
					return fmt.Errorf("the reason %q", state[0].Text)
				}
				return nil
			}
		}}},
	}
}

// causes is a path of causes that also says how many refusals gave them: of equal
// neighbours, a path has the first only.
type causes struct{ judge.Path }

func (c causes) Series() []string { return []string{Cause, Refused} }

func (c causes) Eval(set *series.Set) (judge.Finding, error) {
	var seen []string
	c.Saw = func(states [][]series.Value) string {
		for _, s := range states {
			seen = append(seen, s[0].Text)
		}
		return ""
	}
	f, err := c.Path.Eval(set)
	if err != nil || len(seen) == 0 {
		return f, err
	}
	refusals, err := set.Get(Refused)
	if err != nil {
		return f, err
	}
	in, _ := set.Resolve(c.Window) // it is that of the path, which was evaluated
	f.Observed = workload.In("refusals")(fmt.Sprint(len(refusals.Changes(in)))) + ", " + reasons(seen)
	return f, nil
}

// reasons counts different ones and gives the first two.
func reasons(of []string) string {
	var all []string
	for _, r := range of {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	text := fmt.Sprintf("%s: %s", workload.In("reasons")(fmt.Sprint(len(all))), strings.Join(all[:min(2, len(all))], "; "))
	if len(all) > 2 {
		text += "; …"
	}
	return text
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
