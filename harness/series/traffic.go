package series

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// FromTraffic reads a state series off what one client of the workload saw: a
// point at the end of each of its intervals. Over is how much of the time before
// that a point speaks of: 0 is the interval alone, Cumulative all since the
// client began, and anything else a window that slides by one interval. A window
// that is not full yet, or has a hole, gives no point.
type FromTraffic struct {
	// Client is the client's name in the recording: "grpc" or "http".
	Client string
	Value  TrafficValue
	Over   time.Duration
	// Punctual leaves out intervals that were not sent when they were due: what a
	// burst of a client that was held up does to its servers is no fault of theirs.
	// A window of which less than half is left gives no point.
	Punctual bool
}

// Cumulative makes a series count from the client's first interval on.
const Cumulative = time.Duration(-1)

// TrafficValue is a number that says something of the requests of several
// intervals. ok is false where they say nothing, such as a share of no requests:
// then the last value stays in force.
type TrafficValue func(*Tally) (value float64, ok bool)

// CountDue is how many requests were due.
func CountDue() TrafficValue {
	return func(t *Tally) (float64, bool) { return float64(t.Due), true }
}

// CountAnswered is how many requests the versions answered, without any: all.
func CountAnswered(versions ...string) TrafficValue {
	return func(t *Tally) (float64, bool) { return float64(t.Answered(versions...)), true }
}

// CountFailed is how many requests failed of the causes, without any: of all
// but recording.ClientRace, which is no fault of what is under test.
func CountFailed(causes ...recording.Cause) TrafficValue {
	return func(t *Tally) (float64, bool) { return float64(t.Failed(causes...)), true }
}

// PerSecond makes a rate of a count.
func PerSecond(count TrafficValue) TrafficValue {
	return func(t *Tally) (float64, bool) {
		n, ok := count(t)
		return n / t.Span.Seconds(), ok && t.Span > 0
	}
}

// PercentFailed is the part of the requests due that failed of the causes, as in
// CountFailed, in percent. It is counted, so its only error is its grain: one
// request is 100/n percent.
func PercentFailed(causes ...recording.Cause) TrafficValue {
	return func(t *Tally) (float64, bool) {
		return 100 * float64(t.Failed(causes...)) / float64(t.Due), t.Due > 0
	}
}

// PercentAnswered is the part of the requests due that a version answered, in
// percent. As an estimate of the share that was meant for it, its error is that
// of LeastAnswered and MostAnswered.
func PercentAnswered(version string) TrafficValue {
	return func(t *Tally) (float64, bool) {
		return 100 * float64(t.Answered(version)) / float64(t.Due), t.Due > 0
	}
}

// LeastAnswered is the lower end of the binomial interval of PercentAnswered at a level.
func LeastAnswered(version string, level float64) TrafficValue {
	return func(t *Tally) (float64, bool) {
		low, _ := ClopperPearson(t.Answered(version), t.Due, level)
		return 100 * low, t.Due > 0
	}
}

// MostAnswered is the upper end of the binomial interval of PercentAnswered at a level.
func MostAnswered(version string, level float64) TrafficValue {
	return func(t *Tally) (float64, bool) {
		_, high := ClopperPearson(t.Answered(version), t.Due, level)
		return 100 * high, t.Due > 0
	}
}

// LatencyMS is a quantile of the answers' latency, from when a request was due to
// when its answer was there, in milliseconds. Its error is the width of a
// histogram's bucket: the true value is the same or up to 1/128 greater. Requests
// that failed have no latency.
func LatencyMS(q float64) TrafficValue {
	return func(t *Tally) (float64, bool) {
		at, ok := t.Latency.Quantile(q)
		return float64(at.US) / 1000, ok
	}
}

