package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/series"
)

// Extreme says which end of a series a Bound is about.
type Extreme string

const (
	Least    Extreme = "lowest"
	Greatest Extreme = "highest"
)

// Bound: the least or greatest value of a series lies from Low to High, both
// included. The observed value is the extreme itself, so that a reader sees how
// close it came.
type Bound struct {
	Of        string
	Extreme   Extreme
	Low, High float64
	Unit      string
	Window    series.Window
}

func (c Bound) Series() []string { return []string{c.Of} }

func (c Bound) Predicted() string {
	switch {
	case c.Low == c.High:
		return fmt.Sprintf("%s exactly %.6g%s", c.Extreme, c.Low, c.unit(c.Low))
	case c.Extreme == Least && math.IsInf(c.High, 1):
		return fmt.Sprintf("at least %.6g%s", c.Low, c.unit(c.Low))
	case c.Extreme == Greatest && math.IsInf(c.Low, -1):
		return fmt.Sprintf("at most %.6g%s", c.High, c.unit(c.High))
	case math.IsInf(c.High, 1):
		return fmt.Sprintf("%s from %.6g%s up", c.Extreme, c.Low, c.unit(c.Low))
	case math.IsInf(c.Low, -1):
		return fmt.Sprintf("%s up to %.6g%s", c.Extreme, c.High, c.unit(c.High))
	}
	return fmt.Sprintf("%s %.6g to %.6g%s", c.Extreme, c.Low, c.High, c.unit(c.High))
}

func (c Bound) say(v float64) string { return fmt.Sprintf("%s %.6g%s", c.Extreme, v, c.unit(v)) }

// unit follows a number: "1 pod", "2 pods".
func (c Bound) unit(n float64) string {
	switch {
	case c.Unit == "":
		return ""
	case n == 1:
		return " " + strings.TrimSuffix(c.Unit, "s")
	}
	return " " + c.Unit
}

func (c Bound) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Of, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	points := s.Changes(in)
	if len(points) == 0 {
		return inconclusive(0, "no sample of %s inside the window", c.Of), nil
	}
	passed := slices.DeleteFunc(slices.Clone(points), func(p series.Point) bool {
		return !c.passes(p.Value.Num) || doubtful(set, s, in, p) != nil
	})
	if len(passed) > 0 {
		return c.finding(passed, len(points)), nil // seen is seen: no gap can undo it
	}
	return hidden(set, in, false, c.finding(points, len(points)), c.Of), nil
}

// passes says whether a value is beyond the limit on the side of the extreme, so
// that nothing that was not seen can mend it.
func (c Bound) passes(v float64) bool {
	return c.Extreme == Least && v < c.Low || c.Extreme == Greatest && v > c.High
}

func (c Bound) finding(points []series.Point, samples int) Finding {
	extreme := points[0]
	for _, p := range points[1:] {
		if c.beyond(p.Value.Num, extreme.Value.Num) {
			extreme = p
		}
	}
	v := extreme.Value.Num
	f := Finding{Status: Held, Observed: c.say(v), Samples: samples}.at(extreme)
	if v < c.Low || v > c.High {
		f.Status, f.Why = Broken, fmt.Sprintf("%s was %.6g at the %s; predicted: %s", c.Of, v, c.Extreme, c.Predicted())
	}
	return f
}

func (c Bound) beyond(v, than float64) bool {
	if c.Extreme == Least {
		return v < than
	}
	return v > than
}
