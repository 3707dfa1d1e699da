package judge

import (
	"fmt"
	"math"
	"strings"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Counted says which requests a check counts.
type Counted string

const (
	Due      Counted = "due"
	Answered Counted = "answered"
	Failed   Counted = "failed"
)

// Requests: how many requests of a client came to something inside the window,
// from Min to Max, both included.
type Requests struct {
	Client string
	Count  Counted
	// Versions are those whose answers count; without any, all do.
	Versions []string
	// Causes are those whose failures count; without any, all but
	// recording.ClientRace, which is no fault of what is under test.
	Causes   []recording.Cause
	Min, Max int64
	Window   series.Window
	// Part is the part of the window that is counted; without one, all of it. Of a
	// part only whole intervals of the client count: where it begins and ends is
	// known no better than that.
	Part *Part
}

// Part is a part of a window: where conditions hold together, each stretch of it
// with its begin and its end moved, or all that lies outside of these.
type Part struct {
	While    []Cond
	From, To time.Duration
	Outside  bool
}

// Unlimited is a Max that nothing passes.
const Unlimited = math.MaxInt64

// Lost: no request of the client fails of the causes inside the window.
func Lost(client string, window series.Window, causes ...recording.Cause) Requests {
	return Requests{Client: client, Count: Failed, Causes: causes, Window: window}
}

func (c Requests) Series() []string {
	if c.Part == nil {
		return nil
	}
	return c.Part.series()
}

func (p *Part) series() []string {
	var out []string
	for _, cond := range p.While {
		out = append(out, cond.Series)
	}
	return out
}

// of cuts the part out of an interval.
func (p *Part) of(set *series.Set, in series.Interval) ([]series.Interval, error) {
	stretches, err := holding(set, p.While, in)
	if err != nil {
		return nil, err
	}
	var inside []series.Interval
	for _, s := range stretches {
		s = series.Interval{From: max(s.From+p.From, in.From), To: min(s.To+p.To, in.To)}
		switch n := len(inside); {
		case s.From >= s.To:
		case n > 0 && s.From <= inside[n-1].To:
			inside[n-1].To = max(inside[n-1].To, s.To)
		default:
			inside = append(inside, s)
		}
	}
	if !p.Outside {
		return inside, nil
	}
	var outside []series.Interval
	from := in.From
	for _, s := range append(inside, series.Interval{From: in.To, To: in.To}) {
		if from < s.From {
			outside = append(outside, series.Interval{From: from, To: s.From})
		}
		from = s.To
	}
	return outside, nil
}

func (c Requests) Predicted() string {
	what := string(c.Count)
	switch {
	case c.Count == Answered && len(c.Versions) > 0:
		what += " by " + strings.Join(c.Versions, ", ")
	case c.Count == Failed && len(c.Causes) > 0:
		what += " of " + joinCauses(c.Causes)
	}
	switch {
	case c.Min == c.Max:
		return fmt.Sprintf("%d %s", c.Min, what)
	case c.Max == Unlimited:
		return fmt.Sprintf("at least %d %s", c.Min, what)
	case c.Min <= 0:
		return fmt.Sprintf("at most %d %s", c.Max, what)
	}
	return fmt.Sprintf("%d to %d %s", c.Min, c.Max, what)
}

func joinCauses(causes []recording.Cause) string {
	out := make([]string, len(causes))
	for i, c := range causes {
		out[i] = string(c)
	}
	return strings.Join(out, ", ")
}

func (c Requests) Eval(set *series.Set) (Finding, error) {
	in, less := requests(set, c.Client, c.Window)
	if less != nil {
		return *less, nil
	}
	whole, edges, err := c.bins(set, in)
	if err != nil {
		return Finding{}, err
	}
	tally := series.Sum(whole)
	if tally.Due == 0 {
		return untold(set, c.Client, in, inconclusive(0, "no request of client %s was due inside the window", c.Client)), nil
	}
	least := c.count(tally)
	most := least + c.count(series.Sum(edges))
	f := Finding{Status: Held, Observed: c.say(tally, least, most), Samples: int(tally.Due)}
	switch {
	case least > c.Max && c.Part == nil:
		return c.broken(f, whole, least), nil // seen is seen: no gap can undo it
	case least > c.Max:
		f = c.broken(f, whole, least)
	case most < c.Min:
		f.Status, f.Why = Broken, c.why(most)
	case least < c.Min || most > c.Max:
		f.Status, f.Why = Inconclusive, fmt.Sprintf("%d of the requests were due in an interval across the begin or end of the window", most-least)
	}
	return untold(set, c.Client, in, hidden(set, in, true, f, c.Series()...)), nil
}

// bins are the intervals that count, and those that lie across the begin or the
// end of the window.
func (c Requests) bins(set *series.Set, in series.Interval) (whole, edges []series.Bin, err error) {
	if c.Part == nil {
		return counted(set.WholeBins(c.Client, in)), counted(set.EdgeBins(c.Client, in)), nil
	}
	parts, err := c.Part.of(set, in)
	for _, part := range parts {
		whole = append(whole, counted(set.WholeBins(c.Client, part))...)
	}
	return whole, nil, err
}

func (c Requests) count(t *series.Tally) int64 {
	switch c.Count {
	case Due:
		return t.Due
	case Answered:
		return t.Answered(c.Versions...)
	}
	return t.Failed(c.Causes...)
}

// say names the causes of what failed, whether they count or not.
func (c Requests) say(t *series.Tally, least, most int64) string {
	text := fmt.Sprintf("%d of %d", least, t.Due)
	if most > least {
		text = fmt.Sprintf("%d to %d of %d", least, most, t.Due)
	}
	if c.Count != Failed {
		return text
	}
	var mine, others []string
	for _, cause := range t.CausesByNumber() {
		count := fmt.Sprintf("%s %d", cause.Cause, cause.N)
		if c.count(&series.Tally{Failures: map[series.FailureKind]int64{{Cause: cause.Cause}: 1}}) > 0 {
			mine = append(mine, count)
		} else {
			others = append(others, count)
		}
	}
	if len(mine) > 0 {
		text += ": " + strings.Join(mine, ", ")
	}
	if len(others) > 0 {
		text += " (not counted: " + strings.Join(others, ", ") + ")"
	}
	return text
}

func (c Requests) why(n int64) string {
	were := "were " + string(c.Count)
	if c.Count == Failed {
		were = "failed"
	}
	return fmt.Sprintf("%d requests %s; predicted: %s", n, were, c.Predicted())
}

// broken points at the first interval that has one of them.
func (c Requests) broken(f Finding, bins []series.Bin, n int64) Finding {
	f.Status, f.Why = Broken, c.why(n)
	for i := range bins {
		b := &bins[i]
		if c.count(series.Sum(bins[i:i+1])) == 0 {
			continue
		}
		f = f.at(series.Point{T: b.Span().From, Ref: b.Ref()})
		if text := c.text(b); text != "" {
			f.Why += "; the first failed so: " + text
		}
		break
	}
	return f
}

// text is the error of the first failure that counts.
func (c Requests) text(b *series.Bin) string {
	if c.Count != Failed {
		return ""
	}
	for _, f := range b.Failures {
		if c.count(&series.Tally{Failures: map[series.FailureKind]int64{{Cause: f.Cause}: f.N}}) > 0 {
			return f.Text
		}
	}
	return ""
}
