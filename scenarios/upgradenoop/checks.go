package upgradenoop

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
)

// mostNamed bounds how many Rollouts a sentence names.
const mostNamed = 10

func named(names []string) string {
	if len(names) > mostNamed {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-mostNamed)
	}
	return strings.Join(names, ", ")
}

// tally collects what is found of Rollouts one by one into one finding: what broke
// outranks what cannot be told.
type tally struct {
	held            int
	broken, unclear []string
	refs            []string
}

func (t *tally) finding(total int) judge.Finding {
	f := judge.Finding{Status: judge.Held, Observed: fmt.Sprintf("%d of %d", t.held, total), Samples: t.held + len(t.broken), Objects: t.refs}
	switch {
	case len(t.broken) > 0:
		f.Status, f.Why = judge.Broken, named(t.broken)
	case len(t.unclear) > 0:
		f.Status, f.Why = judge.Inconclusive, named(t.unclear)
	case total == 0:
		return judge.Untold("there is no Rollout")
	}
	return f
}

// cut says which lossy gap of the watches could hide what was to be seen.
func cut(set *series.Set, in series.Interval) string {
	for _, g := range set.GapsOf([]string{rolloutResource, setResource, podResource}, in) {
		if !g.Lossless {
			return fmt.Sprintf("the %s was cut from %.3f s to %.3f s, which could hide a change", g.Source(), g.From.Seconds(), g.To.Seconds())
		}
	}
	return ""
}

// loaded: everything could be read and was taken by the API server.
type loaded struct{ *key }

func (loaded) Predicted() string { return "everything" }
func (loaded) Series() []string  { return []string{seriesRejected} }

func (c loaded) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(series.Window{From: stepDeploy, To: stepDeploy})
	if !ok {
		return judge.Untold("the script did not reach the end of %q", stepDeploy), nil
	}
	rejected, err := set.Get(seriesRejected)
	if err != nil {
		return judge.Finding{}, err
	}
	var texts []string
	for _, p := range c.Inventory.Problems {
		texts = append(texts, p.String())
	}
	for _, p := range rejected.Changes(in) {
		texts = append(texts, p.Value.Text)
	}
	if len(texts) == 0 {
		return judge.Finding{Status: judge.Held, Observed: "everything", Samples: len(c.Inventory.Members)}, nil
	}
	f := judge.Untold("%s", named(texts))
	f.Observed, f.Detail = fmt.Sprintf("%d problems", len(texts)), &judge.Table{Title: "Problems of the fleet", Head: []string{"what"}}
	for _, text := range texts {
		f.Detail.Rows = append(f.Detail.Rows, []string{text})
	}
	return f, nil
}

// still: each Rollout is at rest, in the phase that is meant, when the first version ends.
type still struct{ *key }

func (c still) Predicted() string { return fmt.Sprintf("%d of %d", len(c.fates), len(c.fates)) }
func (still) Series() []string    { return []string{seriesPhase} }

func (c still) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(series.Window{From: c.legs[0].step(stepStop), To: c.legs[0].step(stepStop)})
	if !ok {
		return judge.Untold("the script did not reach the end of the first version"), nil
	}
	r, t := newReader(set), &tally{}
	for _, m := range c.fates {
		phase, _ := r.of(seriesPhase, m.Key()).At(in.From)
		switch got := phase.Value.Text; {
		case got == phaseOf(m.Member):
			t.held++
		case m.doubtful():
			t.unclear = append(t.unclear, fmt.Sprintf("%s (%s): %s", m.Key(), m.Place, m.Doubt))
		case got == "":
			t.unclear = append(t.unclear, fmt.Sprintf("%s (%s) is not there", m.Key(), m.Place))
		default:
			t.unclear = append(t.unclear, fmt.Sprintf("%s (%s) is %s, expected %s", m.Key(), m.Place, got, phaseOf(m.Member)))
		}
	}
	return t.finding(len(c.fates)), nil
}

func phaseOf(m Member) string {
	if m.Paused || m.frozen() {
		return "Paused"
	}
	return "Healthy"
}

// accepted: no manifest is rejected.
type accepted struct{ leg }

func (accepted) Predicted() string { return "all" }
func (accepted) Series() []string  { return []string{seriesRejected} }

func (c accepted) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(series.Window{From: c.step(stepCRDs), To: c.step(stepAccept)})
	if !ok {
		return judge.Untold("the script did not reach the end of %q", c.step(stepAccept)), nil
	}
	s, err := set.Get(seriesRejected)
	if err != nil {
		return judge.Finding{}, err
	}
	var lines []string
	for _, p := range s.Changes(in) {
		lines = append(lines, p.Value.Text)
	}
	if len(lines) == 0 {
		return judge.Finding{Status: judge.Held, Observed: "all", Samples: 1}, nil
	}
	return judge.Finding{Status: judge.Broken, Observed: fmt.Sprintf("%d rejected", len(lines)), Why: named(lines), Samples: len(lines)}, nil
}

// members: the change of the version has the predicted effect on each of some Rollouts.
type members struct {
	*key
	of  []course
	leg int
}

