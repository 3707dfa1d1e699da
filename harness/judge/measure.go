package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Measure is what a report tells of a client's requests without judging it.
type Measure struct {
	Title  string
	Client string
	// Periods are the parts of the run that are told of, one by one.
	Periods []Period
	// Versions are those whose shares are told; without any, all that answered the
	// client at any time.
	Versions []string
	// Busiest is of how many pods the requests per second are told.
	Busiest int
	// Delays are times that are told of.
	Delays []Delay
	// Level is that of each interval of a share on its own, 0.95 if 0: what a
	// reader expects of an error bar.
	Level float64
}

// Period is a named part of a window: all of it, or where conditions hold together.
type Period struct {
	Name   string
	While  []Cond
	Window series.Window
}

// Delay is how long the changes of a weight took: to the same value of another
// series, or to the first answer that the weight before could not have given.
type Delay struct {
	Name string
	// From is the series of the weight, in percent.
	From string
	// To is the series that follows, "" for answers.
	To string
	// Answers is what the weight From is for. Only changes from 0 and from 100 show
	// in a first answer, and only where requests are so many that the first of them
	// is not long in coming.
	Answers *Aim
	// Within is how long a change is waited for.
	Within time.Duration
	Window series.Window
}

// MeasureResult is what was measured.
type MeasureResult struct {
	Title   string         `json:"title"`
	Client  string         `json:"client"`
	Periods []PeriodResult `json:"periods,omitempty"`
	Delays  []DelayResult  `json:"delays,omitempty"`
}

// PeriodResult tells of the requests that were due in a period's whole intervals.
type PeriodResult struct {
	Name string `json:"name"`
	// Seconds is how long these intervals are together.
	Seconds  float64             `json:"seconds"`
	Due      int64               `json:"due"`
	Answered int64               `json:"answered"`
	Failed   int64               `json:"failed"`
	Causes   []series.CauseCount `json:"causes,omitempty"`
	Versions []VersionResult     `json:"versions,omitempty"`
	Latency  *LatencyResult      `json:"latency,omitempty"`
	Pods     []PodResult         `json:"pods,omitempty"`
	// Note says why something is missing.
	Note string `json:"note,omitempty"`
}

// VersionResult is the share of the requests due that a version answered.
type VersionResult struct {
	Version string `json:"version"`
	Estimate
}

// LatencyResult is the latency of the answers in milliseconds. Each number is the
// lowest value of its histogram bucket: the true one is up to ErrorPercent greater.
type LatencyResult struct {
	N            int64   `json:"n"`
	P50          float64 `json:"p50"`
	P90          float64 `json:"p90"`
	P99          float64 `json:"p99"`
	Max          float64 `json:"max"`
	ErrorPercent float64 `json:"errorPercent"`
}

// PodResult is what a pod answered.
type PodResult struct {
	Pod       string  `json:"pod"`
	Version   string  `json:"version"`
	N         int64   `json:"n"`
	PerSecond float64 `json:"perSecond"`
}

// DelayResult tells how long changes took, in seconds.
type DelayResult struct {
	Name string `json:"name"`
	// Changes is how many there were, N how many of them were measured.
	Changes int     `json:"changes"`
	N       int     `json:"n"`
	Min     float64 `json:"min"`
	Median  float64 `json:"median"`
	Max     float64 `json:"max"`
	// Error is by how much a time may be too long.
	Error float64 `json:"error"`
	Note  string  `json:"note,omitempty"`
}

func (m Measure) measure(set *series.Set) (MeasureResult, error) {
	out := MeasureResult{Title: m.Title, Client: m.Client}
	if len(m.Versions) == 0 {
		m.Versions = slices.Sorted(maps.Keys(series.Sum(counted(set.Traffic[m.Client])).Versions))
	}
	for _, p := range m.Periods {
		r, err := m.period(set, p)
		if err != nil {
			return out, err
		}
		out.Periods = append(out.Periods, r)
	}
	for _, d := range m.Delays {
		r, err := d.measure(set)
		if err != nil {
			return out, err
		}
		out.Delays = append(out.Delays, r)
	}
	return out, nil
}

