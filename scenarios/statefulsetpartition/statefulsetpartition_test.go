package statefulsetpartition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// versions has one release of each group that the model tells apart, and one that
// no group covers.
var versions = []string{"v1.34.2", "v1.35.0", "v1.36.0", "v1.37.2", "v1.99.0"}

// spread is the scenario with parameters that reach all branches of its prediction.
func spread(t *testing.T, yield func(name string, p *Params, in scenario.Input)) {
	t.Helper()
	n := 0
	for _, policy := range []statefulset.Policy{statefulset.OrderedReady, statefulset.Parallel} {
		for name, change := range map[string]func(*Params){
			"defaults":       func(*Params) {},
			"left":           func(p *Params) { p.ThenPartition = None },
			"raised":         func(p *Params) { p.ThenPartition = 4 },
			"lowered to 1":   func(p *Params) { p.ThenPartition = 1 },
			"above":          func(p *Params) { p.Partition = 9 },
			"no pods":        func(p *Params) { p.Replicas = 0 },
			"one pod":        func(p *Params) { p.Replicas, p.Partition = 1, 0 },
			"no start-up":    func(p *Params) { p.Startup = 0 },
			"two down":       func(p *Params) { p.MaxUnavailable = share.Share{Value: 2} },
			"half down":      func(p *Params) { p.MaxUnavailable = share.Share{Value: 50, Percent: true} },
			"stuck":          func(p *Params) { p.Stuck = 2 },
			"stuck and more": func(p *Params) { p.Stuck, p.Partition, p.MaxUnavailable = 3, 1, share.Share{Value: 2} },
		} {
			for _, version := range versions {
				p := Scenario{}.Defaults().(*Params)
				p.Policy = string(policy)
				change(p)
				if err := (Scenario{}).Check(p, nil); err != nil {
					t.Fatal(err)
				}
				n++
				yield(fmt.Sprintf("%s, %s, %s", name, policy, version), p,
					scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: version}})
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d predictions were tried", n)
	}
}

