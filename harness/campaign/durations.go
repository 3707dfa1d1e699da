package campaign

import (
	"slices"
	"time"

	"reckon.dev/reckon/harness/plan"
)

// Durations are how long runs took, each as a multiple of what its plan expected: so
// runs of one scenario with other parameters tell of each other.
type Durations struct {
	cells, scenarios map[string][]float64
	all              []float64
}

// Add notes how long a run of a cell took, with its cluster where that is its own.
func (d *Durations) Add(c plan.Cell, took time.Duration) {
	if c.ExpectedSec <= 0 {
		return
	}
	if d.cells == nil {
		d.cells, d.scenarios = map[string][]float64{}, map[string][]float64{}
	}
	ratio := took.Seconds() / c.ExpectedSec
	cell, scenario := keysOf(c)
	d.cells[cell] = append(d.cells[cell], ratio)
	d.scenarios[scenario] = append(d.scenarios[scenario], ratio)
	d.all = append(d.all, ratio)
}

// keysOf are what runs of the same cell, and of the same scenario, have in common.
func keysOf(c plan.Cell) (cell, scenario string) {
	scenario = c.Provider + " " + c.Scenario
	return scenario + " " + compact(c.Params), scenario
}

// Span is a duration that is not known: its median, and between what and what half of
// such durations are.
type Span struct{ Low, Median, High time.Duration }

// Of is how long a run of the cell takes, by the runs nearest to it of which there are
// any: of the same cell, of its scenario, of any. Without any it is what the plan says.
func (d *Durations) Of(c plan.Cell) Span {
	cell, scenario := keysOf(c)
	ratios := []float64{1}
	for _, some := range [][]float64{d.cells[cell], d.scenarios[scenario], d.all} {
		if len(some) > 0 {
			ratios = slices.Sorted(slices.Values(some))
			break
		}
	}
	at := func(share float64) time.Duration {
		return time.Duration(quantile(ratios, share) * float64(c.Expected())).Round(time.Millisecond)
	}
	return Span{at(0.25), at(0.5), at(0.75)}
}

// quantile of sorted values, between two of them by their distance.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Remaining is a run that is to come, or under way for so long.
type Remaining struct {
	Cell  plan.Cell
	Since time.Duration
}

// Left is how long runs take with so many at a time. The longest bounds it from below.
func (d *Durations) Left(runs []Remaining, parallel int) Span {
	var sum, longest Span
	for _, r := range runs {
		of := d.Of(r.Cell)
		of = Span{max(0, of.Low-r.Since), max(0, of.Median-r.Since), max(0, of.High-r.Since)}
		sum = Span{sum.Low + of.Low, sum.Median + of.Median, sum.High + of.High}
		longest = Span{max(longest.Low, of.Low), max(longest.Median, of.Median), max(longest.High, of.High)}
	}
	n := time.Duration(max(1, parallel))
	return Span{max(longest.Low, sum.Low/n), max(longest.Median, sum.Median/n), max(longest.High, sum.High/n)}
}

// earlier is how many of the newest runs are asked for their durations.
const earlier = 200

// Earlier are the durations of runs below results that came to a verdict which counts,
// by the length of their recordings. What cannot be read says nothing.
func Earlier(results string) *Durations {
	d := &Durations{}
	dirs, err := directories(results)
	if err != nil {
		return d
	}
	for _, dir := range dirs[max(0, len(dirs)-earlier):] {
		p, err := dir.Plan()
		if err != nil {
			continue
		}
		if _, v, err := readVerdict(dir); err == nil && Counts(v.Outcome) {
			d.Add(p.Cell, time.Duration(v.LastedSec*float64(time.Second)))
		}
	}
	return d
}