// Series are those that a measure reads.
func (m Measure) Series() []string {
	var out []string
	for _, p := range m.Periods {
		for _, c := range p.While {
			out = append(out, c.Series)
		}
	}
	for _, d := range m.Delays {
		out = append(out, d.From)
		if d.To != "" {
			out = append(out, d.To)
		}
	}
	return out
}

func (m Measure) period(set *series.Set, p Period) (PeriodResult, error) {
	r := PeriodResult{Name: p.Name}
	in, ok := set.Resolve(p.Window)
	parts, err := holding(set, p.While, in)
	switch {
	case err != nil:
		return r, err
	case !ok:
		r.Note = "the script did not get there"
		return r, nil
	case len(parts) == 0:
		r.Note = "never so"
		return r, nil
	}
	tally := series.NewTally()
	for _, part := range parts {
		for _, b := range counted(set.WholeBins(m.Client, part)) {
			tally.Add(&b)
		}
	}
	m.fill(&r, tally)
	r.Note = m.note(set, parts, tally)
	return r, nil
}

// note says what is missing of the requests.
func (m Measure) note(set *series.Set, parts []series.Interval, tally *series.Tally) string {
	for _, part := range parts {
		for _, g := range set.GapsOf([]string{series.TrafficResource(m.Client)}, part) {
			return cut(g)
		}
	}
	if tally.Bins == 0 {
		return "shorter than an interval of the client"
	}
	return ""
}

// holding is where all conditions hold together, in parts of the interval.
func holding(set *series.Set, conds []Cond, in series.Interval) ([]series.Interval, error) {
	if len(conds) == 0 {
		return []series.Interval{in}, nil
	}
	names := make([]string, len(conds))
	for i, c := range conds {
		names[i] = c.Series
	}
	states, err := set.Join(in, names...)
	if err != nil {
		return nil, err
	}
	var out []series.Interval
	for _, st := range states {
		all := true
		for i, c := range conds {
			all = all && c.Holds(st.Points[i].Value)
		}
		switch n := len(out); {
		case !all || st.T == st.Until:
		case n > 0 && out[n-1].To == st.T:
			out[n-1].To = st.Until
		default:
			out = append(out, series.Interval{From: st.T, To: st.Until})
		}
	}
	return out, nil
}

func (m Measure) fill(r *PeriodResult, t *series.Tally) {
	r.Seconds, r.Due, r.Answered = round(t.Span), t.Due, t.Answered()
	r.Failed, r.Causes = t.Due-t.Answered(), t.CausesByNumber()
	for _, version := range m.Versions {
		if t.Due > 0 {
			answered := aimed{n: t.Due, k: t.Answered(version)}
			r.Versions = append(r.Versions, VersionResult{version, answered.estimate(orDefault(m.Level, 0.95))})
		}
	}
	r.Latency = latencies(&t.Latency)
	r.Pods = busiest(t, m.Busiest)
}

func latencies(h *series.Histogram) *LatencyResult {
	if h.N() <= 0 {
		return nil
	}
	r := &LatencyResult{N: h.N()}
	for q, into := range map[float64]*float64{0.5: &r.P50, 0.9: &r.P90, 0.99: &r.P99, 1: &r.Max} {
		at, _ := h.Quantile(q)
		*into = float64(at.US) / 1000
		if at.US > 0 {
			r.ErrorPercent = max(r.ErrorPercent, hundredths(100*float64(at.Width-1)/float64(at.US)))
		}
	}
	return r
}

