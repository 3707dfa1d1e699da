package series

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/recording"
)

// Definition says how one series is read from a recording. Exactly one of
// Object, Each, Sum, Log, Call, Sample, Traffic, Fleet and Derive is set.
type Definition struct {
	Name string
	Unit string
	Doc  string

	Object *FromObject
	Each   *EachObject
	Sum    *SumOfObjects
	Log    *FromLog
	Call   *FromCall
	Sample *FromSample
	// Traffic reads a series off what a client of the workload saw.
	Traffic *FromTraffic
	// Fleet reads a series off the connections of proxies to istiod.
	Fleet  *FromFleet
	Derive *Derived
}

// FromObject reads a state series off one resource. Value returns ok = false
// for objects that the series is not about. Gone is the value once the object
// was deleted; nil leaves the last one in force.
type FromObject struct {
	Resource  string
	Namespace string
	Value     func(*View) (Value, bool)
	Gone      *Value
}

// EachObject reads a series of its own off each object of one resource, however
// many there are and whatever their names: the definition's name and then
// "/<namespace>/<name>", which Set.Beginning finds. The series of the definition's
// own name has no points. Value returns ok = false for objects without a series.
type EachObject struct {
	Resource string
	Value    func(*View) (Value, bool)
	// Gone is the value once the object was deleted; nil leaves the last one in force.
	Gone *Value
	// Writes makes series of events, one for every state that was received, whether
	// its value differs or not: how often an object was written.
	Writes bool
}

// SumOfObjects reads a state series off all objects of one resource together:
// the sum of their values, such as the number of pods of a version. Value
// returns ok = false for objects that do not count; what was deleted does not
// either. The series begins with 0, once any object of the resource was seen.
type SumOfObjects struct {
	Resource  string
	Namespace string
	Value     func(*View) (float64, bool)
}

// FromLog reads an event series off a component's log: each line that the
// expression matches is an event; its first group, if any, is the text.
type FromLog struct {
	Component string
	// Process is which of the component's processes, see recording.Log; 0: any.
	Process int
	Match   *regexp.Regexp
}

// FromCall reads a series of events off our own calls of one resource, such as
// "pods/eviction"; with Holds it is a state that lasts until another call changes
// it. Value returns ok = false for calls that the series is not about.
type FromCall struct {
	Resource string
	Value    func(*recording.Call) (Value, bool)
	Holds    bool
}

// FromSample reads a state series off samples of one metric. Resource names what
// the recorder's gaps call the source of the samples, such as recording.Delivered:
// what a gap could hide is then not claimed. Without it there are no gaps.
type FromSample struct {
	Series   string
	Labels   map[string]string
	Resource string
}

// Derived computes a state series from others that are defined before it, in
// their joint order. Value must give a finite number: what stands for "too
// many to say" is for the definition to choose.
type Derived struct {
	Inputs []string
	Value  func(inputs []float64) float64
}

// Read reads a whole recording into the defined series. Memory is bounded by
// the series, not by the file. Errors are those of recording.Reader (cut,
// edited, wrong format) and of definitions that do not fit together.
func Read(r *recording.Reader, defs []Definition) (*Set, error) {
	if err := checkDefinitions(defs); err != nil {
		return nil, err
	}
	b := newBuilder(defs)
	b.base = r.Header.Base
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := b.add(&f); err != nil {
			return nil, err
		}
	}
	b.set.Facts = r.Trailer().Facts
	b.set.End = time.Duration(r.Trailer().EndNS)
	return b.finish()
}

// ErrDefinition is returned for definitions that do not fit together. Like
// ErrUnknown it is a programming error.
var ErrDefinition = errors.New("bad series definition")

func checkDefinitions(defs []Definition) error {
	known := map[string]bool{}
	for _, d := range defs {
		sources := 0
		for _, set := range []bool{d.Object != nil, d.Each != nil, d.Sum != nil, d.Log != nil, d.Call != nil, d.Sample != nil, d.Traffic != nil, d.Fleet != nil, d.Derive != nil} {
			if set {
				sources++
			}
		}
		if sources != 1 {
			return fmt.Errorf("%w: %q has %d sources, expected one", ErrDefinition, d.Name, sources)
		}
		if known[d.Name] {
			return fmt.Errorf("%w: %q is defined twice", ErrDefinition, d.Name)
		}
		if d.Fleet != nil && (d.Fleet.Over < 0 || d.Fleet.Every < 0 || d.Fleet.Over > 0 && d.Fleet.Every > 0) {
			return fmt.Errorf("%w: %q counts over %v and every %v, expected one of them", ErrDefinition, d.Name, d.Fleet.Over, d.Fleet.Every)
		}
		if d.Derive != nil {
			for _, name := range d.Derive.Inputs {
				if !known[name] {
					return fmt.Errorf("%w: %q is derived from %q, which is not defined before it", ErrDefinition, d.Name, name)
				}
			}
		}
		known[d.Name] = true
	}
	return nil
}

