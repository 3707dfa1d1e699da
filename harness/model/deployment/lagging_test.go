package deployment

import (
	"math/rand/v2"
	"testing"
)

// playLagging is one update from a complete v1, or a rollover in its middle, by a
// controller that sees old prefixes, with pods that are never lost.
func playLagging(seed uint64, rollover string) (spec Spec, least, most int) {
	w := &lagging{rand: rand.New(rand.NewPCG(seed, 3))}
	n := w.between(1, 10)
	spec = Spec{Replicas: n, Surge: Percent(25), Unavailable: Percent(25), Template: "v2"}
	w.setSpec(spec)
	w.store(ReplicaSet{Name: "v1", Created: 1, Replicas: n, Pods: n, Available: n, Desired: n, Max: spec.Most()})
	w.seen = 1
	least = n
	for i := range 400 {
		switch {
		case w.between(0, 9) < 6:
			w.grow()
		case len(w.pending) > 0:
			w.writeOne()
		default:
			w.startPass()
		}
		if i == 100 && rollover != "" {
			spec.Template = rollover
			w.setSpec(spec)
		}
		available, total := 0, 0
		for _, r := range w.sets {
			available, total = available+r.Available, total+r.Replicas
		}
		least, most = min(least, available), max(most, total)
	}
	return spec, least, most
}

// grow is pod without losses.
func (w *lagging) grow() {
	r := w.sets[w.between(0, len(w.sets)-1)]
	switch {
	case r.Pods > r.Replicas:
		r.Pods--
		r.Available = min(r.Available, r.Pods)
	case r.Pods < r.Replicas:
		r.Pods++
	case r.Available < r.Pods:
		r.Available++
	default:
		return
	}
	w.store(r)
}

// With one old ReplicaSet, however old the controller's view, the fenceposts hold: a write
// needs the newest version of its own ReplicaSet, and an old version of the other one only
// makes it careful.
func TestOneUpdateKeepsTheFencepostsWhateverTheLag(t *testing.T) {
	for seed := range uint64(3000) {
		if s, least, most := playLagging(seed, ""); least < s.Least() || most > s.Most() {
			t.Fatalf("seed %d: %d and %d, fenceposts %d and %d", seed, least, most, s.Least(), s.Most())
		}
	}
}

// With a third version they are no invariants: a pass that misses its own last write to
// v2 creates or grows v3 too much. A claim on a rollover must allow for it.
func TestARolloverCanExceedTheFencepostsWithLag(t *testing.T) {
	above, below := 0, 0
	for seed := range uint64(6000) {
		s, least, most := playLagging(seed, []string{"v1", "v3"}[seed%2])
		if most > s.Most() {
			above++
		}
		if least < s.Least() {
			below++
		}
	}
	if above == 0 || below == 0 {
		t.Errorf("%d times above, %d below; both were seen", above, below)
	}
	t.Logf("of 6000 rollovers with lag, %d were above and %d below a fencepost", above, below)
}

// Without lag they are, from any state that keeps them.
func TestEveryRolloverStaysBetweenTheFencepostsWithoutLag(t *testing.T) {
	for replicas := range 7 {
		for _, f := range [][2]IntOrPercent{{Percent(25), Percent(25)}, {Int(1), Int(1)}, {Int(2), Int(0)}, {Int(0), Int(2)}} {
			s := Spec{Replicas: replicas, Surge: f[0], Unavailable: f[1], Template: "v3"}
			for first := range replicas + 1 {
				for second := range s.Most() - first + 1 {
					exploreRollover(t, s, first, second)
				}
			}
		}
	}
}

func exploreRollover(t *testing.T, s Spec, first, second int) {
	t.Helper()
	for available := range second + 1 {
		if first+available < s.Least() {
			continue
		}
		e := Explore(s, Chaos{},
			ReplicaSet{Name: "v1", Created: 1, Replicas: first, Pods: first, Available: first},
			ReplicaSet{Name: "v2", Created: 2, Replicas: second, Pods: second, Available: available})
		if !e.Enumerated || e.LeastAvailable < s.Least() || e.MostTotal > s.Most() || len(e.Ends) != 1 {
			t.Fatalf("%d of v1, %d of %d of v2: %+v", first, available, second, e)
		}
	}
}