// busiest are the pods that answered the most.
func busiest(t *series.Tally, n int) []PodResult {
	var out []PodResult
	for pod, count := range t.Pods {
		out = append(out, PodResult{Pod: pod.Name, Version: pod.Version, N: count, PerSecond: hundredths(float64(count) / t.Span.Seconds())})
	}
	slices.SortFunc(out, func(a, b PodResult) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Version, b.Version))
	})
	return out[:min(max(n, 0), len(out))]
}

func (d Delay) measure(set *series.Set) (DelayResult, error) {
	r := DelayResult{Name: d.Name}
	from, err := set.Get(d.From)
	if err != nil {
		return r, err
	}
	var to *series.Series
	if d.Answers == nil {
		if to, err = set.Get(d.To); err != nil {
			return r, err
		}
	}
	in, ok := set.Resolve(d.Window)
	if !ok {
		r.Note = "the script did not get there"
		return r, nil
	}
	if d.Answers != nil {
		d.answers(set, from, in, &r)
		return r, nil
	}
	all := follow(from, to, in, d.Within)
	var took []time.Duration
	for _, f := range all {
		if f.seen {
			took = append(took, f.took())
		}
	}
	r.put(len(all), took)
	return r, nil
}

func (r *DelayResult) put(changes int, took []time.Duration) {
	r.Changes, r.N = changes, len(took)
	d, ok := spread(took)
	if !ok {
		r.Note = joinNotes(r.Note, "nothing to measure")
		return
	}
	r.Min, r.Median, r.Max = round(d.least), round(d.median), round(d.greatest)
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// longestWait is how long the first request that takes a new way may be in
// coming at most, for the time to its answer to say something of the change.
const longestWait = time.Second

// answers measures from each change to the end of the first interval with an
// answer that the weight before could not have given.
func (d Delay) answers(set *series.Set, from *series.Series, in series.Interval, r *DelayResult) {
	var took []time.Duration
	var worst time.Duration
	changes, few, unseen := changesOf(from, in), 0, 0
	for _, p := range changes {
		before, known := from.At(p.T - 1)
		if !known || before.Value.Num != 0 && before.Value.Num != 100 {
			unseen++
			continue
		}
		after := series.Interval{From: p.T, To: p.T + d.Within}
		bins := counted(set.AnyBins(d.Answers.Client, after))
		wait, enough := d.wait(bins, before.Value.Num, p.Value.Num)
		if !enough {
			few++
			continue
		}
		if at, ok := d.first(bins, before.Value.Num); ok {
			took, worst = append(took, at-p.T), max(worst, wait)
		}
	}
	if unseen > 0 {
		r.Note = fmt.Sprintf("%s at neither 0 nor 100 %% before: no single answer shows them", changeCount(unseen))
	}
	if few > 0 {
		r.Note = joinNotes(r.Note, fmt.Sprintf("%s with too few requests", changeCount(few)))
	}
	r.put(len(changes), took)
	r.Error = round(worst)
}

// wait is how much later than the change took effect its first answer may be
// counted: until the end of an interval, and until a request takes the new way,
// which 99 of 100 times has happened when 4.6 were expected to (e^-4.6 = 0.01).
func (d Delay) wait(bins []series.Bin, before, after float64) (time.Duration, bool) {
	moved := after
	if before == 100 {
		moved = 100 - after
	}
	t := series.Sum(bins)
	expected := float64(t.Due) * moved / 100
	if t.Bins == 0 || expected <= 0 {
		return 0, false
	}
	coming := time.Duration(4.6 / expected * float64(t.Span))
	return coming + t.Span/time.Duration(t.Bins), coming <= longestWait
}

// first is the end of the first interval with an answer of the version, where it
// had no weight before, or else with one of another version.
func (d Delay) first(bins []series.Bin, before float64) (time.Duration, bool) {
	for i := range bins {
		t := series.Sum(bins[i : i+1])
		moved := t.Answered(d.Answers.Version)
		if before == 100 {
			moved = t.Answered() - moved
		}
		if moved > 0 {
			return bins[i].Span().To, true
		}
	}
	return 0, false
}
