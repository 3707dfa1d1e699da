package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

const (
	// runs of the model for one verdict: what lies beyond all of them happens to a
	// run of the model once in five hundred.
	runs = 1000
	// seed of them, so that judging again gives the same bytes.
	seed = 1
	// lateness is by how much an event may be seen late: half of what is between two
	// readings, so that a reading is off by what happens in half of one.
	lateness = reading / 2
	// timing is by how much an admission is seen late: its first answer takes 10 to 100
	// ms on a busy machine, and more is told as lateness.
	timing = 100 * time.Millisecond
)

// replay is a recorded fleet beside the model's. One prediction has one, and all of
// its claims look at it, so that the model is played once for a recording.
type replay struct {
	fleet Fleet

	once   sync.Once
	of     *series.Set
	window series.Interval
	bands  *mesh.Bands
	err    error // the recording tells too little to play the model
}

// over plays the model for a recording. The error says what the recording lacks.
func (r *replay) over(set *series.Set) error {
	r.once.Do(func() {
		r.of = set
		r.err = r.play(set)
	})
	if r.of != set {
		return fmt.Errorf("a prediction is for one recording")
	}
	return r.err
}

func (r *replay) play(set *series.Set) error {
	var ok bool
	if r.window, ok = set.Resolve(r.fleet.window()); !ok {
		return fmt.Errorf("the script did not reach the end of %q", r.fleet.window().To)
	}
	if set.Fleet == nil {
		return fmt.Errorf("the recording tells of no proxy")
	}
	for _, l := range set.LateIn(recording.FleetSampler, r.window) {
		if l.By() > lateness {
			return fmt.Errorf("the proxies were starved for %s until %s: their times are not to be trusted", l.By(), l.To)
		}
	}
	sources := []string{recording.Connections}
	if set.Fleet.Service != nil {
		sources = append(sources, series.EndpointSlices)
	}
	if gaps := set.GapsOf(sources, r.window); len(gaps) > 0 {
		return fmt.Errorf("the %s was cut from %s to %s: %s", gaps[0].Source(), gaps[0].From, gaps[0].To, gaps[0].Reason)
	}
	plan, err := r.fleet.plan(set.Fleet, r.window)
	if err != nil {
		return err
	}
	if r.bands, err = mesh.Simulate(context.Background(), plan, runs, seed); err != nil {
		return err
	}
	r.bands.Timing = timing
	return nil
}

// at is a reading of the model as a time of the recording.
func (r *replay) at(reading int) time.Duration {
	return r.window.From + r.bands.Plan.Readings[reading]
}

// observed are the values of a series at the model's readings, from one time of the
// run to another. The first reading is left out: the model knows of no second before it.
func (r *replay) observed(s *series.Series, in series.Interval, scale float64) []mesh.Observation {
	var out []mesh.Observation
	for _, p := range s.Readings(r.window, reading) {
		if p.T > r.window.From && in.Contains(p.T) {
			out = append(out, mesh.Observation{At: p.T - r.window.From, Value: p.Value.Num * scale})
		}
	}
	return out
}

// outage is how long an orphan was without a replica that serves it: since its
// replica left, although it may have noticed later.
type outage struct {
	proxy    string
	from, to time.Duration
	over     bool
}

// byLength are outages from the shortest to the longest; one that is not over is
// longer than any.
func byLength(all []outage) []outage {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b outage) int {
		switch {
		case a.over && !b.over:
			return -1
		case b.over && !a.over:
			return 1
		}
		return cmp.Compare(a.to-a.from, b.to-b.from)
	})
	return out
}

// outages are those of all connections whose replica left inside the window.
func (r *replay) outages(fleet *series.Fleet) []outage {
	left := map[string]time.Duration{}
	for _, x := range fleet.Replicas {
		if n := len(x.Ready); n > 0 && r.window.Contains(x.Ready[n-1].To) && x.Ready[n-1].To < r.window.To {
			left[x.Name] = x.Ready[n-1].To
		}
	}
	next := map[string]time.Duration{} // when the proxy's later connection began
	var out []outage
	for i := len(fleet.Connections) - 1; i >= 0; i-- {
		c := &fleet.Connections[i]
		if gone, ok := left[c.Replica]; ok && c.From <= gone && c.To >= gone {
			o := outage{proxy: c.Proxy, from: gone, to: r.window.To}
			if at, ok := next[c.Proxy]; ok && at <= r.window.To {
				o.to, o.over = at, true
			}
			out = append(out, o)
		}
		next[c.Proxy] = c.From
	}
	return out
}
