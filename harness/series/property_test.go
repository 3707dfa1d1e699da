package series_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

var resources = []string{virtualServices, replicaSets, rollouts}

var propertyDefs = []series.Definition{
	size("weight", virtualServices), size("size", replicaSets), available("available", replicaSets), size("index", rollouts),
	{Name: "load", Derive: &series.Derived{Inputs: []string{"weight", "available"}, Value: func(in []float64) float64 { return in[0] / max(in[1], 1) }}},
}

// writes draws a history of the store: for each resource, its versions in order.
func writes(t *rapid.T) map[string][]recording.Fact {
	out := map[string][]recording.Fact{}
	for i := range rapid.IntRange(1, 30).Draw(t, "writes") {
		resource := rapid.SampledFrom(resources).Draw(t, "resource")
		out[resource] = append(out[resource], object(0, resource, resource[:1], uint64(i+1), rapid.IntRange(0, 3).Draw(t, "size"), rapid.IntRange(0, 3).Draw(t, "available")))
	}
	return out
}

// receive draws an order in which the watches deliver a history: each in its
// own order, one with another as it comes. It returns the end in milliseconds.
func receive(t *rapid.T, history map[string][]recording.Fact) (facts []recording.Fact, endMS int) {
	next := map[string]int{}
	for {
		var open []string
		for _, resource := range slices.Sorted(maps.Keys(history)) {
			if next[resource] < len(history[resource]) {
				open = append(open, resource)
			}
		}
		if len(open) == 0 {
			return facts, endMS + rapid.IntRange(0, 5).Draw(t, "rest")
		}
		resource := rapid.SampledFrom(open).Draw(t, "next")
		endMS += rapid.IntRange(0, 5).Draw(t, "pause")
		f := history[resource][next[resource]]
		f.T = at(endMS)
		facts = append(facts, f)
		next[resource]++
	}
}

func names(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"weight", "size", "available", "index", "load"}), 1, 4).Draw(t, "names")
}

func TestJoinCoversTheWindowExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		facts, end := receive(rt, writes(rt))
		set := read(t, end, propertyDefs, facts...)
		in := series.Interval{From: ms(rapid.IntRange(0, end).Draw(rt, "from"))}
		in.To = in.From + ms(rapid.IntRange(0, end).Draw(rt, "length"))
		asked := names(rt)
		states, err := set.Join(in, asked...)
		if err != nil {
			rt.Fatal(err)
		}
		if len(states) == 0 {
			return
		}
		known := in.From // when the last of the series became known
		for _, name := range asked {
			s, err := set.Get(name)
			if err != nil {
				rt.Fatal(err)
			}
			known = max(known, slices.MinFunc(s.Points, func(a, b series.Point) int { return int(a.T - b.T) }).T)
		}
		var sum time.Duration
		for i, st := range states {
			if st.Until < st.T || st.T < in.From || st.Until > in.To {
				rt.Fatalf("state %d of %s lies outside %v", i, joined(states), in)
			}
			if i > 0 && st.T != states[i-1].Until {
				rt.Fatalf("a hole before state %d of %s", i, joined(states))
			}
			sum += st.Until - st.T
		}
		if states[len(states)-1].Until != in.To {
			rt.Fatalf("%s do not reach to the end of %v", joined(states), in)
		}
		if sum > in.To-in.From || sum != in.To-states[0].T || states[0].T < known {
			rt.Fatalf("%s last %s in %v, known since %s", joined(states), sum, in, known)
		}
		if known == in.From && states[0].T == in.From && sum != in.To-in.From {
			rt.Fatalf("%s last %s of the window's %s", joined(states), sum, in.To-in.From)
		}
	})
}

func TestStoreOrderIsIndependentOfReceipts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		history := writes(rt)
		asked := names(rt)
		var first []string
		for range 2 {
			facts, end := receive(rt, history)
			set := read(t, end, propertyDefs, facts...)
			states, err := set.Join(series.Interval{To: ms(end)}, asked...)
			if err != nil {
				rt.Fatal(err)
			}
			got := []string{}
			for _, st := range states {
				text := ""
				for _, p := range st.Points {
					text += p.Value.String() + " " + p.Ref + "; "
				}
				got = append(got, text)
			}
			// States that ended where the interval begins are dropped, however
			// many there were: what remains is a tail of the same walk.
			if first == nil {
				first = got
			}
			short, long := got, first
			if len(short) > len(long) {
				short, long = long, short
			}
			if !slices.Equal(short, long[len(long)-len(short):]) {
				rt.Fatalf("the same history, received differently:\n%q\n%q", first, got)
			}
		}
	})
}

func TestSeriesNeverRepeatAValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		facts, end := receive(rt, writes(rt))
		set := read(t, end, propertyDefs, facts...)
		for _, name := range set.Names() {
			s, err := set.Get(name)
			if err != nil {
				rt.Fatal(err)
			}
			for i := 1; i < len(s.Points); i++ {
				if s.Points[i].Value == s.Points[i-1].Value || s.Points[i].RV < s.Points[i-1].RV {
					rt.Fatalf("%s: point %d of %s", name, i, list(s.Points))
				}
			}
		}
	})
}
