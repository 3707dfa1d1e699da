package controlplane

import (
	"fmt"
	"math"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/series"
)

// untold is the finding where the recording tells too little to play the model.
func untold(err error) judge.Finding {
	return judge.Finding{Status: judge.Inconclusive, Observed: "-", Why: err.Error()}
}

// within says whether a value lies between what all runs of the model did, or is so
// much later. One that some runs never reached has no upper end.
func within(sample mesh.Sample, value, late float64) bool {
	low, high, bounded := rangeOf(sample)
	return value >= low && (!bounded || value <= high+late)
}

func rangeOf(sample mesh.Sample) (low, high float64, bounded bool) {
	if len(sample.Values) == 0 {
		return math.Inf(1), math.Inf(1), true
	}
	return sample.Values[0], sample.Values[len(sample.Values)-1], sample.Missing == 0
}

// curve holds a series over the model's readings against the band of its runs.
type curve struct {
	replay *replay
	metric mesh.Metric
	series string
	// scale makes the model's unit of the series'.
	scale     float64
	window    series.Window
	predicted string
}

func (c curve) Predicted() string { return c.predicted }
func (c curve) Series() []string  { return []string{c.series} }

// Eval is broken if the run is off the band for longer, or farther, than 99.9 % of the
// model's own runs.
func (c curve) Eval(set *series.Set) (judge.Finding, error) {
	s, err := set.Get(c.series)
	if err != nil {
		return judge.Finding{}, err
	}
	if err := c.replay.over(set); err != nil {
		return untold(err), nil
	}
	in, ok := set.Resolve(c.window)
	if !ok {
		return untold(fmt.Errorf("the script did not reach the end of %q", c.window.To)), nil
	}
	observed := c.replay.observed(s, in, c.scale)
	if len(observed) == 0 {
		return untold(fmt.Errorf("%s has no value inside the window", c.series)), nil
	}
	out, err := c.replay.bands.Check(c.metric, observed)
	if err != nil {
		return judge.Finding{}, err
	}
	at := c.replay.window.From + out.Worst.At
	f := judge.Finding{Status: judge.Held, Samples: len(observed), At: &at, Observed: fmt.Sprintf(
		"%.1f sd off the model throughout, %.1f at most", out.Scatter, out.Distance)}
	if !out.Inside {
		f.Status = judge.Broken
		f.Why = fmt.Sprintf("%d readings are %.2f standard deviations off throughout, and %.1f at most: %s where the model has %s (99.9 %% of its runs are at most %.2f and %.1f off)",
			len(observed), out.Scatter, out.Distance, c.say(out.Worst.Value), c.say(out.WorstBand.Mean), out.Tolerance.Scatter, out.Tolerance.Distance)
	}
	return f, nil
}

func (c curve) say(v float64) string { return fmt.Sprintf("%.3g", v/c.scale) }

// usual: what one run in so many of the model does is no surprise.
const usual = 500

// quantity holds a number of the whole run against those of the model's runs.
type quantity struct {
	replay *replay
	unit   string
	// late is by how much it may be seen late, in its unit.
	late float64
	// since is the step from whose begin a time is told; "" where it is no time of the run.
	since string
	// observe returns the number, or why there is none: with an error the recording
	// tells too little, with a text the thing did not happen.
	observe   func(set *series.Set) (value float64, missing string, samples int)
	sample    func(b *mesh.Bands) mesh.Sample
	predicted string
}

func (q quantity) Predicted() string { return q.predicted }
func (q quantity) Series() []string  { return nil }

func (q quantity) Eval(set *series.Set) (judge.Finding, error) {
	if err := q.replay.over(set); err != nil {
		return untold(err), nil
	}
	sample := q.sample(q.replay.bands)
	value, missing, samples := q.observe(set)
	from := q.begin(set)
	least, most, bounded := rangeOf(sample)
	model := fmt.Sprintf("between %s and %s", q.say(least-from), q.say(most-from))
	switch {
	case len(sample.Values) == 0:
		model = "in none of the model's runs"
	case !bounded:
		model = fmt.Sprintf("from %s on, and in %d of %d runs not by the end", q.say(least-from), sample.Missing, len(sample.Values)+sample.Missing)
	}
	f := judge.Finding{Status: judge.Held, Samples: samples, Observed: q.say(value - from)}
	switch {
	case missing != "" && sample.Missing > q.replay.bands.Runs/usual: // nor did it in some runs of the model
		f.Observed = missing
	case missing != "":
		f.Status, f.Observed, f.Why = judge.Broken, missing, "the model has it "+model
	case !within(sample, value, q.late):
		f.Status = judge.Broken
		f.Why = fmt.Sprintf("%s, and in %d runs of the model with the same replicas it was %s", q.say(value-from), q.replay.bands.Runs, model)
	}
	return f, nil
}

// begin is when the step began, in seconds after the model's begin.
func (q quantity) begin(set *series.Set) float64 {
	if step := set.Step(q.since); step != nil {
		return (step.Begin - q.replay.window.From).Seconds()
	}
	return 0
}