func (c members) Predicted() string {
	if len(c.of) == 1 {
		return string(c.of[0].legs[c.leg].Effect)
	}
	return effects(c.of, c.leg)
}

func (members) Series() []string {
	return append([]string{seriesSet, seriesSetSpec, seriesSetSize, seriesDeadline, seriesPod, seriesRuns, seriesSelector, seriesRoutes, seriesSubsets}, kept...)
}

// effects counts them: "20 untouched, 3 redeployed".
func effects(of []course, leg int) string {
	n := map[rollouts.Effect]int{}
	for _, c := range of {
		n[c.legs[leg].Effect]++
	}
	var out []string
	for _, e := range []rollouts.Effect{rollouts.Untouched, rollouts.Rewritten, rollouts.Restarted, rollouts.Redeployed, rollouts.Reverted} {
		if n[e] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[e], e))
		}
	}
	return strings.Join(out, ", ")
}

func (c members) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.window(c.legs[c.leg]))
	if !ok {
		return judge.Untold("the script did not reach the end of %q", c.legs[c.leg].step(stepWatch)), nil
	}
	r, t := newReader(set), &tally{}
	last := ""
	for _, m := range c.of {
		last = c.judge(set, r, m, in, t)
	}
	f := t.finding(len(c.of))
	if len(c.of) == 1 {
		f.Observed = last
	}
	return f, nil
}

// judge holds one Rollout against what was predicted, and says what was seen of it.
func (c members) judge(set *series.Set, r *reader, m course, in series.Interval, t *tally) string {
	want := m.legs[c.leg]
	got := r.observe(m.Member, in)
	gap := cut(set, in)
	switch {
	case !got.known:
		t.unclear = append(t.unclear, fmt.Sprintf("%s (%s) is not there", m.Key(), m.Place))
		return "-"
	case m.doubtful():
		t.unclear = append(t.unclear, fmt.Sprintf("%s (%s): %s", m.Key(), m.Place, m.Doubt))
		return "-"
	case got.is(want.Effect) && gap == "":
		t.held++
	case gap != "" && !(want.Effect == rollouts.Untouched && got.touched()):
		t.unclear = append(t.unclear, m.Key()+": "+gap)
	default:
		t.broken = append(t.broken, fmt.Sprintf("%s (%s) was predicted to be %s: %s", m.Key(), m.Place, want.Effect, got))
		t.refs = append(t.refs, got.refs...)
	}
	if want.Effect != rollouts.Untouched && got.is(want.Effect) {
		return fmt.Sprintf("%s: %s", want.Effect, got)
	}
	return got.String()
}

// whole: all Rollouts together, with a table of them.
type whole struct {
	*key
	leg int
}

func (c whole) Predicted() string { return effects(c.fates, c.leg) }
func (whole) Series() []string    { return members{}.Series() }

func (c whole) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.window(c.legs[c.leg]))
	if !ok {
		return judge.Untold("the script did not reach the end of %q", c.legs[c.leg].step(stepWatch)), nil
	}
	r, t := newReader(set), &tally{}
	detail := &judge.Table{Title: "Rollouts, " + c.legs[c.leg].step("by"), Head: []string{"rollout", "strategy", "features", "state", "predicted", "observed", "why"}}
	every := members{c.key, c.fates, c.leg}
	var calm [][]string // after what something happens to
	for _, m := range c.fates {
		effect, saw := string(m.legs[c.leg].Effect), every.judge(set, r, m, in, t)
		rows := &detail.Rows
		if effect == string(rollouts.Untouched) && saw == effect {
			rows = &calm
		}
		*rows = append(*rows, []string{m.Key(), m.Strategy, strings.Join(m.Features, ", "), state(m.Member), effect, saw, m.legs[c.leg].Why})
	}
	detail.Rows = append(detail.Rows, calm...)
	f := t.finding(len(c.fates))
	f.Detail, f.Observed = detail, fmt.Sprintf("%d of %d as predicted", t.held, len(c.fates))
	return f, nil
}

// writes: what is not touched is not written over and over.
type writes struct {
	*key
	leg int
}

func (writes) Predicted() string { return fmt.Sprintf("at most %d", mostWrites) }
func (writes) Series() []string  { return []string{seriesWrites} }

func (c writes) Eval(set *series.Set) (judge.Finding, error) {
	in, ok := set.Resolve(c.window(c.legs[c.leg]))
	if !ok {
		return judge.Untold("the script did not reach the end of %q", c.legs[c.leg].step(stepWatch)), nil
	}
	r, t := newReader(set), &tally{}
	most, total := 0, 0
	for _, m := range c.fates {
		got := r.observe(m.Member, in)
		if m.doubtful() || !got.known || got.touched() {
			continue
		}
		total++
		most = max(most, got.writes)
		if got.writes > mostWrites {
			t.broken = append(t.broken, fmt.Sprintf("%s was written %d times", m.Key(), got.writes))
			continue
		}
		t.held++
	}
	f := t.finding(total)
	if f.Status != judge.Inconclusive {
		f.Observed = fmt.Sprintf("at most %d", most)
	}
	return f, nil
}
