// Package series turns a recording into step functions of time: the canary
// weight, the available pods of a ReplicaSet, the lines a controller logged.
//
// Points carry two orders. T is the receipt time, which durations come from;
// RV is the resourceVersion, which orders the stored states over all kinds
// because one etcd numbers them all. A question about two series at once ("the
// weight while fewer than 20 pods are available") is answered in RV order: the
// watches of two kinds race each other, the store does not.
//
// The package is pure: no client-go, no clock, no network.
package series

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// ErrUnknown is returned for a series that no definition names. It is a
// programming error, so a test of each scenario asks for every name it uses.
var ErrUnknown = errors.New("unknown series")

// Value is what a series holds at an instant: a number, or a text.
type Value struct {
	Num  float64
	Text string
}

// Number and Text make values.
func Number(v float64) Value { return Value{Num: v} }
func Text(s string) Value    { return Value{Text: s} }

// String prints a text as it is and a number without needless digits.
func (v Value) String() string {
	if v.Text != "" {
		return v.Text
	}
	return fmt.Sprintf("%.6g", v.Num)
}

// Point is a change of a series: from T on, its value is Value.
type Point struct {
	T     time.Duration
	RV    uint64 // 0 when the source has no resourceVersion
	Value Value
	// Ref is the object version that says so: "virtualservices/d@1234".
	Ref string
}

// Kind says how points are to be read.
type Kind int

const (
	// State series hold each value until the next point.
	State Kind = iota
	// Event series are instants; nothing holds between them.
	Event
)

// Series is one named step function (or list of events).
type Series struct {
	Name string
	Unit string
	Doc  string
	Kind Kind
	// Resources are the API resources that the points come from; none for logs
	// and samples.
	Resources []string
	Points    []Point
	// Composed: put together of several objects, so where a watch lost changes,
	// there may be states that never were.
	Composed bool
	// stored: every point has a resourceVersion, so the series has a place in
	// the store's order. Not so what is derived from samples too.
	stored bool
}

// Stored says whether the series is read off API objects alone, so that it has a
// place in the store's order.
func (s *Series) Stored() bool { return s.stored }

// Step is one step of the script, as recorded.
type Step struct {
	Name       string
	Begin, End time.Duration
	Ended      bool
	Error      string
}

// Gap is an interval in which the watch of a resource was not served, of which the
// requests of a client or the connections of proxies are not known, or in which a
// series had no value.
type Gap struct {
	Resource string
	From, To time.Duration
	Lossless bool
	Reason   string
}

// trafficPrefix begins the resources that the requests of clients are.
const trafficPrefix = "traffic."

// TrafficResource is the resource of the gaps in what is known of a client's requests.
func TrafficResource(client string) string { return trafficPrefix + client }

// IsTraffic says whether a resource is the requests of a client.
func IsTraffic(resource string) bool { return strings.HasPrefix(resource, trafficPrefix) }

// undefinedPrefix begins the resources of gaps that are times for which a series had
// no value.
const undefinedPrefix = "value."

// Undefined says that nothing was lost: a series had no value.
func (g Gap) Undefined() bool { return strings.HasPrefix(g.Resource, undefinedPrefix) }

// Source says what was cut: "watch of pods".
func (g Gap) Source() string {
	if client, ok := strings.CutPrefix(g.Resource, trafficPrefix); ok {
		return "count of the requests of client " + client
	}
	if name, ok := strings.CutPrefix(g.Resource, undefinedPrefix); ok {
		return "value of " + name
	}
	switch g.Resource {
	case recording.Delivered:
		return "stream from istiod"
	case recording.Connections:
		return "record of the proxies' connections"
	}
	return "watch of " + g.Resource
}

// Fault is what made the run invalid.
type Fault struct {
	At           time.Duration
	What, Detail string
}

// Set is everything that was read from one recording.
type Set struct {
	byName map[string]*Series
	names  []string
	Steps  []Step
	Gaps   []Gap
	Faults []Fault
	// Traffic has the intervals of each client of the workload, in order.
	Traffic map[string][]Bin
	// Fleet has the proxies' connections and istiod's replicas, nil if the recording
	// tells of none.
	Fleet *Fleet
	// Late counts sampler ticks that came too late, by sampler.
	Late     map[string]int
	lateness []Lateness
	// End is when the recorder stopped.
	End time.Duration
	// Facts counts the facts of the recording.
	Facts int64
}

