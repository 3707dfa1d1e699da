package mesh

import "math"

// EvenFor is for how many readings in a row, a second apart, a fleet must be even to be
// even again. Readings within one age are correlated: a single one says little.
const EvenFor = 5

// A Fleet is a number of connections, each on a replica chosen uniformly.
type Fleet struct {
	Connections int
	Replicas    int // Ready ones
	Lifetime    Lifetime
}

// ReconnectRate is how many connections a second are made in equilibrium; 0 of an endless
// life.
func (f Fleet) ReconnectRate() float64 {
	if f.Lifetime.Endless() || f.Connections <= 0 {
		return 0
	}
	return float64(f.Connections) / f.Lifetime.Mean().Seconds()
}

// Floor is the CoV that uniform choice alone leaves: sqrt((k-1)/N). It is 0 where nothing
// can be uneven: of at most one replica or no connections.
func (f Fleet) Floor() float64 {
	if f.Replicas <= 1 || f.Connections <= 0 {
		return 0
	}
	return math.Sqrt(float64(f.Replicas-1) / float64(f.Connections))
}

// FloorSpread is the standard deviation of one reading at the floor.
func (f Fleet) FloorSpread() float64 {
	if f.Replicas <= 1 {
		return 0
	}
	return f.Floor() / math.Sqrt(2*float64(f.Replicas-1))
}

// EvenBelow is the highest CoV that counts as even: the floor and two standard deviations
// of a reading. A multiple of the floor would be too tight for few replicas.
func (f Fleet) EvenBelow() float64 { return f.Floor() + 2*f.FloorSpread() }

// MaxOverMean is what the fullest replica is expected to have, in means of all, at the
// floor; 1 where nothing can be uneven.
func (f Fleet) MaxOverMean() float64 { return 1 + largestOf(f.Replicas)*f.Floor() }

// MinOverMean is the same of the emptiest replica, at least 0.
func (f Fleet) MinOverMean() float64 { return max(0, 1-largestOf(f.Replicas)*f.Floor()) }

// EffectiveReplicas is how many of k replicas really carry the load at a CoV.
func EffectiveReplicas(k int, cov float64) float64 { return float64(max(k, 0)) / (1 + cov*cov) }

// Unevenness is the CoV and the largest count over the mean of Ready replicas'
// connections. Both are 0 of no replicas and of no connections, which is not balance: ok
// is false.
func Unevenness(counts []int) (cov, maxOverMean float64, ok bool) {
	var n, squares, largest int64
	for _, c := range counts {
		n += int64(c)
		squares += int64(c) * int64(c)
		largest = max(largest, int64(c))
	}
	if n <= 0 {
		return 0, 0, false
	}
	cov, maxOverMean = unevenness(int64(len(counts)), n, squares, largest)
	return cov, maxOverMean, true
}

// unevenness is exact but for the last division: the variance is a difference of integers.
func unevenness(k, n, squares, largest int64) (cov, maxOverMean float64) {
	return math.Sqrt(float64(k*squares-n*n)) / float64(n), float64(k*largest) / float64(n)
}

// largestOf is the expectation of the largest of k standard normals, 0 of at most one:
// the integral of x over the density of the largest, k*phi(x)*Phi(x)^(k-1), by Simpson's
// rule from -9 to 9.
func largestOf(k int) float64 {
	if k <= 1 {
		return 0
	}
	const steps, end = 1800, 9.0
	sum := 0.0
	for i := 0; i <= steps; i++ {
		x := -end + 2*end*float64(i)/steps
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		below := 0.5 * math.Erfc(-x/math.Sqrt2)
		density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		sum += weight * x * float64(k) * density * math.Pow(below, float64(k-1))
	}
	return sum * 2 * end / steps / 3
}
