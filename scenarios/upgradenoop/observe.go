package upgradenoop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
)

// seen is what became of a Rollout inside a window.
type seen struct {
	// known: it was there when the window began.
	known bool
	// newSets are ReplicaSets that were made, changedSets those whose spec was written
	// without a change of their size.
	newSets, changedSets int
	podsMade, podsGone   int
	// runs are AnalysisRuns that were made.
	runs   int
	writes int
	// changes are the values of what must not change, in order, by series; routes are
	// changes of what its traffic goes by.
	changes map[string][]series.Point
	routes  []series.Point
	// disturbed is when first a pod of it went away or its traffic moved, 0 if never.
	disturbed time.Duration
	refs      []string
}

// kept are the series of a Rollout that a calm controller leaves as they are.
var kept = []string{seriesRevision, seriesHash, seriesStable, seriesIndex, seriesGeneration, seriesPhase}

// reader reads what became of Rollouts off a recording, which it goes through once.
type reader struct {
	set  *series.Set
	sets map[string][]string         // ReplicaSets by Rollout, all by "namespace/name"
	pods map[string][]*series.Series // by ReplicaSet
	runs map[string][]*series.Series // by Rollout
}

func newReader(set *series.Set) *reader {
	r := &reader{set: set, sets: map[string][]string{}, pods: map[string][]*series.Series{}, runs: map[string][]*series.Series{}}
	for _, s := range set.Beginning(seriesSet + "/") {
		if owner := first(s); owner != "" {
			key := strings.TrimPrefix(s.Name, seriesSet+"/")
			r.sets[beside(key, owner)] = append(r.sets[beside(key, owner)], key)
		}
	}
	for prefix, into := range map[string]map[string][]*series.Series{seriesPod: r.pods, seriesRuns: r.runs} {
		for _, s := range set.Beginning(prefix + "/") {
			owner := beside(strings.TrimPrefix(s.Name, prefix+"/"), first(s))
			into[owner] = append(into[owner], s)
		}
	}
	return r
}

// first is the first value of a series of texts.
func first(s *series.Series) string {
	if len(s.Points) == 0 {
		return ""
	}
	return s.Points[0].Value.Text
}

// beside is the key of an object in the namespace of another one.
func beside(key, name string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace + "/" + name
}

// of is the series of one object, an empty one if there is none.
func (r *reader) of(name, key string) *series.Series {
	s, err := r.set.Get(name + "/" + key)
	if err != nil {
		return &series.Series{Name: name + "/" + key}
	}
	return s
}

// made and gone say when an object came to be or ended inside the interval.
func made(s *series.Series, in series.Interval) (series.Point, bool) {
	if len(s.Points) == 0 || s.Points[0].T <= in.From || s.Points[0].T > in.To {
		return series.Point{}, false
	}
	return s.Points[0], true
}

func gone(s *series.Series, in series.Interval) (series.Point, bool) {
	for _, p := range s.Points {
		if p.Value.Text == "" && in.From < p.T && p.T <= in.To {
			return p, true
		}
	}
	return series.Point{}, false
}

// moves are the changes inside the interval, after the value that it begins with.
func moves(s *series.Series, in series.Interval) []series.Point {
	changes := s.Changes(in)
	if _, known := s.At(in.From); known && len(changes) > 0 {
		return changes[1:]
	}
	return changes
}

// observe says what became of a Rollout.
func (r *reader) observe(m Member, in series.Interval) seen {
	key := m.Key()
	out := seen{changes: map[string][]series.Point{}}
	start, known := r.of(seriesGeneration, key).At(in.From)
	out.known = known && start.Value != series.Text("")
	for _, name := range kept {
		if points := moves(r.of(name, key), in); len(points) > 0 {
			out.changes[name] = points
			out.note(points...)
		}
	}
	out.writes = len(r.of(seriesWrites, key).Changes(in))
	for _, set := range r.sets[key] {
		r.observeSet(set, in, &out)
	}
	for _, run := range r.runs[key] {
		if p, ok := made(run, in); ok {
			out.runs++
			out.note(p)
		}
	}
	for _, name := range m.Routes {
		resource, object, _ := strings.Cut(name, "/")
		points := moves(r.of(resource, object), in)
		out.routes = append(out.routes, points...)
		out.note(points...)
		if len(points) > 0 {
			out.disturb(points[0].T)
		}
	}
	return out
}

func (r *reader) observeSet(set string, in series.Interval, out *seen) {
	if p, ok := made(r.of(seriesSet, set), in); ok {
		out.newSets++
		out.note(p)
	} else if points := moves(r.of(seriesSetSpec, set), in); len(points) > 0 && len(moves(r.of(seriesSetSize, set), in)) == 0 {
		out.changedSets++
		out.note(points...)
	}
	leaving, _ := r.of(seriesDeadline, set).At(in.From)
	for _, pod := range r.pods[set] {
		if p, ok := made(pod, in); ok {
			out.podsMade++
			out.note(p)
		}
		if p, ok := gone(pod, in); ok && leaving.Value.Text == "" {
			out.podsGone++
			out.note(p)
			out.disturb(p.T)
		}
	}
}

// mostRefs bounds what a finding names.
const mostRefs = 6

func (s *seen) note(points ...series.Point) {
	for _, p := range points {
		if p.Ref != "" && len(s.refs) < mostRefs && !slices.Contains(s.refs, p.Ref) {
			s.refs = append(s.refs, p.Ref)
		}
	}
}

func (s *seen) disturb(at time.Duration) {
	if s.disturbed == 0 || at < s.disturbed {
		s.disturbed = at
	}
}

// touched says whether anything but the status was written.
func (s seen) touched() bool {
	return s.newSets+s.changedSets+s.podsMade+s.podsGone+s.runs+len(s.routes)+len(s.changes) > 0
}

// is says whether this is the effect: what it is made of happened, and what it rules
// out did not. What follows from it (pods, weights) is for models of updates.
func (s seen) is(e rollouts.Effect) bool {
	again := len(s.changes[seriesHash]) > 0 && len(s.changes[seriesRevision]) > 0
	switch e {
	case rollouts.Untouched:
		return !s.touched()
	case rollouts.Rewritten:
		return s.changedSets == 1 && s.newSets+s.podsMade+s.podsGone+s.runs+len(s.routes)+len(s.changes) == 0
	case rollouts.Restarted:
		return len(s.changes[seriesIndex]) > 0 && s.newSets == 0 && len(s.changes[seriesHash])+len(s.changes[seriesRevision]) == 0
	case rollouts.Redeployed:
		return s.newSets == 1 && again
	case rollouts.Reverted:
		return s.newSets == 0 && again
	}
	return false
}

// String lists what happened: "1 new ReplicaSet, 4 pods made, 4 ended, revision 2 → 3".
func (s seen) String() string {
	var out []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, "1 "+one)
		case n > 1:
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(s.newSets, "new ReplicaSet", "new ReplicaSets")
	count(s.changedSets, "ReplicaSet rewritten", "ReplicaSets rewritten")
	count(s.podsMade, "pod made", "pods made")
	count(s.podsGone, "pod ended", "pods ended")
	count(s.runs, "analysis run", "analysis runs")
	for _, name := range kept {
		if name == seriesStable || len(s.changes[name]) == 0 {
			continue
		}
		var values []string
		for _, p := range s.changes[name] {
			values = append(values, p.Value.String())
		}
		out = append(out, name+" → "+strings.Join(values, " → "))
	}
	count(len(s.routes), "change of its routes", "changes of its routes")
	if len(out) == 0 {
		return "untouched"
	}
	return strings.Join(out, ", ")
}