type builder struct {
	set     *Set
	defs    []Definition
	decoder decoder
	// byResource and byComponent spare the decoding of what nobody reads.
	byResource  map[string][]int
	byComponent map[string][]int
	byCall      map[string][]int
	bySample    map[string][]int
	series      []*Series
	// refs name the source of points that are no object versions.
	refs []string
	sums map[int]*sum
	// each are the series of single objects, by definition and then by namespace and name.
	each map[int]map[string]*Series
	// fleet are the events of proxies and replicas, in the order of their receipt.
	fleet []fleetEvent
	// service is what is known of istiod's Service, if any series of the fleet is read.
	service    kubeproxy.Record
	readsFleet bool
	base       time.Time
}

func newBuilder(defs []Definition) *builder {
	b := &builder{
		set:         &Set{byName: map[string]*Series{}, Late: map[string]int{}},
		defs:        defs,
		byResource:  map[string][]int{},
		byComponent: map[string][]int{},
		byCall:      map[string][]int{},
		bySample:    map[string][]int{},
		sums:        map[int]*sum{},
		each:        map[int]map[string]*Series{},
	}
	for i, d := range defs {
		s := &Series{Name: d.Name, Unit: d.Unit, Doc: d.Doc}
		ref := ""
		switch {
		case d.Object != nil:
			s.Resources, s.stored = []string{d.Object.Resource}, true
			b.byResource[d.Object.Resource] = append(b.byResource[d.Object.Resource], i)
		case d.Each != nil:
			s.Resources, s.stored = []string{d.Each.Resource}, true
			b.byResource[d.Each.Resource] = append(b.byResource[d.Each.Resource], i)
			b.each[i] = map[string]*Series{}
		case d.Sum != nil:
			s.Resources, s.stored, s.Composed = []string{d.Sum.Resource}, true, true
			b.byResource[d.Sum.Resource] = append(b.byResource[d.Sum.Resource], i)
			b.sums[i] = newSum(d.Sum)
		case d.Log != nil:
			s.Kind, ref = Event, "log of "+d.Log.Component
			b.byComponent[d.Log.Component] = append(b.byComponent[d.Log.Component], i)
		case d.Call != nil:
			if !d.Call.Holds {
				s.Kind = Event
			}
			b.byCall[d.Call.Resource] = append(b.byCall[d.Call.Resource], i)
		case d.Sample != nil:
			ref = "sample of " + d.Sample.Series
			if d.Sample.Resource != "" {
				s.Resources = []string{d.Sample.Resource}
			}
			b.bySample[d.Sample.Series] = append(b.bySample[d.Sample.Series], i)
		case d.Traffic != nil:
			s.Resources = []string{TrafficResource(d.Traffic.Client)}
		case d.Fleet != nil:
			s.Resources = []string{recording.Connections, undefinedPrefix + d.Name}
			b.readsFleet = true
		}
		b.series, b.refs = append(b.series, s), append(b.refs, ref)
		b.set.byName[d.Name] = s
		b.set.names = append(b.set.names, d.Name)
	}
	return b
}

