package istiodthrottle

import (
	"fmt"
	"strconv"
	"time"

	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Series that are read from a recording.
const (
	cpuUse       = "cpu.use"
	cpuPeriods   = "cpu.periods"
	cpuThrottled = "cpu.throttled"
	cpuLost      = "cpu.lost"
	cpus         = "cpus"
	procs        = "gomaxprocs"
)

// Series that are computed from them.
const (
	useRate        = "cpu.use.rate"
	throttledShare = "cpu.throttled.share"
)

// histogram is one of istiod's, as series of its sum, its count and its buckets.
type histogram struct {
	name, metric string
	labels       map[string]string
	// bounds are the upper ones of the buckets, in seconds.
	bounds []float64
}

// The times that istiod tells of, in seconds (pilot/pkg/xds/monitoring.go:72 and :89, 1.31).
func convergence() histogram {
	return histogram{"convergence", "pilot_proxy_convergence_time", nil, []float64{0.1, 0.5, 1, 3, 5, 10, 20, 30}}
}

func listeners() histogram {
	return histogram{"push.lds", "pilot_xds_push_time", map[string]string{"type": "lds"}, []float64{0.01, 0.1, 1, 3, 5, 10, 20, 30}}
}

func (h histogram) sum() string                 { return h.name + ".sum" }
func (h histogram) count() string               { return h.name + ".count" }
func (h histogram) bucket(bound float64) string { return h.name + ".le." + number(bound) }
func number(v float64) string                   { return strconv.FormatFloat(v, 'g', -1, 64) }
func seconds(v float64) string                  { return fmt.Sprintf("%.3g s", v) }
func sampled(name, unit, doc, metric string, labels map[string]string) series.Definition {
	return series.Definition{Name: name, Unit: unit, Doc: doc, Sample: &series.FromSample{Series: metric, Labels: labels}}
}

func (h histogram) definitions() []series.Definition {
	out := []series.Definition{
		sampled(h.sum(), "s", h.metric+", their sum", h.metric+"_sum", h.labels),
		sampled(h.count(), "", h.metric+", how many", h.metric+"_count", h.labels),
	}
	for _, b := range h.bounds {
		labels := map[string]string{"le": number(b)}
		for k, v := range h.labels {
			labels[k] = v
		}
		out = append(out, sampled(h.bucket(b), "", h.metric+" up to "+seconds(b), h.metric+"_bucket", labels))
	}
	return out
}

func definitions() []series.Definition {
	istiod := map[string]string{recording.ContainerLabel: recording.IstiodContainer}
	out := []series.Definition{
		sampled(cpuUse, "s", "CPU time that istiod used", recording.CPUUse, istiod),
		sampled(cpuPeriods, "periods", "periods of its limit that the kernel counted", recording.CPUPeriods, istiod),
		sampled(cpuThrottled, "periods", "those that were throttled", recording.CPUThrottled, istiod),
		sampled(cpuLost, "s", "time for which CPUs waited", recording.CPULost, istiod),
		sampled(cpus, "CPUs", "CPUs of the machine", recording.MachineCPUs, nil),
		sampled(procs, "", "GOMAXPROCS of istiod", "go_sched_gomaxprocs_threads", nil),
	}
	return append(append(out, convergence().definitions()...), listeners().definitions()...)
}

// reading is what was counted since istiod's start.
type reading struct {
	t time.Duration
	quota.Count
}

// readings are those of a step, in order; why says what the recording lacks.
func readings(set *series.Set, in series.Interval) (out []reading, why string, err error) {
	states, err := set.Join(in, cpuUse, cpuPeriods, cpuThrottled, cpuLost)
	if err != nil {
		return nil, "", err
	}
	for _, s := range states {
		value := func(i int) float64 { return s.Points[i].Value.Num }
		r := reading{s.Points[0].T, quota.Count{Use: span(value(0)), Periods: int64(value(1)), Throttled: int64(value(2)), Lost: span(value(3))}}
		if n := len(out); n > 0 {
			if c := between(out[n-1], r); c.Use < 0 || c.Periods < 0 || c.Throttled < 0 || c.Lost < 0 {
				return nil, "the kernel's counts went back: they are of several containers", nil
			}
			if out[n-1].t == r.t {
				out = out[:n-1]
			}
		}
		out = append(out, r)
	}
	if len(out) < 2 {
		return nil, fmt.Sprintf("%d readings of istiod's limit, expected 2 or more", len(out)), nil
	}
	return out, "", nil
}

func span(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// between is what was counted from one reading to another.
func between(a, b reading) quota.Count {
	return quota.Count{Span: b.t - a.t, Use: b.Use - a.Use, Lost: b.Lost - a.Lost, Periods: b.Periods - a.Periods, Throttled: b.Throttled - a.Throttled}
}

func whole(rs []reading) quota.Count { return between(rs[0], rs[len(rs)-1]) }

// stretches cuts readings into parts of at least so long, and returns the readings
// between which they are.
func stretches(rs []reading, least time.Duration) [][2]reading {
	var out [][2]reading
	from := rs[0]
	for _, r := range rs[1:] {
		if r.t-from.t >= least {
			out = append(out, [2]reading{from, r})
			from = r
		}
	}
	return out
}

// computed are the rates of each second, from the quiet to the end.
func computed(set *series.Set) []*series.Series {
	use := &series.Series{Name: useRate, Unit: "cores", Doc: "CPU that istiod used in a second"}
	share := &series.Series{Name: throttledShare, Unit: "%", Doc: "periods of a second that were throttled, of those that were counted"}
	out := []*series.Series{use, share}
	in, ok := set.Resolve(series.Window{From: StepQuiet, To: StepPush})
	if !ok {
		return out
	}
	rs, why, err := readings(set, in)
	if why != "" || err != nil {
		return out
	}
	for _, s := range stretches(rs, time.Second) {
		c := between(s[0], s[1])
		add := func(of *series.Series, v float64) {
			of.Points = append(of.Points, series.Point{T: s[0].t, Value: series.Number(v), Ref: "sample of " + recording.CPUUse})
		}
		add(use, c.Use.Seconds()/c.Span.Seconds())
		add(share, percent(c.Throttled, c.Periods))
	}
	return out
}

func percent(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}

// quantile says between which bounds a quantile of what a histogram counted in an
// interval lies, and how many that were.
func (h histogram) quantile(set *series.Set, in series.Interval, q float64) (text string, n float64, err error) {
	if n, err = growth(set, h.count(), in); err != nil || n == 0 {
		return "-", n, err
	}
	below := 0.0
	for _, b := range h.bounds {
		upTo, err := growth(set, h.bucket(b), in)
		if err != nil {
			return "", 0, err
		}
		if upTo >= q*n {
			return fmt.Sprintf("%s to %s", seconds(below), seconds(b)), n, nil
		}
		below = b
	}
	return "more than " + seconds(below), n, nil
}

// mean is that of what it counted in an interval.
func (h histogram) mean(set *series.Set, in series.Interval) (string, error) {
	sum, err := growth(set, h.sum(), in)
	if err != nil {
		return "", err
	}
	n, err := growth(set, h.count(), in)
	if err != nil || n == 0 {
		return "-", err
	}
	return seconds(sum / n), nil
}

// growth of a counter. It is exported from its first count on, and was 0 before.
func growth(set *series.Set, name string, in series.Interval) (float64, error) {
	s, err := set.Get(name)
	if err != nil {
		return 0, err
	}
	from, _ := s.At(in.From)
	to, _ := s.At(in.To)
	return to.Value.Num - from.Value.Num, nil
}

// machine is how many CPUs there are, 0 if the recording does not tell.
func machine(set *series.Set) (int, error) {
	s, err := set.Get(cpus)
	if err != nil {
		return 0, err
	}
	p, _ := s.At(set.End)
	return int(p.Value.Num), nil
}