func predict(t *testing.T, in scenario.Input) judge.Prediction {
	t.Helper()
	p, err := Scenario{}.Predict(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryPredictionReadsDefinedSeriesOnly(t *testing.T) {
	t.Parallel()
	spread(t, func(name string, _ *Params, in scenario.Input) {
		p := predict(t, in)
		keytest.ReadsDefinedSeries(t, name, p)
	})
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	spread(t, func(name string, _ *Params, in scenario.Input) {
		p := predict(t, in)
		keytest.HasBasis(t, name, p)
		if first := p.Tables[0].Rows[0][0]; first != "start" {
			t.Errorf("%s: the first row is %q", name, first)
		}
		used := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasSuffix(n, "was used") })
		if unknown := strings.HasSuffix(name, "v1.99.0"); unknown != used {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	})
}

// predicted are what some claims predict, in the order asked for.
func predicted(t *testing.T, p judge.Prediction, ids ...string) []string {
	t.Helper()
	var out []string
	for _, id := range ids {
		i := slices.IndexFunc(p.Claims, func(c judge.Claim) bool { return c.ID == id })
		if i < 0 {
			t.Fatalf("no claim %s", id)
		}
		out = append(out, p.Claims[i].Check.Predicted())
	}
	return out
}

// TestVersionsDiffer: maxUnavailable is dropped by v1.34 and counts in v1.37; and
// where a Parallel set is stuck, each group does something else.
func TestVersionsDiffer(t *testing.T) {
	t.Parallel()
	two := Scenario{}.Defaults().(*Params)
	two.MaxUnavailable = share.Share{Value: 2}
	stuck := Scenario{}.Defaults().(*Params)
	stuck.Policy, stuck.Partition, stuck.Stuck = string(statefulset.Parallel), 0, 2
	for version, want := range map[string][]string{
		"v1.34.2": {"unset", "lowest exactly 4 pods", "leaving: 4 → 3 → 2 → 4 → 3 → 2", "lowest exactly 3 pods"},
		"v1.35.0": {"2", "lowest exactly 3 pods", "leaving: 4 → 3 → 2 → 2 → 4 → 3", "lowest exactly 4 pods"}, // by hand
		"v1.36.0": {"unset", "lowest exactly 4 pods", "leaving: 4 → 3 → 2 → 4 → 3 → 2", "lowest exactly 3 pods"},
		"v1.37.2": {"2", "lowest exactly 3 pods", "leaving: 4 → 3 → 2 → 2 → 4 → 3", "lowest exactly 4 pods"},
	} {
		on := map[string]string{scenario.Kubernetes: version}
		got := predicted(t, predict(t, scenario.Input{Params: two, Versions: on}), "max-unavailable", "least-ready")
		got = append(got, predicted(t, predict(t, scenario.Input{Params: stuck, Versions: on}), "order", "least-ready")...)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestBothGatesMustBeOn: the API server stores maxUnavailable, and the controller
// manager, which may be older, heeds it. Where it is lost, a note says so.
func TestBothGatesMustBeOn(t *testing.T) {
	t.Parallel()
	p := Scenario{}.Defaults().(*Params)
	p.MaxUnavailable = share.Share{Value: 2}
	for _, c := range []struct{ server, manager, field, least, notes string }{
		{"v1.37.2", "v1.37.2", "2", "lowest exactly 3 pods", "[]"},
		{"v1.37.2", "v1.36.0", "2", "lowest exactly 4 pods",
			"[the controller manager v1.36.0 ignores maxUnavailable, which is stored: its gate MaxUnavailableStatefulSet is off]"},
		{"v1.36.0", "v1.35.0", "unset", "lowest exactly 4 pods",
			"[v1.36.0 drops maxUnavailable: the gate MaxUnavailableStatefulSet is off in its API server]"},
	} {
		in := scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: c.server, scenario.ControllerManager: c.manager}}
		prediction := predict(t, in)
		if got := predicted(t, prediction, "max-unavailable", "least-ready"); !slices.Equal(got, []string{c.field, c.least}) {
			t.Errorf("%s with %s: %q", c.server, c.manager, got)
		}
		if got := fmt.Sprint(prediction.Notes); got != c.notes {
			t.Errorf("%s with %s: notes %s", c.server, c.manager, got)
		}
	}
}

// TestTheGuardTakesTheDrillsLimit: without one it is 1. What may be down at once
// is expected, but for pods that may be back too soon to tell.
func TestTheGuardTakesTheDrillsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change   func(*Params)
		limits   map[string]float64
		limit    float64
		expected *float64
	}{
		{func(*Params) {}, nil, 1, new(1.0)},
		{func(*Params) {}, map[string]float64{Unready: 0}, 0, new(1.0)},
		{func(p *Params) { p.MaxUnavailable = share.Share{Value: 2} }, map[string]float64{Unready: 2}, 2, new(2.0)},
		{func(p *Params) { p.MaxUnavailable, p.Startup = share.Share{Value: 2}, 0 }, nil, 1, nil},
		{func(p *Params) { p.Partition, p.ThenPartition = 9, None }, nil, 1, new(0.0)},
	} {
		p := Scenario{}.Defaults().(*Params)
		c.change(p)
		in := scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: "v1.37.2"}, Guards: c.limits}
		g := predict(t, in).Guards[0]
		if g.ID != Unready || g.Limit != c.limit || (g.Expected == nil) != (c.expected == nil) || g.Expected != nil && *g.Expected != *c.expected {
			t.Errorf("limits %v: %+v", c.limits, g)
		}
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Params){
		"<nil>": func(p *Params) { p.Stuck = 4 },
		"stuck: there is no ordinal 5 among 5 replicas":                   func(p *Params) { p.Stuck = 5 },
		"stuck: ordinal 1 is below the partition 2 and never gets to v2":  func(p *Params) { p.Stuck = 1 },
		"stuck: -2 is too small, expected -1 to 49":                       func(p *Params) { p.Stuck = -2 },
		"policy: \"Serial\" is unknown, expected OrderedReady | Parallel": func(p *Params) { p.Policy = "Serial" },
		"partition: -1 is too small, expected 0 to 1000":                  func(p *Params) { p.Partition = -1 },
		"thenPartition: -2 is too small, expected -1 to 1000":             func(p *Params) { p.ThenPartition = -2 },
		"replicas: 51 is too large, expected 0 to 50":                     func(p *Params) { p.Replicas = 51 },
	} {
		p := Scenario{}.Defaults().(*Params)
		change(p)
		err := scenario.CheckBounds(p)
		if err == nil {
			err = Scenario{}.Check(p, nil)
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("error %q, want %q", got, want)
		}
	}
}

