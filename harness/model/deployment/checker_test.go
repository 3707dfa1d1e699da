package deployment

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lagging is a world in which the controller sees old prefixes, its writes succeed one by
// one or meet a conflict, and pods come and go meanwhile. stored is what a recorder sees:
// versions of ReplicaSets and of the spec, in one order.
type lagging struct {
	rand   *rand.Rand
	specs  []Spec
	events []Event
	sets   []ReplicaSet // now
	stored []any        // Spec, Event, restart
	seen   int          // events that the controller has
	seenS  int

	pending []Scale // the rest of a running pass
	view    View
	read    map[string]int // index of the event that a pass's next write of a ReplicaSet is based on
}

type restart struct{}

// between is an even choice; rapid's own ranges prefer their lower end.
func (w *lagging) between(a, b int) int { return a + w.rand.IntN(b-a+1) }

func (w *lagging) setSpec(s Spec) {
	w.specs = append(w.specs, s)
	w.stored = append(w.stored, s)
}

func (w *lagging) store(r ReplicaSet) {
	e := Event{ReplicaSet: r}
	w.events = append(w.events, e)
	w.stored = append(w.stored, e)
	w.sets = apply(w.sets, e)
}

// last is the index of the newest of the first n events that is of a ReplicaSet; -1 for none.
func (w *lagging) last(name string, n int) int {
	for i := n - 1; i >= 0; i-- {
		if w.events[i].Name == name {
			return i
		}
	}
	return -1
}

// startPass reads the caches, which may have caught up a bit.
func (w *lagging) startPass() {
	w.seen = w.between(w.seen, len(w.events))
	w.seenS = w.between(w.seenS, len(w.specs)-1)
	var sets []ReplicaSet
	for _, e := range w.events[:w.seen] {
		sets = apply(sets, e)
	}
	w.view = NewView(w.specs[w.seenS], sets...)
	w.read = map[string]int{}
	for _, r := range sets {
		w.read[r.Name] = w.last(r.Name, w.seen)
	}
	w.pending = Reconcile(w.view)
}

// writeOne sends the next write of the pass; a conflict ends it.
func (w *lagging) writeOne() {
	s := w.pending[0]
	w.pending = w.pending[1:]
	name := w.view.name(s.Set)
	newest := w.last(name, len(w.events))
	base, ok := w.read[name]
	if !ok {
		base = -1
	}
	if newest != base {
		w.pending = nil
		return
	}
	r := ReplicaSet{Name: name, Created: int64(len(w.sets) + 1)}
	if newest >= 0 {
		r = w.events[newest].ReplicaSet
	}
	r.Replicas, r.Desired, r.Max = s.To, w.view.Spec.Replicas, w.view.Spec.Most()
	w.store(r)
	w.read[name] = len(w.events) - 1
}

// pod changes the status of one ReplicaSet.
func (w *lagging) pod() {
	if len(w.sets) == 0 {
		return
	}
	r := w.sets[w.between(0, len(w.sets)-1)]
	before := r
	switch {
	case r.Pods > r.Replicas:
		r.Pods--
		r.Available = min(r.Available, r.Pods)
	case r.Pods < r.Replicas:
		r.Pods++
	case r.Available < r.Pods:
		r.Available++
	case r.Available > 0 && w.between(0, 9) == 0:
		r.Available--
	}
	if r != before {
		w.store(r)
	}
}

func (w *lagging) step() {
	switch n := w.between(0, 99); {
	case n < 55:
		w.pod()
	case n < 95 && len(w.pending) > 0:
		w.writeOne()
	case n < 95:
		w.startPass()
	case n < 96:
		s := w.specs[len(w.specs)-1]
		s.Replicas = w.between(0, 12)
		w.setSpec(s)
	case n < 98:
		s := w.specs[len(w.specs)-1]
		s.Template = []string{"v1", "v2", "v3"}[w.between(0, 2)]
		s.Paused = w.between(0, 4) == 0
		w.setSpec(s)
	default:
		w.pending = nil
		w.stored = append(w.stored, restart{})
	}
}

