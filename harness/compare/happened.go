package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
)

// happened lays the trajectories of both sides beside each other.
func (c *comparing) happened() {
	h := sides{comparing: c, a: trajectories(c.a), b: trajectories(c.b)}
	for _, name := range h.names() {
		h.values(name)
		h.extreme(name, "highest", func(t trajectory) (float64, bool) { v, ok := t.highest[name]; return v, ok })
		h.extreme(name, "lowest", func(t trajectory) (float64, bool) { v, ok := t.lowest[name]; return v, ok })
	}
	h.order()
	h.steps()
}

// sides are the trajectories of the runs of both sides.
type sides struct {
	*comparing
	a, b []trajectory
}

func trajectories(runs []Run) []trajectory {
	out := make([]trajectory, len(runs))
	for i, r := range runs {
		out[i] = trajectoryOf(r)
	}
	return out
}

func (h *sides) both() []trajectory { return slices.Concat(h.a, h.b) }

// names are the series that every run tells of. One that a gap may hide something of
// is told as varying: what was not seen may have been the same.
func (h *sides) names() []string {
	var out []string
	for _, name := range h.a[0].names {
		if slices.ContainsFunc(h.both(), func(t trajectory) bool { return !slices.Contains(t.names, name) }) {
			continue
		}
		if slices.ContainsFunc(h.both(), func(t trajectory) bool { return slices.Contains(t.cut, name) }) {
			h.Varies = append(h.Varies, Varied{Side: h.cutSide(name), Kind: Transition, Of: name, What: "its watch was cut: not compared"})
			continue
		}
		out = append(out, name)
	}
	return out
}

func (h *sides) cutSide(name string) string {
	if slices.ContainsFunc(h.a, func(t trajectory) bool { return slices.Contains(t.cut, name) }) {
		return "A"
	}
	return "B"
}

// seen counts in how many runs of each side something happened.
type seen struct{ a, b int }

// parted says whether it happened in all runs of one side and none of the other.
func (s seen) parted(a, b int) bool { return s.a == a && s.b == 0 || s.a == 0 && s.b == b }

// values compares the values that a series takes.
func (h *sides) values(name string) {
	counts := map[transition]seen{}
	for _, t := range h.a {
		for _, tr := range t.of(name) {
			s := counts[tr]
			s.a++
			counts[tr] = s
		}
	}
	for _, t := range h.b {
		for _, tr := range t.of(name) {
			s := counts[tr]
			s.b++
			counts[tr] = s
		}
	}
	parted, uneven := map[transition]bool{}, 0
	for tr, s := range counts {
		if s.a+s.b < len(h.a)+len(h.b) {
			uneven++
		}
		if s.parted(len(h.a), len(h.b)) {
			parted[tr] = true
		}
	}
	if uneven == 0 {
		return
	}
	h.varying(name)
	d := Difference{Kind: Transition, Of: name, about: []string{name}, parted: len(parted) > 0, p: 1}
	a, b := course(h.a, name), course(h.b, name)
	matter := about(parted, a, b, name)
	d.A.Observed, d.B.Observed = abridged(a, name, matter), abridged(b, name, matter)
	if d.parted {
		d.p = min(1, float64(uneven)*rank.Least(len(h.a), len(h.b)))
	}
	h.place(&d)
	h.add(d)
}

// of yields the transitions of a series.
func (t trajectory) of(name string) []transition { return numbered(t.values[name], name) }

// varying tells of a series whose values are not the same in all runs of a side.
func (h *sides) varying(name string) {
	all := func(ts []trajectory) []string {
		out := make([]string, len(ts))
		for i, t := range ts {
			out[i] = strings.Join(t.values[name], arrow)
		}
		return out
	}
	for _, side := range []struct {
		name  string
		texts []string
	}{{"A", all(h.a)}, {"B", all(h.b)}} {
		if !same(side.texts) {
			h.Varies = append(h.Varies, Varied{Side: side.name, Kind: Transition, Of: name,
				What: fmt.Sprintf("%d courses in %d runs", len(slices.Compact(slices.Sorted(slices.Values(side.texts)))), len(side.texts))})
		}
	}
}

const arrow = " → "

// course is what a series did in most runs of a side.
func course(ts []trajectory, name string) []string {
	best, most := ts[0].values[name], 0
	for _, t := range ts {
		n := 0
		for _, other := range ts {
			if slices.Equal(t.values[name], other.values[name]) {
				n++
			}
		}
		if n > most {
			most, best = n, t.values[name]
		}
	}
	return best
}

