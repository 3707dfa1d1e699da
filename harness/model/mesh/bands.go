package mesh

import (
	"context"
	"fmt"
	"math"
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
	coverage   = 0.999       // share of the runs that a tolerance lets pass
	leastRuns  = 100         // of fewer, a band of 90 % is a guess
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
	// Timing is by how much an observer may see an event late or early. Where a request
	// limit lets so many connections begin in each second and no more, the runs differ by
	// less than that makes of one of them.
	Timing time.Duration

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
// 100 runs for a band, and 1,000 for a tolerance, which is a quantile of 99.9 %.
func Simulate(ctx context.Context, plan Plan, runs int, seed uint64) (*Bands, error) {
	if runs < leastRuns {
		return nil, fmt.Errorf("%d runs: at least %d are needed for a band", runs, leastRuns)
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

// grain is what one connection makes of a metric, or of a rate what the timing of its
// observer does.
func (b *Bands) grain(m Metric, reading int, rate float64) float64 {
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
			return max(1, rate*b.Timing.Seconds()) / dt
		}
	}
	return 1
}
