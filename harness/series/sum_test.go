package series_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

const pods = "pods"

// sumOf sums up spec.replicas of the objects that count: those whose phase is
// not "Done".
func sumOf(name, resource string) series.Definition {
	return series.Definition{Name: name, Sum: &series.SumOfObjects{Resource: resource, Value: func(v *series.View) (float64, bool) {
		return float64(*v.Spec.Replicas), v.Status.Phase != "Done"
	}}}
}

// done makes an object one that does not count.
func done(f recording.Fact) recording.Fact {
	f.Object.Body = json.RawMessage(strings.Replace(string(f.Object.Body), `"status":{`, `"status":{"phase":"Done",`, 1))
	return f
}

func in(f recording.Fact, namespace string) recording.Fact {
	f.Object.Namespace = namespace
	return f
}

func TestSumsHoldTheTotalsInStoreOrder(t *testing.T) {
	t.Parallel()
	one := func(ms int, name string, rv uint64) recording.Fact { return object(ms, pods, name, rv, 1, 0) }
	inNamespace := sumOf("s", pods)
	inNamespace.Sum.Namespace = "n"
	for name, c := range map[string]struct {
		def   series.Definition
		facts []recording.Fact
		want  string
	}{
		"each object counts": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "b", 2), one(3, "c", 3)},
			"0@0 1@1 2@2 3@3",
		},
		"an object counts once, however often it is written": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "a", 2), changed(one(3, "a", 2), recording.Listed), one(4, "b", 3)},
			"0@0 1@1 2@4",
		},
		"an object counts with its value": {
			sumOf("s", pods),
			[]recording.Fact{object(1, pods, "a", 1, 5, 0), object(2, pods, "b", 2, 2, 0), object(3, pods, "a", 3, 1, 0)},
			"0@0 5@1 7@2 3@3",
		},
		"a deleted object counts no more": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "b", 2), changed(one(3, "a", 3), recording.Deleted), changed(one(4, "b", 4), recording.Deleted)},
			"0@0 1@1 2@2 1@3 0@4",
		},
		"an object that comes back counts again": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), changed(one(2, "a", 2), recording.Deleted), changed(one(3, "a", 3), recording.Added)},
			"0@0 1@1 0@2 1@3",
		},
		"an object that was never seen is not taken away": {
			sumOf("s", pods),
			[]recording.Fact{changed(one(1, "a", 1), recording.Deleted), one(2, "b", 2)},
			"0@0 1@2",
		},
		"an object can stop counting, and begin again": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "b", 2), done(one(3, "a", 3)), one(4, "a", 4), done(one(5, "b", 5)), changed(done(one(6, "b", 6)), recording.Deleted)},
			"0@0 1@1 2@2 1@3 2@4 1@5",
		},
		"a list is by name, its totals in the store's order": {
			sumOf("s", pods),
			[]recording.Fact{
				changed(object(1, pods, "a", 9, 1, 0), recording.Listed), changed(object(2, pods, "b", 5, 2, 0), recording.Listed), changed(object(3, pods, "c", 3, 4, 0), recording.Listed),
				object(4, pods, "d", 10, 8, 0),
			},
			"0@0 4@3 6@2 7@1 15@4",
		},
		"two objects that vanish at one list's version are one point": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "b", 2), one(3, "c", 3), changed(one(8, "a", 7), recording.Deleted), changed(one(9, "c", 7), recording.Deleted)},
			"0@0 1@1 2@2 3@3 1@9",
		},
		"one that comes and one that goes at one version leave no point": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), one(2, "b", 7), changed(one(3, "a", 7), recording.Deleted)},
			"0@0 1@1",
		},
		"other namespaces are left out": {
			inNamespace,
			[]recording.Fact{one(1, "a", 1), in(one(2, "b", 2), "m"), changed(in(one(3, "a", 3), "m"), recording.Deleted), one(4, "b", 4)},
			"0@0 1@1 2@4",
		},
		"the same name in two namespaces is two objects": {
			sumOf("s", pods),
			[]recording.Fact{one(1, "a", 1), in(one(2, "a", 2), "m"), changed(one(3, "a", 3), recording.Deleted)},
			"0@0 1@1 2@2 1@3",
		},
		"objects that do not count are a 0 all the same": {
			sumOf("s", pods),
			[]recording.Fact{done(one(1, "a", 1))},
			"0@0",
		},
		"a resource that was never seen has no points": {
			sumOf("s", pods),
			[]recording.Fact{object(1, replicaSets, "a", 1, 1, 0)},
			"",
		},
		"a namespace that was never seen has no points": {
			inNamespace,
			[]recording.Fact{in(one(1, "a", 1), "m")},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pointsOf(t, read(t, 10, []series.Definition{c.def}, c.facts...), "s"); got != c.want {
				t.Errorf("points %s, want %s", got, c.want)
			}
		})
	}
}