func drawHistory(t *rapid.T) []any {
	s := genSpec(t, 12)
	s.Recreate = rapid.IntRange(0, 4).Draw(t, "recreate") == 0
	w := &lagging{rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
	w.setSpec(s)
	for range rapid.IntRange(10, 400).Draw(t, "steps") {
		w.step()
	}
	return w.stored
}

// judge feeds a history and returns the first error.
func judge(stored []any) error {
	c := NewChecker(stored[0].(Spec))
	for _, item := range stored[1:] {
		var err error
		switch x := item.(type) {
		case Spec:
			err = c.SpecChanged(x)
		case Event:
			err = c.Observe(x)
		case restart:
			c.Restarted()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCheckerAcceptsWhatALaggingControllerWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := judge(drawHistory(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// One size changed by more than any bound allows is found, wherever it is.
func TestCheckerRejectsASizeAboveAllBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored := drawHistory(t)
		var writes []int
		sizes := map[string]int{}
		for i, item := range stored {
			if e, ok := item.(Event); ok {
				if old, ok := sizes[e.Name]; !ok || old != e.Replicas {
					writes = append(writes, i)
				}
				sizes[e.Name] = e.Replicas
			}
		}
		if len(writes) == 0 {
			t.Skip("nothing was written")
		}
		at := rapid.SampledFrom(writes).Draw(t, "mutated")
		stored = slices.Clone(stored)
		e := stored[at].(Event)
		e.Replicas += 40
		stored[at] = e
		var illegal *IllegalError
		if err := judge(stored); !errors.As(err, &illegal) || illegal.To != e.Replicas && illegal.From != e.Replicas {
			t.Fatalf("error %v", err)
		}
	})
}

// up is a complete v1, and an update to v2 that is applied.
func updating(replicas int) (*Checker, func(name string, replicas, pods, available int) error) {
	s := Spec{Replicas: replicas, Surge: Percent(25), Unavailable: Percent(25), Template: "v1"}
	c := NewChecker(s, ReplicaSet{Name: "v1", Created: 1, Replicas: replicas, Pods: replicas, Available: replicas, Desired: replicas, Max: s.Most()})
	s.Template = "v2"
	if err := c.SpecChanged(s); err != nil {
		panic(err)
	}
	return c, func(name string, n, pods, available int) error {
		created := int64(1)
		if name == "v2" {
			created = 2
		}
		return c.Observe(Event{ReplicaSet: ReplicaSet{Name: name, Created: created, Replicas: n, Pods: pods, Available: available, Desired: replicas, Max: s.Most()}})
	}
}

func TestCheckerNamesTheIllegalWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events [][4]int // version, replicas, pods, available; the last one is illegal
		want   string
	}{
		{"created too large", [][4]int{{2, 4, 0, 0}}, "v2 created with 4: with 10 wanted, 3 surge, 2 unavailable, old v1 10 (10 available), no v2 yet the model allows v2 → 3, v1 → 8"},
		{"old one first", [][4]int{{1, 8, 10, 10}}, "v1 10 → 8: "},
		{"one too many", [][4]int{{2, 3, 0, 0}, {1, 7, 10, 10}}, "v1 10 → 7: "},
		{"further than the fencepost", [][4]int{{2, 3, 0, 0}, {1, 8, 10, 10}, {2, 6, 0, 0}},
			"v2 3 → 6: with 10 wanted, 3 surge, 2 unavailable, old v1 8 (10 available), new v2 3 (0 available) the model allows v2 → 5"},
		{"before the new pod", [][4]int{{2, 3, 0, 0}, {1, 8, 10, 10}, {1, 8, 8, 8}, {2, 5, 0, 0}, {2, 5, 5, 0}, {1, 7, 8, 8}}, "v1 8 → 7: "},
		{"for two pods where there is one", [][4]int{{2, 3, 0, 0}, {1, 8, 10, 10}, {1, 8, 8, 8}, {2, 5, 0, 0}, {2, 5, 5, 1}, {1, 6, 8, 8}},
			"v1 8 → 6: with 10 wanted, 3 surge, 2 unavailable, old v1 8 (8 available), new v2 5 (1 available) the model allows v1 → 7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, observe := updating(10)
			for i, e := range tt.events {
				err := observe([]string{"", "v1", "v2"}[e[0]], e[1], e[2], e[3])
				if i < len(tt.events)-1 {
					if err != nil {
						t.Fatalf("event %d: %v", i, err)
					}
					continue
				}
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want %s", err, tt.want)
				}
			}
		})
	}
}

