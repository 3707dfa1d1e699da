package series

import "math"

// Student is by how many standard errors an estimate with so many degrees of freedom
// is off at most, in the part level of all cases, such as 0.95: the two-sided quantile
// of Student's t distribution. It is infinite without a degree of freedom.
// Abramowitz and Stegun, 26.7.1.
func Student(level float64, freedom int) float64 {
	if freedom < 1 {
		return math.Inf(1)
	}
	n := float64(freedom)
	// The part beyond t on both sides is I_x(n/2, 1/2) with x = n/(n+t²).
	x := bisect(func(x float64) bool { return betaInc(n/2, 0.5, x) >= 1-level })
	return math.Sqrt(n * (1 - x) / x)
}
