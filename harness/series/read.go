package series

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// Definition says how one series is read from a recording. Exactly one of
// Object, Log, Sample and Derive is set.
type Definition struct {
	Name string
	Unit string
	Doc  string

	Object *FromObject
	Log    *FromLog
	Sample *FromSample
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

// FromLog reads an event series off a component's log: each line that the
// expression matches is an event; its first group, if any, is the text.
type FromLog struct {
	Component string
	Match     *regexp.Regexp
}

// FromSample reads a state series off samples of one metric.
type FromSample struct {
	Series string
	Labels map[string]string
}

// Derived computes a state series from others, in their joint order.
type Derived struct {
	Inputs []string
	Value  func(inputs []float64) float64
}

// Read reads a whole recording into the defined series. Memory is bounded by
// the series, not by the file. Errors are those of recording.Reader (cut,
// edited, wrong format) and of definitions that do not fit together.
func Read(r *recording.Reader, defs []Definition) (*Set, error) {
	b := newBuilder(defs)
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

type builder struct {
	set  *Set
	defs []Definition
	// byResource and byComponent spare the decoding of what nobody reads.
	byResource  map[string][]int
	byComponent map[string][]int
	bySample    map[string][]int
	series      []*Series
}

func newBuilder(defs []Definition) *builder {
	b := &builder{
		set:         &Set{byName: map[string]*Series{}, Late: map[string]int{}},
		defs:        defs,
		byResource:  map[string][]int{},
		byComponent: map[string][]int{},
		bySample:    map[string][]int{},
	}
	for i, d := range defs {
		s := &Series{Name: d.Name, Unit: d.Unit, Doc: d.Doc}
		switch {
		case d.Object != nil:
			s.Resources = []string{d.Object.Resource}
			b.byResource[d.Object.Resource] = append(b.byResource[d.Object.Resource], i)
		case d.Log != nil:
			s.Kind = Event
			b.byComponent[d.Log.Component] = append(b.byComponent[d.Log.Component], i)
		case d.Sample != nil:
			b.bySample[d.Sample.Series] = append(b.bySample[d.Sample.Series], i)
		}
		b.series = append(b.series, s)
		b.set.byName[d.Name] = s
		b.set.names = append(b.set.names, d.Name)
	}
	return b
}

func (b *builder) add(f *recording.Fact) error {
	switch {
	case f.Object != nil:
		return b.object(f.At(), f.Object)
	case f.Log != nil:
		b.log(f.At(), f.Log)
	case f.Sample != nil:
		b.sample(f.At(), f.Sample)
	case f.Step != nil:
		b.step(f.At(), f.Step)
	case f.Gap != nil:
		b.set.Gaps = append(b.set.Gaps, Gap{f.Gap.Resource, time.Duration(f.Gap.FromNS), time.Duration(f.Gap.ToNS), f.Gap.Lossless, f.Gap.Reason})
	case f.Late != nil:
		b.set.Late[f.Late.Sampler]++
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
	if err := json.Unmarshal(o.Body, &view); err != nil {
		return fmt.Errorf("%s %s@%d: %w", o.Resource, o.Name, o.RV, err)
	}
	for _, i := range readers {
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
		b.append(i, Point{T: t, RV: o.RV, Value: value, Ref: fmt.Sprintf("%s/%s@%d", o.Resource, o.Name, o.RV)})
	}
	return nil
}

// append keeps a point only when it changes the series, so that memory is
// bounded by changes, not by writes.
func (b *builder) append(i int, p Point) {
	s := b.series[i]
	if n := len(s.Points); n > 0 && s.Kind == State && s.Points[n-1].Value == p.Value {
		return
	}
	s.Points = append(s.Points, p)
}

func (b *builder) log(t time.Duration, l *recording.Log) {
	for _, i := range b.byComponent[l.Component] {
		groups := b.defs[i].Log.Match.FindStringSubmatch(l.Line)
		if groups == nil {
			continue
		}
		text := groups[0]
		if len(groups) > 1 {
			text = groups[1]
		}
		b.append(i, Point{T: t, Value: Text(text), Ref: "log of " + l.Component})
	}
}

func (b *builder) sample(t time.Duration, s *recording.Sample) {
	for _, i := range b.bySample[s.Series] {
		if subset(b.defs[i].Sample.Labels, s.Labels) {
			b.append(i, Point{T: t, Value: Number(s.Value), Ref: "sample of " + s.Series})
		}
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

// finish puts object series in store order and computes the derived ones.
func (b *builder) finish() (*Set, error) {
	for _, s := range b.series {
		if len(s.Resources) > 0 {
			sort.SliceStable(s.Points, func(i, j int) bool { return s.Points[i].RV < s.Points[j].RV })
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
	for _, name := range d.Inputs {
		if in, err := b.set.Get(name); err == nil {
			s.Resources = append(s.Resources, in.Resources...)
		}
	}
	args := make([]float64, len(d.Inputs))
	for _, st := range states {
		for i, p := range st.Points {
			args[i] = p.Value.Num
		}
		value := Number(d.Value(args))
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
