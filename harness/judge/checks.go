package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/series"
)

// view resolves a window and a series, and says when too little was seen.
func view(set *series.Set, name string, w series.Window) (*series.Series, series.Interval, *Finding, error) {
	s, err := set.Get(name)
	if err != nil {
		return nil, series.Interval{}, nil, err
	}
	in, ok := set.Resolve(w)
	if !ok {
		f := inconclusive(0, "the script did not run from step %q to the end of step %q", w.From, w.To)
		return s, in, &f, nil
	}
	if len(s.Points) == 0 {
		f := inconclusive(0, "no sample of %s was recorded", name)
		return s, in, &f, nil
	}
	return s, in, nil, nil
}

// hidden returns a finding when a gap in the watch could hide what the check
// asks for. A gap that lost no change matters only to questions of time: what
// it delivered late may belong to the other side of the window's begin or end.
func hidden(set *series.Set, in series.Interval, timing bool, f Finding, names ...string) Finding {
	for _, name := range names {
		s, err := set.Get(name)
		if err != nil {
			continue
		}
		for _, g := range set.GapsOf(s.Resources, in) {
			if !g.Lossless || timing || straddles(g, s, in) {
				return doubt(f, g)
			}
		}
	}
	return f
}

func doubt(f Finding, g series.Gap) Finding {
	f.Status = Inconclusive
	f.Why = fmt.Sprintf("%s, which could hide a change", cut(g))
	return f
}

func cut(g series.Gap) string {
	return fmt.Sprintf("the %s was cut from %s to %s (%s)", g.Source(), seconds(g.From), seconds(g.To), g.Reason)
}

// straddles says whether the gap lies over the begin or the end of the interval
// and the series has a change of which nobody can tell on which side it was.
func straddles(g series.Gap, s *series.Series, in series.Interval) bool {
	return slices.ContainsFunc(s.Points, func(p series.Point) bool {
		return p.T <= g.To && (g.From <= in.From && in.From < p.T || g.From <= in.To && in.To < p.T)
	})
}

// doubtful finds a gap for which nobody can tell whether the point was in force
// inside the interval. When the watch was cut as the interval began, what came
// with what was missed may be older than it, and what was in force before may
// have been over. And what was put together from several objects while a watch
// lost changes may never have been.
func doubtful(set *series.Set, s *series.Series, in series.Interval, p series.Point) *series.Gap {
	for _, g := range set.GapsOf(s.Resources, series.Interval{From: in.From, To: in.From}) {
		late := func(p series.Point) bool { return in.From < p.T && p.T <= g.To }
		if late(p) || p.T <= in.From && (slices.ContainsFunc(s.Points, late) || !g.Lossless && in.To < g.To) {
			return &g
		}
	}
	for _, g := range set.GapsOf(s.Resources, series.Interval{From: p.T, To: p.T}) {
		if s.Composed && !g.Lossless {
			return &g
		}
	}
	return nil
}

// certain is the first of the points that was surely in force inside the
// interval, else the first point, with the gap that makes all of them doubtful.
func certain(set *series.Set, s *series.Series, in series.Interval, points []series.Point) (series.Point, *series.Gap) {
	for _, p := range points {
		if doubtful(set, s, in, p) == nil {
			return p, nil
		}
	}
	return points[0], doubtful(set, s, in, points[0])
}

// Sequence: the series takes exactly these values, in this order, nothing between.
// Witness is as in Count, for sequences of events: where it was seen, no event
// is an observation too.
type Sequence struct {
	Of      string
	Want    []series.Value
	Witness string
	Window  series.Window
}

// Numbers makes values of numbers.
func Numbers(ns ...int) []series.Value {
	out := make([]series.Value, len(ns))
	for i, n := range ns {
		out[i] = series.Number(float64(n))
	}
	return out
}

func (c Sequence) Series() []string    { return withWitness(c.Of, c.Witness) }
func (c Sequence) Predicted() string   { return joinValues(c.Want) }
func (c Sequence) witnesses() []string { return []string{c.Witness} }

