package mesh

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Metric is one of the numbers of a Reading that bands are made of.
type Metric string

// The metrics.
const (
	CoV         Metric = "CoV"         // a ratio
	MaxOverMean Metric = "max/mean"    // a ratio
	Connects    Metric = "connects/s"  // streams per second since the reading before
	Connected   Metric = "connections" // on Ready replicas
)

const (
	lowest     = 0.05        // share of the runs below a band
	highest    = 0.95        // share of the runs not above it
	coverage   = 0.99        // share of the runs that a tolerance lets pass
	leastRuns  = 100         // of fewer, the quantile of coverage is their maximum
	rounding   = 1e-6        // relative, of the bands' 32-bit numbers
	maxNumbers = 100_000_000 // that bands may keep: 400 MB
)

// Metrics returns all metrics.
func Metrics() []Metric { return []Metric{CoV, MaxOverMean, Connects, Connected} }

// of is a metric of a reading, given the seconds since the one before.
func (m Metric) of(r Reading, since float64) float64 {
	switch m {
	case CoV:
		return r.CoV
	case MaxOverMean:
		return r.MaxOverMean
	case Connected:
		return float64(r.Connected)
	}
	if since <= 0 {
		return 0
	}
	return float64(r.Connects) / since
}

// Bands are many simulated runs of one plan.
type Bands struct {
	Plan Plan
	Runs int

	Even          Sample // seconds from 0, see Path.Even
	LastOrphan    Sample // seconds from 0; missing where there was no orphan or one is left
	Connects      Sample // streams made after 0
	Refusals      Sample
	Unserved      Sample // orphans without a replica at the last reading
	OutageMedian  Sample // seconds without a replica, of the orphans of a run that were served again
	OutageP99     Sample // seconds, 99th percentile of the same
	OutageHighest Sample // seconds; missing as LastOrphan

	// values has, for each metric, the readings one after the other, each with all runs.
	values map[Metric][]float32
}

// Simulate plays the plan often, with a seed of its own for each run. It needs at least
// 100 runs: the tolerances are quantiles of 99 %.
func Simulate(ctx context.Context, plan Plan, runs int, seed uint64) (*Bands, error) {
	if runs < leastRuns {
		return nil, fmt.Errorf("%d runs: at least %d are needed for a tolerance of %g", runs, leastRuns, coverage)
	}
	if n := runs * len(plan.Readings) * len(Metrics()); n > maxNumbers {
		return nil, fmt.Errorf("%d runs of %d readings are %d numbers, at most %d are kept: take fewer runs or readings", runs, len(plan.Readings), n, maxNumbers)
	}
	s, err := NewSimulator(plan)
	if err != nil {
		return nil, err
	}
	b := &Bands{Plan: plan, Runs: runs, values: map[Metric][]float32{}}
	for _, m := range Metrics() {
		b.values[m] = make([]float32, runs*len(plan.Readings))
	}
	var path Path
	totals := newTotals(runs)
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Run(seed+uint64(run), &path)
		totals.add(&path)
		b.keep(run, &path)
	}
	totals.into(b)
	return b, nil
}

func (b *Bands) keep(run int, path *Path) {
	for _, m := range Metrics() {
		values := b.values[m]
		before := time.Duration(0)
		for i, r := range path.Readings {
			values[i*b.Runs+run] = float32(m.of(r, (r.At - before).Seconds()))
			before = r.At
		}
	}
}

// totals are the numbers of a whole run, of each run.
type totals struct {
	even, lastOrphan, connects, refusals, unserved, median, p99, highest []float64
	runs                                                                 int
	outages                                                              []float64
}

func newTotals(runs int) *totals { return &totals{runs: runs} }

func (t *totals) add(path *Path) {
	if at, ok := path.Even(); ok {
		t.even = append(t.even, at.Seconds())
	}
	t.connects = append(t.connects, float64(path.Connects))
	t.refusals = append(t.refusals, float64(path.Refusals))
	t.unserved = append(t.unserved, float64(path.Unserved))
	if len(path.Outages) == 0 {
		return
	}
	t.outages = sortedCopy(t.outages, path.Outages)
	last := float64(len(t.outages) - 1)
	t.median = append(t.median, quantile(t.outages, 0.5*last))
	t.p99 = append(t.p99, quantile(t.outages, 0.99*last))
	if at, ok := path.LastOrphan(); ok {
		t.lastOrphan = append(t.lastOrphan, at.Seconds())
		t.highest = append(t.highest, t.outages[len(t.outages)-1])
	}
}

