package controlplane

import (
	"context"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
)

// Start is how long a replica is taken to need from its start until it is Ready,
// where nobody has measured it yet. Real ones took 2 to 3 s each on an idle machine,
// 4 to 5 s on a busy one, and up to 10 s when twenty began at once.
const Start = 3 * time.Second

// nominalRuns is few: what is predicted before a run serves people and the length of
// the script, and the judge plays the model again.
const nominalRuns = 100

// horizon is how long a nominal fleet is looked at after its last event: a life and
// the longest back-off, so that the echo of the event is in it.
func (f Fleet) horizon() time.Duration { return f.Lifetime().Longest() + longestBackOff }

const longestBackOff = 30 * time.Second

// Nominal is the model's fleet with events at nominal times after the stimulus.
type Nominal struct {
	bands *mesh.Bands
	worst worst
	// before is when the stimulus is, after the begin of the plan.
	before time.Duration
}

// Nominal plays the model for events at times since the stimulus.
func (f Fleet) Nominal(events []mesh.Event) (Nominal, error) {
	plan := mesh.Plan{Replicas: f.Replicas, Lifetime: f.Lifetime(), Start: mesh.Equilibrium, RequestLimit: f.Limit(), Gap: mesh.EnvoyGap}
	n := Nominal{before: f.Steady.Std()}
	if f.Start == Together {
		plan.Events = mesh.Arrive(f.Connections, 0, 0)
	} else {
		plan.Connections = f.Connections
	}
	for _, e := range events {
		e.At += n.before
		plan.Events = append(plan.Events, e)
	}
	plan.Readings = mesh.Every(reading, plan.Settled()+f.horizon())
	var err error
	if n.bands, err = mesh.Simulate(context.Background(), plan, nominalRuns, seed); err != nil {
		return Nominal{}, err
	}
	n.worst, err = worstOf(plan, n.before)
	return n, err
}

// Fleet is the model's at the end.
func (n Nominal) Fleet() mesh.Fleet { return n.bands.Plan.Final() }

// Settled is how long after its last event the fleet is even again and its orphans are
// served, in 99 of 100 runs; ok is false if that is beyond the horizon.
func (n Nominal) Settled() (d time.Duration, ok bool) {
	even, ok := n.bands.Even.Quantile(0.99)
	d = time.Duration(even * float64(time.Second))
	if last, all := n.bands.LastOrphan.Quantile(0.99); all {
		d = max(d, time.Duration(last*float64(time.Second)))
	}
	return d - n.bands.Plan.Settled(), ok
}

// Settled is how long after the last of such events the fleet is watched: until the
// model's is even again, or for two lives if that is beyond what it was played for.
func (f Fleet) Settled(events []mesh.Event) time.Duration {
	if n, err := f.Nominal(events); err == nil {
		if d, ok := n.Settled(); ok {
			return d
		}
	}
	return 2 * f.Lifetime().Longest()
}

// EvenText is when the fleet is even again, after the stimulus.
func (n Nominal) EvenText() string { return n.span(n.bands.Even, n.before) }

// OutageTexts are of the typical and of the longest time without a control plane.
func (n Nominal) OutageTexts() (typical, longest string) {
	return n.span(n.bands.OutageMedian, 0), n.span(n.bands.OutageHighest, 0)
}

func (n Nominal) span(s mesh.Sample, from time.Duration) string {
	low, some := s.Quantile(0.05)
	high, all := s.Quantile(0.95)
	switch {
	case !some:
		return "never"
	case !all:
		return fmt.Sprintf("from %.1f s on", low-from.Seconds())
	}
	return fmt.Sprintf("%.1f to %.1f s", low-from.Seconds(), high-from.Seconds())
}

// SpreadText is the course of the CoV: what it is at its peak, and when.
func (n Nominal) SpreadText() string {
	peak, at := 0.0, time.Duration(0)
	for _, b := range n.bands.Curve(mesh.CoV) {
		if b.At >= n.before && b.Median > peak {
			peak, at = b.Median, b.At
		}
	}
	return fmt.Sprintf("up to %.0f %% after %s, then to %.0f %%", 100*peak, (at - n.before).Round(time.Second), 100*n.Fleet().Floor())
}

// RateText is the most connections that begin in one second, in most runs, and when,
// after the orphans have landed.
func (n Nominal) RateText(wave time.Duration) string {
	peak, at := 0.0, time.Duration(0)
	for _, b := range n.bands.Curve(mesh.Connects) {
		if b.At >= n.before+wave && b.Median > peak {
			peak, at = b.Median, b.At
		}
	}
	return fmt.Sprintf("%.1f 1/s, an echo of %.0f 1/s after %s", n.Fleet().ReconnectRate(), peak, (at - n.before).Round(time.Second))
}

// Table is the course of the model's fleet for people.
func (n Nominal) Table(title string) judge.Table {
	t := judge.Table{
		Title: fmt.Sprintf("%s: what %d runs of the model have, if a replica is Ready %s after its start", title, n.bands.Runs, Start),
		Head:  []string{"after", "CoV %, 5 to 95 % of runs", "fullest / mean", "connected", "begin in 1 s"},
	}
	curves := map[mesh.Metric][]mesh.Band{}
	for _, m := range mesh.Metrics() {
		curves[m] = n.bands.Curve(m)
	}
	for i, b := range curves[mesh.CoV] {
		since := b.At - n.before
		if since < 0 || since%n.grain() != 0 {
			continue
		}
		t.Rows = append(t.Rows, []string{
			since.String(), fmt.Sprintf("%.0f (%.0f to %.0f)", 100*b.Median, 100*b.Low, 100*b.High),
			fmt.Sprintf("%.2f", curves[mesh.MaxOverMean][i].Median), fmt.Sprintf("%.0f", curves[mesh.Connected][i].Median),
			fmt.Sprintf("%.0f (%.0f to %.0f)", curves[mesh.Connects][i].Median, curves[mesh.Connects][i].Low, curves[mesh.Connects][i].High),
		})
	}
	return t
}

// tableRows is about how many rows the table has.
const tableRows = 24

// grain is between two rows, in whole readings.
func (n Nominal) grain() time.Duration {
	readings := n.bands.Plan.Readings
	span := readings[len(readings)-1] - n.before
	return max(1, span/tableRows/reading) * reading
}

// EquilibriumRows are rows of such a table: how many connections begin, and how uneven chance
// makes them; when says at which time of the run.
func EquilibriumRows(f mesh.Fleet, when string) (rate, chance [2]string) {
	return [2]string{"reconnects in equilibrium", fmt.Sprintf("%.2f 1/s", f.ReconnectRate())},
		[2]string{"CoV that chance alone makes" + when, fmt.Sprintf("%.1f ± %.1f %%", 100*f.Floor(), 100*f.FloorSpread())}
}

// Seconds is how such tables tell a time.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Laws is a table of the closed forms with their numbers: pairs of what and how much.
func Laws(rows ...[2]string) judge.Table {
	t := judge.Table{Title: "the connection model's closed forms", Head: []string{"what", "predicted"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, r[:])
	}
	return t
}
