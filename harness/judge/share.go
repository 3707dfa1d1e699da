package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Share: requests are answered in proportion to the weight that was delivered.
// For each stretch in which the weight is constant, the weight lies within the
// exact binomial interval of the share that was meant for the version. A weight
// of 0 or 100 tolerates nothing.
type Share struct {
	Aim
	// Weight is the series of the weight delivered for the version, in percent. What
	// its gaps make uncertain is left out.
	Weight string
	// Also are series that say what the targets of the route lead to. Where one of
	// them changes, a stretch ends too: it may take as long to arrive.
	Also []string
	// Propagation is left out at the begin of each stretch: how long answers may
	// follow the weight before. PropagationBasis says where the number is from.
	Propagation      time.Duration
	PropagationBasis string
	// Level is that of all stretches together (Bonferroni), DefaultLevel if 0.
	Level float64
	// Tell is the departure, in percentage points, that the requests of all
	// stretches together must be enough to tell; DefaultTell if 0.
	Tell   float64
	Window series.Window
}

// DefaultTell is fine enough to tell any two steps of a usual canary apart.
const DefaultTell = 5

func (c Share) Series() []string { return append([]string{c.Weight}, c.Also...) }

func (c Share) Predicted() string {
	return fmt.Sprintf("%s in proportion to %s, at %s", c.Version, c.Weight, percent(100*c.level()))
}

func (c Share) level() float64 { return orDefault(c.Level, DefaultLevel) }

func orDefault(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// stretch is a time of constant weight with the requests that were counted in it.
type stretch struct {
	point    series.Point
	from, to time.Duration
	aimed
	// leftOut were due while the weight was not known.
	leftOut int64
	// level is that of this stretch alone.
	level float64
	// stray is the first interval with a request that a weight of 0 or 100 rules out.
	stray *series.Bin
}

func (c Share) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Weight, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	if _, less := requests(set, c.Client, c.Window); less != nil {
		return *less, nil
	}
	all, err := c.stretches(set, s, in)
	if err != nil {
		return Finding{}, err
	}
	if len(all) == 0 {
		return inconclusive(0, "no sample of %s inside the window", c.Weight), nil
	}
	f := c.finding(all)
	if f.Status == Broken {
		return f, nil // seen is seen: no gap can undo it
	}
	if need := c.needed(all); int64(f.Samples) < need {
		f.Status, f.Why = Inconclusive, fmt.Sprintf("%d requests in all stretches together are too few: to tell a share that is off by %.6g points takes %d", f.Samples, c.tell(), need)
		return f, nil
	}
	return untold(set, c.Client, in, f), nil
}

// stretches cuts the window where the weight changes and counts the requests of
// each part.
func (c Share) stretches(set *series.Set, s *series.Series, in series.Interval) ([]stretch, error) {
	var out []stretch
	points, err := cuts(set, s, c.Also, in)
	if err != nil {
		return nil, err
	}
	bins := counted(set.WholeBins(c.Client, in))
	for i, p := range points {
		until := time.Duration(math.MaxInt64)
		if i+1 < len(points) {
			until = points[i+1].T
		}
		st := stretch{point: p, from: max(in.From, p.T), to: min(in.To, until)}
		if st.from < st.to {
			c.count(set, s, bins, &st, until)
			out = append(out, st)
		}
	}
	return levelled(out, c.level()), nil
}

