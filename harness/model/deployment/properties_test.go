package deployment

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func genFence(most int) *rapid.Generator[IntOrPercent] {
	return rapid.OneOf(rapid.Map(rapid.IntRange(0, most), Percent), rapid.Map(rapid.IntRange(0, 10), Int))
}

func genSpec(t *rapid.T, most int) Spec {
	s := Spec{
		Replicas: rapid.IntRange(0, most).Draw(t, "replicas"),
		Surge:    genFence(150).Draw(t, "surge"), Unavailable: genFence(100).Draw(t, "unavailable"),
		Template: "v2",
	}
	if s.Validate() != nil {
		s.Surge = Int(1)
	}
	return s
}

func genView(t *rapid.T) View {
	s := genSpec(t, 20)
	s.Recreate, s.Paused = rapid.Bool().Draw(t, "recreate"), rapid.Bool().Draw(t, "paused")
	var sets []ReplicaSet
	for i := range rapid.IntRange(0, 5).Draw(t, "sets") {
		n := func(what string) int { return rapid.IntRange(0, 25).Draw(t, what) }
		sets = append(sets, ReplicaSet{
			Name: string(rune('a' + i)), Created: int64(rapid.IntRange(0, 3).Draw(t, "created")),
			Replicas: n("replicas"), Pods: n("pods"), Available: n("available"), Desired: n("desired") - 1, Max: n("max") - 1,
		})
	}
	s.Template = string(rune('a' + rapid.IntRange(0, 6).Draw(t, "template")))
	return NewView(s, sets...)
}

// Whatever the controller sees, it writes no negative sizes, and each write starts where
// the one before left its ReplicaSet.
func TestAnyViewGivesSaneWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genView(t)
		total := 0
		sizes := map[int]int{NoSet: 0}
		for i, r := range v.Sets {
			sizes[i] = r.Replicas
			total += r.Replicas
		}
		for _, w := range Reconcile(v) {
			if w.To < 0 || w.From != sizes[w.Set] || w.Why == "" {
				t.Fatalf("write %+v in %s", w, v)
			}
			if w.To > w.From && (w.Why == RuleNew || w.Why == RuleCreate) && total-w.From+w.To > v.Spec.Most() {
				t.Fatalf("above the fencepost: %+v in %s", w, v)
			}
			total += w.To - w.From
			sizes[w.Set] = w.To
		}
	})
}

// A played rollout stays between the fenceposts and ends complete.
func TestRolloutStaysBetweenTheFencepostsAndCompletes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t, 40)
		trace, err := Play(s, DeployAt("v2"))
		if err != nil || !trace.Complete() {
			t.Fatalf("%v\n%s", err, trace)
		}
		if trace.MostTotal() > s.Most() || trace.LeastAvailable() < s.Least() {
			t.Fatalf("outside %d to %d:\n%s", s.Least(), s.Most(), trace)
		}
	})
}

// Any moves in any order end complete once all pods may become available.
func TestAnyMovesSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t, 20)
		s.Recreate = rapid.Bool().Draw(t, "recreate")
		m := NewMachine(s)
		for range rapid.IntRange(1, 12).Draw(t, "moves") {
			version := rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")
			switch rapid.SampledFrom([]string{"deploy", "scale", "pause", "resume", "limit", "passes"}).Draw(t, "move") {
			case "deploy":
				m.Deploy(version)
			case "scale":
				m.Scale(rapid.IntRange(0, 20).Draw(t, "to"))
			case "pause":
				m.Pause()
			case "resume":
				m.Resume()
			case "limit":
				m.Limit(version, rapid.IntRange(0, 5).Draw(t, "limit"))
			case "passes":
				m.Settle(rapid.IntRange(1, 30).Draw(t, "steps"))
			}
		}
		m.Resume()
		m.Deploy("v1")
		for _, v := range []string{"v1", "v2", "v3"} {
			m.Limit(v, All)
		}
		if limit := settleLimit(m.Spec()); m.Settle(limit) == limit || !m.Trace().Complete() {
			t.Fatalf("not complete:\n%s", m.Trace())
		}
	})
}

// All rollouts, with pods in any order, stay between the fenceposts and can only end
// complete.
func TestEveryRolloutStaysBetweenTheFenceposts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t, 10)
		e := Explore(s, Chaos{})
		if !e.Enumerated || e.LeastAvailable < s.Least() || e.MostTotal > s.Most() {
			t.Fatalf("%+v outside %d to %d", e, s.Least(), s.Most())
		}
		if len(e.Ends) != 1 || !slices.Equal(e.Ends[0].Replicas, []int{0, s.Replicas}) || !slices.Equal(e.Ends[0].Available, []int{0, s.Replicas}) {
			t.Fatalf("ends %+v", e.Ends)
		}
	})
}

// Where Explore says that the order is unique, Play takes it.
func TestPlayIsOneOfTheExplored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t, 12)
		ready := rapid.IntRange(-1, 12).Draw(t, "ready")
		chaos := Chaos{Ready: ready}
		if ready == 0 {
			chaos.Ready = NoneReady
		} else if ready < 0 {
			chaos.Ready = 0
		}
		e := Explore(s, chaos)
		trace, err := Play(s, DeployLimited("v2", ready))
		if err != nil {
			t.Fatal(err)
		}
		for version, sizes := range e.Orders {
			if got := trace.Sizes(version); !slices.Equal(got, sizes) {
				t.Fatalf("%s played %v, unique order %v", version, got, sizes)
			}
		}
		final := trace.Final()
		end := End{
			Replicas:  []int{final.Version("v1").Replicas, final.Version("v2").Replicas},
			Available: []int{final.Version("v1").Available, final.Version("v2").Available},
		}
		if !slices.ContainsFunc(e.Ends, func(o End) bool {
			return slices.Equal(o.Replicas, end.Replicas) && slices.Equal(o.Available, end.Available)
		}) {
			t.Fatalf("ends at %+v, explored %+v", end, e.Ends)
		}
	})
}

func TestEveryRuleHasABasis(t *testing.T) {
	for rule := range places {
		for _, g := range Groups() {
			if b := g.Basis(rule); b.Line == 0 || b.Source == "" || b.Tag == "" || b.Note == "" {
				t.Errorf("%s has no basis in %s: %+v", rule, g, b)
			}
		}
	}
	if got := Group137.Basis(RuleNew).String(); got != "pkg/controller/deployment/rolling.go:68 (v1.37.2)" {
		t.Error(got)
	}
	if got := Group134.Basis("no such rule").String(); got != "" {
		t.Error(got)
	}
}
