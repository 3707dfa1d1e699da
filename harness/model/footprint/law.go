package footprint

import (
	"errors"
	"fmt"
	"math"

	"reckon.dev/reckon/harness/series"
)

// Load is what a replica's memory is for.
type Load struct {
	// Connections of proxies to the replica.
	Connections int `json:"connections"`
	// Endpoints of all services in the mesh.
	Endpoints int `json:"endpoints"`
	// Visible is how many of them are in the configuration of each proxy: all, or those
	// that its Sidecar resource lets in.
	Visible int `json:"visible"`
}

// terms is how many terms a law has.
const terms = 4

// row is what the coefficients of a law are multiplied with.
func (l Load) row(exponent float64) [terms]float64 {
	n := float64(l.Connections)
	return [terms]float64{1, float64(l.Endpoints), n, n * math.Pow(float64(l.Visible), exponent)}
}

// Proportional is the exponent of a law that grows with the visible endpoints as they do.
const Proportional = 1

// Exponents are those that a law may have.
func Exponents() []float64 { return []float64{Proportional, 0.75, 0.5} }

// Places of the terms.
const (
	Base = iota
	PerEndpoint
	PerConnection
	PerPair
)

// TermNames are what the terms are called, in their order.
func TermNames() [terms]string {
	return [terms]string{"istiod alone", "per endpoint", "per connection", "per connection and visible endpoint (to the exponent)"}
}

// Observation is a measured number of bytes, more than 0.
type Observation struct {
	Load
	Bytes float64
}

// Law is a fitted law. Its errors are relative: the greater a value, the greater they are.
type Law struct {
	// Exponent of the visible endpoints in the last term.
	Exponent float64
	// Coefficients of the terms, in bytes.
	Coefficients [terms]float64
	// Scatter is the relative standard deviation of a measurement from the law.
	Scatter float64
	// Freedom is how many measurements there were beyond those that the coefficients take.
	Freedom int
	// spread is the inverse of the normal equations' matrix: times the square of
	// Scatter, the covariance of the coefficients.
	spread [terms][terms]float64
}

// ErrTooFew is returned for measurements that do not decide over a law.
var ErrTooFew = errors.New("the measurements do not tell the terms of the law apart")

// Fit fits a law of the exponent with the least scatter, which takes a measurement as a
// term does.
func Fit(all []Observation) (Law, error) {
	var best Law
	for _, exponent := range Exponents() {
		l, err := fit(all, exponent, len(all)-terms-1)
		if err != nil {
			return Law{}, err
		}
		if best.Freedom == 0 || l.Scatter < best.Scatter {
			best = l
		}
	}
	return best, nil
}

// FitProportional fits a law that grows with the visible endpoints as they do.
func FitProportional(all []Observation) (Law, error) { return fit(all, Proportional, len(all)-terms) }

// fit fits a law by least squares of the relative errors: each equation is divided by
// its measured value (Draper and Smith, Applied Regression Analysis, 3rd edition, 9.2).
func fit(all []Observation, exponent float64, freedom int) (Law, error) {
	if freedom < 1 {
		return Law{}, fmt.Errorf("%d measurements for %d terms: %w", len(all), terms, ErrTooFew)
	}
	var normal [terms][terms]float64
	var right [terms]float64
	for _, o := range all {
		if !(o.Bytes > 0) || math.IsInf(o.Bytes, 0) {
			return Law{}, fmt.Errorf("a measurement of %g bytes, expected more than 0", o.Bytes)
		}
		row := o.row(exponent)
		for i := range terms {
			right[i] += row[i] / o.Bytes
			for j := range terms {
				normal[i][j] += row[i] * row[j] / (o.Bytes * o.Bytes)
			}
		}
	}
	l := Law{Exponent: exponent, Freedom: freedom}
	var ok bool
	if l.spread, ok = inverse(normal); !ok {
		return Law{}, ErrTooFew
	}
	for i := range terms {
		for j := range terms {
			l.Coefficients[i] += l.spread[i][j] * right[j]
		}
	}
	squares := 0.0
	for _, o := range all {
		squares += math.Pow(l.At(o.Load)/o.Bytes-1, 2)
	}
	l.Scatter = math.Sqrt(squares / float64(freedom))
	return l, nil
}

// Interval is a value with the bounds that it lies between at some level.
type Interval struct{ Value, Low, High float64 }

// Contains says whether a value lies inside, bounds included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Term is a coefficient in bytes, with its confidence interval at a level such as 0.95.
func (l Law) Term(term int, level float64) Interval {
	off := series.Student(level, l.Freedom) * l.Scatter * math.Sqrt(l.spread[term][term])
	v := l.Coefficients[term]
	return Interval{v, v - off, v + off}
}

// At is the law's value, in bytes.
func (l Law) At(load Load) float64 {
	row, sum := load.row(l.Exponent), 0.0
	for i, c := range l.Coefficients {
		sum += c * row[i]
	}
	return sum
}

// Predict is what one more measurement will be, in the part level of all cases, in bytes:
// the law's own uncertainty and a measurement's scatter together. It is never below 0.
func (l Law) Predict(load Load, level float64) Interval {
	row, v := load.row(l.Exponent), l.At(load)
	variance := v * v
	for i := range terms {
		for j := range terms {
			variance += row[i] * l.spread[i][j] * row[j]
		}
	}
	off := series.Student(level, l.Freedom) * l.Scatter * math.Sqrt(variance)
	return Interval{v, max(0, v-off), v + off}
}

// inverse inverts a symmetric matrix by elimination, ok false where it has no inverse. It
// is scaled to a diagonal of ones first: terms differ by many orders of magnitude.
func inverse(m [terms][terms]float64) (_ [terms][terms]float64, ok bool) {
	const singular = 1e-10
	var scale [terms]float64
	for i := range terms {
		if !(m[i][i] > 0) {
			return m, false
		}
		scale[i] = 1 / math.Sqrt(m[i][i])
	}
	var out [terms][terms]float64
	for i := range terms {
		out[i][i] = 1
		for j := range terms {
			m[i][j] *= scale[i] * scale[j]
		}
	}
	for k := range terms { // without a choice of pivots: the matrix is positive definite
		if m[k][k] < singular {
			return out, false
		}
		by := 1 / m[k][k]
		for j := range terms {
			m[k][j] *= by
			out[k][j] *= by
		}
		for i := range terms {
			if i == k {
				continue
			}
			f := m[i][k]
			for j := range terms {
				m[i][j] -= f * m[k][j]
				out[i][j] -= f * out[k][j]
			}
		}
	}
	for i := range terms {
		for j := range terms {
			out[i][j] *= scale[i] * scale[j]
		}
	}
	return out, true
}
