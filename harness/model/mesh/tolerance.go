package mesh

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Tolerance is how far a single run may be off without being unusual. The readings of a
// run are correlated, so the limits are not binomial ones: they are quantiles of what the
// simulated runs themselves do, each held against the bands.
type Tolerance struct {
	Readings int
	// Scatter is the root mean square of the readings' distances from the means, in
	// standard deviations, that 99.9 % of the runs have at most: how far off a run is
	// throughout.
	Scatter  float64
	Distance float64 // 99.9 % are never farther from the mean, in standard deviations
	// FalseAlarm is the share of the runs that break one or the other.
	FalseAlarm float64
}

// Tolerance is that of the readings from one time to another, both included.
func (b *Bands) Tolerance(m Metric, from, to time.Duration) (Tolerance, error) {
	var readings []int
	for i, at := range b.Plan.Readings {
		if at >= from && at <= to {
			readings = append(readings, i)
		}
	}
	if err := b.usable(m, len(readings)); err != nil {
		return Tolerance{}, err
	}
	_, tolerance := b.tolerance(m, readings)
	return tolerance, nil
}

func (b *Bands) usable(m Metric, readings int) error {
	switch {
	case b.values[m] == nil:
		return fmt.Errorf("unknown metric %q (known: %v)", m, Metrics())
	case readings == 0:
		return fmt.Errorf("no reading of %s to judge", m)
	}
	return nil
}

// tolerance also returns the bands of the readings.
func (b *Bands) tolerance(m Metric, readings []int) ([]Band, Tolerance) {
	bands := make([]Band, len(readings))
	scatter, farthest := make([]float64, b.Runs), make([]float64, b.Runs)
	var scratch []float32
	for i, reading := range readings {
		bands[i], scratch = b.band(m, reading, scratch)
		grain := b.grain(m, reading, bands[i].Mean)
		for run, v := range b.column(m, reading) {
			d := bands[i].distance(float64(v), grain)
			scatter[run] += d * d
			farthest[run] = max(farthest[run], d)
		}
	}
	for run := range scatter {
		scatter[run] = math.Sqrt(scatter[run] / float64(len(readings)))
	}
	position := coverage * float64(b.Runs-1)
	out := Tolerance{
		Readings: len(readings),
		Scatter:  quantile(sortedCopy(nil, scatter), position),
		Distance: quantile(sortedCopy(nil, farthest), position),
	}
	for run := range scatter {
		if scatter[run] > out.Scatter || farthest[run] > out.Distance {
			out.FalseAlarm += 1 / float64(b.Runs)
		}
	}
	return bands, out
}

// An Observation is what was read of a fleet at one time.
type Observation struct {
	At    time.Duration
	Value float64
}

// An Outcome is an observed run held against the bands.
type Outcome struct {
	Metric    Metric
	Inside    bool
	Outside   int     // readings outside the band
	Share     float64 // of the readings
	Scatter   float64 // see Tolerance
	Distance  float64 // the greatest from the mean, in standard deviations
	Worst     Observation
	WorstBand Band
	Tolerance Tolerance
}

// Check holds readings of one run against the bands. Each must be at the time of one of
// the plan's readings: give the plan the times at which the fleet was really read. There
// may be fewer; none at all is an error.
func (b *Bands) Check(m Metric, observed []Observation) (Outcome, error) {
	if err := b.usable(m, len(observed)); err != nil {
		return Outcome{}, err
	}
	readings := make([]int, len(observed))
	for i, o := range observed {
		at, ok := slices.BinarySearch(b.Plan.Readings, o.At)
		if !ok {
			return Outcome{}, fmt.Errorf("%s was read at %v, where the simulation was not: give the plan the times of the readings", m, o.At)
		}
		if math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			return Outcome{}, fmt.Errorf("%s at %v is %g: leave out what was not read", m, o.At, o.Value)
		}
		readings[i] = at
	}
	bands, tolerance := b.tolerance(m, readings)
	out := Outcome{Metric: m, Tolerance: tolerance, Distance: -1}
	for i, o := range observed {
		if !bands[i].holds(o.Value) {
			out.Outside++
		}
		d := bands[i].distance(o.Value, b.grain(m, readings[i], bands[i].Mean))
		out.Scatter += d * d
		if d > out.Distance {
			out.Distance, out.Worst, out.WorstBand = d, o, bands[i]
		}
	}
	out.Scatter = math.Sqrt(out.Scatter / float64(len(observed)))
	out.Share = float64(out.Outside) / float64(len(observed))
	out.Inside = out.Scatter <= tolerance.Scatter*(1+rounding) && out.Distance <= tolerance.Distance*(1+rounding)
	return out, nil
}

// String is one line for a reader.
func (o Outcome) String() string {
	word := "outside"
	if o.Inside {
		word = "inside"
	}
	return fmt.Sprintf("%s %s: %.0f %% of %d readings off the 5-95 %% band, %.2f sd off throughout (up to %.2f are usual), farthest %.1f sd at %v: %.4g, expected %.4g (up to %.1f sd are usual)",
		o.Metric, word, 100*o.Share, o.Tolerance.Readings, o.Scatter, o.Tolerance.Scatter, o.Distance, o.Worst.At, o.Worst.Value, o.WorstBand.Mean, o.Tolerance.Distance)
}
