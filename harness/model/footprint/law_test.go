package footprint_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/footprint"
)

// law is one that tests make measurements of.
type law [4]float64

func (l law) at(x footprint.Load) float64 {
	n := float64(x.Connections)
	return l[0] + l[1]*float64(x.Endpoints) + l[2]*n + l[3]*n*float64(x.Visible)
}

// typical is about what istiod takes.
var typical = law{116e6, 2000, 88e3, 400}

// grid is that of the drill.
func grid() []footprint.Load {
	var out []footprint.Load
	for _, endpoints := range []int{0, 500, 2000, 8000} {
		for _, connections := range []int{0, 50, 200, 400} {
			out = append(out, footprint.Load{Connections: connections, Endpoints: endpoints, Visible: endpoints})
		}
	}
	return out
}

func observe(l law, scatter float64, random *rand.Rand) []footprint.Observation {
	var out []footprint.Observation
	for _, load := range grid() {
		off := 1.0
		if random != nil {
			off += scatter * random.NormFloat64()
		}
		out = append(out, footprint.Observation{Load: load, Bytes: l.at(load) * off})
	}
	return out
}

func TestALawIsFoundInItsOwnValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := law{
			rapid.Float64Range(1e7, 1e9).Draw(rt, "base"), rapid.Float64Range(100, 1e5).Draw(rt, "per endpoint"),
			rapid.Float64Range(1e4, 1e6).Draw(rt, "per connection"), rapid.Float64Range(10, 2000).Draw(rt, "per pair"),
		}
		got, err := footprint.Fit(observe(want, 0, nil))
		if err != nil {
			rt.Fatal(err)
		}
		for i := range want {
			if math.Abs(got.Coefficients[i]/want[i]-1) > 1e-5 {
				rt.Errorf("%s: %g, want %g", footprint.TermNames()[i], got.Coefficients[i], want[i])
			}
		}
		if got.Scatter > 1e-6 || got.Exponent != footprint.Proportional || got.Freedom != len(grid())-5 {
			rt.Errorf("scatter %g with %d degrees of freedom", got.Scatter, got.Freedom)
		}
	})
}

func TestTheExponentIsTheOneOfTheLeastScatter(t *testing.T) {
	t.Parallel()
	for _, want := range footprint.Exponents() {
		var all []footprint.Observation
		for _, load := range grid() {
			n := float64(load.Connections)
			all = append(all, footprint.Observation{Load: load, Bytes: 1e8 + 1e5*n + 1e4*n*math.Pow(float64(load.Visible), want)})
		}
		if got, err := footprint.Fit(all); err != nil || got.Exponent != want || got.Scatter > 1e-6 {
			t.Errorf("exponent %g with scatter %g, want %g, error %v", got.Exponent, got.Scatter, want, err)
		}
	}
}

// Of measurements that scatter as the model has it, so many coefficients and so many
// further measurements lie inside their intervals as the level says.
func TestIntervalsHoldWhatTheyPromise(t *testing.T) {
	t.Parallel()
	const runs, level, scatter = 2000, 0.9, 0.05
	random := rand.New(rand.NewPCG(1, 1))
	next := footprint.Load{Connections: 300, Endpoints: 4000, Visible: 4000}
	inside, terms := 0, [4]int{}
	for range runs {
		l, err := footprint.FitProportional(observe(typical, scatter, random))
		if err != nil {
			t.Fatal(err)
		}
		if l.Predict(next, level).Contains(typical.at(next) * (1 + scatter*random.NormFloat64())) {
			inside++
		}
		for i := range terms {
			if l.Term(i, level).Contains(typical[i]) {
				terms[i]++
			}
		}
	}
	// Four standard deviations of a share of 2000, and what dividing by values that
	// scatter themselves takes off.
	const low, high = 0.85, 0.93
	for name, n := range map[string]int{"a further measurement": inside, "base": terms[0], "per endpoint": terms[1], "per connection": terms[2], "per pair": terms[3]} {
		if share := float64(n) / runs; share < low || share > high {
			t.Errorf("%s is inside its interval in %.3f of all cases, the level is %g", name, share, level)
		}
	}
}

