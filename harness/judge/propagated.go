package judge

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Propagated: every change of one series is followed by the same value of
// another one within a limit, as a weight that is stored by the weight that is
// delivered. A change that another one overtakes within the limit need not be
// seen, and then one back to what is delivered already need not be either.
type Propagated struct {
	From, To string
	Within   time.Duration
	Window   series.Window
}

func (c Propagated) Series() []string { return []string{c.From, c.To} }
func (c Propagated) Predicted() string {
	return fmt.Sprintf("each change of %s reaches %s within %s", c.From, c.To, seconds(c.Within))
}

func (c Propagated) Eval(set *series.Set) (Finding, error) {
	from, in, less, err := view(set, c.From, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	to, _, less, err := view(set, c.To, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	all := follow(from, to, in, c.Within)
	if len(all) == 0 {
		return untimely(set, in, inconclusive(0, "%s never changed inside the window", c.From), from), nil
	}
	return c.finding(set, from, to, in, all), nil
}

// followed is a change with when the other series had its value.
type followed struct {
	change series.Point
	at     series.Point
	seen   bool
	// overtaken: the next change came before the limit.
	overtaken bool
	// already: the other series had the value, as the change before was overtaken.
	already bool
}

func (f followed) took() time.Duration { return f.at.T - f.change.T }

// watchLag is how much later the recorder's watch may deliver a change than that
// of istiod: both are sent it by the same API server at the same time, and the
// recorder may be busy.
const watchLag = 500 * time.Millisecond

// follow finds for each change inside the interval the first time at which the
// other series takes its value: after the match before it, and not before the
// change but for the lag of the watch. What came back before it was delivered is
// delivered for the newest change to that value.
func follow(from, to *series.Series, in series.Interval, within time.Duration) []followed {
	targets := to.Changes(series.Interval{From: 0, To: in.To + within})
	var out []followed
	next := 0
	changes := changesOf(from, in)
	for i, p := range changes {
		f := followed{change: p, overtaken: i+1 < len(changes) && changes[i+1].T-p.T < within}
		for j := next; j < len(targets) && targets[j].T <= p.T+within; j++ {
			if targets[j].Value == p.Value && targets[j].T >= p.T-watchLag {
				if !repeated(changes[i+1:], targets[j]) {
					f.at, f.seen, next = targets[j], true, j+1
				}
				break
			}
		}
		if !f.seen && i > 0 && !out[i-1].seen {
			at, known := to.At(p.T)
			if f.already = known && at.Value == p.Value; f.already {
				f.at = at
			}
		}
		out = append(out, f)
	}
	return out
}

// repeated says whether one of the changes came to the same value before it was
// delivered.
func repeated(later []series.Point, delivered series.Point) bool {
	return slices.ContainsFunc(later, func(p series.Point) bool { return p.Value == delivered.Value && p.T <= delivered.T })
}

// changesOf are the changes inside an interval without the value at its begin,
// or else the first that was ever known.
func changesOf(s *series.Series, in series.Interval) []series.Point {
	points := s.Changes(in)
	return points[min(1, len(points)):]
}

func (c Propagated) finding(set *series.Set, from, to *series.Series, in series.Interval, all []followed) Finding {
	f := Finding{Status: Held, Observed: sayTimes(all), Samples: len(all)}
	unclear := f
	for _, p := range all {
		switch miss := c.missed(set, from, to, f, p); miss.Status {
		case Broken:
			return miss // seen is seen: no other gap can undo it
		case Inconclusive:
			unclear = miss
		}
	}
	if unclear.Status == Inconclusive {
		return unclear
	}
	return hidden(set, in, false, f, c.From)
}

// missed judges one change: a gap matters only to those that it may have delayed.
func (c Propagated) missed(set *series.Set, from, to *series.Series, f Finding, p followed) Finding {
	if p.seen || p.already {
		return untimely(set, series.Interval{From: min(p.change.T, p.at.T), To: max(p.change.T, p.at.T)}, f, from, to)
	}
	if p.overtaken {
		return f
	}
	f = f.at(p.change)
	when := series.Interval{From: p.change.T - watchLag, To: p.change.T + c.Within}
	if set.End < when.To {
		f.Status, f.Why = Inconclusive, fmt.Sprintf("%s became %s less than %s before the end of the recording", c.From, p.change.Value, seconds(c.Within))
		return f
	}
	f.Status = Broken
	f.Why = fmt.Sprintf("%s became %s, and %s did not within %s", c.From, p.change.Value, c.To, seconds(c.Within))
	return untimely(set, when, f, from, to)
}

// untimely makes a finding on times inconclusive where a gap made them so.
func untimely(set *series.Set, in series.Interval, f Finding, tracks ...*series.Series) Finding {
	for _, s := range tracks {
		for _, g := range set.GapsOf(s.Resources, in) {
			return doubt(f, g)
		}
	}
	return f
}

// sayTimes tells how long it took: "7 changes, 0.125 s to 0.238 s (median 0.161 s)".
func sayTimes(all []followed) string {
	var took []time.Duration
	already, overtaken, missed := 0, 0, 0
	for _, f := range all {
		switch {
		case f.seen:
			took = append(took, f.took())
		case f.already:
			already++
		case f.overtaken:
			overtaken++
		default:
			missed++
		}
	}
	text := fmt.Sprintf("%s: none arrived", changeCount(len(all)))
	switch d, ok := spread(took); {
	case len(took) == 1 && len(all) == 1:
		text = "1 change: " + seconds(took[0])
	case ok:
		text = fmt.Sprintf("%s: %s to %s (median %s)", changeCount(len(all)), seconds(d.least), seconds(d.greatest), seconds(d.median))
	}
	return text + apart(int64(overtaken), "overtaken by the next") + apart(int64(already), "back to what is there") + apart(int64(missed), "not within the limit")
}

func changeCount(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

// extent is how a number of times lie.
type extent struct{ least, median, greatest time.Duration }

// spread of no times is none. The median of an even number is the mean of the
// two in the middle.
func spread(ds []time.Duration) (extent, bool) {
	if len(ds) == 0 {
		return extent{}, false
	}
	ds = slices.Sorted(slices.Values(ds))
	middle := (ds[(len(ds)-1)/2] + ds[len(ds)/2]) / 2
	return extent{ds[0], middle, ds[len(ds)-1]}, true
}
