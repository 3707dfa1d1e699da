package mesh

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// observe is a run of a plan as somebody would have read it.
func observe(t *testing.T, plan Plan, seed uint64, m Metric) []Observation {
	t.Helper()
	s, err := NewSimulator(plan)
	if err != nil {
		t.Fatal(err)
	}
	var path Path
	s.Run(seed, &path)
	var out []Observation
	before := time.Duration(0)
	for _, r := range path.Readings {
		out = append(out, Observation{r.At, m.of(r, (r.At - before).Seconds())})
		before = r.At
	}
	return out
}

// TestOtherRunsAreInside: each of the two limits lets 99.9 % of the runs pass.
func TestOtherRunsAreInside(t *testing.T) {
	plan := referencePlans()["mass-loss-limit-20"]
	plan.Readings = Every(2*time.Second, 100*time.Second)
	b := simulate(t, plan, 500)
	for _, m := range Metrics() {
		tolerance, err := b.Tolerance(m, 0, 100*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if tolerance.Readings != 51 || tolerance.FalseAlarm > 0.007 || tolerance.Scatter < 1 || tolerance.Scatter > 3 || tolerance.Distance < 2 {
			t.Errorf("%s: %+v", m, tolerance)
		}
		alarms := 0
		const others = 60
		for seed := range uint64(others) {
			outcome, err := b.Check(m, observe(t, plan, 1_000_000+seed, m))
			if err != nil {
				t.Fatal(err)
			}
			if !outcome.Inside {
				alarms++
			}
		}
		// More than 6 of 60 come by chance in one of 2,000 experiments at 2 %.
		if alarms > 6 {
			t.Errorf("%s: %d of %d runs of the same plan are outside", m, alarms, others)
		}
	}
}

func TestAnotherFleetIsOutside(t *testing.T) {
	plan := referencePlans()["mass-loss-limit-20"]
	plan.Readings = Every(time.Second, 100*time.Second)
	b := simulate(t, plan, 300)
	for name, c := range map[string]struct {
		change func(*Plan)
		metric Metric
	}{
		"without an age":           {func(p *Plan) { p.Lifetime = Lifetime{} }, CoV},
		"that closes on GOAWAY":    {func(p *Plan) { p.Lifetime.Grace = ClosesOnGoAway }, CoV},
		"started together":         {func(p *Plan) { p.Start = Together }, Connects},
		"without a request limit":  {func(p *Plan) { p.RequestLimit = 0 }, Connected},
		"with half the limit":      {func(p *Plan) { p.RequestLimit = 10 }, Connected},
		"that lost a replica less": {func(p *Plan) { p.Events = p.Events[1:] }, MaxOverMean},
	} {
		other := plan
		c.change(&other)
		outcome, err := b.Check(c.metric, observe(t, other, 1, c.metric))
		if err != nil {
			t.Fatal(err)
		}
		if outcome.Inside || !strings.HasPrefix(outcome.String(), string(c.metric)+" outside: ") {
			t.Errorf("a fleet %s: %v", name, outcome)
		}
	}
}

func TestReadingsThatCannotBeJudged(t *testing.T) {
	plan := referencePlans()["scale-out-3-to-6"]
	plan.Readings = Every(time.Second, 10*time.Second)
	b := simulate(t, plan, 100)
	for _, c := range []struct {
		metric   Metric
		observed []Observation
		want     string
	}{
		{CoV, nil, "no reading"},
		{"cov", []Observation{{0, 1}}, "unknown metric"},
		{CoV, []Observation{{1500 * time.Millisecond, 1}}, "times of the readings"},
		{CoV, []Observation{{time.Hour, 1}}, "times of the readings"},
		{CoV, []Observation{{0, math.NaN()}}, "leave out"},
	} {
		if outcome, err := b.Check(c.metric, c.observed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error with %q", outcome, err, c.want)
		}
	}
	if _, err := b.Tolerance(CoV, time.Hour, 2*time.Hour); err == nil {
		t.Error("a tolerance of no reading")
	}
	if b.Curve("cov") != nil {
		t.Error("a curve of an unknown metric")
	}
	if _, err := Simulate(t.Context(), plan, 99, 1); err == nil {
		t.Error("99 runs are enough")
	}
	if _, err := Simulate(t.Context(), plan, 100_000_000, 1); err == nil || !strings.Contains(err.Error(), "fewer") {
		t.Errorf("too much to keep: %v", err)
	}
	if _, err := Simulate(t.Context(), Plan{}, 100, 1); err == nil {
		t.Error("an empty plan is simulated")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Simulate(ctx, plan, 100, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestWhatNeverDiffers: all connections are there at 0 in every run. One that is missing
// is off by one connection's worth, not infinitely.
func TestWhatNeverDiffers(t *testing.T) {
	plan := referencePlans()["scale-out-3-to-6"]
	plan.Readings = []time.Duration{0}
	b := simulate(t, plan, 100)
	if band := b.Curve(Connected)[0]; band.Low != 300 || band.High != 300 || band.SD != 0 {
		t.Errorf("%+v", band)
	}
	for value, want := range map[float64]float64{300: 0, 299: 1, 290: 10} {
		outcome, err := b.Check(Connected, []Observation{{0, value}})
		if err != nil || outcome.Distance != want || outcome.Inside != (want == 0) {
			t.Errorf("%g connections: %v, %v", value, outcome, err)
		}
	}
}

func TestSamples(t *testing.T) {
	s := newSample([]float64{4, 1, 3, 2}, 1)
	for p, want := range map[float64]float64{0: 1, 0.25: 2, 0.5: 3, 0.625: 3.5, 0.75: 4} {
		if got, ok := s.Quantile(p); !ok || got != want {
			t.Errorf("quantile %g is %g, %v, want %g", p, got, ok, want)
		}
	}
	for _, p := range []float64{-0.1, 0.8, 1, 1.1} {
		if got, ok := s.Quantile(p); ok {
			t.Errorf("quantile %g is %g, want none", p, got)
		}
	}
	for x, want := range map[float64]float64{0: 0, 1: 0.2, 2.5: 0.4, 4: 0.8} {
		if got := s.Rank(x); got != want {
			t.Errorf("rank of %g is %g, want %g", x, got, want)
		}
	}
	for x, want := range map[float64]bool{0.9: false, 1: false, 2: true, 3: true, 4.1: false} {
		if got := s.Holds(x, 0.5); got != want {
			t.Errorf("%g in the middle of the sample: %v", x, got)
		}
	}
	var none Sample
	if none.Holds(0, 0.99) {
		t.Error("an empty sample holds something")
	}
	if _, ok := none.Quantile(0.5); ok || none.Rank(1) != 0 || none.Mean() != 0 || none.SD() != 0 {
		t.Error("an empty sample has numbers")
	}
	if s.Mean() != 2.5 || math.Abs(s.SD()-1.29099) > 1e-4 {
		t.Errorf("mean %g, sd %g", s.Mean(), s.SD())
	}
}
