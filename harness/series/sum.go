package series

import (
	"fmt"
	"sort"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// sum collects how the objects of a SumOfObjects change it. What a change adds
// is kept, not the total: a list delivers objects by name, and the totals can
// only be told in the order of the store.
type sum struct {
	from   *SumOfObjects
	values map[string]float64 // of the objects that exist, by namespace/name
	deltas []delta
	seen   bool
}

type delta struct {
	t     time.Duration
	rv    uint64
	by    float64
	named string
}

func newSum(from *SumOfObjects) *sum { return &sum{from: from, values: map[string]float64{}} }

func (s *sum) add(t time.Duration, o *recording.Object, view *View) {
	if s.from.Namespace != "" && s.from.Namespace != o.Namespace {
		return
	}
	s.seen = true
	value, counts := s.from.Value(view)
	if !counts || o.Change == recording.Deleted {
		value = 0
	}
	key := o.Namespace + "/" + o.Name
	if by := value - s.values[key]; by != 0 {
		s.deltas = append(s.deltas, delta{t, o.RV, by, o.Name})
	}
	if value == 0 {
		delete(s.values, key)
	} else {
		s.values[key] = value
	}
}

// points are the totals, in store order, after the 0 of the beginning.
func (s *sum) points() []Point {
	if !s.seen {
		return nil
	}
	sort.SliceStable(s.deltas, func(i, j int) bool { return s.deltas[i].rv < s.deltas[j].rv })
	out := []Point{{Ref: "no " + s.from.Resource}}
	total := 0.0
	for _, d := range s.deltas {
		total += d.by
		ref := fmt.Sprintf("%s/%s@%d", s.from.Resource, d.named, d.rv)
		if last := &out[len(out)-1]; last.RV == d.rv { // two objects that went at the version of one list
			last.T, last.Value = max(last.T, d.t), Number(total)
			continue
		}
		out = append(out, Point{T: d.t, RV: d.rv, Value: Number(total), Ref: ref})
	}
	return out
}
