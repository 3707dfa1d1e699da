package series

import "math"

// ClopperPearson is the exact binomial interval of a share of which k of n were
// seen, at a level such as 0.999: the shares, 0 to 1, for which neither so few
// nor so many would be rarer than (1-level)/2. Of none it is 0 to 1.
// Clopper and Pearson, Biometrika 26 (1934), 404-413.
func ClopperPearson(k, n int64, level float64) (low, high float64) {
	low, high = 0, 1
	if n <= 0 {
		return low, high
	}
	rare := (1 - level) / 2
	if k > 0 {
		low = bisect(func(p float64) bool { return AtLeast(k, n, p) >= rare })
	}
	if k < n {
		high = bisect(func(p float64) bool { return AtMost(k, n, p) < rare })
	}
	return low, high
}

// bisect finds where a condition on 0 to 1 becomes true.
func bisect(reached func(float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 { // more would be below what a float64 tells apart
		if mid := (low + high) / 2; reached(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return (low + high) / 2
}

// AtLeast is the probability of k or more of n at a share p.
func AtLeast(k, n int64, p float64) float64 {
	switch {
	case k <= 0 || p >= 1 && k <= n:
		return 1
	case k > n || p <= 0:
		return 0
	}
	return betaInc(float64(k), float64(n-k+1), p)
}

// AtMost is the probability of k or fewer of n at a share p.
func AtMost(k, n int64, p float64) float64 {
	switch {
	case k >= n || p <= 0 && k >= 0:
		return 1
	case k < 0 || p >= 1:
		return 0
	}
	return betaInc(float64(n-k), float64(k+1), 1-p)
}

// betaInc is the regularised incomplete beta function I_x(a, b), of which the
// tails of the binomial distribution are values: Abramowitz and Stegun, 26.5.24.
// The factor before the continued fraction is made of logarithms, so that n may
// be millions.
func betaInc(a, b, x float64) float64 {
	// 26.5.8 converges fast below the mean, and by symmetry above it.
	if x > (a+1)/(a+b+2) {
		return 1 - betaInc(b, a, 1-x)
	}
	return math.Exp(a*math.Log(x)+b*math.Log1p(-x)-logBeta(a, b)) * betaFraction(a, b, x) / a
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}

// betaFraction is the continued fraction of 26.5.8 by the method of Lentz.
func betaFraction(a, b, x float64) float64 {
	const tiny, exact = 1e-300, 1e-15
	c, d := 1.0, 1-(a+b)*x/(a+1)
	d = 1 / away(d, tiny)
	f := d
	most := 1000 + int(10*math.Sqrt(a+b)) // it takes about the root of the greater one
	for i := 1; i <= most; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d, tiny)
		c = away(1+even/c, tiny)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d, tiny)
		c = away(1+odd/c, tiny)
		step := c * d
		if f *= step; math.Abs(step-1) < exact {
			break
		}
	}
	return f
}

// away keeps a divisor away from zero.
func away(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}
