package statefulset

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/share"
)

// lagging is a set whose controller sees old versions of it, and whose pods do what they
// like, also between two calls of one pass.
type lagging struct {
	t       *rapid.T
	rules   Rules
	set     Set
	now     snapshot
	sets    []Set
	moments []snapshot
	seen    view // what the last pass saw
	history []Event
}

func newLagging(t *rapid.T, rules Rules, spec Spec) *lagging {
	l := &lagging{t: t, rules: rules, now: snapshot{map[int]Pod{}, map[int]int{}}}
	l.moments = []snapshot{l.now.clone()}
	l.setTo(Set{Spec: spec, Template: Old})
	return l
}

func (l *lagging) setTo(set Set) {
	l.set = set
	l.sets = append(l.sets, set)
	l.history = append(l.history, Event{Kind: SetChanged, Set: &set})
}

// happens reports whether the API server did it.
func (l *lagging) happens(e Event) bool {
	if l.now.apply(e) != nil {
		return false
	}
	l.history = append(l.history, e)
	l.moments = append(l.moments, l.now.clone())
	return true
}

// pass runs one pass over a view that is as old as it may be.
func (l *lagging) pass() {
	l.seen.set = rapid.IntRange(l.seen.set, len(l.sets)-1).Draw(l.t, "set seen")
	l.seen.moment = rapid.IntRange(l.seen.moment, len(l.moments)-1).Draw(l.t, "moment seen")
	pass := l.rules.Reconcile(View{l.sets[l.seen.set], l.moments[l.seen.moment].pods})
	actions := pass.Actions
	for len(actions) > 0 {
		batch := actions[0].Batch
		n := slices.IndexFunc(actions, func(a Action) bool { return a.Batch != batch })
		if n < 0 {
			n = len(actions)
		}
		if !l.calls(rapid.Permutation(actions[:n]).Draw(l.t, "batch")) {
			return // a call failed: the pass ends
		}
		actions = actions[n:]
	}
	set := l.set
	if l.sets[l.seen.set] == set { // else the status update conflicts
		set.Current, set.CurrentReplicas = pass.Current, pass.CurrentReplicas
		if set != l.set {
			l.setTo(set)
		}
	}
}

func (l *lagging) calls(batch []Action) bool {
	ok := true
	for _, a := range batch {
		if rapid.IntRange(0, 3).Draw(l.t, "between calls") == 0 {
			l.environment()
		}
		if a.Verb == Create {
			ok = l.happens(Event{Kind: Added, Ordinal: a.Ordinal, Revision: a.Revision}) && ok
		} else if pod := l.now.pods[a.Ordinal]; !pod.Terminating {
			kind := rapid.SampledFrom([]Kind{Terminating, Gone}).Draw(l.t, "how deleted")
			l.happens(Event{Kind: kind, Ordinal: a.Ordinal}) // NotFound is fine
		}
	}
	return ok
}

// environment is one thing that the controller has no hand in.
func (l *lagging) environment() {
	switch rapid.SampledFrom([]string{"ready", "ready", "ready", "gone", "gone", "unready", "failed", "hand", "template", "partition", "replicas"}).Draw(l.t, "move") {
	case "ready":
		l.pod(Ready, "", func(p Pod) bool { return !p.Ready && !p.Failed })
	case "unready":
		l.pod(Unready, "", func(p Pod) bool { return p.Ready })
	case "failed":
		l.pod(Failed, "", func(p Pod) bool { return !p.Failed })
	case "gone":
		l.pod(Gone, "", func(p Pod) bool { return p.Terminating })
	case "hand":
		l.pod(Terminating, "hand", func(p Pod) bool { return !p.Terminating })
	case "template":
		set := l.set
		set.Template = rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(l.t, "template")
		l.setTo(set)
	case "partition":
		set := l.set
		set.Spec.Partition = rapid.IntRange(0, 5).Draw(l.t, "partition")
		l.setTo(set)
	case "replicas":
		set := l.set
		set.Spec.Replicas = rapid.IntRange(0, 6).Draw(l.t, "replicas")
		l.setTo(set)
	}
}

func (l *lagging) pod(kind Kind, by string, match func(Pod) bool) {
	var fit []int
	for _, o := range slices.Sorted(maps.Keys(l.now.pods)) {
		if match(l.now.pods[o]) {
			fit = append(fit, o)
		}
	}
	if len(fit) > 0 {
		l.happens(Event{Kind: kind, Ordinal: rapid.SampledFrom(fit).Draw(l.t, "ordinal"), By: by})
	}
}

func genSpec(t *rapid.T) Spec {
	return Spec{
		Replicas:       rapid.IntRange(0, 6).Draw(t, "replicas"),
		Start:          rapid.IntRange(0, 3).Draw(t, "start"),
		Policy:         rapid.SampledFrom([]Policy{OrderedReady, Parallel}).Draw(t, "policy"),
		OnDelete:       rapid.IntRange(0, 7).Draw(t, "on delete") == 0,
		Bare:           rapid.IntRange(0, 5).Draw(t, "bare") == 0,
		Partition:      rapid.IntRange(0, 7).Draw(t, "partition"),
		MaxUnavailable: share.Share{Value: rapid.IntRange(0, 4).Draw(t, "max unavailable")},
	}
}

func genRules(t *rapid.T) Rules {
	return RulesForGroup(rapid.SampledFrom(Groups()).Draw(t, "group"))
}

// Whatever a controller does that reads old views is accepted.
func TestCheckerAcceptsEveryLaggingController(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := genRules(t)
		l := newLagging(t, rules, genSpec(t))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "pass") {
				l.pass()
			} else {
				l.environment()
			}
		}
		if err := Check(rules, l.history); err != nil {
			t.Fatalf("%v\n%s", err, text(l.history))
		}
	})
}

func text(history []Event) string {
	var b strings.Builder
	for _, e := range history {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}
