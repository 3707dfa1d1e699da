package mesh

import (
	"math"
	"slices"
	"testing"
	"time"
)

// plateau is the highest mean CoV, and until when, in minutes, it is above four fifths of
// that.
func plateau(b *Bands) (peak, until float64) {
	curve := b.Curve(CoV)
	for _, band := range curve {
		peak = max(peak, band.Mean)
	}
	for _, band := range curve {
		if band.Mean > 0.8*peak {
			until = band.At.Minutes()
		}
	}
	return peak, until
}

// halfSecond is the back-off with which the tables were simulated: their clients began it
// anew after the gap.
func halfSecond() BackOff { return BackOff{EnvoyGap, 30 * time.Second} }

func TestMassLossOfTheIncidentsSize(t *testing.T) {
	lost := func(n int, ready ...time.Duration) Plan {
		return Plan{
			Connections: 862, Replicas: 24, Lifetime: waiting(15 * time.Minute), Start: Equilibrium, Gap: EnvoyGap, BackOff: halfSecond(), RequestLimit: 20,
			Events: append(Leave(0, Cut(), First(n)...), Ready(ready...)...), Readings: Every(6*time.Second, 20*time.Minute),
		}
	}
	for name, c := range map[string]struct {
		plan        Plan
		peak, until float64
	}{
		"20 lost, all back at 20 s":              {lost(20, Spaced(20, at(20), at(20))...), 2.24, 13.3},
		"19 lost, 7 back at 25 s and 12 at 75 s": {lost(19, append(Spaced(7, at(25), at(25)), Spaced(12, at(75), at(75))...)...), 1.91, 13.8},
	} {
		b := simulate(t, c.plan, 100)
		peak, until := plateau(b)
		near(t, name+": peak", peak, c.peak, 0.03)
		near(t, name+": plateau, minutes", until, c.until, 0.7)
		even, _ := b.Even.Quantile(0.5)
		near(t, name+": even, minutes", even/60, 16.5, 0.5)
	}
}

// TestTheRequestLimitAsAKnob: a low limit keeps orphans waiting until there are
// replacements to choose, which makes the fleet less uneven.
func TestTheRequestLimitAsAKnob(t *testing.T) {
	m := MassLoss{Connections: 862, Replicas: 24, Lost: 20, Back: 20, ReadyAfter: 20 * time.Second, Lifetime: waiting(15 * time.Minute)}
	for _, c := range []struct{ limit, cov, spread, at30, at60 float64 }{
		{0, 223, 3, 861, 862}, {20, 223, 3, 861, 862}, {5, 142, 3, 754, 861}, {2, 77.5, 3, 604, 861}, {1, 57.5, 4, 435, 829},
	} {
		plan := m.Plan(Cut())
		plan.RequestLimit, plan.BackOff, plan.Readings = c.limit, halfSecond(), []time.Duration{at(30), at(60), at(90), at(120)}
		b := simulate(t, plan, 300)
		near(t, "CoV after a minute and a half, percent", 100*b.Curve(CoV)[2].Mean, c.cov, c.spread)
		near(t, "connected at 30 s", b.Curve(Connected)[0].Mean, c.at30, 4)
		near(t, "connected at 60 s", b.Curve(Connected)[1].Mean, c.at60, 4)
	}
}

// TestCompressedDrills are tables of 60 simulated runs, in whole percents.
func TestCompressedDrills(t *testing.T) {
	together := ScaleOut{Connections: 300, From: 3, To: 6, Lifetime: waiting(time.Minute)}.Plan()
	together.Start = Together
	for name, c := range map[string]struct {
		plan   Plan
		t, cov []float64
	}{
		"3 to 6":                    {ScaleOut{300, 0, 3, 6, waiting(time.Minute)}.Plan(), []float64{0, 15, 30, 45, 54, 65, 77}, []float64{101, 79, 59, 38, 26, 15, 12}},
		"3 to 6, closing on GOAWAY": {ScaleOut{300, 0, 3, 6, Lifetime{time.Minute, ClosesOnGoAway}}.Plan(), []float64{15, 30, 45, 54}, []float64{75, 51, 28, 16}},
		"3 to 6, started together":  {together, []float64{0, 65, 70, 77}, []float64{101, 101, 62, 12}},
		"6 of 8 lost":               {MassLoss{400, 8, 6, 6, 15 * time.Second, 0, waiting(time.Minute)}.Plan(Cut()), []float64{5, 16, 45, 60, 85}, []float64{4, 173, 154, 145, 13}},
	} {
		c.plan.Readings = nil
		for _, s := range c.t {
			c.plan.Readings = append(c.plan.Readings, at(s))
		}
		for i, band := range simulate(t, c.plan, 300).Curve(CoV) {
			near(t, name+" at "+band.At.String(), 100*band.Mean, c.cov[i], 0.6+4.5*100*band.SD*math.Sqrt(1./60+1./300))
		}
	}
}

// TestAFleetThatGrows: connections and replicas come over five minutes. The end counts
// from the last replica. The tables have a peak of 30 to 40 % over several durations, and an
// end at the last reading above the floor, which is later than the first of five below.
func TestAFleetThatGrows(t *testing.T) {
	for age, want := range map[time.Duration]float64{15 * time.Minute: 13.5, 30 * time.Minute: 27} {
		over := 5 * time.Minute
		b := simulate(t, Plan{
			Connections: 1029, Replicas: 24, Lifetime: waiting(age), Start: Equilibrium, Gap: EnvoyGap,
			Events:   slices.Concat(Arrive(1879, 0, over), Ready(Spaced(10, 0, over)...)),
			Readings: Every(10*time.Second, 45*time.Minute),
		}, 100)
		peak, _ := plateau(b)
		near(t, "peak", peak, 0.35, 0.08)
		even, ok := b.Even.Quantile(0.5)
		near(t, "even after the last replica, minutes", (even-over.Seconds())/60, want, want/8)
		if !ok {
			t.Error("never even")
		}
	}
}

// TestTheGraceDoesNotScale: half the age is not half the time, unless clients close on
// GOAWAY.
func TestTheGraceDoesNotScale(t *testing.T) {
	for grace, want := range map[time.Duration][2]time.Duration{WaitsForCut: {77 * time.Second, 44 * time.Second}, ClosesOnGoAway: {66 * time.Second, 33 * time.Second}} {
		for i, age := range []time.Duration{time.Minute, 30 * time.Second} {
			if end, ok := (ScaleOut{300, 0, 3, 6, Lifetime{age, grace}}).HardEnd(); !ok || end != want[i] {
				t.Errorf("age %v, grace %v: over after %v, want %v", age, grace, end, want[i])
			}
		}
	}
}
