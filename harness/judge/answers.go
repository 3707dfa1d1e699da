package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

func sortByTime(ds []Disagreement) {
	slices.SortStableFunc(ds, func(a, b Disagreement) int { return cmp.Compare(a.at.From, b.at.From) })
}

// phase is a time in which what is meant for the version is constant, with the intervals that lie in it.
type phase struct {
	weight   float64
	from, to time.Duration
	bins     []series.Bin
}

// answers looks for when the share answered is not what is meant for longer than
// the limit. Requests that failed are answered by nobody, so here the share is
// that of all requests that were due.
func (w *weights) answers() error {
	s, err := w.set.Get(w.meant())
	if err != nil {
		return err
	}
	phases, err := w.phases(s)
	if err != nil {
		return err
	}
	tests := 0
	for _, p := range phases {
		w.windows += len(p.bins)
		w.due += series.Sum(p.bins).Due
		if 0 < p.weight && p.weight < 100 {
			tests += len(p.bins)
		}
	}
	level := 1 - (1-orDefault(w.Level, DefaultLevel))/float64(max(tests, 1))
	var runs []series.Interval
	for _, p := range phases {
		for _, r := range p.runs(w.Aim, level, w.over()) {
			if n := len(runs); n > 0 && runs[n-1].To == r.From {
				runs[n-1].To = r.To // one change met the next
				continue
			}
			runs = append(runs, r)
		}
	}
	for _, r := range runs {
		w.run(r, phases, level)
	}
	return nil
}

func (w *weights) over() time.Duration {
	if w.Over == 0 {
		return time.Second
	}
	return w.Over
}

// phases cuts the window where what is meant changes. Intervals across a
// change, and those over which the weight is not known, belong to none.
func (w *weights) phases(s *series.Series) ([]phase, error) {
	bins := counted(w.set.WholeBins(w.Client, w.in))
	points, err := cuts(w.set, s, w.Also, w.in)
	if err != nil {
		return nil, err
	}
	var out []phase
	for i, p := range points {
		ph := phase{weight: p.Value.Num, from: max(p.T, w.in.From), to: w.in.To}
		if i+1 < len(points) {
			ph.to = min(ph.to, points[i+1].T)
		}
		if ph.from >= ph.to {
			continue
		}
		for j := range bins {
			span := bins[j].Span()
			sent := span.To + bins[j].Late()
			within := ph.from <= span.From && span.To <= ph.to && (sent <= ph.to || ph.to == w.in.To)
			if within && !unknownWeight(w.set, s, series.Interval{From: span.From, To: sent}, 0) {
				ph.bins = append(ph.bins, bins[j])
			}
		}
		out = append(out, ph)
	}
	return out, nil
}

// runs are the times in which sliding windows do not agree with the weight. One
// begins with the interval that tipped the first window, or with the phase, if
// nothing since agreed; it ends where the longest window that agrees again begins.
func (p phase) runs(aim Aim, level float64, over time.Duration) []series.Interval {
	var out []series.Interval
	open, oldest, sums := false, 0, p.sums(aim)
	for i := range p.bins {
		span := p.bins[i].Span()
		for oldest < i && p.bins[oldest].Span().From < span.To-over {
			oldest++
		}
		agrees := sums.agree(oldest, i+1, p.weight, level)
		switch {
		case !agrees && !open:
			from := span.From
			if oldest == 0 {
				from = p.from
			}
			if n := len(out); n > 0 {
				from = max(from, out[n-1].To)
			}
			out, open = append(out, series.Interval{From: from, To: p.to}), true
		case agrees && open:
			last := &out[len(out)-1]
			last.To, open = max(last.From, p.bins[oldest].Span().From), false
		}
	}
	for i := oldest + 1; open && i < len(p.bins); i++ { // the phase ended: what agrees of it may be less than a window
		if sums.agree(i, len(p.bins), p.weight, level) {
			last := &out[len(out)-1]
			last.To, open = max(last.From, p.bins[i].Span().From), false
		}
	}
	return out
}