func TestSumsNameWhatChangedThem(t *testing.T) {
	t.Parallel()
	gone := func(ms int, name string) recording.Fact {
		return changed(object(ms, pods, name, 7, 1, 0), recording.Deleted)
	}
	set := read(t, 10, []series.Definition{
		sumOf("s", pods), size("size", replicaSets),
		{Name: "twice", Derive: &series.Derived{Inputs: []string{"s"}, Value: func(in []float64) float64 { return 2 * in[0] }}},
		{Name: "both", Derive: &series.Derived{Inputs: []string{"size", "size"}, Value: func(in []float64) float64 { return in[0] + in[1] }}},
	}, object(1, pods, "a", 1, 1, 0), object(2, pods, "b", 2, 1, 0), gone(3, "a"), gone(4, "b"))
	s, err := set.Get("s")
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, p := range s.Points {
		refs = append(refs, p.Ref)
	}
	if want := []string{"no pods", "pods/a@1", "pods/b@2", "pods/a@7"}; !slices.Equal(refs, want) {
		t.Errorf("points by %q, want %q", refs, want)
	}
	if !slices.Equal(s.Resources, []string{pods}) || s.Kind != series.State {
		t.Errorf("resources %v, kind %v", s.Resources, s.Kind)
	}
	for name, want := range map[string]bool{"s": true, "size": false, "twice": true, "both": true} {
		if s, err := set.Get(name); err != nil || s.Composed != want {
			t.Errorf("%s: composed %t, %v", name, s.Composed, err)
		}
	}
}

// TestSumsOfOneVersionChangeTogether: a pod that turns from one kind into the
// other is never both, and never neither.
func TestSumsOfOneVersionChangeTogether(t *testing.T) {
	t.Parallel()
	other := sumOf("other", pods)
	other.Sum.Value = func(v *series.View) (float64, bool) { return 1, v.Status.Phase == "Done" }
	a := object(1, pods, "a", 1, 1, 0)
	set := read(t, 10, []series.Definition{sumOf("s", pods), other}, a, done(object(5, pods, "a", 2, 1, 0)))
	states, err := set.Join(series.Interval{To: ms(10)}, "s", "other")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := joined(states), "0/0[0-1] 1/0[1-5] 0/1[5-10]"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
}

// TestSumsRecount: whatever objects come, change and go, however the watches race
// each other and what a new list lost, the totals are those of a count of all
// objects, and no joint state is one that was not in the store at a version.
func TestSumsRecount(t *testing.T) {
	t.Parallel()
	defs := []series.Definition{sumOf(pods, pods), sumOf(replicaSets, replicaSets)}
	rapid.Check(t, func(rt *rapid.T) {
		s := store{sizes: map[string]float64{}}
		for range rapid.IntRange(1, 30).Draw(rt, "writes") {
			s.write(rt)
		}
		from := rapid.IntRange(0, len(s.writes)).Draw(rt, "lost from")
		to := rapid.IntRange(from, len(s.writes)).Draw(rt, "lost to")
		facts, middle := receive(rt, byResource(s.writes[:from]))
		for _, f := range relist(s.writes, from, to) {
			f.T = at(middle)
			facts = append(facts, f)
		}
		later, end := receive(rt, byResource(s.writes[to:]))
		for _, f := range later {
			f.T += at(middle)
			facts = append(facts, f)
		}
		end += middle
		set := read(t, end, defs, facts...)
		for i, name := range []string{pods, replicaSets} {
			got, err := set.Get(name)
			if err != nil {
				rt.Fatal(err)
			}
			final := 0.0
			if n := len(got.Points); n > 0 {
				final = got.Points[n-1].Value.Num
			}
			if want := s.totals[len(s.writes)-1][i]; final != want {
				rt.Fatalf("%s end as %g, a recount gives %g: %s", name, final, want, list(got.Points))
			}
		}
		states, err := set.Join(series.Interval{To: ms(end)}, pods, replicaSets)
		if err != nil {
			rt.Fatal(err)
		}
		for _, st := range states {
			if st.RV == 0 || int(st.RV) > from && int(st.RV) < to {
				continue // the beginning, or lost
			}
			if got, want := [2]float64{st.Points[0].Value.Num, st.Points[1].Value.Num}, s.totals[st.RV-1]; got != want {
				rt.Fatalf("at version %d the totals are %v, a recount gives %v", st.RV, got, want)
			}
		}
	})
}

