package series

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// Tally is what became of the requests of several intervals together.
type Tally struct {
	// Bins is the number of intervals, Span their length.
	Bins int
	Span time.Duration
	Due  int64
	// Versions and Pods count answers.
	Versions map[string]int64
	Pods     map[Pod]int64
	Failures map[FailureKind]int64
	Latency  Histogram
}

// Pod is a pod that answered.
type Pod struct{ Name, Version string }

// FailureKind is what failures are told apart by. Version is that of the pod
// which refused, and Target what the client had chosen, where that is known.
type FailureKind struct {
	Cause           recording.Cause
	Version, Target string
}

// NewTally is a tally of nothing.
func NewTally() *Tally {
	return &Tally{Versions: map[string]int64{}, Pods: map[Pod]int64{}, Failures: map[FailureKind]int64{}}
}

// Sum is the tally of intervals.
func Sum(bins []Bin) *Tally {
	t := NewTally()
	for i := range bins {
		t.Add(&bins[i])
	}
	return t
}

// Add counts one interval more.
func (t *Tally) Add(b *Bin) { t.count(b, 1) }

// Remove takes back one that was added.
func (t *Tally) Remove(b *Bin) { t.count(b, -1) }

func (t *Tally) count(b *Bin, times int64) {
	span := b.Span()
	t.Bins += int(times)
	t.Span += time.Duration(times) * (span.To - span.From)
	t.Due += times * b.Due
	for _, a := range b.Answers {
		put(t.Versions, a.Version, times*a.N)
		put(t.Pods, Pod{a.Pod, a.Version}, times*a.N)
	}
	for _, f := range b.Failures {
		put(t.Failures, FailureKind{f.Cause, f.Version, f.Target}, times*f.N)
	}
	for _, l := range b.Latency {
		t.Latency.Add(l.US, times*l.N)
	}
}

// put leaves no zero behind, so that a tally that slid has what one that was
// made anew has.
func put[K comparable](counts map[K]int64, key K, n int64) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// Answered is how many requests the versions answered, without any: all.
func (t *Tally) Answered(versions ...string) int64 {
	var sum int64
	for version, n := range t.Versions {
		if len(versions) == 0 || slices.Contains(versions, version) {
			sum += n
		}
	}
	return sum
}

// Failed is how many requests failed of the causes, without any: of all but
// recording.ClientRace.
func (t *Tally) Failed(causes ...recording.Cause) int64 {
	return t.FailedWhere(func(f FailureKind) bool {
		if len(causes) == 0 {
			return f.Cause != recording.ClientRace
		}
		return slices.Contains(causes, f.Cause)
	})
}

// FailedWhere is how many requests failed in a way that counts.
func (t *Tally) FailedWhere(counts func(FailureKind) bool) int64 {
	var sum int64
	for kind, n := range t.Failures {
		if counts(kind) {
			sum += n
		}
	}
	return sum
}

// CauseCount is a cause with the number of requests that failed of it.
type CauseCount struct {
	Cause recording.Cause `json:"cause"`
	N     int64           `json:"n"`
}

// CausesByNumber counts failures by cause, the most frequent first.
func (t *Tally) CausesByNumber() []CauseCount {
	counts := map[recording.Cause]int64{}
	for kind, n := range t.Failures {
		counts[kind.Cause] += n
	}
	var out []CauseCount
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, CauseCount{cause, counts[cause]})
	}
	slices.SortStableFunc(out, func(a, b CauseCount) int { return cmp.Compare(b.N, a.N) })
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