func (c Sequence) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Of, c.Window)
	if err != nil {
		return Finding{}, err
	}
	if c.Witness != "" {
		seen, less, err := witnessed(set, c.Witness, c.Window)
		if err != nil || less != nil {
			return deref(less), err
		}
		return c.compare(set, s, in, seen), nil
	}
	if less != nil {
		return *less, nil
	}
	if len(s.Changes(in)) == 0 {
		return inconclusive(0, "no sample of %s inside the window", c.Of), nil
	}
	return c.compare(set, s, in, 0), nil
}

func (c Sequence) compare(set *series.Set, s *series.Series, in series.Interval, witnesses int) Finding {
	points := s.Changes(in)
	got := make([]series.Value, len(points))
	for i, p := range points {
		got[i] = p.Value
	}
	f := Finding{Status: Held, Observed: joinValues(got), Samples: max(len(points), witnesses)}
	if slices.Equal(got, c.Want) {
		return hidden(set, in, false, f, c.Of)
	}
	f.Status = Broken
	i := firstDifference(got, c.Want)
	switch {
	case i < len(points):
		f = f.at(points[i])
		f.Why = fmt.Sprintf("value %d is %s where %s was predicted", i+1, got[i], orNothing(c.Want, i))
	case i > 0:
		f = f.at(points[i-1])
		f.Why = fmt.Sprintf("the sequence ends after %s; %s was predicted next", got[i-1], c.Want[i])
	default:
		f.Why = fmt.Sprintf("%s was never seen; %s was predicted", c.Of, c.Want[i])
	}
	for _, g := range set.GapsOf(s.Resources, in) {
		// What is missing may have happened inside a gap; what is too much, before the window.
		if !g.Lossless && isSubsequence(got, c.Want) || straddles(g, s, in) {
			return doubt(f, g)
		}
	}
	return f
}

func firstDifference(a, b []series.Value) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func isSubsequence(part, whole []series.Value) bool {
	i := 0
	for _, v := range whole {
		if i < len(part) && part[i] == v {
			i++
		}
	}
	return i == len(part)
}

func orNothing(vs []series.Value, i int) string {
	if i < len(vs) {
		return vs[i].String()
	}
	return "nothing more"
}

func joinValues(vs []series.Value) string {
	if len(vs) == 0 {
		return "(nothing)"
	}
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.String()
	}
	return strings.Join(parts, " → ")
}

func deref(f *Finding) Finding {
	if f == nil {
		return Finding{}
	}
	return *f
}

// Extremum: the greatest value of a series while a condition on another one
// holds, and the value of a third series when it was first reached.
type Extremum struct {
	Of     string
	While  Cond
	Want   float64
	First  *FirstAt
	Window series.Window
}

// FirstAt is the value of a companion series at the first instant of the extremum.
type FirstAt struct {
	Of   string
	Want float64
	Unit string
}

func (c Extremum) Series() []string {
	names := []string{c.Of, c.While.Series}
	if c.First != nil {
		names = append(names, c.First.Of)
	}
	return names
}

func (c Extremum) Predicted() string {
	if c.First == nil {
		return fmt.Sprintf("%.6g", c.Want)
	}
	return fmt.Sprintf("%.6g, first at %.6g %s", c.Want, c.First.Want, c.First.Unit)
}

func (c Extremum) Eval(set *series.Set) (Finding, error) {
	for _, name := range c.Series() {
		if _, _, less, err := view(set, name, c.Window); err != nil || less != nil {
			return deref(less), err
		}
	}
	in, _ := set.Resolve(c.Window)
	states, err := set.Join(in, c.Series()...)
	if err != nil {
		return Finding{}, err
	}
	if len(states) == 0 {
		return inconclusive(0, "%s were never known together inside the window", strings.Join(c.Series(), ", ")), nil
	}
	var best *series.Joint
	samples := 0
	for i, st := range states {
		if !c.While.Holds(st.Points[1].Value) {
			continue
		}
		samples++
		if best == nil || st.Points[0].Value.Num > best.Points[0].Value.Num {
			best = &states[i]
		}
	}
	if best == nil {
		return inconclusive(0, "%s was never seen inside the window", c.While), nil
	}
	return hiddenUnlessExceeded(set, in, c, best, samples), nil
}

