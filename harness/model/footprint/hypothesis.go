package footprint

import "fmt"

// Hypothesis is a law that somebody gave: bytes for istiod alone, and bytes for each
// pair of a connection and an endpoint in the mesh. It has no other terms.
type Hypothesis struct{ Base, PerPair float64 }

// Reported is the law that an operator of a large mesh fitted to the working set of istiod's
// pods, day by day: "240 MB + 400 B x connections per pod x endpoints in the cluster".
func Reported() Hypothesis { return Hypothesis{Base: 240e6, PerPair: 400} }

// At is the hypothesis' value, in bytes.
func (h Hypothesis) At(l Load) float64 {
	return h.Base + h.PerPair*float64(l.Connections)*float64(l.Endpoints)
}

// Verdict is a hypothesis held against a law.
type Verdict struct {
	Accepted bool
	// Against are the terms whose interval does not contain what the hypothesis says.
	Against []string
}

// Against holds the hypothesis against measurements: its coefficients against the
// intervals at a level of those of a law that is in proportion to the endpoints, as it
// is, where what it leaves out is 0.
func (h Hypothesis) Against(all []Observation, level float64) (Verdict, error) {
	l, err := FitProportional(all)
	if err != nil {
		return Verdict{}, err
	}
	says := [terms]float64{Base: h.Base, PerPair: h.PerPair}
	v := Verdict{Accepted: true}
	for i, name := range [terms]string{"istiod alone", "per endpoint", "per connection", "per connection and endpoint"} {
		if in := l.Term(i, level); !in.Contains(says[i]) {
			v.Accepted = false
			v.Against = append(v.Against, fmt.Sprintf("%s: %s, measured %s (%s to %s)", name, Bytes(says[i]), Bytes(in.Value), Bytes(in.Low), Bytes(in.High)))
		}
	}
	return v, nil
}

// Bytes writes a number of bytes for people, with three digits: "83.1 B", "240 MB".
func Bytes(b float64) string {
	size, unit := b, "B"
	for _, next := range []string{"kB", "MB", "GB"} {
		if size < 999.5 && size > -999.5 {
			break
		}
		size, unit = size/1000, next
	}
	if size >= 99.95 || size <= -99.95 {
		return fmt.Sprintf("%.0f %s", size, unit)
	}
	return fmt.Sprintf("%.3g %s", size, unit)
}