// ShareOf defines the share of a version's answers over time, as a chart shows
// it: NAME with the ends of its binomial interval at the level, NAME.low and NAME.high.
func ShareOf(name, client, version string, over time.Duration, level float64) []Definition {
	def := func(suffix, doc string, value TrafficValue) Definition {
		return Definition{Name: name + suffix, Unit: "%", Doc: doc, Traffic: &FromTraffic{Client: client, Value: value, Over: over}}
	}
	what := fmt.Sprintf("share of the requests due that %s answered within %s", version, over)
	at := fmt.Sprintf("binomial interval at %.6g %%, ", 100*level)
	return []Definition{
		def("", what, PercentAnswered(version)),
		def(".low", at+"lower end: "+what, LeastAnswered(version, level)),
		def(".high", at+"upper end: "+what, MostAnswered(version, level)),
	}
}

// Bin is one interval of a client with what became of the requests due in it.
type Bin struct {
	recording.Traffic
	// T is when it was received.
	T time.Duration
}

// Span is the interval itself: from its begin to its end.
func (b *Bin) Span() Interval { return Interval{time.Duration(b.FromNS), time.Duration(b.ToNS)} }

// Late is by how much the latest of its requests was sent after it was due.
func (b *Bin) Late() time.Duration { return time.Duration(b.LateNS) }

// Tardy is how late a request may be sent to count as sent when it was due: half
// of an interval of 100 ms, beyond which it may belong to another one.
const Tardy = 50 * time.Millisecond

// Punctual says whether the i-th of a client's intervals in order was sent when
// it was due, and does not follow on one that was not: a burst fills its servers
// for longer than it lasts.
func Punctual(bins []Bin, i int) bool {
	return bins[i].Late() <= Tardy && (i == 0 || bins[i-1].Late() <= Tardy)
}

// Ref names the interval, as an object version is named elsewhere.
func (b *Bin) Ref() string { return fmt.Sprintf("requests of %s, interval %d", b.Client, b.Seq) }

// Sound says whether all of its requests are accounted for, in an interval that is one.
func (b *Bin) Sound() bool { return b.FromNS < b.ToNS && b.Due >= 0 && b.told() == b.Due }

// told is how many requests are told of; below zero if a number of them is.
func (b *Bin) told() int64 {
	var sum int64
	for _, a := range b.Answers {
		if a.N < 0 {
			return -1
		}
		sum += a.N
	}
	for _, f := range b.Failures {
		if f.N < 0 {
			return -1
		}
		sum += f.N
	}
	return sum
}

// WholeBins are the intervals of a client that lie inside in, in order.
func (s *Set) WholeBins(client string, in Interval) []Bin {
	return s.bins(client, func(b Interval) bool { return in.From <= b.From && b.To <= in.To })
}

// EdgeBins are those of which a part lies inside and a part outside.
func (s *Set) EdgeBins(client string, in Interval) []Bin {
	return s.bins(client, func(b Interval) bool { return b.overlaps(in) && (b.From < in.From || in.To < b.To) })
}

// AnyBins are those of which any part lies inside.
func (s *Set) AnyBins(client string, in Interval) []Bin {
	return s.bins(client, func(b Interval) bool { return b.overlaps(in) })
}

func (i Interval) overlaps(in Interval) bool { return min(i.To, in.To) > max(i.From, in.From) }

func (s *Set) bins(client string, keep func(Interval) bool) []Bin {
	var out []Bin
	for _, b := range s.Traffic[client] {
		if keep(b.Span()) {
			out = append(out, b)
		}
	}
	return out
}

// traffic keeps an interval. They come in the order in which they ended, which
// is not that in which they began: one slow request holds its own up only.
func (b *builder) traffic(t time.Duration, tr *recording.Traffic) {
	if b.set.Traffic == nil {
		b.set.Traffic = map[string][]Bin{}
	}
	b.set.Traffic[tr.Client] = append(b.set.Traffic[tr.Client], Bin{Traffic: *tr, T: t})
}