func hiddenUnlessExceeded(set *series.Set, in series.Interval, c Extremum, best *series.Joint, samples int) Finding {
	value := best.Points[0].Value.Num
	at := best.T
	f := Finding{Status: Held, Observed: fmt.Sprintf("%.6g", value), Samples: samples, At: &at, Objects: distinctRefs(best.Points)}
	if value != c.Want {
		f.Status = Broken
		f.Why = fmt.Sprintf("%s reached %.6g while %s", c.Of, value, c.While)
		if value < c.Want {
			f.Why = fmt.Sprintf("%s never passed %.6g while %s; %.6g was predicted", c.Of, value, c.While, c.Want)
		}
	}
	if c.First != nil {
		companion := best.Points[2].Value.Num
		f.Observed = fmt.Sprintf("%.6g, first at %.6g %s", value, companion, c.First.Unit)
		if f.Status == Held && companion != c.First.Want {
			f.Status = Broken
			f.Why = fmt.Sprintf("%s was first reached at %.6g %s", c.Of, companion, c.First.Unit)
		}
	}
	if value > c.Want && c.sure(set, in, best) {
		return f // seen is seen: no gap can undo it
	}
	return hidden(set, in, false, f, c.Series()...)
}

// sure says whether the value was there while the condition held, whatever the
// gaps. What came during the gap of one of the two may have met another state
// of it than the one known.
func (c Extremum) sure(set *series.Set, in series.Interval, st *series.Joint) bool {
	for i, name := range []string{c.Of, c.While.Series} {
		s, err := set.Get(name)
		if err != nil || doubtful(set, s, in, st.Points[i]) != nil {
			return false
		}
		for _, g := range set.GapsOf(s.Resources, series.Interval{From: st.T, To: st.T}) {
			if !g.Lossless || straddles(g, s, in) {
				return false
			}
		}
	}
	return true
}

func distinctRefs(points []series.Point) []string {
	var out []string
	for _, p := range points {
		if p.Ref != "" && !slices.Contains(out, p.Ref) {
			out = append(out, p.Ref)
		}
	}
	return out
}

// Always: the condition holds at every point of the window.
type Always struct {
	Cond   Cond
	Window series.Window
}

func (c Always) Series() []string  { return []string{c.Cond.Series} }
func (c Always) Predicted() string { return fmt.Sprintf("always %s %s", c.Cond.Op, c.Cond.Value) }

func (c Always) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Cond.Series, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	points := s.Changes(in)
	if len(points) == 0 {
		return inconclusive(0, "no sample of %s inside the window", c.Cond.Series), nil
	}
	f := Finding{Status: Held, Observed: "always", Samples: len(points)}
	wrong := slices.DeleteFunc(slices.Clone(points), func(p series.Point) bool { return c.Cond.Holds(p.Value) })
	if len(wrong) == 0 {
		return hidden(set, in, false, f, c.Cond.Series), nil
	}
	p, gap := certain(set, s, in, wrong)
	f = f.at(p)
	f.Status, f.Observed, f.Why = Broken, p.Value.String(), fmt.Sprintf("%s became %s", c.Cond.Series, p.Value)
	if gap != nil {
		return doubt(f, *gap), nil
	}
	return f, nil
}

// Unbounded is the Max of a Count or Growth that has none.
const Unbounded = math.MaxInt32

// Count: how many events of an event series fall into the window.
// Witness is a series that must have points inside the window too, so that
// silence proves something: a controller whose log was never read logs no
// errors either. Without a witness, no event is inconclusive.
type Count struct {
	Of       string
	Min, Max int // Max may be Unbounded
	Witness  string
	Window   series.Window
}

func (c Count) Series() []string    { return withWitness(c.Of, c.Witness) }
func (c Count) witnesses() []string { return []string{c.Witness} }

func withWitness(of, witness string) []string {
	if witness == "" {
		return []string{of}
	}
	return []string{of, witness}
}

func (c Count) Predicted() string {
	if c.Min == c.Max {
		return fmt.Sprint(c.Min)
	}
	if c.Max == Unbounded {
		return fmt.Sprintf("at least %d", c.Min)
	}
	return fmt.Sprintf("%d to %d", c.Min, c.Max)
}