func (b *builder) add(f *recording.Fact) error {
	switch {
	case f.Object != nil:
		return errors.Join(b.object(f.At(), f.Object), b.xdsSlice(f.At(), f.Object))
	case f.Log != nil:
		b.log(f.At(), f.Log)
		b.kubeProxy(f.Log)
	case f.Call != nil:
		b.call(f.At(), f.Call)
	case f.Sample != nil:
		b.sample(f.At(), f.Sample)
	case f.Traffic != nil:
		b.traffic(f.At(), f.Traffic)
	case f.Connection != nil:
		b.fleet = append(b.fleet, fleetEvent{t: time.Duration(f.Connection.AtNS), connection: f.Connection})
	case f.Replica != nil:
		b.fleet = append(b.fleet, fleetEvent{t: time.Duration(f.Replica.AtNS), replica: f.Replica})
	case f.Step != nil:
		b.step(f.At(), f.Step)
	case f.Gap != nil:
		b.set.Gaps = append(b.set.Gaps, Gap{f.Gap.Resource, time.Duration(f.Gap.FromNS), time.Duration(f.Gap.ToNS), f.Gap.Lossless, f.Gap.Reason})
	case f.Late != nil:
		b.late(f.At(), f.Late)
	case f.Fault != nil:
		b.set.Faults = append(b.set.Faults, Fault{f.At(), f.Fault.What, f.Fault.Detail})
	}
	return nil
}

func (b *builder) object(t time.Duration, o *recording.Object) error {
	readers := b.byResource[o.Resource]
	if len(readers) == 0 {
		return nil
	}
	var view View
	if err := b.decoder.decode(o.Body, &view); err != nil {
		return fmt.Errorf("%s %s@%d: %w", o.Resource, o.Name, o.RV, err)
	}
	for _, i := range readers {
		if sum := b.sums[i]; sum != nil {
			sum.add(t, o, &view)
			continue
		}
		if b.defs[i].Each != nil {
			b.one(i, t, o, &view)
			continue
		}
		from := b.defs[i].Object
		if from.Namespace != "" && from.Namespace != o.Namespace {
			continue
		}
		value, ok := from.Value(&view)
		if !ok {
			continue
		}
		if o.Change == recording.Deleted {
			if from.Gone == nil {
				continue
			}
			value = *from.Gone
		}
		if p := (Point{T: t, RV: o.RV, Value: value}); b.changes(i, p) {
			p.Ref = fmt.Sprintf("%s/%s@%d", o.Resource, o.Name, o.RV)
			b.append(i, p)
		}
	}
	return nil
}

// one reads a state of an object into the series that it has to itself.
func (b *builder) one(i int, t time.Duration, o *recording.Object, view *View) {
	d := &b.defs[i]
	value, ok := d.Each.Value(view)
	if !ok {
		return
	}
	if o.Change == recording.Deleted {
		if d.Each.Gone == nil {
			return
		}
		value = *d.Each.Gone
	}
	key := o.Namespace + "/" + o.Name
	s := b.each[i][key]
	if s == nil {
		s = &Series{Name: d.Name + "/" + key, Unit: d.Unit, Doc: d.Doc, Resources: []string{d.Each.Resource}, stored: true}
		if d.Each.Writes {
			s.Kind = Event
		}
		b.each[i][key] = s
	}
	again := func(last Point) bool { // listed anew, or no change
		return last.RV == o.RV || s.Kind == State && last.Value == value && last.RV < o.RV
	}
	if n := len(s.Points); n == 0 || !again(s.Points[n-1]) {
		s.Points = append(s.Points, Point{T: t, RV: o.RV, Value: value, Ref: fmt.Sprintf("%s/%s@%d", o.Resource, o.Name, o.RV)})
	}
}

// append keeps a point only when it changes the series, so that memory is
// bounded by changes, not by writes.
func (b *builder) append(i int, p Point) {
	if b.changes(i, p) {
		b.series[i].Points = append(b.series[i].Points, p)
	}
}

func (b *builder) changes(i int, p Point) bool {
	s := b.series[i]
	n := len(s.Points)
	return n == 0 || s.Kind != State || s.Points[n-1].Value != p.Value || s.Points[n-1].RV > p.RV
}

// sorted puts points in store order and merges what is then equal.
func sorted(points []Point) []Point {
	sort.SliceStable(points, func(i, j int) bool { return points[i].RV < points[j].RV })
	return slices.CompactFunc(points, func(a, b Point) bool { return a.Value == b.Value })
}

func (b *builder) log(t time.Duration, l *recording.Log) {
	for _, i := range b.byComponent[l.Component] {
		if of := b.defs[i].Log.Process; of != 0 && of != l.Process {
			continue
		}
		groups := b.defs[i].Log.Match.FindStringSubmatch(l.Line)
		if groups == nil {
			continue
		}
		text := groups[0]
		if len(groups) > 1 {
			text = groups[1]
		}
		// A copy, for the line would stay in memory with its part.
		b.append(i, Point{T: t, Value: Text(strings.Clone(text)), Ref: b.refs[i]})
	}
}

