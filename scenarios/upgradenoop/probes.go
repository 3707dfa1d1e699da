package upgradenoop

import (
	"fmt"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
)

// probe holds every Rollout that could be watched against a condition in a step.
func (k *key) probe(set *series.Set, step string, holds func(c course, r *reader, in series.Interval) (string, bool)) judge.Finding {
	in, ok := set.Resolve(series.Window{From: step, To: step})
	if !ok {
		return judge.Untold("the script did not reach the end of %q", step)
	}
	r, t := newReader(set), &tally{}
	if gap := cut(set, in); gap != "" {
		return judge.Untold("%s", gap)
	}
	for _, c := range k.fates {
		known := r.observe(c.Member, in).known
		saw, ok := holds(c, r, in)
		switch {
		case c.doubtful() || !known:
			t.unclear = append(t.unclear, c.Key()+" could not be asked")
		case ok:
			t.held++
		default:
			t.broken = append(t.broken, c.Key()+": "+saw)
		}
	}
	return t.finding(len(k.fates))
}

// reapplied: a manifest that is applied again has the predicted effect.
type reapplied struct{ *key }

func (c reapplied) Predicted() string {
	n := 0
	for _, m := range c.fates {
		if m.again.Why != "" {
			n++
		}
	}
	return fmt.Sprintf("%d untouched, %d restarted", len(c.fates)-n, n)
}
func (reapplied) Series() []string { return members{}.Series() }

func (c reapplied) Eval(set *series.Set) (judge.Finding, error) {
	return c.probe(set, stepReapply, func(m course, r *reader, in series.Interval) (string, bool) {
		got := r.observe(m.Member, in)
		delete(got.changes, seriesGeneration) // a write may add or remove what only one version knows
		return fmt.Sprintf("was predicted to be %s: %s", m.again.Effect, got), got.is(m.again.Effect)
	}), nil
}

// scaled: with one replica more there is one pod more, and no revision.
type scaled struct{ *key }

func (scaled) Predicted() string { return "1 pod more each" }
func (scaled) Series() []string  { return members{}.Series() }

func (c scaled) Eval(set *series.Set) (judge.Finding, error) {
	return c.probe(set, stepScale, func(m course, r *reader, in series.Interval) (string, bool) {
		got := r.observe(m.Member, in)
		calm := got.newSets == 0 && len(got.changes[seriesHash])+len(got.changes[seriesRevision]) == 0
		if m.Scaled || m.end.Paused || m.frozen() {
			return got.String(), calm
		}
		return got.String(), calm && got.podsMade == 1 && got.podsGone == 0
	}), nil
}

// promoted: in the end every Rollout is Healthy.
type promoted struct{ *key }

func (promoted) Predicted() string { return "all Healthy" }
func (promoted) Series() []string  { return []string{seriesPhase, seriesHash, seriesStable} }

func (c promoted) Eval(set *series.Set) (judge.Finding, error) {
	return c.probe(set, stepPromote, func(m course, r *reader, in series.Interval) (string, bool) {
		at := func(name string) string {
			p, _ := r.of(name, m.Key()).At(in.To)
			return p.Value.Text
		}
		if m.frozen() {
			return "", true
		}
		return "ended " + at(seriesPhase), at(seriesPhase) == "Healthy" && at(seriesHash) == at(seriesStable)
	}), nil
}