func (c Count) Eval(set *series.Set) (Finding, error) {
	s, err := set.Get(c.Of)
	if err != nil {
		return Finding{}, err
	}
	if s.Kind != series.Event {
		return Finding{}, fmt.Errorf("%s is a state, only events can be counted", c.Of)
	}
	in, ok := set.Resolve(c.Window)
	if !ok {
		return inconclusive(0, "the script did not run from step %q to the end of step %q", c.Window.From, c.Window.To), nil
	}
	points := s.Changes(in)
	f := Finding{Status: Held, Observed: fmt.Sprint(len(points)), Samples: len(points)}
	if c.Witness != "" {
		seen, less, err := witnessed(set, c.Witness, c.Window)
		if err != nil || less != nil {
			return deref(less), err
		}
		f.Samples = max(len(points), seen)
	} else if len(points) == 0 {
		return inconclusive(0, "no sample of %s inside the window", c.Of), nil
	}
	if len(points) < c.Min || len(points) > c.Max {
		f.Status = Broken
		f.Why = fmt.Sprintf("%s was seen %s", c.Of, times(len(points)))
	}
	if len(points) > c.Max {
		return f.at(points[c.Max]), nil
	}
	return hidden(set, in, false, f, c.Of), nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// witnessed counts the points of a witness inside a window; none is too little.
func witnessed(set *series.Set, name string, w series.Window) (int, *Finding, error) {
	s, in, less, err := view(set, name, w)
	if err != nil || less != nil {
		return 0, less, err
	}
	n := len(s.Changes(in))
	if n == 0 {
		f := inconclusive(0, "no sample of %s inside the window", name)
		return 0, &f, nil
	}
	return n, nil, nil
}

// Final: the value of a series at the end of the window.
type Final struct {
	Of     string
	Want   series.Value
	Window series.Window
}

func (c Final) Series() []string  { return []string{c.Of} }
func (c Final) Predicted() string { return c.Want.String() }

func (c Final) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Of, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	last, ok := s.At(in.To)
	if !ok {
		return inconclusive(0, "no sample of %s before the end of the window", c.Of), nil
	}
	f := Finding{Status: Held, Observed: last.Value.String(), Samples: 1}.at(last)
	if last.Value != c.Want {
		f.Status = Broken
		f.Why = fmt.Sprintf("%s ended as %s", c.Of, last.Value)
	}
	return hidden(set, series.Interval{From: in.To, To: in.To}, false, f, c.Of), nil
}

// Quiet: none of the series changes inside the window, which must last at
// least For. Faults like to start after the drill "ended". Silence proves
// something only while the component lives: Alive is a series that changes all
// the time, and may not be silent for longer than MaxSilence. Or it is asked
// for something afterwards: Proof is what then became true.
type Quiet struct {
	Of         []string
	For        time.Duration
	Alive      string
	MaxSilence time.Duration
	Proof      *Proof
	Window     series.Window
}

// Proof is a condition that holds at the end of a window, and was not true
// before it: what a component that lives does when it is asked to.
type Proof struct {
	Cond   Cond
	Window series.Window
}

// missing says why the proof was not given, "" if it was.
func (p Proof) missing(set *series.Set) (string, error) {
	s, err := set.Get(p.Cond.Series)
	if err != nil {
		return "", err
	}
	in, ok := set.Resolve(p.Window)
	if !ok {
		return fmt.Sprintf("the script did not run from step %q to the end of step %q", p.Window.From, p.Window.To), nil
	}
	before, known := s.At(in.From)
	after, _ := s.At(in.To)
	if known && !p.Cond.Holds(before.Value) && p.Cond.Holds(after.Value) {
		if g := doubtful(set, s, in, after); g != nil {
			return fmt.Sprintf("%s, which leaves in doubt when %s came true", cut(*g), p.Cond), nil
		}
		return "", nil
	}
	return fmt.Sprintf("%s did not come true when it was asked for afterwards", p.Cond), nil
}

func (c Quiet) Series() []string {
	out := slices.Clone(c.Of)
	if c.Alive != "" {
		out = append(out, c.Alive)
	}
	if c.Proof != nil {
		out = append(out, c.Proof.Cond.Series)
	}
	return out
}

