package autoscaler

import "slices"

// Nexts are all sizes other than the present one that one sync can choose, whatever
// part of at most so many pods runs and has a reading when it looks.
func (a Autoscaler) Nexts(most int) []int {
	if a.Current >= a.Bounds.Max { // and it never falls
		return nil
	}
	var out []int
	for running := 1; running <= most; running++ {
		for _, pending := range []int{0, most - running} {
			for _, next := range a.syncs(running, pending) {
				if next.Current != a.Current && !slices.Contains(out, next.Current) {
					out = append(out, next.Current)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// syncs are the outcomes of one sync that finds these pods, any part of those that
// run being without a reading yet. Below the target one that is missing keeps the
// size as it is, so that only the sync that finds all readings is of interest.
func (a Autoscaler) syncs(running, pending int) []Autoscaler {
	parts := running
	if a.Usage.Each <= a.Usage.Target {
		parts = min(1, running)
	}
	var out []Autoscaler
	for missing := range parts {
		out = append(out, a.Sync(Pods{Measured: running - missing, Missing: missing, Pending: pending}))
	}
	return out
}

// Reaches says whether one sync that finds these pods can choose a size, and what
// the autoscaler then is: of several, the one that remembers the most.
func (a Autoscaler) Reaches(size, running, pending int) (reached Autoscaler, ok bool) {
	for _, next := range a.syncs(running, pending) {
		if next.Current == size && (!ok || next.highest > reached.highest) {
			reached, ok = next, true
		}
	}
	return reached, ok
}

// Most says how many pods a target of that size can have while it is updated.
type Most func(replicas int) int

// An Envelope is what can become of the size while an update is under way.
type Envelope struct {
	// Sizes are those that can be reached, lowest first; only the first is certain.
	Sizes []int
	// Unique: from each size there is one next size at most, so their order is known.
	Unique bool
}

// Constant says whether the size cannot change.
func (e Envelope) Constant() bool { return len(e.Sizes) == 1 }

// Greatest is the greatest size that can be reached.
func (e Envelope) Greatest() int { return e.Sizes[len(e.Sizes)-1] }

// Explore follows all syncs that an update can be seen by. Sizes only grow, for the
// highest proposal is remembered for longer than any drill takes.
func (a Autoscaler) Explore(most Most) Envelope {
	out := Envelope{Sizes: []int{a.Current}, Unique: true}
	for i := 0; i < len(out.Sizes); i++ {
		nexts := a.At(out.Sizes[i]).Nexts(most(out.Sizes[i]))
		out.Unique = out.Unique && len(nexts) <= 1
		for _, n := range nexts {
			if !slices.Contains(out.Sizes, n) {
				out.Sizes = append(out.Sizes, n)
			}
		}
		slices.Sort(out.Sizes[i+1:])
	}
	return out
}

// At is the autoscaler after it has come to a size.
func (a Autoscaler) At(size int) Autoscaler {
	a.Current, a.highest = size, max(a.highest, size)
	return a
}

// Climb is the size after so many syncs of an update whose new pods all run and
// are not ready yet: each time, the whole surge is there.
func (a Autoscaler) Climb(most Most, syncs int) int {
	for range syncs {
		a = a.Sync(Pods{Measured: most(a.Current)})
	}
	return a.Current
}
