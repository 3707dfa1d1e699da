package mesh

import (
	"slices"
	"testing"
	"time"
)

// TestRealFleetsAreInside holds what real istiods did (1.31 of August 2026, GOMAXPROCS 1,
// age 60 s, clients that wait for the cut) against the bands, with the times at which the
// replicas were seen Ready and the limit in force: one run of each drill, 500 simulated.
func TestRealFleetsAreInside(t *testing.T) {
	ready := func(n int, from, to float64) []Event { return Ready(Spaced(n, at(from), at(to))...) }
	for _, c := range []struct {
		name   string
		n, k   int
		limit  float64
		events [][]Event
		t      []float64
		cov    []float64 // percent
		even   float64   // seconds, with one to either side for the reading; 0 for not told
	}{
		{"6 of 8 lost, limit 20", 400, 8, 20, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 17.1, 17.7)},
			[]float64{5, 18, 25, 30, 45, 60, 65, 70, 75, 77, 80, 85, 90}, []float64{2.2, 173, 167, 166, 163, 155, 153, 129, 80, 59, 34, 17.7, 16.8}, 83},
		{"6 of 8 lost, limit 1000", 400, 8, 1000, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 17.0, 17.8)},
			[]float64{5, 16, 18, 25, 30, 45, 60, 65, 70, 75, 77, 80, 85, 90}, []float64{1.0, 0.8, 173, 168, 165, 157, 147, 143, 92, 37, 23, 18, 16.9, 15.2}, 78},
		{"6 of 8 lost, limit 3", 400, 8, 3, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 19.3, 20.1)},
			[]float64{10, 16, 25, 30, 45, 60, 65, 70, 77, 80, 85, 90}, []float64{5, 5.5, 110, 92, 70, 59, 55, 51, 35, 28, 17, 11}, 84},
		{"3 to 6", 300, 3, 20, [][]Event{Ready(0, 0, 0)},
			[]float64{0, 15, 30, 45, 54, 60, 65, 70, 77, 85}, []float64{101, 75, 50, 31, 24, 13, 15.5, 15.6, 13.7, 9}, 0},
		// From 72 s on the machine stalled, and with it the clients: not the fleet's doing.
		{"20 of 24 lost, limit 20", 862, 24, 20, [][]Event{Leave(0, Cut(), First(20)...), ready(20, 26.6, 30.1)},
			[]float64{6, 8, 10, 20, 32, 40, 50, 60, 65, 67, 69, 71}, []float64{5.4, 3.8, 3.3, 2.6, 222, 219, 213, 208, 203, 200, 188, 172}, 84},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Plan{Connections: c.n, Replicas: c.k, Lifetime: waiting(time.Minute), Start: Equilibrium, Events: slices.Concat(c.events...), RequestLimit: c.limit, Gap: EnvoyGap}
			var observed []Observation
			for i, s := range c.t {
				plan.Readings = append(plan.Readings, at(s))
				observed = append(observed, Observation{at(s), c.cov[i] / 100})
			}
			outcome, err := simulate(t, plan, 500).Check(CoV, observed)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(outcome)
			if !outcome.Inside {
				t.Errorf("%v", outcome)
			}
			if c.even == 0 {
				return
			}
			plan.Readings = Every(time.Second, 2*time.Minute)
			even := simulate(t, plan, 500).Even
			if low, high := even.Rank(c.even+1), even.Rank(c.even-2); low < 0.01 || high > 0.99 {
				t.Errorf("even at %g s: of the simulated runs %.0f %% were by then, %.0f %% before", c.even, 100*low, 100*high)
			}
		})
	}
}
