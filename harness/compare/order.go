package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/rank"
)

// race is how close two transitions are whose order says nothing: two programs that
// react to the same change are as close, and either may be first.
const race = 150 * time.Millisecond

// order finds transitions that all runs have and that changed places: before another
// in all of A, after it in all of B.
func (h *sides) order() {
	o := h.turns()
	left := map[int]map[int]bool{}
	for p := range o.turned {
		for _, i := range []int{p[0], p[1]} {
			if left[i] == nil {
				left[i] = map[int]bool{}
			}
		}
		left[p[0]][p[1]], left[p[1]][p[0]] = true, true
	}
	for {
		counts := map[int]int{}
		for i, others := range left {
			if len(others) > 0 {
				counts[i] = len(others)
			}
		}
		if len(counts) == 0 {
			break
		}
		i := byNumber(counts)[0]
		h.moved(o, i, left[i])
		for j := range left[i] {
			delete(left[j], i)
		}
		delete(left, i)
	}
	if len(o.turned) == 0 && o.uneven > 0 { // it was asked all the same
		h.add(Difference{Kind: Order, p: 1})
	}
}

// turns are the pairs of transitions that changed places.
type turns struct {
	all    []transition
	turned map[[2]int]bool
	// uneven counts the pairs whose order is not the same in all runs.
	uneven int
}

func (h *sides) turns() turns {
	o := turns{all: h.common(), turned: map[[2]int]bool{}}
	for j := range o.all {
		for i := range j {
			a, b := orderIn(h.a, o.all[i], o.all[j]), orderIn(h.b, o.all[i], o.all[j])
			if a.sign*b.sign < 0 && (a.apart >= race || b.apart >= race) {
				o.turned[[2]int{i, j}] = true
			}
			if (a.sign == 0 || a.sign != b.sign) && max(a.farthest, b.farthest) >= race {
				o.uneven++
			}
		}
	}
	return o
}

// common are the transitions that every run has, in the order of the first run. Those
// that were there when the window began have no place in it.
func (h *sides) common() []transition {
	var out []transition
	for tr, m := range h.a[0].at {
		if m.begin || slices.Contains(h.a[0].computed, tr.series) || slices.ContainsFunc(h.both(), func(t trajectory) bool { m, ok := t.at[tr]; return !ok || m.begin || slices.Contains(t.cut, tr.series) }) {
			continue
		}
		out = append(out, tr)
	}
	slices.SortFunc(out, func(x, y transition) int {
		return cmp.Or(cmp.Compare(h.a[0].at[x].t, h.a[0].at[y].t), cmp.Compare(x.series, y.series), cmp.Compare(x.value, y.value), cmp.Compare(x.nth, y.nth))
	})
	return out
}

// ordered is the order of two transitions over all runs of a side.
type ordered struct {
	// sign is -1 where the first comes first in all runs, 1 where the second does, 0
	// where that is not the same in all.
	sign int
	// apart is how far apart they are at least, farthest how far at most.
	apart, farthest time.Duration
}

func orderIn(ts []trajectory, x, y transition) ordered {
	var out ordered
	for i, t := range ts {
		sign, apart := between(t.at[x], t.at[y])
		if i == 0 {
			out = ordered{sign, apart, apart}
			continue
		}
		if sign != out.sign {
			out.sign = 0
		}
		out.apart, out.farthest = min(out.apart, apart), max(out.farthest, apart)
	}
	return out
}

// between is the order of two moments: the store's where both have a place in it,
// else that of receipt, unless they are as close as a race.
func between(x, y moment) (sign int, apart time.Duration) {
	apart = max(x.t-y.t, y.t-x.t)
	switch {
	case x.rv > 0 && y.rv > 0:
		return cmp.Compare(x.rv, y.rv), apart
	case apart < race:
		return 0, apart
	}
	return cmp.Compare(x.t, y.t), apart
}

// moved tells of a transition that changed places with others.
func (h *sides) moved(o turns, i int, others map[int]bool) {
	var before, after []string // of it in A; in B the other way round
	about := []string{o.all[i].series}
	for j := range o.all {
		if !others[j] {
			continue
		}
		if orderIn(h.a, o.all[i], o.all[j]).sign < 0 {
			after = append(after, o.all[j].String())
		} else {
			before = append(before, o.all[j].String())
		}
		if !slices.Contains(about, o.all[j].series) {
			about = append(about, o.all[j].series)
		}
	}
	d := Difference{Kind: Order, Of: o.all[i].String(), about: about, parted: true}
	d.A.Observed, d.B.Observed = neighbours(before, after), neighbours(after, before)
	d.p = min(1, float64(max(o.uneven, 1))*rank.Least(len(h.a), len(h.b)))
	h.placeAny(&d)
	h.add(d)
}

// neighbours says what a transition comes after and before.
func neighbours(after, before []string) string {
	var out []string
	for _, side := range []struct {
		word  string
		names []string
	}{{"after ", after}, {"before ", before}} {
		const most = 3
		switch n := len(side.names); {
		case n > most:
			out = append(out, side.word+strings.Join(side.names[:most], ", ")+fmt.Sprintf(" and %d more", n-most))
		case n > 0:
			out = append(out, side.word+strings.Join(side.names, ", "))
		}
	}
	return strings.Join(out, "; ")
}

// placeAny settles an order of which the models have said of one pair at least that
// it differs. Of the script's steps they say nothing.
func (h *sides) placeAny(d *Difference) {
	if len(d.about) == 1 {
		h.place(d)
		return
	}
	for _, other := range d.about[1:] {
		if other == ofStep || d.about[0] == ofStep {
			continue
		}
		of := Difference{about: []string{d.about[0], other}}
		if h.place(&of); of.Basis != "" {
			d.Basis, d.Known = of.Basis, of.Known
			return
		}
	}
}
