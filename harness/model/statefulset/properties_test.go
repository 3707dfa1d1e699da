package statefulset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/share"
)

// shuffled runs an update in which pods go and become ready in any order, without lag.
func shuffled(t *rapid.T, rules Rules, spec Spec) *World {
	w := NewWorld(rules, spec, Old)
	w.Settle(never)
	w.Deploy(New)
	w.ResetTrace()
	for w.Reconcile() || len(waiting(w)) > 0 {
		if fit := waiting(w); len(fit) > 0 && rapid.Bool().Draw(t, "a pod moves") {
			e := rapid.SampledFrom(fit).Draw(t, "which")
			if err := w.Tell(e.Kind, e.Ordinal); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// waiting are the pods that have still to go or to become ready.
func waiting(w *World) []Event {
	var out []Event
	for o := range 20 {
		switch pod, ok := w.now.pods[o]; {
		case ok && pod.Terminating:
			out = append(out, Event{Kind: Gone, Ordinal: o})
		case ok && !pod.Ready:
			out = append(out, Event{Kind: Ready, Ordinal: o})
		}
	}
	return out
}

func TestEnvelopeHoldsInEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, spec := genRules(t), genSpec(t)
		w, want := shuffled(t, rules, spec), rules.Envelope(spec)
		trace := w.Trace()
		if got := trace.Deletions(); !slices.Equal(got, want.Deletions) {
			t.Fatalf("deletions %v, want %v\n%s", got, want.Deletions, trace)
		}
		if got := trace.LeastReady(); got != want.LeastReady {
			t.Fatalf("least ready %d, want %d\n%s", got, want.LeastReady, trace)
		}
		canonical, err := Play(rules, Drill{Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		if want.CreationsOrdered && !slices.Equal(trace.Creations(), canonical.Creations()) {
			t.Fatalf("creations %v, canonical %v", trace.Creations(), canonical.Creations())
		}
		if got, want := trace.Final().PodsString(), canonical.Final().PodsString(); got != want {
			t.Fatalf("ends at %s, canonical at %s", got, want)
		}
	})
}

func TestUndisturbedPhasesKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := genRules(t)
		w := shuffled(t, rules, genSpec(t))
		phases, err := Phases(w.History())
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(rules, w.History()); err != nil {
			t.Fatal(err)
		}
		last := phases[len(phases)-1]
		if last.Disturbed {
			t.Fatalf("disturbed\n%s", text(w.History()))
		}
		for _, p := range phases {
			if broken := p.Broken(rules); len(broken) > 0 {
				t.Fatalf("%v\n%s", broken, text(w.History()))
			}
		}
	})
}

// Below the partition nothing is deleted for an update, whatever goes wrong.
func TestPassSparesThePodsBelowThePartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, spec := genRules(t), genSpec(t)
		spec.Bare = false
		v := View{Set: Set{Spec: spec, Template: New, Current: Old}, Pods: map[int]Pod{}}
		for i := range 8 {
			if rapid.IntRange(0, 4).Draw(t, "exists") > 0 {
				ready := rapid.Bool().Draw(t, "ready")
				v.Pods[spec.Start+i] = Pod{
					Revision: rapid.SampledFrom([]string{Old, New, "v0"}).Draw(t, "revision"),
					Ready:    ready, Available: ready && rapid.Bool().Draw(t, "available"),
					Terminating: rapid.Bool().Draw(t, "terminating"),
				}
			}
		}
		once := map[Action]bool{}
		for _, a := range rules.Reconcile(v).Actions {
			if a.Verb == Delete && a.Why != WhyScaleDown && a.Ordinal < spec.Start+spec.Partition {
				t.Fatalf("%s", a)
			}
			a.Why, a.Batch = "", 0
			if once[a] || v.Pods[a.Ordinal].Terminating {
				t.Fatalf("%s twice", a)
			}
			once[a] = true
		}
	})
}

// A lie about one action is found.
func TestCheckerRejectsChangedHistories(t *testing.T) {
	w := NewWorld(RulesForGroup(Group134), Spec{Replicas: 4, Partition: 1}, Old)
	w.Settle(never)
	w.Deploy(New)
	w.Settle(never)
	honest := w.History()
	if err := Check(RulesForGroup(Group134), honest); err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string]func(e *Event) bool{
		"another ordinal is deleted": func(e *Event) bool { e.Ordinal--; return e.Kind == Terminating },
		"one below the partition":    func(e *Event) bool { e.Ordinal = 0; return e.Kind == Terminating },
		"made at the old revision":   func(e *Event) bool { e.Revision = Old; return e.Kind == Added && e.Ordinal == 3 },
		"made at a foreign revision": func(e *Event) bool { e.Revision = "v9"; return e.Kind == Added },
		"made out of range":          func(e *Event) bool { e.Ordinal = 9; return e.Kind == Added },
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for i := range honest {
				changed := slices.Clone(honest)
				if !lie(&changed[i]) || changed[i] == honest[i] {
					continue
				}
				found++
				if err := Check(RulesForGroup(Group134), changed[:i+1]); err == nil {
					t.Errorf("event %d as %q is accepted", i+1, changed[i])
				}
			}
			if found == 0 {
				t.Error("nothing was changed")
			}
		})
	}
}

// A controller of one version is not one of another.
func TestCheckerTellsVersionsApart(t *testing.T) {
	w := NewWorld(RulesForGroup(Group137), Spec{Replicas: 5, MaxUnavailable: share.Share{Value: 2}}, Old)
	w.Settle(never)
	w.Deploy(New)
	w.Settle(never)
	if err := Check(RulesForGroup(Group134), w.History()); err == nil {
		t.Error("two pods at once are accepted of 1.34")
	}
	phases, err := Phases(w.History())
	if err != nil {
		t.Fatal(err)
	}
	last := phases[len(phases)-1]
	if broken := last.Broken(RulesForGroup(Group134)); len(broken) != 1 || last.MostDown != 2 || last.LeastReady != 3 {
		t.Errorf("broken %v, %d down, %d ready", broken, last.MostDown, last.LeastReady)
	}
}

func TestPlayRefusesAMoveThatCannotBe(t *testing.T) {
	_, err := Play(RulesForGroup(Group137), Drill{Spec: Spec{Replicas: 1}, Then: []Move{DeletePod(7)}})
	if err == nil {
		t.Error("a pod that is not there was deleted")
	}
}
