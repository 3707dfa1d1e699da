package series

import (
	"math"

	"reckon.dev/reckon/harness/recording"
)

// Histogram merges the latencies of intervals by adding up their buckets, which
// loses nothing: all have the same ones, those of recording.BucketOf.
type Histogram struct {
	counts []int64 // by recording.BucketIndex
	n      int64
}

// Add counts n latencies of a bucket, which any of its values names; below 0 takes away.
func (h *Histogram) Add(us, n int64) {
	i := recording.BucketIndex(us)
	if missing := i + 1 - len(h.counts); missing > 0 {
		h.counts = append(h.counts, make([]int64, missing)...)
	}
	h.counts[i] += n
	h.n += n
}

// N is how many latencies are counted.
func (h *Histogram) N() int64 { return h.n }

// Buckets are those that hold any, in order, as a recording has them.
func (h *Histogram) Buckets() []recording.Bucket {
	var out []recording.Bucket
	for i, n := range h.counts {
		if n != 0 {
			low, _ := recording.BucketAt(i)
			out = append(out, recording.Bucket{US: low, N: n})
		}
	}
	return out
}

// Quantile is a value of which all is known that a histogram knows: it is US or
// greater, and less than US + Width. Both are microseconds.
type Quantile struct{ US, Width int64 }

// Quantile is the smallest latency that at least the part q of all, 0 to 1, does
// not pass; 1 is the greatest. ok is false where nothing was counted.
func (h *Histogram) Quantile(q float64) (Quantile, bool) {
	if h.n <= 0 {
		return Quantile{}, false
	}
	rank := min(h.n, max(1, int64(math.Ceil(q*float64(h.n)))))
	var sum int64
	for i, n := range h.counts {
		if sum += n; sum >= rank {
			low, width := recording.BucketAt(i)
			return Quantile{low, width}, true
		}
	}
	return Quantile{}, false // counts below zero, of a client that tells so
}