// sums are the answers of a version and the requests due before each interval, so
// that any window of them is counted at once.
type sums struct{ answered, due []int64 }

func (p phase) sums(aim Aim) sums {
	s := sums{make([]int64, len(p.bins)+1), make([]int64, len(p.bins)+1)}
	for i := range p.bins {
		s.answered[i+1], s.due[i+1] = s.answered[i], s.due[i]+p.bins[i].Due
		for _, a := range p.bins[i].Answers {
			if a.Version == aim.Version {
				s.answered[i+1] += a.N
			}
		}
	}
	return s
}

// agree says whether the answers of some intervals are not too rare at the weight.
// Of 0 and 100 percent, one too many or too few is.
func (s sums) agree(from, to int, weight, level float64) bool {
	k := s.answered[to] - s.answered[from]
	return likely(k, k, s.due[to]-s.due[from], weight, level)
}

// likely says whether least to most of n are a number that a weight in percent
// gives at a level: whether its binomial interval holds the weight.
func likely(least, most, n int64, weight, level float64) bool {
	rare := (1 - level) / 2
	return series.AtLeast(least, n, weight/100) >= rare && series.AtMost(most, n, weight/100) >= rare
}

// run tells a disagreement's causes. What failed and what was answered by the
// wrong version differ in cause, so the time before the first failure and after
// the last is looked at on its own, where it is longer than the limit.
func (w *weights) run(at series.Interval, phases []phase, level float64) {
	if at.To-at.From <= w.Limits.Answer {
		return
	}
	bins := counted(w.set.WholeBins(w.Client, at))
	from, to := at.From, at.To
	if first, last, some := w.failing(bins); some {
		if first-from > w.Limits.Answer {
			if !w.part(series.Interval{From: from, To: first}, phases, level) {
				w.run(series.Interval{From: first, To: to}, phases, level)
				return
			}
			from = first
		}
		if to-last > w.Limits.Answer {
			w.part(series.Interval{From: from, To: last}, phases, level)
			from = last
		}
	}
	w.part(series.Interval{From: from, To: to}, phases, level)
}

// failing is when requests that may have been for the version failed.
func (w *weights) failing(bins []series.Bin) (first, last time.Duration, some bool) {
	for i := range bins {
		if w.failures(series.Sum(bins[i:i+1])) == 0 {
			continue
		}
		if !some {
			first = bins[i].Span().From
		}
		last, some = bins[i].Span().To, true
	}
	return first, last, some
}

// failures are those that may have been for the version, races too.
func (w *weights) failures(t *series.Tally) int64 {
	return t.FailedWhere(func(k series.FailureKind) bool { return w.mine(k) || w.maybe(k) })
}

// part tells of a part of a disagreement, unless it is none.
func (w *weights) part(at series.Interval, phases []phase, level float64) bool {
	if w.tolerated(at, phases, level) {
		return false
	}
	bins := counted(w.set.WholeBins(w.Client, at))
	t := series.Sum(bins)
	e := aimed{n: t.Due, k: t.Answered(w.Version)}.estimate(orDefault(w.Level, DefaultLevel))
	w.add(DeliveredAnswered, at, w.unanswered(at, bins, phases, level), &e)
	return true
}

// unanswered is the cause of a share that is not what was meant.
func (w *weights) unanswered(at series.Interval, bins []series.Bin, phases []phase, level float64) string {
	if g := w.gap(w.meant(), at); g != nil {
		if g.Resource == recording.Delivered {
			return "answers lag: stream from istiod was down"
		}
		return w.notSeen(at, w.meant())
	}
	t := series.Sum(bins)
	failed := w.failures(t)
	if failed > 0 && w.failed(at, phases, level) {
		return w.failureCause(t)
	}
	before, ok := w.before(at)
	if !ok || !w.fits(bins, before, level) {
		return Unexplained
	}
	return w.lagCause(at)
}

