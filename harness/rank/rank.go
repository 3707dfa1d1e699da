// Package rank tells whether two small samples differ, by the ranks of their
// values alone: no distribution is assumed, and every probability is exact. It is
// pure.
//
// Five repetitions of a drill are no more than five numbers, and the times of a
// machine are anything but normal; that is why.
package rank

import (
	"math"
	"math/big"
	"slices"
)

// Alpha is the level of a test that a reader expects: of twenty comparisons of
// what is the same, one is wrong.
const Alpha = 0.05

// Shift is by how much the second of two samples lies above the first.
type Shift struct {
	// N and M are the sizes of the samples.
	N int `json:"n"`
	M int `json:"m"`
	// Median is Hodges and Lehmann's estimate: the median of all differences of a
	// value of the second sample and one of the first (Annals of Mathematical
	// Statistics 34, 1963, p. 598).
	Median float64 `json:"median"`
	// Low and High bound it, from Mann and Whitney's exact distribution. They mean
	// something only if Bounded: small samples bound nothing.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Bounded bool    `json:"bounded"`
	// P is the exact probability of ranks as uneven as these where nothing
	// differs, of both sides (Annals of Mathematical Statistics 18, 1947, p. 50).
	P float64 `json:"p"`
}

// Between compares two samples. The interval has a confidence of 1-alpha at least.
// An empty sample gives a P of 1.
//
// Equal values of both samples count against a difference: their ranks are taken
// so that the samples look as even as they can.
func Between(a, b []float64, alpha float64) Shift {
	s := Shift{N: len(a), M: len(b), P: 1}
	if s.N == 0 || s.M == 0 {
		return s
	}
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	s.Median = middle(differences)
	below := tail(s.N, s.M)
	s.P = min(1, 2*below[fewest(differences)])
	// The c lowest and the c highest differences are outside, as long as so few are
	// no more likely than alpha.
	c := 0
	for c < len(differences)/2 && 2*below[c] <= alpha {
		c++
	}
	if c > 0 {
		s.Low, s.High, s.Bounded = differences[c-1], differences[len(differences)-c], true
	}
	return s
}

// fewest is Mann and Whitney's U: of how many pairs the value of one sample is above
// that of the other, whichever sample has fewer of them; pairs that are equal go to
// that one, until both have as many.
func fewest(differences []float64) int {
	above, below := 0, 0
	for _, d := range differences {
		switch {
		case d > 0:
			above++
		case d < 0:
			below++
		}
	}
	equal := len(differences) - above - below
	return min(min(above, below)+equal, len(differences)/2)
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// tail is the probability that U is u or less where nothing differs, for each u.
// How often each U comes about are the coefficients of a Gaussian binomial, the
// product of (1-q^(n+i))/(1-q^i) for i from 1 to m.
func tail(n, m int) []float64 {
	size := n*m + 1
	counts := make([]big.Int, size)
	counts[0].SetInt64(1)
	for i := 1; i <= m; i++ {
		for u := size - 1; u >= n+i; u-- {
			counts[u].Sub(&counts[u], &counts[u-n-i])
		}
		for u := i; u < size; u++ {
			counts[u].Add(&counts[u], &counts[u-i])
		}
	}
	var all, sum big.Int
	all.Binomial(int64(n+m), int64(m))
	out := make([]float64, size)
	for u := range counts {
		sum.Add(&sum, &counts[u])
		out[u], _ = new(big.Rat).SetFrac(&sum, &all).Float64()
	}
	return out
}

// Least is the smallest P that samples of these sizes can give: that of samples of
// which one lies above the other altogether. Every test of whether a thing was seen
// in all of one sample and in none of the other has it too (Fisher's exact test).
func Least(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	var ways big.Int
	ways.Binomial(int64(n+m), int64(n))
	p, _ := new(big.Rat).SetFrac(big.NewInt(2), &ways).Float64()
	return min(1, p)
}

// Enough is how many values each of two samples needs at least, for a difference to
// show at the level: 4 at 0.05. A level of 0 or less has no answer, which is 0.
func Enough(alpha float64) int {
	if !(alpha > 0) {
		return 0
	}
	for n := 1; ; n++ {
		if Least(n, n) <= alpha {
			return n
		}
	}
}

// Found says which of several tests found a difference, so that of what is found
// alpha is wrong at most, and so that where nothing differs nothing is found, with a
// confidence of 1-alpha (Benjamini and Hochberg, Journal of the Royal Statistical
// Society B 57, 1995, p. 289).
func Found(ps []float64, alpha float64) []bool {
	out := make([]bool, len(ps))
	limit := threshold(ps, alpha)
	for i, p := range ps {
		out[i] = p <= limit
	}
	return out
}

// threshold is the greatest P that is no more than alpha times its rank by all
// ranks, below 0 if there is none.
func threshold(ps []float64, alpha float64) float64 {
	sorted := slices.Sorted(slices.Values(ps))
	for i := len(sorted) - 1; i >= 0; i-- {
		if sorted[i] <= alpha*float64(i+1)/float64(len(sorted)) {
			return sorted[i]
		}
	}
	return math.Inf(-1)
}

// Fisher is the exact probability of shares as uneven as k of n and l of m where
// nothing differs, of both sides: that of all tables with these sums which are no
// likelier (Fisher, Journal of the Royal Statistical Society 98, 1935, p. 39).
func Fisher(k, n, l, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	var all big.Int
	all.Binomial(int64(n+m), int64(k+l))
	ways := func(x int) *big.Int {
		var a, b big.Int
		return a.Binomial(int64(n), int64(x)).Mul(&a, b.Binomial(int64(m), int64(k+l-x)))
	}
	seen := ways(k)
	var sum big.Int
	for x := max(0, k+l-m); x <= min(n, k+l); x++ {
		if w := ways(x); w.Cmp(seen) <= 0 {
			sum.Add(&sum, w)
		}
	}
	p, _ := new(big.Rat).SetFrac(&sum, &all).Float64()
	return p
}

// EnoughFor is how many of each side would tell two shares apart that were seen as k
// of n and l of m, should they stay as they are; 0 if that many are not to be had.
func EnoughFor(k, n, l, m int, alpha float64) int {
	if n == 0 || m == 0 {
		return 0
	}
	const most = 500
	for size := max(n, m); size <= most; size++ {
		scaled := func(part, of int) int { return (2*part*size + of) / (2 * of) }
		if Fisher(scaled(k, n), size, scaled(l, m), size) <= alpha {
			return size
		}
	}
	return 0
}