func (c Quiet) witnesses() []string { return []string{c.Alive} }

// silence is the longest time inside the interval without a point of the series.
func silence(s *series.Series, in series.Interval) time.Duration {
	var longest time.Duration
	last := time.Duration(0)
	for _, p := range s.Points {
		if p.T > in.From {
			longest = max(longest, min(p.T, in.To)-last)
		}
		if p.T >= in.To {
			return longest
		}
		last = p.T
	}
	return max(longest, in.To-last)
}

func (c Quiet) Predicted() string { return "no change for " + seconds(c.For) }

func (c Quiet) Eval(set *series.Set) (Finding, error) {
	samples := 0
	for _, name := range c.Of {
		s, in, less, err := view(set, name, c.Window)
		if err != nil || less != nil {
			return deref(less), err
		}
		if in.To-in.From < c.For {
			return inconclusive(samples, "the quiet period lasted %s only", seconds(in.To-in.From)), nil
		}
		changes := s.Changes(in)
		samples += len(changes)
		if _, known := s.At(in.From); known && s.Kind == series.State {
			changes = changes[1:] // the value at the begin
		}
		if len(changes) > 0 {
			p, gap := certain(set, s, in, changes)
			f := Finding{Status: Broken, Observed: fmt.Sprintf("%s became %s", name, p.Value), Samples: samples}.at(p)
			f.Why = fmt.Sprintf("%s changed %s after the end", name, seconds(p.T-in.From))
			if gap != nil {
				return doubt(f, *gap), nil
			}
			return f, nil
		}
	}
	in, _ := set.Resolve(c.Window)
	if c.Alive != "" {
		alive, err := set.Get(c.Alive)
		if err != nil {
			return Finding{}, err
		}
		if d := silence(alive, in); d > c.MaxSilence {
			return inconclusive(samples, "%s gave no sign of life for %s, so its silence proves nothing", c.Alive, seconds(d)), nil
		}
	}
	if c.Proof != nil {
		why, err := c.Proof.missing(set)
		if err != nil {
			return Finding{}, err
		}
		if why != "" {
			return inconclusive(samples, "%s, so the silence proves nothing", why), nil
		}
	}
	f := Finding{Status: Held, Observed: "no change for " + seconds(in.To-in.From), Samples: samples}
	return hidden(set, in, false, f, c.Of...), nil
}

// Within: the time from the first instant that satisfies From to the first
// one after it that satisfies To lies between Min and Max.
type Within struct {
	From, To Cond
	Min, Max time.Duration
	Window   series.Window
}

func (c Within) Series() []string { return []string{c.From.Series, c.To.Series} }
func (c Within) Predicted() string {
	return fmt.Sprintf("%s to %s", seconds(c.Min), seconds(c.Max))
}

func (c Within) Eval(set *series.Set) (Finding, error) {
	from, in, less, err := view(set, c.From.Series, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	to, _, less, err := view(set, c.To.Series, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	a, ok := firstHolding(from, c.From, in)
	if !ok {
		return inconclusive(0, "%s was never seen inside the window", c.From), nil
	}
	b, ok := firstHolding(to, c.To, series.Interval{From: a.T, To: in.To})
	if !ok {
		f := Finding{Status: Broken, Observed: "never", Samples: 1, Why: fmt.Sprintf("%s was never seen after %s", c.To, c.From)}.at(a)
		return hidden(set, in, true, f, c.Series()...), nil
	}
	took := b.T - a.T
	f := Finding{Status: Held, Observed: seconds(took), Samples: 2}.at(b)
	if took < c.Min || took > c.Max {
		f.Status = Broken
		f.Why = fmt.Sprintf("it took %s", seconds(took))
	}
	return hidden(set, series.Interval{From: in.From, To: b.T}, true, f, c.Series()...), nil
}

func firstHolding(s *series.Series, c Cond, in series.Interval) (series.Point, bool) {
	for _, p := range s.Changes(in) {
		if c.Holds(p.Value) {
			return p, true
		}
	}
	return series.Point{}, false
}