// numbered are the transitions of a course.
func numbered(values []string, name string) []transition {
	out, times := make([]transition, len(values)), map[string]int{}
	for i, v := range values {
		times[v]++
		out[i] = transition{name, v, times[v]}
	}
	return out
}

// about are the transitions that part the sides, and those right before and after
// them: between these something is missing on the other side.
func about(parted map[transition]bool, a, b []string, name string) map[transition]bool {
	out := map[transition]bool{}
	for _, values := range [][]string{a, b} {
		all := numbered(values, name)
		for i := range all {
			if parted[all[i]] {
				for _, near := range all[max(0, i-1):min(i+2, len(all))] {
					out[near] = true
				}
			}
		}
	}
	return out
}

// whole is up to how many values a course is printed in full.
const whole = 10

// abridged prints a course, and of a long one its ends and what matters.
func abridged(values []string, name string, matter map[transition]bool) string {
	if len(values) == 0 {
		return "(nothing)"
	}
	var out []string
	for i, tr := range numbered(values, name) {
		switch {
		case i == 0 || i == len(values)-1 || len(values) <= whole || matter[tr]:
			out = append(out, tr.value)
		case out[len(out)-1] != "…":
			out = append(out, "…")
		}
	}
	return strings.Join(out, arrow)
}

// extreme compares the highest or lowest value of a series.
func (h *sides) extreme(name, which string, of func(trajectory) (float64, bool)) {
	collect := func(ts []trajectory) []float64 {
		var out []float64
		for _, t := range ts {
			if v, ok := of(t); ok {
				out = append(out, v)
			}
		}
		return out
	}
	a, b := collect(h.a), collect(h.b)
	if len(a) == 0 || len(b) == 0 || slices.Min(a) == slices.Max(a) && slices.Equal(slices.Compact(slices.Sorted(slices.Values(b))), a[:1]) {
		return
	}
	d := Difference{Kind: Extreme, Of: which + " " + name, A: Saw{Observed: spread(a, "")}, B: Saw{Observed: spread(b, "")}, about: []string{name}, p: 1}
	h.place(&d)
	h.numbers(d, a, b, "")
}

// steps compares how long the script's steps took.
func (h *sides) steps() {
	var names []string
	for _, s := range h.comparing.a[0].Set.Steps {
		if _, ok := h.a[0].steps[s.Name]; ok && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		collect := func(ts []trajectory) []float64 {
			var out []float64
			for _, t := range ts {
				if v, ok := t.steps[name]; ok {
					out = append(out, v)
				}
			}
			return out
		}
		a, b := collect(h.a), collect(h.b)
		h.numbers(Difference{Kind: Duration, Of: "step " + name, A: Saw{Observed: spread(a, seconds)}, B: Saw{Observed: spread(b, seconds)}, p: 1}, a, b, seconds)
	}
}

// place settles what happened in a place of which the models have said already that
// it differs: it is known if each side held its own there.
func (c *comparing) place(d *Difference) {
	var settled, unknown bool
	for _, of := range c.Differences {
		if of.Basis != OnModel || of.Kind != Claim && of.Kind != Guard || !c.covers(of.about, d.about) {
			continue
		}
		settled = true
		unknown = unknown || !of.Known
	}
	if settled {
		d.Basis, d.Known = OnModel, !unknown && c.heldAbout(d.about)
	}
}

// covers says whether a claim or guard is about just what happened: about the one
// series, or about both of those whose order it is.
func (c *comparing) covers(about, happened []string) bool {
	if len(happened) == 1 {
		return !slices.ContainsFunc(about, func(name string) bool { return name != happened[0] }) && len(about) > 0
	}
	return !slices.ContainsFunc(happened, func(name string) bool { return !slices.Contains(about, name) })
}

// heldAbout says whether every claim that is about the series held in every run.
func (c *comparing) heldAbout(names []string) bool {
	for _, r := range slices.Concat(c.a, c.b) {
		for i, claim := range r.Prediction.Claims {
			if i < len(r.Verdict.Claims) && c.covers(judge.Subjects(claim.Check), names) && r.Verdict.Claims[i].Status != judge.Held {
				return false
			}
		}
	}
	return true
}

// byNumber sorts what was counted, most first, and then by name.
func byNumber(counts map[int]int) []int {
	out := make([]int, 0, len(counts))
	for i := range counts {
		out = append(out, i)
	}
	slices.SortFunc(out, func(i, j int) int { return cmp.Or(cmp.Compare(counts[j], counts[i]), cmp.Compare(i, j)) })
	return out
}
