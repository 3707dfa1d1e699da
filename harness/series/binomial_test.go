package series_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/series"
)

// added adds up binomial probabilities of from to to one by one, from the
// smallest on.
func added(from, to, n int64, p float64) float64 {
	sum := 0.0
	for k := from; k <= to; k++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		sum += math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return sum
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9+1e-8*want }

func TestTailsAreSumsOfProbabilities(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 3000).Draw(rt, "n")
		k := rapid.Int64Range(0, n).Draw(rt, "k")
		p := rapid.Float64Range(0.0001, 0.9999).Draw(rt, "p")
		if got, want := series.AtMost(k, n, p), added(0, k, n, p); !near(got, want) {
			rt.Errorf("%d or fewer of %d at %g: %g, want %g", k, n, p, got, want)
		}
		if got, want := series.AtLeast(k, n, p), added(k, n, n, p); !near(got, want) {
			rt.Errorf("%d or more of %d at %g: %g, want %g", k, n, p, got, want)
		}
	})
}

func TestIntervalEndsWhereItGetsRare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 2000).Draw(rt, "n")
		k := rapid.Int64Range(0, n).Draw(rt, "k")
		level := rapid.SampledFrom([]float64{0.9, 0.95, 0.999, 0.999999}).Draw(rt, "level")
		low, high := series.ClopperPearson(k, n, level)
		if share := float64(k) / float64(n); low > share || share > high {
			rt.Fatalf("%d of %d is not inside %g to %g", k, n, low, high)
		}
		rare := (1 - level) / 2
		if k > 0 && !near(added(k, n, n, low)/rare, 1) || k == 0 && low != 0 {
			rt.Errorf("%d or more of %d at the lower end %g: %g, want %g", k, n, low, added(k, n, n, low), rare)
		}
		if k < n && !near(added(0, k, n, high)/rare, 1) || k == n && high != 1 {
			rt.Errorf("%d or fewer of %d at the upper end %g: %g, want %g", k, n, high, added(0, k, n, high), rare)
		}
	})
}

// TestIntervalCoversTheTrueShare adds up exactly what is outside: the sum over
// all k whose interval has not the true share is below 1 - level.
func TestIntervalCoversTheTrueShare(t *testing.T) {
	t.Parallel()
	for _, level := range []float64{0.9, 0.99} {
		for _, n := range []int64{1, 7, 60, 300} {
			low, high := make([]float64, n+1), make([]float64, n+1)
			for k := range n + 1 {
				low[k], high[k] = series.ClopperPearson(k, n, level)
			}
			for _, p := range []float64{0.001, 0.05, 0.2, 0.5, 0.77, 0.99} {
				outside := 0.0
				for k := range n + 1 {
					if p < low[k] || high[k] < p {
						outside += added(k, k, n, p)
					}
				}
				if outside > 1-level {
					t.Errorf("%d requests at %g: %g of the intervals at %g miss the true share", n, p, outside, level)
				}
			}
		}
	}
}

// TestKnownIntervals: n = 10, k = 3 is a standard example, the rest are closed
// forms: of none of n, the upper end is 1 - rare^(1/n).
func TestKnownIntervals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, n      int64
		level     float64
		low, high float64
	}{
		{0, 0, 0.95, 0, 1},
		{3, 10, 0.95, 0.0667395, 0.6524529},
		{0, 1000, 0.999, 0, 1 - math.Pow(0.0005, 1.0/1000)},
		{1000, 1000, 0.999, math.Pow(0.0005, 1.0/1000), 1},
		{2_000_000, 10_000_000, 0.999, 0.1995840, 0.2004164},
	} {
		low, high := series.ClopperPearson(c.k, c.n, c.level)
		if math.Abs(low-c.low) > 5e-7 || math.Abs(high-c.high) > 5e-7 {
			t.Errorf("%d of %d at %g: %.7f to %.7f, want %.7f to %.7f", c.k, c.n, c.level, low, high, c.low, c.high)
		}
	}
}
