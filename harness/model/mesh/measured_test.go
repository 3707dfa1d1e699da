package mesh

import (
	"slices"
	"testing"
	"time"
)

// TestRealFleets holds what real istiods did (1.31 of August 2026, GOMAXPROCS 1,
// age 60 s, clients that wait for the cut) against the bands, with the times at which the
// replicas were seen Ready and the limit in force: one run of each drill, 1,000 simulated.
//
// The first is the farthest off, 1.8 standard deviations throughout: its sampler was up to
// 0.8 s late, and its orphans were admitted later than the model's.
func TestRealFleets(t *testing.T) {
	ready := func(n int, from, to float64) []Event { return Ready(Spaced(n, at(from), at(to))...) }
	for _, c := range []struct {
		name    string
		n, k    int
		limit   float64
		events  [][]Event
		t       []float64
		cov     []float64 // percent
		even    float64   // seconds; this and what follows is 0 where it was not told
		p99     float64   // seconds of an orphan without a replica
		most    float64   // seconds
		refused float64
	}{
		{"6 of 8 lost, limit 20", 400, 8, 20, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 17.1, 17.7)},
			[]float64{5, 18, 25, 30, 45, 60, 65, 70, 75, 77, 80, 85, 90}, []float64{2.2, 173, 167, 166, 163, 155, 153, 129, 80, 59, 34, 17.7, 16.8}, 83, 10.6, 18.9, 738},
		{"6 of 8 lost, limit 1000", 400, 8, 1000, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 17.0, 17.8)},
			[]float64{5, 16, 18, 25, 30, 45, 60, 65, 70, 75, 77, 80, 85, 90}, []float64{1.0, 0.8, 173, 168, 165, 157, 147, 143, 92, 37, 23, 18, 16.9, 15.2}, 78, 0, 0, 0},
		{"6 of 8 lost, limit 3", 400, 8, 3, [][]Event{Leave(0, Cut(), First(6)...), ready(6, 19.3, 20.1)},
			[]float64{10, 16, 25, 30, 45, 60, 65, 70, 77, 80, 85, 90}, []float64{5, 5.5, 110, 92, 70, 59, 55, 51, 35, 28, 17, 11}, 84, 0, 50, 1621},
		{"3 to 6", 300, 3, 20, [][]Event{Ready(0, 0, 0)},
			[]float64{0, 15, 30, 45, 54, 60, 65, 70, 77, 85}, []float64{101, 75, 50, 31, 24, 13, 15.5, 15.6, 13.7, 9}, 0, 0, 0, 0},
		// From 72 s on the machine stalled, and with it the clients: not the fleet's doing.
		{"20 of 24 lost, limit 20", 862, 24, 20, [][]Event{Leave(0, Cut(), First(20)...), ready(20, 26.6, 30.1)},
			[]float64{6, 8, 10, 20, 32, 40, 50, 60, 65, 67, 69, 71}, []float64{5.4, 3.8, 3.3, 2.6, 222, 219, 213, 208, 203, 200, 188, 172}, 84, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Plan{Connections: c.n, Replicas: c.k, Lifetime: waiting(time.Minute), Start: Equilibrium, Events: slices.Concat(c.events...), RequestLimit: c.limit, Gap: EnvoyGap}
			var observed []Observation
			for i, s := range c.t {
				plan.Readings = append(plan.Readings, at(s))
				observed = append(observed, Observation{at(s), c.cov[i] / 100})
			}
			outcome, err := simulate(t, plan, 1000).Check(CoV, observed)
			if err != nil {
				t.Fatal(err)
			}
			if !outcome.Inside {
				t.Errorf("%v", outcome)
			}
			plan.Readings = Every(time.Second, 2*time.Minute)
			b := simulate(t, plan, 500)
			for what, told := range map[string]struct {
				value  float64
				sample Sample
			}{"even again": {c.even, b.Even}, "99 % of the orphans": {c.p99, b.OutageP99}, "last orphan": {c.most, b.OutageHighest}, "refusals": {c.refused, b.Refusals}} {
				if told.value > 0 && !told.sample.Holds(told.value, 0.98) {
					t.Errorf("%s: %g, more than in %.0f %% of the simulated runs (%.4g ± %.2g)", what, told.value, 100*told.sample.Rank(told.value), told.sample.Mean(), told.sample.SD())
				}
			}
		})
	}
}