func (b *builder) call(t time.Duration, c *recording.Call) {
	for _, i := range b.byCall[c.Resource] {
		if value, ok := b.defs[i].Call.Value(c); ok {
			b.append(i, Point{T: t, Value: value, Ref: fmt.Sprintf("%s of %s/%s", c.Verb, c.Resource, c.Name)})
		}
	}
}

func (b *builder) sample(t time.Duration, s *recording.Sample) {
	if s.AtNS != 0 {
		t = time.Duration(s.AtNS)
	}
	for _, i := range b.bySample[s.Series] {
		if !subset(b.defs[i].Sample.Labels, s.Labels) {
			continue
		}
		p := Point{T: t, Value: Number(s.Value), Ref: b.refs[i]}
		if s.AtNS != 0 { // what is received in another order than it was measured must not be merged yet
			b.series[i].Points = append(b.series[i].Points, p)
			continue
		}
		b.append(i, p)
	}
}

func subset(want, got map[string]string) bool {
	for k, v := range want {
		if got[k] != v {
			return false
		}
	}
	return true
}

func (b *builder) late(t time.Duration, l *recording.Late) {
	if l.AtNS != 0 {
		t = time.Duration(l.AtNS)
	}
	b.set.Late[l.Sampler]++
	b.set.lateness = append(b.set.lateness, Lateness{l.Sampler, Interval{t - time.Duration(l.ByNS), t}})
}

func (b *builder) step(t time.Duration, s *recording.Step) {
	if s.Phase == "begin" {
		b.set.Steps = append(b.set.Steps, Step{Name: s.Name, Begin: t})
		return
	}
	for i := len(b.set.Steps) - 1; i >= 0; i-- {
		if step := &b.set.Steps[i]; step.Name == s.Name && !step.Ended {
			step.End, step.Ended, step.Error = t, true, s.Error
			return
		}
	}
}

// finish puts object series in store order and samples in the order in which
// they were measured, and computes the series of traffic and of fleets and the derived ones.
func (b *builder) finish() (*Set, error) {
	b.finishTraffic()
	b.finishFleet()
	for i, s := range b.series {
		if sum := b.sums[i]; sum != nil {
			s.Points = sum.points()
		}
		if s.stored {
			s.Points = sorted(s.Points)
		}
		if b.defs[i].Sample != nil {
			s.Points = inTime(s.Points)
		}
	}
	for i := range b.defs {
		for _, key := range slices.Sorted(maps.Keys(b.each[i])) {
			s := b.each[i][key]
			if s.Kind == State {
				s.Points = sorted(s.Points)
			}
			b.set.Add(s)
		}
	}
	for i, d := range b.defs {
		if d.Derive == nil {
			continue
		}
		if err := b.derive(b.series[i], d.Derive); err != nil {
			return nil, fmt.Errorf("series %q: %w", d.Name, err)
		}
	}
	return b.set, nil
}

func (b *builder) derive(s *Series, d *Derived) error {
	states, err := b.set.Join(Interval{To: b.set.End}, d.Inputs...)
	if err != nil {
		return err
	}
	s.stored, s.Composed = true, len(d.Inputs) > 1
	for _, name := range d.Inputs {
		in := b.set.byName[name]
		s.stored, s.Composed = s.stored && in.stored, s.Composed || in.Composed
		for _, r := range in.Resources {
			if !slices.Contains(s.Resources, r) {
				s.Resources = append(s.Resources, r)
			}
		}
	}
	args := make([]float64, len(d.Inputs))
	for _, st := range states {
		for i, p := range st.Points {
			args[i] = p.Value.Num
		}
		value := Number(d.Value(args))
		if math.IsNaN(value.Num) || math.IsInf(value.Num, 0) {
			return fmt.Errorf("%w: the value for %v is %g, expected a finite number", ErrDefinition, args, value.Num)
		}
		if n := len(s.Points); n > 0 && s.Points[n-1].Value == value {
			continue
		}
		s.Points = append(s.Points, Point{T: st.T, RV: st.RV, Value: value, Ref: refs(st.Points)})
	}
	return nil
}

func refs(points []Point) string {
	out := ""
	for i, p := range points {
		if i > 0 {
			out += ", "
		}
		out += p.Ref
	}
	return out
}