// TestOneOrderOnly draws in which order pods go and become ready. The order of
// deletions, the revisions of each ordinal, the end, and the least that were ready
// are those of the prediction.
func TestOneOrderOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := Scenario{}.Defaults().(*Params)
		p.Replicas = rapid.IntRange(1, 7).Draw(rt, "replicas")
		p.Partition = rapid.IntRange(0, 8).Draw(rt, "partition")
		p.ThenPartition = rapid.IntRange(None, 8).Draw(rt, "then")
		p.Policy = rapid.SampledFrom([]string{string(statefulset.OrderedReady), string(statefulset.Parallel)}).Draw(rt, "policy")
		p.MaxUnavailable = share.Share{Value: rapid.IntRange(0, 4).Draw(rt, "maxUnavailable")}
		if p.Partition < p.Replicas && rapid.Bool().Draw(rt, "stuck") {
			p.Stuck = rapid.IntRange(p.Partition, p.Replicas-1).Draw(rt, "which")
		}
		version := rapid.SampledFrom(versions).Draw(rt, "version")
		rules, spec, _ := p.model(map[string]string{scenario.Kubernetes: version})
		want := p.play(rules, spec, inOrder)
		got := p.play(rules, spec, func(w *statefulset.World, stuck func(int, string) bool) { anyOrder(rt, w, stuck) })
		if !slices.Equal(got.going(), want.going()) {
			rt.Fatalf("%s: leaving %v, canonical %v\n%s", version, got.going(), want.going(), got.trace)
		}
		if got.trace.LeastReady() != want.trace.LeastReady() {
			rt.Fatalf("%s: least ready %d, canonical %d\n%s", version, got.trace.LeastReady(), want.trace.LeastReady(), got.trace)
		}
		for i := range p.Replicas {
			if g, w := got.trace.RevisionSequence(i), want.trace.RevisionSequence(i); !slices.Equal(g, w) {
				rt.Fatalf("%s: ordinal %d was %v, canonical %v\n%s", version, i, g, w, got.trace)
			}
		}
		for i, g := range []state{got.staged, got.held, got.final} {
			if w := []state{want.staged, want.held, want.final}[i]; g.updated() != w.updated() || g.completed() != w.completed() {
				rt.Fatalf("%s: rest %d differs\n%s", version, i, got.trace)
			}
		}
	})
}

// anyOrder lets pods go and become ready in any order, each after any number of
// passes of the controller.
func anyOrder(t *rapid.T, w *statefulset.World, stuck func(int, string) bool) {
	for {
		acted := w.Reconcile()
		fit := waiting(w, stuck)
		if len(fit) == 0 {
			if !acted {
				return
			}
			continue
		}
		if acted && rapid.Bool().Draw(t, "the controller first") {
			continue
		}
		e := rapid.SampledFrom(fit).Draw(t, "what happens")
		if err := w.Tell(e.Kind, e.Ordinal); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting are the pods that have still to go or to become ready.
func waiting(w *statefulset.World, stuck func(int, string) bool) []statefulset.Event {
	var out []statefulset.Event
	for i := range w.Set().Spec.Replicas {
		switch pod, ok := w.Pods()[i]; {
		case ok && pod.Terminating:
			out = append(out, statefulset.Event{Kind: statefulset.Gone, Ordinal: i})
		case ok && !pod.Ready && !stuck(i, pod.Revision):
			out = append(out, statefulset.Event{Kind: statefulset.Ready, Ordinal: i})
		}
	}
	return out
}

// TestStatesOfPods: what a state says is what comes out of it again as events.
func TestStatesOfPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{workload.NoPod, "v2?", "[add 3 at v2]"},
		{workload.NoPod, "v2", "[add 3 at v2 ready 3]"},
		{"v2?", "v2", "[ready 3]"},
		{"v2", "v2?", "[unready 3]"},
		{"v1", "v1-", "[terminating 3]"},
		{"v1-", workload.NoPod, "[gone 3]"},
		{"v1", workload.NoPod, "[gone 3]"},
		{"v1", "v2?", "[gone 3 add 3 at v2]"}, // the deletion between was not seen
		{"v1", "v1!", "[failed 3]"},
		{"v2?", "v2? by hand", "[]"},
		{"v2? by hand", "v2- by hand", "[terminating 3 by hand]"},
		{"v2? by hand", workload.NoPod, "[gone 3 by hand]"},
	} {
		if got := fmt.Sprint(parse(c.from).events(parse(c.to), 3)); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}
