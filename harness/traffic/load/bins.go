package load

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
)

// outcome is how a request ended: an answer, or a failure if that has a cause.
type outcome struct {
	answer  recording.Answer
	failure recording.Failure
}

// failureKey tells failures of a bin apart.
type failureKey struct {
	cause           recording.Cause
	version, target string
}

// bin counts the requests that are due in one interval.
type bin struct {
	from, to time.Duration // since the start
	due      int64
	pending  int64 // not ended yet
	closed   bool  // no more will be due
	late     time.Duration
	answers  map[recording.Answer]int64
	failures map[failureKey]*recording.Failure
	latency  []time.Duration
}

// bins emits bins in order, each when it is closed and its requests have ended.
// All but its scheduling methods may be called by any goroutine.
type bins struct {
	width time.Duration
	start time.Time
	emit  func(traffic.Line)

	mu    sync.Mutex
	open  []*bin // without a hole; the first is the next to be emitted
	hist  *hdrhistogram.Histogram
	total traffic.End
}

// newBins emits lines while it holds a lock: emit must not block.
func newBins(width time.Duration, start time.Time, emit func(traffic.Line)) *bins {
	b := &bins{width: width, start: start, emit: emit, hist: hdrhistogram.New(1, time.Hour.Microseconds(), 2)}
	b.open = []*bin{b.newBin(0)}
	return b
}

func (b *bins) newBin(from time.Duration) *bin {
	return &bin{from: from, to: from + b.width, answers: map[recording.Answer]int64{}, failures: map[failureKey]*recording.Failure{}}
}

// due counts a request that is due at an offset from the start and returns its
// bin. Offsets never decrease.
func (b *bins) due(at, late time.Duration) *bin {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.reach(at)
	x.due++
	x.pending++
	x.late = max(x.late, late)
	return x
}

// reach returns the bin of an offset and closes those before it.
func (b *bins) reach(at time.Duration) *bin {
	last := b.open[len(b.open)-1]
	for at >= last.to {
		last.closed = true
		last = b.newBin(last.to)
		b.open = append(b.open, last)
	}
	return last
}

// end counts how a request of a bin ended.
func (b *bins) end(x *bin, o outcome, latency time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.pending--
	if o.failure.Cause == "" {
		x.answers[o.answer]++
		x.latency = append(x.latency, latency)
	} else {
		x.fail(o.failure)
	}
	b.flush()
}

func (x *bin) fail(f recording.Failure) {
	key := failureKey{f.Cause, f.Version, f.Target}
	if x.failures[key] == nil {
		f.N = 0
		x.failures[key] = &f
	}
	x.failures[key].N++
}

// passed tells that everything due before an offset was counted.
func (b *bins) passed(at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reach(at)
	b.flush()
}

// stop closes the last bin at an offset that nothing due comes after.
func (b *bins) stop(at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.reach(at)
	last.to, last.closed = at, true
	if last.to == last.from {
		b.open = b.open[:len(b.open)-1]
	}
	b.flush()
}

// flush emits what can be.
func (b *bins) flush() {
	for len(b.open) > 0 && b.open[0].closed && b.open[0].pending == 0 {
		line := b.line(b.open[0])
		b.open = b.open[1:]
		answered, failed := line.Counts()
		b.total.Bins++
		b.total.Due += line.Due
		b.total.Answered += answered
		b.total.Failed += failed
		b.emit(traffic.Line{Bin: &line})
	}
}

// totals is what was emitted.
func (b *bins) totals() traffic.End {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

func (b *bins) line(x *bin) traffic.Bin {
	out := traffic.Bin{
		Seq: b.total.Bins, FromNS: b.start.Add(x.from).UnixNano(), ToNS: b.start.Add(x.to).UnixNano(), Due: x.due, LateNS: x.late.Nanoseconds(),
		Latency: b.buckets(x.latency),
	}
	for a, n := range x.answers {
		a.N = n
		out.Answers = append(out.Answers, a)
	}
	for _, f := range x.failures {
		out.Failures = append(out.Failures, *f)
	}
	slices.SortFunc(out.Answers, func(a, b recording.Answer) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Pod, b.Pod))
	})
	slices.SortFunc(out.Failures, func(a, b recording.Failure) int {
		return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Target, b.Target))
	})
	return out
}

// buckets counts latencies in microseconds by the buckets of a histogram. What
// is out of its range counts as its end.
func (b *bins) buckets(latencies []time.Duration) []recording.Bucket {
	b.hist.Reset()
	for _, d := range latencies {
		_ = b.hist.RecordValue(min(max(d.Microseconds(), 1), b.hist.HighestTrackableValue())) // in range
	}
	var out []recording.Bucket
	if len(latencies) == 0 {
		return nil
	}
	for _, bar := range b.hist.Distribution() {
		if bar.Count > 0 {
			out = append(out, recording.Bucket{US: bar.From, N: bar.Count})
		}
	}
	return out
}