func (t *totals) into(b *Bands) {
	sample := func(values []float64) Sample { return newSample(values, t.runs-len(values)) }
	b.Even, b.LastOrphan = sample(t.even), sample(t.lastOrphan)
	b.Connects, b.Refusals, b.Unserved = sample(t.connects), sample(t.refusals), sample(t.unserved)
	b.OutageMedian, b.OutageP99, b.OutageHighest = sample(t.median), sample(t.p99), sample(t.highest)
}

// A Band is what a metric is at one reading: of the runs, 5 % lie below Low and 5 % above
// High.
type Band struct {
	At                time.Duration
	Low, Median, High float64
	Mean, SD          float64
}

// Curve is the band at every reading, nil of an unknown metric.
func (b *Bands) Curve(m Metric) []Band {
	if b.values[m] == nil {
		return nil
	}
	var scratch []float32
	out := make([]Band, len(b.Plan.Readings))
	for i := range out {
		out[i], scratch = b.band(m, i, scratch)
	}
	return out
}

func (b *Bands) column(m Metric, reading int) []float32 {
	return b.values[m][reading*b.Runs : (reading+1)*b.Runs]
}

func (b *Bands) band(m Metric, reading int, scratch []float32) (Band, []float32) {
	values := b.column(m, reading)
	scratch = sortedCopy(scratch, values)
	last := float64(len(scratch) - 1)
	out := Band{
		At:     b.Plan.Readings[reading],
		Low:    quantile(scratch, lowest*last),
		Median: quantile(scratch, 0.5*last),
		High:   quantile(scratch, highest*last),
		Mean:   mean(values),
	}
	out.SD = deviation(values, out.Mean)
	return out, scratch
}

// holds says whether a value is in the band.
func (b Band) holds(v float64) bool {
	return v >= b.Low-rounding*(1+math.Abs(b.Low)) && v <= b.High+rounding*(1+math.Abs(b.High))
}

// distance is how far a value is from the mean, in standard deviations. One connection
// counts as one where the runs differ by less.
func (b Band) distance(v, grain float64) float64 { return math.Abs(v-b.Mean) / max(b.SD, grain) }

// grain is what one connection makes of a metric.
func (b *Bands) grain(m Metric, reading int) float64 {
	fleet := b.Plan.Final()
	n, k := float64(max(fleet.Connections, 1)), float64(max(fleet.Replicas, 1))
	switch m {
	case CoV:
		return 1 / n
	case MaxOverMean:
		return k / n
	case Connects:
		before := time.Duration(0)
		if reading > 0 {
			before = b.Plan.Readings[reading-1]
		}
		if dt := (b.Plan.Readings[reading] - before).Seconds(); dt > 0 {
			return 1 / dt
		}
	}
	return 1
}

// A Tolerance is how far a single run may be off without being unusual. The readings of a
// run are correlated, so the limits are not binomial ones: they are quantiles of what the
// simulated runs themselves do, each held against the bands.
type Tolerance struct {
	Readings int
	Outside  float64 // 99 % of the runs have at most this share of readings outside the band
	Distance float64 // 99 % are never farther from the mean, in standard deviations
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
	outside, farthest := make([]float64, b.Runs), make([]float64, b.Runs)
	var scratch []float32
	for i, reading := range readings {
		bands[i], scratch = b.band(m, reading, scratch)
		grain := b.grain(m, reading)
		for run, v := range b.column(m, reading) {
			if !bands[i].holds(float64(v)) {
				outside[run]++
			}
			farthest[run] = max(farthest[run], bands[i].distance(float64(v), grain))
		}
	}
	for run := range outside {
		outside[run] /= float64(len(readings))
	}
	position := coverage * float64(b.Runs-1)
	out := Tolerance{
		Readings: len(readings),
		Outside:  quantile(sortedCopy(nil, outside), position),
		Distance: quantile(sortedCopy(nil, farthest), position),
	}
	for run := range outside {
		if outside[run] > out.Outside || farthest[run] > out.Distance {
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
		if d := bands[i].distance(o.Value, b.grain(m, readings[i])); d > out.Distance {
			out.Distance, out.Worst, out.WorstBand = d, o, bands[i]
		}
	}
	out.Share = float64(out.Outside) / float64(len(observed))
	out.Inside = out.Share <= tolerance.Outside+rounding && out.Distance <= tolerance.Distance*(1+rounding)
	return out, nil
}

// String is one line for a reader.
func (o Outcome) String() string {
	word := "outside"
	if o.Inside {
		word = "inside"
	}
	return fmt.Sprintf("%s %s: %.0f %% of %d readings off the 5-95 %% band (up to %.0f %% are usual), farthest %.1f sd at %v: %.4g, expected %.4g (up to %.1f sd are usual)",
		o.Metric, word, 100*o.Share, o.Tolerance.Readings, 100*o.Tolerance.Outside, o.Distance, o.Worst.At, o.Worst.Value, o.WorstBand.Mean, o.Tolerance.Distance)
}
