package mesh

import (
	"cmp"
	"math"
	"slices"
)

// A Sample is one number from each of several runs, in order of size. Some runs may have
// none: something that did not happen by the last reading. Those count as later than any.
type Sample struct {
	Values  []float64 // sorted
	Missing int
}

func newSample(values []float64, missing int) Sample {
	slices.Sort(values)
	return Sample{values, missing}
}

// Quantile is the value below which a share p of the runs lies, interpolated. Not ok of
// an empty sample, and where the quantile lies among the runs that have no number.
func (s Sample) Quantile(p float64) (float64, bool) {
	runs := len(s.Values) + s.Missing
	if runs == 0 || p < 0 || p > 1 || math.Ceil(p*float64(runs-1)) > float64(len(s.Values)-1) {
		return 0, false
	}
	return quantile(s.Values, p*float64(runs-1)), true
}

// Rank is the share of the runs whose number is at most x, 0 of an empty sample.
func (s Sample) Rank(x float64) float64 { return s.below(math.Nextafter(x, math.Inf(1))) }

func (s Sample) below(x float64) float64 {
	n, _ := slices.BinarySearch(s.Values, x)
	return float64(n) / float64(max(len(s.Values)+s.Missing, 1))
}

// Holds says whether x lies in the middle share of the runs, such as 0.99 of them; never
// in an empty sample.
func (s Sample) Holds(x, share float64) bool {
	tail := (1 - share) / 2
	return len(s.Values) > 0 && s.Rank(x) >= tail && 1-s.below(x) >= tail
}

// Mean is that of the runs that have a number, 0 of none.
func (s Sample) Mean() float64 { return mean(s.Values) }

// SD is their sample standard deviation, 0 of fewer than two.
func (s Sample) SD() float64 { return deviation(s.Values, mean(s.Values)) }

// quantile is the value at a position between two of a sorted slice.
func quantile[F float32 | float64](sorted []F, position float64) float64 {
	low := int(position)
	value := float64(sorted[low])
	if low+1 < len(sorted) {
		value += (position - float64(low)) * (float64(sorted[low+1]) - value)
	}
	return value
}

func mean[F float32 | float64](values []F) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(max(len(values), 1))
}

func deviation[F float32 | float64](values []F, mean float64) float64 {
	sum := 0.0
	for _, v := range values {
		d := float64(v) - mean
		sum += d * d
	}
	return math.Sqrt(sum / float64(max(len(values)-1, 1)))
}

func sortedCopy[F cmp.Ordered](into, values []F) []F {
	into = append(into[:0], values...)
	slices.Sort(into)
	return into
}