// The controller may act on what was true a moment ago, but not on what an own version of
// the ReplicaSet has overtaken.
func TestCheckerAllowsAnOldViewOfOthersButNotOfTheWrittenOne(t *testing.T) {
	_, observe := updating(10)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(observe("v2", 3, 0, 0))
	must(observe("v1", 8, 10, 10))
	must(observe("v1", 8, 8, 8))
	must(observe("v2", 5, 0, 0))
	must(observe("v2", 5, 5, 1))
	must(observe("v2", 5, 5, 2))
	must(observe("v1", 7, 8, 8)) // by the version of v2 with one available pod
	if err := observe("v1", 5, 8, 8); err == nil {
		t.Error("two more went for the one pod that is left")
	}
}

// Two writes to one ReplicaSet in a pass: an unavailable pod, then an available one.
func TestCheckerAcceptsTwoWritesOfOnePass(t *testing.T) {
	c := NewChecker(Spec{Replicas: 10, Unavailable: Int(2), Template: "v2"},
		ReplicaSet{Name: "v1", Created: 1, Replicas: 10, Pods: 10, Available: 9, Desired: 10, Max: 10},
		ReplicaSet{Name: "v2", Created: 2, Desired: 10, Max: 10})
	for _, n := range []int{9, 8} {
		if err := c.Observe(Event{ReplicaSet: ReplicaSet{Name: "v1", Created: 1, Replicas: n, Pods: 10, Available: 9, Desired: 10, Max: 10}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A pass that follows from an old version of the Deployment is legal, until a write proves
// that a newer one was seen.
func TestCheckerForgetsVersionsOfTheDeploymentThatAreProvenOld(t *testing.T) {
	c, observe := updating(10)
	next := c.specs[len(c.specs)-1]
	next.Replicas = 20
	if err := c.SpecChanged(next); err != nil {
		t.Fatal(err)
	}
	if err := observe("v2", 3, 0, 0); err != nil { // for 10
		t.Fatal(err)
	}
	scaled := Event{ReplicaSet: ReplicaSet{Name: "v1", Created: 1, Replicas: 19, Pods: 10, Available: 10, Desired: 20, Max: 25}}
	if err := c.Observe(scaled); err != nil { // for 20: 25 shared as 10 to 3
		t.Fatal(err)
	}
	scaled.Replicas = 8
	if err := c.Observe(scaled); err == nil {
		t.Error("a write for 10 after one for 20")
	}
}

func TestCheckerHoldsRecreateUntilOldPodsAreGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		c := NewChecker(Spec{Replicas: 3, Recreate: true, Template: "v2"},
			ReplicaSet{Name: "v1", Created: 1, Replicas: 3, Pods: 3, Available: 3, Desired: 3, Max: 3})
		c.Running("v1", 3)
		v1 := Event{ReplicaSet: ReplicaSet{Name: "v1", Created: 1, Pods: 3, Available: 3, Desired: 3, Max: 3}}
		if err := c.Observe(v1); err != nil {
			t.Fatal(err)
		}
		v1.Pods, v1.Available = 0, 0
		if err := c.Observe(v1); err != nil {
			t.Fatal(err)
		}
		if gone {
			c.Running("v1", 0)
		}
		err := c.Observe(Event{ReplicaSet: ReplicaSet{Name: "v2", Created: 2, Replicas: 3, Desired: 3, Max: 3}})
		if (err == nil) != gone {
			t.Errorf("old pods gone %t: %v", gone, err)
		}
	}
}

func TestCheckerKeepsABoundedHistory(t *testing.T) {
	c, observe := updating(10)
	for i := range 5 * keepEvents {
		if err := observe("v1", 10, 10, 9+i%2); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.log) > keepEvents {
		t.Errorf("%d events kept", len(c.log))
	}
	if err := observe("v2", 3, 0, 0); err != nil {
		t.Error(err)
	}
	var illegal *IllegalError
	if err := observe("v2", 9, 0, 0); !errors.As(err, &illegal) || !illegal.Cut {
		t.Errorf("error %v, want one that says that history was dropped", err)
	}
	for i := range 2 * keepSpecs {
		s := c.specs[len(c.specs)-1]
		s.Replicas = 5 + i%2
		if err := c.SpecChanged(s); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.specs) > keepSpecs {
		t.Errorf("%d versions of the spec kept", len(c.specs))
	}
	if err := c.SpecChanged(Spec{Replicas: -1}); err == nil {
		t.Error("a negative size is accepted")
	}
}