func TestWhatDoesNotDecideIsNoLaw(t *testing.T) {
	t.Parallel()
	all := observe(typical, 0, nil)
	same := make([]footprint.Observation, 10)
	for i := range same {
		same[i] = all[5]
	}
	for _, c := range []struct {
		name string
		of   []footprint.Observation
		few  bool
	}{
		{"none", nil, true},
		{"as many as terms and the exponent", []footprint.Observation{all[0], all[3], all[7], all[12], all[15]}, true},
		{"one load ten times", same, true},
		{"no endpoints", append(all[:4:4], all[:4]...), true},
		{"no bytes", append(all[:12:12], footprint.Observation{}), false},
		{"not a number", append(all[:12:12], footprint.Observation{Bytes: math.NaN()}), false},
	} {
		if _, err := footprint.Fit(c.of); err == nil || errors.Is(err, footprint.ErrTooFew) != c.few {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func TestPredictionsAreNeverNegative(t *testing.T) {
	t.Parallel()
	l, err := footprint.Fit(observe(typical, 0.3, rand.New(rand.NewPCG(2, 2))))
	if err != nil {
		t.Fatal(err)
	}
	if in := l.Predict(footprint.Load{Connections: 400, Endpoints: 8000, Visible: 8000}, 0.999); in.Low < 0 || in.High <= in.Value {
		t.Errorf("%+v", in)
	}
}

func TestAHypothesisIsAcceptedWhereItIsTheLaw(t *testing.T) {
	t.Parallel()
	h := footprint.Reported()
	for _, c := range []struct {
		name    string
		of      law
		against int
	}{
		{"its own", law{h.Base, 0, 0, h.PerPair}, 0},
		{"half the base", law{h.Base / 2, 0, 0, h.PerPair}, 1},
		{"half the slope", law{h.Base, 0, 0, h.PerPair / 2}, 1},
		{"connections that cost by themselves", law{h.Base, 0, 5e6, h.PerPair}, 1},
		{"nothing of it", law{h.Base / 2, 1e5, 5e6, h.PerPair / 2}, 4},
	} {
		v, err := h.Against(observe(c.of, 0.01, rand.New(rand.NewPCG(3, 3))), 0.999)
		if err != nil {
			t.Fatal(err)
		}
		if v.Accepted != (c.against == 0) || len(v.Against) != c.against {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

func TestBytesAreWrittenWithThreeDigits(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[float64]string{
		0: "0 B", 8.04: "8.04 B", 83.12: "83.1 B", 512: "512 B", 999.6: "1 kB", 1999: "2 kB", 99.96e3: "100 kB", 240e6: "240 MB", 1.52e9: "1.52 GB", 4e12: "4000 GB", -1500: "-1.5 kB",
	} {
		if got := footprint.Bytes(bytes); got != want {
			t.Errorf("%g: %q, want %q", bytes, got, want)
		}
	}
}

func ExampleLaw_Predict() {
	l, _ := footprint.FitProportional([]footprint.Observation{
		{Load: footprint.Load{}, Bytes: 100e6}, {Load: footprint.Load{Endpoints: 1000, Visible: 1000}, Bytes: 102e6},
		{Load: footprint.Load{Connections: 100}, Bytes: 110e6}, {Load: footprint.Load{Connections: 100, Endpoints: 1000, Visible: 1000}, Bytes: 152e6},
		{Load: footprint.Load{Connections: 100, Endpoints: 1000, Visible: 100}, Bytes: 116e6},
	})
	in := l.Predict(footprint.Load{Connections: 200, Endpoints: 1000, Visible: 1000}, 0.95)
	fmt.Println(footprint.Bytes(in.Value))
	// Output: 202 MB
}