func (q quantity) say(v float64) string {
	if q.unit == "" {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.4g %s", v, q.unit)
}

// lives holds how old connections became against the draw of their ages.
type lives struct {
	replay *replay
	life   mesh.Lifetime
}

const (
	// admission: a connection's age begins when it is accepted, and it is known when
	// it was admitted, up to a second later (request limit, WaitForRequestLimit).
	admission = time.Second
	// notice is how late an end may be seen: the server's timer, the way, and what a
	// busy machine adds. What the proxies saw later than that they said.
	notice = time.Second
)

func (l lives) Predicted() string {
	return fmt.Sprintf("%.1f to %.1f s", l.life.Shortest().Seconds(), l.life.Longest().Seconds())
}

func (l lives) Series() []string { return nil }

// Eval looks at all connections that istiod asked to end, of replicas that stayed.
func (l lives) Eval(set *series.Set) (judge.Finding, error) {
	if err := l.replay.over(set); err != nil {
		return untold(err), nil
	}
	least, most, n := time.Duration(math.MaxInt64), time.Duration(0), 0
	for i := range set.Fleet.Connections {
		c := &set.Fleet.Connections[i]
		if c.Because != series.AfterGoAway || !l.ofIstiod(c) || !l.replay.window.Contains(c.To) || l.replay.leaving(set.Fleet, c) {
			continue
		}
		least, most, n = min(least, c.Age()), max(most, c.Age()), n+1
	}
	switch overdue := l.overdue(set); {
	case n == 0 && overdue == 0:
		return untold(fmt.Errorf("no connection was old enough to end")), nil
	case n == 0:
		return judge.Finding{Status: judge.Broken, Observed: "none ended", Why: fmt.Sprintf(
			"no connection ended for its age, and %d of them were older than %.1f s: was the age given to istiod?", overdue, l.life.Longest().Seconds())}, nil
	}
	f := judge.Finding{Status: judge.Held, Samples: n, Observed: fmt.Sprintf("%.1f to %.1f s", least.Seconds(), most.Seconds())}
	if low, high := l.life.Shortest()-admission-notice, l.life.Longest()+notice; least < low || most > high {
		f.Status = judge.Broken
		f.Why = fmt.Sprintf("of %d connections that istiod ended, the shortest lived %.2f s and the longest %.2f s, expected %.1f to %.1f s (%s for the admission and %s until it is seen allowed for)",
			n, least.Seconds(), most.Seconds(), l.life.Shortest().Seconds(), l.life.Longest().Seconds(), admission, notice)
	}
	return f, nil
}

// overdue counts the connections that were too old for istiod to let them be, of
// replicas that stayed.
func (l lives) overdue(set *series.Set) int {
	n := 0
	for i := range set.Fleet.Connections {
		c := &set.Fleet.Connections[i]
		if min(c.To, l.replay.window.To)-c.From > l.life.Longest()+notice && !l.replay.leaving(set.Fleet, c) {
			n++
		}
	}
	return n
}

// ofIstiod says whether istiod ended the connection: a proxy that waits for that ends
// only its first one by itself, in place of a life that began before, and may have
// been asked to leave by then.
func (l lives) ofIstiod(c *series.Connection) bool {
	return l.life.Grace == mesh.ClosesOnGoAway || c.Code != ""
}

// leaving says whether a connection ended because its replica left, and not for its age.
// That a pod left may be seen after the connection's end.
func (r *replay) leaving(fleet *series.Fleet, c *series.Connection) bool {
	late := time.Duration(0)
	if fleet.Service != nil {
		late = notice
	}
	for i := range fleet.Replicas {
		x := &fleet.Replicas[i]
		if n := len(x.Ready); x.Name == c.Replica && n > 0 {
			left := x.Ready[n-1].To
			return left < r.of.End && c.To >= left-late
		}
	}
	return false
}

// back: at the end of the watch every proxy has a connection, to a replica that is
// Ready.
type back struct {
	replay  *replay
	proxies int
}

func (b back) Predicted() string { return fmt.Sprintf("%d connected", b.proxies) }
func (b back) Series() []string  { return []string{series.ProxiesName, series.ConnectedName} }

// Eval allows for those that are just between two connections.
func (b back) Eval(set *series.Set) (judge.Finding, error) {
	if err := b.replay.over(set); err != nil {
		return untold(err), nil
	}
	last := len(b.replay.bands.Plan.Readings) - 1
	at := b.replay.at(last)
	var n [2]float64
	for i, name := range b.Series() {
		s, err := set.Get(name)
		if err != nil {
			return judge.Finding{}, err
		}
		p, _ := s.At(at)
		n[i] = p.Value.Num
	}
	out, err := b.replay.bands.Check(mesh.Connected, []mesh.Observation{{At: b.replay.bands.Plan.Readings[last], Value: n[1]}})
	if err != nil {
		return judge.Finding{}, err
	}
	f := judge.Finding{Status: judge.Held, At: &at, Samples: int(n[0]), Observed: fmt.Sprintf("%.0f of %.0f connected", n[1], n[0])}
	if n[1] < out.WorstBand.Mean && !out.Inside {
		f.Status = judge.Broken
		f.Why = fmt.Sprintf("%.0f proxies are connected at the end, and the model has %.1f", n[1], out.WorstBand.Mean)
	}
	return f, nil
}