// cuts are where the weight changes, and where one of the other series does at
// the same weight.
func cuts(set *series.Set, weight *series.Series, also []string, in series.Interval) ([]series.Point, error) {
	until := series.Interval{To: max(in.To, set.End)}
	points := weight.Changes(until)
	out := slices.Clone(points)
	for _, name := range also {
		s, err := set.Get(name)
		if err != nil {
			return nil, err
		}
		for _, p := range s.Changes(until) {
			if now, ok := weight.At(p.T); ok {
				out = append(out, series.Point{T: p.T, Value: now.Value, Ref: p.Ref})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b series.Point) int { return cmp.Compare(a.T, b.T) })
	return slices.CompactFunc(out, func(a, b series.Point) bool { return a.T == b.T }), nil
}

// count takes the intervals that lie in the stretch as a whole: their requests
// were due after the change had time to arrive, and sent before the next one.
func (c Share) count(set *series.Set, s *series.Series, bins []series.Bin, st *stretch, until time.Duration) {
	tally := series.NewTally()
	for i := range bins {
		b := &bins[i]
		span := b.Span()
		sent := span.To + b.Late()
		if span.From < max(st.from, st.point.T+c.Propagation) || span.To > st.to || sent > until {
			continue
		}
		if unknownWeight(set, s, series.Interval{From: span.From, To: sent}, c.Propagation) {
			st.leftOut += b.Due
			continue
		}
		tally.Add(b)
		if st.stray == nil && c.strays(b, st.point.Value.Num) {
			st.stray = b
		}
	}
	st.aimed = c.Aim.count(tally)
}

func (c Share) strays(b *series.Bin, weight float64) bool {
	one := c.Aim.count(series.Sum([]series.Bin{*b}))
	return weight == 0 && one.k > 0 || weight == 100 && one.k+one.unknown < one.n
}

// unknownWeight says whether a gap leaves open which weight was in force: while
// it lasted, and until what it may have kept back had time to arrive. The stream
// whose gaps are known is not the one that the requests follow: that tries again
// after a time that grew with the outage, to as long as that at most
// (internal/backoff/backoff.go, v1.85.0: times 1.6, of which 20 % are random).
func unknownWeight(set *series.Set, s *series.Series, in series.Interval, propagation time.Duration) bool {
	for _, g := range set.GapsOf(s.Resources, series.Interval{To: in.To}) {
		if in.From <= g.To+(g.To-g.From)+propagation {
			return true
		}
	}
	return false
}

// levelled gives each stretch its level, so that all together have the level
// asked for. Weights of 0 and 100 cannot break by chance and cost nothing.
func levelled(all []stretch, level float64) []stretch {
	tests := 0
	for _, st := range all {
		if w := st.point.Value.Num; st.n > 0 && 0 < w && w < 100 {
			tests++
		}
	}
	for i := range all {
		all[i].level = 1 - (1-level)/float64(max(tests, 1))
	}
	return all
}

func (st stretch) holds() bool {
	low, high := st.interval(st.level)
	share := st.point.Value.Num / 100
	return low <= share && share <= high
}

func (c Share) finding(all []stretch) Finding {
	f := Finding{Status: Held, Detail: c.table(all)}
	var shares []string
	var races, leftOut int64
	off, judged := 0, 0
	for _, st := range all {
		races, leftOut = races+st.races, leftOut+st.leftOut
		if st.n == 0 {
			continue
		}
		judged++
		f.Samples += int(st.n)
		e := st.estimate(st.level)
		shares = append(shares, fmt.Sprintf("%s: %s", percent(st.point.Value.Num), e))
		if st.holds() {
			continue
		}
		if off++; off == 1 {
			f.Status, f.Why = Broken, c.why(st, e)
			f = f.at(series.Point{T: st.from, Ref: st.point.Ref})
			if st.stray != nil {
				f.At, f.Objects = nil, nil
				f = f.at(series.Point{T: st.stray.Span().From, Ref: st.stray.Ref()})
			}
		}
	}
	f.Observed = strings.Join(shares, "; ")
	if judged > mostShares {
		f.Observed = fmt.Sprintf("in proportion in %d of %d stretches, %d requests", judged-off, judged, f.Samples)
	}
	if judged == 0 {
		f.Observed = "-"
	}
	f.Observed += apart(races, "client races") + apart(leftOut, "requests left out while the weight was not known")
	return f
}

func (c Share) why(st stretch, e Estimate) string {
	switch st.point.Value.Num {
	case 0:
		return fmt.Sprintf("%d of %d requests were for %s at a weight of 0 %%, which tolerates none", st.k, st.n, c.Version)
	case 100:
		return fmt.Sprintf("%d of %d requests were not for %s at a weight of 100 %%, which tolerates none", st.n-st.k-st.unknown, st.n, c.Version)
	}
	return fmt.Sprintf("at a weight of %s, %d of %d requests were for %s, %s (%s)", percent(st.point.Value.Num), e.K, e.N, c.Version, percent(e.Percent), e.between())
}

// mostShares is up to how many stretches are told one by one in a line; the
// table has them all.
const mostShares = 3

func apart(n int64, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %d)", what, n)
}

// title says what was left out, and why.
func (c Share) title() string {
	text := fmt.Sprintf("share of %s for each stretch of a constant weight, with binomial intervals at %s over all", c.Version, percent(100*c.level()))
	if c.Propagation > 0 {
		text += fmt.Sprintf("; %s after each change are left out", seconds(c.Propagation))
	}
	if c.PropagationBasis != "" {
		text += " (" + c.PropagationBasis + ")"
	}
	return text
}

func (c Share) table(all []stretch) *Table {
	t := &Table{
		Title: c.title(),
		Head:  []string{"from", "for", "weight", "requests", "for " + c.Version, "target unknown", "client races", "share", "interval", "result"},
	}
	for _, st := range all {
		e, result := st.estimate(st.level), "in proportion"
		share, interval := percent(e.Percent), e.between()
		switch {
		case st.n == 0:
			share, interval, result = "-", "-", "no requests counted"
		case !st.holds():
			result = "not in proportion"
		}
		t.Rows = append(t.Rows, []string{seconds(st.from), seconds(st.to - st.from), percent(st.point.Value.Num), fmt.Sprint(st.n),
			fmt.Sprint(st.k), fmt.Sprint(st.unknown), fmt.Sprint(st.races), share, interval, result})
	}
	return t
}

func (c Share) tell() float64 { return orDefault(c.Tell, DefaultTell) }

// needed is how many requests all stretches together must have: what the weight
// takes that is the hardest to tell.
func (c Share) needed(all []stretch) int64 {
	need, known := int64(1), map[string]bool{}
	for _, st := range all {
		if key := strconv.FormatFloat(st.point.Value.Num, 'g', -1, 64); !known[key] {
			known[key] = true
			need = max(need, RequestsToTell(st.point.Value.Num, c.tell(), st.level))
		}
	}
	return need
}

// RequestsToTell is how many requests it takes until the binomial interval of a
// share that is just the weight reaches no further than some points from it, all
// in percent.
func RequestsToTell(weight, points, level float64) int64 {
	p, d := weight/100, points/100
	if !(d > 0) {
		return math.MaxInt64
	}
	enough := func(n int64) bool {
		low, high := series.ClopperPearson(int64(math.Round(p*float64(n))), n, level)
		return p-low <= d && high-p <= d
	}
	high := int64(1)
	for ; !enough(high); high *= 2 {
		if high > 1<<40 {
			return math.MaxInt64
		}
	}
	low := high / 2
	for low+1 < high {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
