package statefulsetpartition

import (
	"fmt"
	"math"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// order: one order only is possible, for every pass deletes from the highest
// ordinal down and none begins before those that are down are back.
func (k key) order() judge.Claim {
	going := k.played.going()
	of := make([]string, k.Replicas)
	for i := range of {
		of[i] = workload.LiveAt(i)
	}
	sentence := "pods leave in exactly this order: no other is possible"
	if k.played.byHand {
		sentence += fmt.Sprintf("; the second time that %d leaves is by hand", k.Stuck)
	}
	return judge.Claim{
		ID: "order", Sentence: sentence,
		Basis: k.basis(append(k.updating(), statefulset.RulePartition, statefulset.RuleBudget)...),
		Check: judge.Path{
			Of: of, Rule: ordinals(going), Least: 2 * len(going), Window: Drilled,
			Begin: func() judge.Walk { return (&leaving{want: going}).next },
			Saw:   func(states [][]series.Value) string { return ordinals(left(states)) },
		},
	}
}

// ordinals writes them as a sequence.
func ordinals(of []int) string {
	if len(of) == 0 {
		return "no pod leaves"
	}
	return "leaving: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(of), " ", " → "), "[]")
}

// ordinals: the revisions that each ordinal has, one pod after the other.
func (k key) ordinals() []judge.Claim {
	var out []judge.Claim
	for i := range k.Replicas {
		var want []series.Value
		for j, version := range k.played.trace.RevisionSequence(i) {
			if j > 0 {
				want = append(want, series.Text(workload.NoPod))
			}
			want = append(want, series.Text(version))
		}
		out = append(out, judge.Claim{
			ID: fmt.Sprintf("ordinal-%d", i), Sentence: fmt.Sprintf("the pods there are at ordinal %d, one after the other", i),
			Basis: k.basis(statefulset.RuleRevisionFor, statefulset.RulePartition, statefulset.RuleSameRevision),
			Check: judge.Sequence{Of: workload.VersionAt(i), Want: want, Window: Drilled},
		})
	}
	return out
}

// kept are the partitions below which pods are counted.
func (p *Params) kept() []int {
	var out []int
	if n := min(p.Partition, p.Replicas); n > 0 {
		out = append(out, n)
	}
	if n := min(p.lowest(), p.Replicas); n > 0 && n < min(p.Partition, p.Replicas) {
		out = append(out, n)
	}
	return out
}

// lowest is the lowest partition of the run.
func (p *Params) lowest() int {
	if p.Stuck != None || p.ThenPartition == None {
		return p.Partition
	}
	return min(p.Partition, p.ThenPartition)
}

// below: what the partition protects is never touched, at first and for good.
func (k key) below() []judge.Claim {
	var out []judge.Claim
	for i, n := range k.kept() {
		c := judge.Claim{
			ID: "below-partition", Sentence: fmt.Sprintf("no pod below ordinal %d is touched while the partition is there", n),
			Basis: k.basis(statefulset.RulePartition),
		}
		window := k.staging()
		if i > 0 || k.lowest() >= n {
			window = Drilled
		}
		if i > 0 {
			c.ID, c.Sentence = "below-both", fmt.Sprintf("no pod below ordinal %d is touched at all", n)
		}
		c.Check = workload.Worded{
			Check: judge.Always{Cond: judge.Cond{Series: workload.LiveBelow(n), Op: judge.Equal, Value: series.Number(float64(n))}, Window: window},
			Words: workload.Stays("untouched", fmt.Sprintf("%%s of %d left", n)),
		}
		out = append(out, c)
	}
	return out
}

// sure is from which start-up time on all that one pass deletes is down at once:
// the calls of a pass follow each other in milliseconds.
const sure = 200 * time.Millisecond

// leastReady: what may be down at once is, where more than one may. One pod that
// is deleted is down in any case.
func (k key) leastReady() judge.Claim {
	least := float64(k.played.trace.LeastReady())
	high := least
	if k.Startup.Std() < sure {
		high = math.Inf(1)
	}
	return judge.Claim{
		ID: "least-ready", Sentence: fmt.Sprintf("at worst %g of %d pods are ready", least, k.Replicas),
		Basis: k.basis(statefulset.RuleBudget, statefulset.RuleMaxUnavailable, statefulset.RuleFeature, statefulset.RuleField),
		Check: judge.Bound{Of: workload.Ready, Extreme: judge.Least, Low: least, High: high, Unit: "pods", Window: Drilled},
	}
}

// most: a StatefulSet has no surge. The status is read, which is there without pods too.
func (k key) most() judge.Claim {
	return judge.Claim{
		ID: "no-surge", Sentence: "the status never counts more pods than there are replicas", Basis: k.basis(statefulset.RuleMissing),
		Check: judge.Bound{
			Of: workload.StatusReplicas, Extreme: judge.Greatest, Low: float64(k.Replicas), High: float64(k.Replicas), Unit: "pods", Window: Drilled,
		},
	}
}

// moves: every create and delete is an action of a pass over what it can have seen.
func (k key) moves() judge.Claim {
	of := append([]string{}, ofSet...)
	for i := range k.Replicas {
		of = append(of, workload.PodAt(i))
	}
	return judge.Claim{
		ID: "moves", Sentence: "every pod that is made or deleted is a move of the controller, from a state that it can have seen",
		Basis: k.basis(append(k.updating(), statefulset.RuleMissing, statefulset.RuleRevisionFor, statefulset.RuleBudget)...),
		Check: judge.Path{
			Of: of, Rule: "only moves of the model", Least: 3 * len(k.played.going()), Window: Drilled,
			Begin: func() judge.Walk { return newWalk(k.rules, k.spec, k.Replicas).next },
			Saw:   moved,
		},
	}
}

// field: without its gate the API server drops maxUnavailable without a word.
func (k key) field() judge.Claim {
	want := workload.Unset
	if k.stores {
		want = k.MaxUnavailable.String()
	}
	return judge.Claim{
		ID: "max-unavailable", Sentence: "maxUnavailable as the API server stored it", Basis: k.basis(statefulset.RuleField, statefulset.RuleFeature),
		Check: judge.Final{Of: workload.Unavailability, Want: series.Text(want), Window: Drilled},
	}
}

// rest is what the status says at the end of a window.
func (k key) rest(id string, window series.Window, s state) []judge.Claim {
	final := func(what, sentence, of string, want float64, words func(string) string, rules ...statefulset.Rule) judge.Claim {
		return judge.Claim{
			ID: id + "-" + what, Sentence: sentence, Basis: k.basis(rules...),
			Check: workload.Worded{Check: judge.Final{Of: of, Want: series.Number(want), Window: window}, Words: words},
		}
	}
	completed := 0.0
	if s.completed() {
		completed = 1
	}
	return []judge.Claim{
		final("observed", "the controller has seen the spec", workload.SpecObserved, 1, workload.YesNo, statefulset.RuleObserved),
		final("updated", "pods at the template's revision, by the status", workload.Updated, float64(s.updated()), workload.In("pods"), statefulset.RulePartition, statefulset.RuleComplete),
		final("completed", "whether the update is complete: currentRevision is updateRevision", workload.Completed, completed, workload.YesNo, statefulset.RuleComplete, statefulset.RuleSameRevision),
	}
}

// stuck: the pod that is not ready, and what rolling the template back does to it.
func (k key) stuck() []judge.Claim {
	rolledBack := series.Window{From: StepRollback, To: StepNoHelp}
	at := func(id, sentence string, s state, window series.Window) judge.Claim {
		return judge.Claim{
			ID: id, Sentence: sentence, Basis: k.basis(append(k.updating(), statefulset.RuleBudget)...),
			Check: judge.Final{Of: workload.PodAt(k.Stuck), Want: series.Text(s.pods[k.Stuck].String()), Window: window},
		}
	}
	out := []judge.Claim{
		at("stuck-pod", "the pod that does not become ready, at the end of the update", k.played.staged, k.staging()),
		at("rollback-pod", "the same ordinal, some time after the template was rolled back", k.played.held, rolledBack),
	}
	if !k.played.byHand {
		return out
	}
	var pods []string
	for i := range k.Replicas {
		pods = append(pods, workload.PodAt(i))
	}
	return append(out, judge.Claim{
		ID: "rollback-quiet", Sentence: "rolling the template back replaces nothing: the pod that is not ready must be deleted by hand",
		Basis: k.basis(append(k.updating(), statefulset.RuleBudget)...),
		Check: judge.Quiet{
			Of: pods, For: k.Quiet.Std(), Window: rolledBack,
			Proof: &judge.Proof{ // the controller makes the pod anew, so it was there all the time
				Cond:   judge.Cond{Series: workload.VersionAt(k.Stuck), Op: judge.Equal, Value: series.Text(workload.V1)},
				Window: series.Window{From: StepByHand, To: workload.StepSettle},
			},
		},
	})
}

// quiet: nothing moves for a while after the end, and the controller lives.
func (k key) quiet() judge.Claim {
	of := []string{workload.Completed, workload.Updated, workload.StatusReplicas}
	for i := range k.Replicas {
		of = append(of, workload.PodAt(i))
	}
	return judge.Claim{
		ID: "quiet", Sentence: "nothing moves after the end, and the controller answers when it is asked afterwards",
		Basis: []string{"no rule of the model has anything left to do"},
		Check: judge.Quiet{
			Of: of, For: k.Quiet.Std(), Window: series.Window{From: workload.StepQuiet, To: workload.StepQuiet},
			Proof: &judge.Proof{
				Cond:   judge.Cond{Series: workload.Answered, Op: judge.Equal, Value: series.Number(1)},
				Window: series.Window{From: workload.StepAsk, To: workload.StepAsk},
			},
		},
	}
}