// store is a naive one of pods and ReplicaSets.
type store struct {
	sizes  map[string]float64 // of what exists and counts
	writes []recording.Fact   // the first has version 1
	totals [][2]float64       // of pods and ReplicaSets, after each write
}

func key(f recording.Fact) string {
	return f.Object.Resource + "/" + f.Object.Namespace + "/" + f.Object.Name
}

// write draws a write: an object is made, changed, done with or deleted.
func (s *store) write(t *rapid.T) {
	size := rapid.IntRange(0, 3).Draw(t, "size")
	f := object(0, rapid.SampledFrom([]string{pods, replicaSets}).Draw(t, "resource"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), uint64(len(s.writes)+1), size, 0)
	f = in(f, rapid.SampledFrom([]string{"n", "m"}).Draw(t, "namespace"))
	delete(s.sizes, key(f))
	switch rapid.SampledFrom([]string{"write", "write", "done", "delete"}).Draw(t, "kind") {
	case "write":
		s.sizes[key(f)] = float64(size)
	case "done":
		f = done(f)
	case "delete":
		f = changed(f, recording.Deleted)
	}
	var totals [2]float64
	for k, size := range s.sizes {
		if strings.HasPrefix(k, pods) {
			totals[0] += size
		} else {
			totals[1] += size
		}
	}
	s.writes, s.totals = append(s.writes, f), append(s.totals, totals)
}

// relist is what a recorder writes that saw the first writes and lists the
// objects at a later version: what there is, by name, and what has gone, at the
// version of the list.
func relist(writes []recording.Fact, from, to int) []recording.Fact {
	exist := func(n int) map[string]recording.Fact {
		out := map[string]recording.Fact{}
		for _, f := range writes[:n] {
			if out[key(f)] = f; f.Object.Change == recording.Deleted {
				delete(out, key(f))
			}
		}
		return out
	}
	copied := func(f recording.Fact, c recording.Change) recording.Fact {
		o := *f.Object
		f.Object, o.Change = &o, c
		return f
	}
	now := exist(to)
	var out, gone []recording.Fact
	for _, k := range slices.Sorted(maps.Keys(now)) {
		out = append(out, copied(now[k], recording.Listed))
	}
	known := exist(from)
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if _, ok := now[k]; !ok {
			f := copied(known[k], recording.Deleted)
			f.Object.RV = uint64(to)
			gone = append(gone, f)
		}
	}
	return append(out, gone...)
}

func byResource(writes []recording.Fact) map[string][]recording.Fact {
	out := map[string][]recording.Fact{}
	for _, f := range writes {
		out[f.Object.Resource] = append(out[f.Object.Resource], f)
	}
	return out
}

func TestSumsAreBoundedByChanges(t *testing.T) {
	t.Parallel()
	var facts []recording.Fact
	for i := range 5000 {
		facts = append(facts, object(i, pods, fmt.Sprint("pod-", i%10), uint64(i+1), 1, i))
	}
	if got, want := pointsOf(t, read(t, 5000, []series.Definition{sumOf("s", pods)}, facts...), "s"), "0@0 1@0 2@1 3@2 4@3 5@4 6@5 7@6 8@7 9@8 10@9"; got != want {
		t.Errorf("points %s, want %s", got, want)
	}
}