// finishTraffic puts the intervals in order, finds what is not known of the
// requests, and reads the series.
func (b *builder) finishTraffic() {
	for _, client := range sortedKeys(b.set.Traffic) {
		bins := b.set.Traffic[client]
		slices.SortStableFunc(bins, func(x, y Bin) int { return cmp.Compare(x.Seq, y.Seq) })
		b.set.Gaps = append(b.set.Gaps, unknown(client, bins, b.set.End)...)
	}
	tracks := map[track][]int{}
	for i, d := range b.defs {
		if d.Traffic != nil {
			key := track{d.Traffic.Client, d.Traffic.Over, d.Traffic.Punctual}
			tracks[key] = append(tracks[key], i)
		}
	}
	for key, readers := range tracks {
		b.slide(key, readers)
	}
}

// track is one way of going through the intervals of a client; all series that
// go the same way are read at once.
type track struct {
	client   string
	over     time.Duration
	punctual bool
}

func (b *builder) slide(key track, readers []int) {
	bins := b.set.Traffic[key.client]
	if len(bins) > 0 && key.over == Cumulative {
		b.points(readers, NewTally(), Point{T: bins[0].Span().From, Ref: bins[0].Ref()})
	}
	tally, oldest := NewTally(), 0
	for i := range bins {
		span := bins[i].Span()
		counts := func(i int) bool { return !key.punctual || Punctual(bins, i) }
		if counts(i) {
			tally.Add(&bins[i])
		}
		for ; key.over >= 0 && oldest < i && bins[oldest].Span().From < span.To-key.over; oldest++ {
			if counts(oldest) {
				tally.Remove(&bins[oldest])
			}
		}
		if key.over > 0 && span.To-bins[oldest].Span().From+(span.To-span.From) <= key.over {
			continue // not full: one more would fit
		}
		if key.punctual && 2*tally.Span < span.To-bins[oldest].Span().From {
			continue // too little is left
		}
		b.points(readers, tally, Point{T: span.To, Ref: bins[i].Ref()})
	}
	for _, i := range readers { // a receipt out of order is no time out of order, but a broken client may be
		b.series[i].Points = inTime(b.series[i].Points)
	}
}

func (b *builder) points(readers []int, tally *Tally, at Point) {
	for _, i := range readers {
		if value, ok := b.defs[i].Traffic.Value(tally); ok {
			at.Value = Number(value)
			b.append(i, at)
		}
	}
}

// inTime puts points in the order of their times and merges what is then equal.
func inTime(points []Point) []Point {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.T, b.T) })
	return slices.CompactFunc(points, func(a, b Point) bool { return a.Value == b.Value })
}

// seam is what two intervals that follow each other may be apart: the client's
// clock is brought to that of the recording for each of them anew. Their numbers
// say whether one is missing.
const seam = time.Millisecond

// unknown are the times of which the requests of a client are not known, as gaps
// of its resource: before its first interval and after its last, what is missing
// or overlaps between, and intervals of which the sums do not fit.
func unknown(client string, bins []Bin, end time.Duration) []Gap {
	var out []Gap
	gap := func(from, to time.Duration, reason string, args ...any) {
		out = append(out, Gap{Resource: TrafficResource(client), From: min(from, to), To: max(from, to), Reason: fmt.Sprintf(reason, args...)})
	}
	if first := bins[0].Span(); first.From > 0 {
		gap(0, first.From-1, "its first interval begins then")
	}
	covered := bins[0].Span().To
	for i := range bins {
		b := &bins[i]
		span := b.Span()
		if !b.Sound() {
			gap(span.From, span.To, "interval %d has %d requests due, and tells of %d", b.Seq, b.Due, b.told())
		}
		switch {
		case i == 0:
		case b.Seq == bins[i-1].Seq:
			gap(covered, span.From, "interval %d is there twice", b.Seq)
		case b.Seq != bins[i-1].Seq+1:
			gap(covered, span.From, "intervals %d to %d are missing", bins[i-1].Seq+1, b.Seq-1)
		case max(span.From-covered, covered-span.From) > seam:
			gap(covered, span.From, "interval %d does not follow on interval %d", b.Seq, bins[i-1].Seq)
		}
		covered = max(covered, span.To)
	}
	if covered < end {
		gap(covered+1, end, "interval %d was its last", bins[len(bins)-1].Seq)
	}
	return out
}