// settled are the requests of a phase inside an interval that no longer follow
// what was meant before it.
func (w *weights) settled(p phase, at series.Interval) *series.Tally {
	var out []series.Bin
	for i := range p.bins {
		if span := p.bins[i].Span(); at.From <= span.From && span.To <= at.To && span.From >= p.from+w.Limits.Answer {
			out = append(out, p.bins[i])
		}
	}
	return series.Sum(out)
}

// tolerated says whether all that disagreed came within the limit of a change: of
// windows that slide, some have it for longer.
func (w *weights) tolerated(at series.Interval, phases []phase, level float64) bool {
	for _, p := range phases {
		t := w.settled(p, at)
		if k := t.Answered(w.Version); !likely(k, k, t.Due, p.weight, level) {
			return false
		}
	}
	return true
}

// failed says whether what failed would make up for what is missing.
func (w *weights) failed(at series.Interval, phases []phase, level float64) bool {
	for _, p := range phases {
		t := w.settled(p, at)
		if k := t.Answered(w.Version); t.Due > 0 && likely(k, k+w.failures(t), t.Due, p.weight, level) {
			return true
		}
	}
	return false
}

// failureWords say what a cause means to a share.
var failureWords = map[recording.Cause]string{
	recording.Overloaded:  "its pods are overloaded",
	recording.Injected:    "its pods were told to fail them",
	recording.NoEndpoint:  "no endpoint",
	recording.Refused:     "connections are refused",
	recording.Reset:       "connections are reset",
	recording.TimedOut:    "no answer in time",
	recording.NoRoute:     "no route",
	recording.ClientLimit: "the client is at its limit",
	recording.Other:       "other errors",
}

// failureCause names what most of them failed of.
func (w *weights) failureCause(t *series.Tally) string {
	mine := series.NewTally()
	for kind, n := range t.Failures {
		if w.mine(kind) || w.maybe(kind) {
			mine.Failures[kind] += n
		}
	}
	most := mine.CausesByNumber()[0]
	if most.Cause == recording.ClientRace {
		return fmt.Sprintf("client race (%d requests)", most.N)
	}
	words, ok := failureWords[most.Cause]
	if !ok {
		words = string(most.Cause)
	}
	return fmt.Sprintf("requests of that share fail: %s (%d requests)", words, most.N)
}

// before is what was meant before the disagreement began.
func (w *weights) before(at series.Interval) (float64, bool) {
	s, err := w.set.Get(w.meant())
	if err != nil {
		return 0, false
	}
	now, ok := s.At(at.From)
	if !ok {
		return 0, false
	}
	p, ok := s.At(now.T - 1)
	return p.Value.Num, ok
}

// fits says whether the answers are those of another weight. The last interval
// may have seen the change, and does not count if there are others.
func (w *weights) fits(bins []series.Bin, weight, level float64) bool {
	t := series.Sum(bins[:max(min(1, len(bins)), len(bins)-1)])
	k := t.Answered(w.Version)
	return t.Due > 0 && likely(k, k+w.failures(t), t.Due, weight, level)
}

// grpc-go gives up on a resource that does not come after 15 s
// (xds/internal/xdsclient, defaultWatchExpiryTimeout, v1.85.0), and until then
// keeps the whole route back: 15.1 s and 15.2 s were measured.
const (
	watchExpiry      = 15 * time.Second
	watchExpirySlack = 1500 * time.Millisecond
)

// lagCause is why answers still followed the weight before.
func (w *weights) lagCause(at series.Interval) string {
	const waits = "answers lag: client waits for a cluster that cannot be resolved (watch expiry 15 s)"
	if took := at.To - at.From; took > watchExpiry-watchExpirySlack && took < watchExpiry+watchExpirySlack {
		return waits
	}
	if w.Resolvable != nil {
		if s, err := w.set.Get(w.Resolvable.Series); err == nil {
			if p, ok := s.At(at.From); ok && !w.Resolvable.Holds(p.Value) {
				return waits
			}
		}
	}
	return Unexplained
}