// Get returns the named series, ErrUnknown when nothing defines it.
func (s *Set) Get(name string) (*Series, error) {
	if got, ok := s.byName[name]; ok {
		return got, nil
	}
	return nil, fmt.Errorf("%w %q", ErrUnknown, name)
}

// Add puts a computed series beside those that were read. It takes the place of one
// of the same name.
func (s *Set) Add(computed *Series) {
	if s.byName[computed.Name] == nil {
		s.names = append(s.names, computed.Name)
	}
	s.byName[computed.Name] = computed
}

// Beginning are the series whose names begin so, by name: those of one length first,
// so that numbers at their ends are in order.
func (s *Set) Beginning(prefix string) []*Series {
	var out []*Series
	for name, x := range s.byName {
		if strings.HasPrefix(name, prefix) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Names lists the series in the order of their definitions.
func (s *Set) Names() []string { return s.names }

// Window bounds a question in time, by script steps: from the begin of step
// From to the end of step To. Empty means the start or end of the recording.
type Window struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Interval is a resolved window.
type Interval struct{ From, To time.Duration }

// Contains says whether t lies in the closed interval.
func (i Interval) Contains(t time.Duration) bool { return i.From <= t && t <= i.To }

// Resolve finds the window's instants. ok is false when a step was not reached,
// or when the window ends before it begins.
func (s *Set) Resolve(w Window) (Interval, bool) {
	out, ok := Interval{To: s.End}, true
	if w.From != "" {
		step := s.Step(w.From)
		if ok = step != nil; ok {
			out.From = step.Begin
		}
	}
	if w.To != "" {
		step := s.Step(w.To)
		if step == nil || !step.Ended {
			return out, false
		}
		out.To = step.End
	}
	return out, ok && out.From <= out.To
}

// Step returns the first step of that name, nil if the script did not reach it.
func (s *Set) Step(name string) *Step {
	for i := range s.Steps {
		if s.Steps[i].Name == name {
			return &s.Steps[i]
		}
	}
	return nil
}

// GapsOf returns the gaps of the resources that overlap the interval.
func (s *Set) GapsOf(resources []string, in Interval) []Gap {
	var out []Gap
	for _, g := range s.Gaps {
		if slices.Contains(resources, g.Resource) && g.From <= in.To && in.From <= g.To {
			out = append(out, g)
		}
	}
	return out
}

// Lateness is a tick of a sampler that came late: what it measured has a time in
// the interval that is not to be trusted.
type Lateness struct {
	Sampler string
	Interval
}

// By is how late it was.
func (l Lateness) By() time.Duration { return l.To - l.From }

// LateIn are the ticks of a sampler that were awaited inside the interval and late.
func (s *Set) LateIn(sampler string, in Interval) []Lateness {
	var out []Lateness
	for _, l := range s.lateness {
		if l.Sampler == sampler && l.From <= in.To && in.From <= l.To {
			out = append(out, l)
		}
	}
	return out
}

// At returns the last point received up to t; ok is false before the first.
func (s *Series) At(t time.Duration) (Point, bool) {
	var last Point
	found := false
	for _, p := range s.Points {
		if p.T <= t && (!found || p.RV >= last.RV) {
			last, found = p, true
		}
	}
	return last, found
}

// Changes returns the value at the begin of the interval and every change of
// value inside it, equal neighbours merged. An event series yields its events.
func (s *Series) Changes(in Interval) []Point {
	var out []Point
	start, ok := s.At(in.From)
	if ok && s.Kind == State {
		start.T = in.From
		out = append(out, start)
	}
	for _, p := range s.Points {
		if s.Kind == State && (p.T <= in.From || ok && p.RV < start.RV) || !in.Contains(p.T) {
			continue
		}
		if s.Kind == State && len(out) > 0 && out[len(out)-1].Value == p.Value {
			continue
		}
		out = append(out, p)
	}
	return out
}

// Readings are the values of a state series at the begin of the interval and every
// so often after it, up to its end: what someone who reads a gauge sees. T is that
// of the reading. There are none before the first point.
func (s *Series) Readings(in Interval, every time.Duration) []Point {
	changes := s.Changes(in)
	if s.Kind != State || every <= 0 || len(changes) == 0 {
		return nil
	}
	var out []Point
	next := 0
	for t := in.From; t <= in.To; t += every {
		for next < len(changes) && changes[next].T <= t {
			next++
		}
		if next > 0 {
			p := changes[next-1]
			p.T = t
			out = append(out, p)
		}
	}
	return out
}

// Joint is a state of several series at once, held from T to Until.
type Joint struct {
	T, Until time.Duration
	RV       uint64
	// Points holds the point in force of each series, in the order asked for.
	Points []Point
}

// Join walks the given state series together, in store order where all of
// them have one, and returns the joint states from the moment each series is
// known. What changed in one object version changed at once: there is no joint
// state between. Receipt times are made monotonic by their running maximum, so
// that a watch that lags cannot give a negative duration.
func (s *Set) Join(in Interval, names ...string) ([]Joint, error) {
	tracks := make([]*Series, len(names))
	stored := true
	for i, name := range names {
		var err error
		if tracks[i], err = s.Get(name); err != nil {
			return nil, err
		}
		stored = stored && tracks[i].stored
	}
	if in.To < in.From {
		return nil, nil
	}
	j := joiner{in: in, now: make([]Point, len(names)), seen: make([]bool, len(names))}
	moves := merge(tracks, stored, in.To)
	begin := 0 // of the moves that make one state
	for i, m := range moves {
		if i > begin && !together(moves[begin:i], m, stored) {
			j.state(stored)
			begin = i
		}
		j.move(m)
	}
	if len(moves) > 0 {
		j.state(stored)
	}
	if n := len(j.out); n > 0 {
		j.out[n-1].Until = in.To
	}
	return j.out, nil
}

// joiner is a Join under way.
type joiner struct {
	in    Interval
	now   []Point // the point in force of each track
	seen  []bool
	known int
	clock time.Duration
	last  uint64
	out   []Joint
}

func (j *joiner) move(m move) {
	j.clock, j.last = max(j.clock, m.point.T), m.point.RV
	if !j.seen[m.track] {
		j.seen[m.track] = true
		j.known++
	}
	j.now[m.track] = m.point
}

// state adds the joint state as it is now. It ends the last one; states that
// ended before the interval are replaced, so the first is that in force at its begin.
func (j *joiner) state(stored bool) {
	if j.known < len(j.now) {
		return
	}
	next := Joint{T: max(j.clock, j.in.From), Points: slices.Clone(j.now)}
	if stored {
		next.RV = j.last
	}
	if n := len(j.out); n > 0 {
		j.out[n-1].Until = next.T
		if j.clock <= j.in.From {
			j.out = j.out[:n-1]
		}
	}
	j.out = append(j.out, next)
}

type move struct {
	track int
	point Point
}

// together says whether the next move belongs to the same joint state as the
// moves before it: another series' part of the same object version, or of the
// same fact.
func together(before []move, next move, stored bool) bool {
	if slices.ContainsFunc(before, func(m move) bool { return m.track == next.track }) {
		return false
	}
	if stored {
		return before[0].point.RV == next.point.RV
	}
	return before[0].point.T == next.point.T
}

// merge sorts the points of all tracks that were received up to a time: by
// resourceVersion in a stored order, else by receipt time. Each track keeps its
// own order.
func merge(tracks []*Series, stored bool, until time.Duration) []move {
	var moves []move
	for i, tr := range tracks {
		var clock time.Duration
		for _, p := range tr.Points {
			if p.T > until {
				continue
			}
			if clock = max(clock, p.T); !stored {
				p.T = clock
			}
			moves = append(moves, move{i, p})
		}
	}
	sort.SliceStable(moves, func(a, b int) bool {
		x, y := moves[a].point, moves[b].point
		if stored {
			return x.RV < y.RV
		}
		return x.T < y.T
	})
	return moves
}
