package series_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

const (
	virtualServices = "virtualservices.networking.istio.io"
	replicaSets     = "replicasets.apps"
	rollouts        = "rollouts.argoproj.io"
)

// object is a fact about an object with spec.replicas and status.availableReplicas.
func object(ms int, resource, name string, rv uint64, size, available int) recording.Fact {
	body := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"replicas":%d},"status":{"availableReplicas":%d}}`, name, size, available)
	return recording.Fact{T: at(ms), Object: &recording.Object{Change: recording.Modified, Resource: resource, Namespace: "n", Name: name, RV: rv, Body: json.RawMessage(body)}}
}

func changed(f recording.Fact, c recording.Change) recording.Fact {
	f.Object.Change = c
	return f
}

func at(ms int) int64 { return int64(ms) * int64(time.Millisecond) }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func size(name, resource string) series.Definition {
	return series.Definition{Name: name, Object: &series.FromObject{Resource: resource, Value: func(v *series.View) (series.Value, bool) {
		return series.Number(float64(*v.Spec.Replicas)), true
	}}}
}

func available(name, resource string) series.Definition {
	return series.Definition{Name: name, Object: &series.FromObject{Resource: resource, Value: func(v *series.View) (series.Value, bool) {
		return series.Number(float64(v.Status.AvailableReplicas)), true
	}}}
}

// read writes the facts to a recording that ends at endMS and reads it.
func read(t testing.TB, endMS int, defs []series.Definition, facts ...recording.Fact) *series.Set {
	t.Helper()
	set, err := tryRead(t, endMS, defs, facts...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func tryRead(t testing.TB, endMS int, defs []series.Definition, facts ...recording.Fact) (*series.Set, error) {
	t.Helper()
	return series.Read(recordingtest.Of(t, time.Duration(at(endMS)), facts...), defs)
}

// pointsOf writes the points of a series as "value@ms".
func pointsOf(t testing.TB, set *series.Set, name string) string {
	t.Helper()
	s, err := set.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return list(s.Points)
}

func list(points []series.Point) string {
	var out []string
	for _, p := range points {
		out = append(out, fmt.Sprintf("%s@%d", p.Value, p.T.Milliseconds()))
	}
	return strings.Join(out, " ")
}

// joined writes joint states as "values[from-until]".
func joined(states []series.Joint) string {
	var out []string
	for _, st := range states {
		var values []string
		for _, p := range st.Points {
			values = append(values, p.Value.String())
		}
		out = append(out, fmt.Sprintf("%s[%d-%d]", strings.Join(values, "/"), st.T.Milliseconds(), st.Until.Milliseconds()))
	}
	return strings.Join(out, " ")
}

func step(ms int, name, phase, fault string) recording.Fact {
	return recording.Fact{T: at(ms), Step: &recording.Step{Name: name, Phase: phase, Error: fault}}
}

func log(ms int, component, line string) recording.Fact {
	return recording.Fact{T: at(ms), Log: &recording.Log{Component: component, Line: line}}
}

func sample(ms int, name string, value float64, labels map[string]string) recording.Fact {
	return recording.Fact{T: at(ms), Sample: &recording.Sample{Series: name, Labels: labels, Value: value}}
}

func TestSeriesHoldTheChangesOfTheirSource(t *testing.T) {
	t.Parallel()
	gone := series.Number(0)
	named := func(d series.Definition, name string) series.Definition {
		value := d.Object.Value
		d.Object.Value = func(v *series.View) (series.Value, bool) {
			if v.Metadata.Name != name {
				return series.Value{}, false
			}
			return value(v)
		}
		return d
	}
	withGone := size("s", replicaSets)
	withGone.Object.Gone = &gone
	inNamespace := size("s", replicaSets)
	inNamespace.Object.Namespace = "other"
	logs := func(expression string) series.Definition {
		return series.Definition{Name: "s", Log: &series.FromLog{Component: "c", Match: regexp.MustCompile(expression)}}
	}
	second := logs(`x`)
	second.Log.Process = 2
	of := func(process int, f recording.Fact) recording.Fact {
		f.Log.Process = process
		return f
	}
	for name, c := range map[string]struct {
		def   series.Definition
		facts []recording.Fact
		want  string
	}{
		"lines of one of several processes": {
			second,
			[]recording.Fact{of(1, log(1, "c", "x")), of(2, log(2, "c", "x")), log(3, "c", "x")},
			"x@2",
		},
		"lines of any process": {
			logs(`x`),
			[]recording.Fact{of(1, log(1, "c", "x")), of(2, log(2, "c", "x")), log(3, "c", "x")},
			"x@1 x@2 x@3",
		},
		"each change is a point": {
			size("s", replicaSets),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), object(2, replicaSets, "a", 2, 20, 0)},
			"2@1 20@2",
		},
		"equal values are merged, the first stays": {
			size("s", replicaSets),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), object(2, replicaSets, "a", 2, 2, 1), object(3, replicaSets, "a", 3, 2, 2), object(4, replicaSets, "a", 4, 3, 2)},
			"2@1 3@4",
		},
		"a value that comes back is a point again": {
			size("s", replicaSets),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), object(2, replicaSets, "a", 2, 3, 0), object(3, replicaSets, "a", 3, 2, 0)},
			"2@1 3@2 2@3",
		},
		"objects of a list are put in the store's order": {
			size("s", replicaSets),
			[]recording.Fact{changed(object(1, replicaSets, "a", 9, 3, 0), recording.Listed), changed(object(2, replicaSets, "b", 5, 2, 0), recording.Listed)},
			"2@2 3@1",
		},
		"the value of the list is not repeated when it is listed anew": {
			size("s", replicaSets),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), changed(object(9, replicaSets, "a", 1, 2, 0), recording.Listed)},
			"2@1",
		},
		"other resources are left out": {
			size("s", replicaSets),
			[]recording.Fact{object(1, rollouts, "a", 1, 2, 0)},
			"",
		},
		"other namespaces are left out": {
			inNamespace,
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0)},
			"",
		},
		"objects that the series is not about are left out": {
			named(size("s", replicaSets), "b"),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), object(2, replicaSets, "b", 2, 3, 0)},
			"3@2",
		},
		"a deleted object has the value of what is gone": {
			withGone,
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), changed(object(2, replicaSets, "a", 2, 2, 0), recording.Deleted)},
			"2@1 0@2",
		},
		"without such a value the last one stays": {
			size("s", replicaSets),
			[]recording.Fact{object(1, replicaSets, "a", 1, 2, 0), changed(object(2, replicaSets, "a", 2, 7, 0), recording.Deleted)},
			"2@1",
		},
		"an event is the first group": {
			logs(`reason=(\w+) n=(\d+)`),
			[]recording.Fact{log(1, "c", "x reason=Done n=1"), log(2, "c", "nothing"), log(3, "d", "reason=Other n=1")},
			"Done@1",
		},
		"an event without a group is the match": {
			logs(`Aborted`),
			[]recording.Fact{log(1, "c", "RolloutAborted now")},
			"Aborted@1",
		},
		"equal events are not merged": {
			logs(`x`),
			[]recording.Fact{log(1, "c", "x"), log(2, "c", "x")},
			"x@1 x@2",
		},
		"samples by name": {
			series.Definition{Name: "s", Sample: &series.FromSample{Series: "queue"}},
			[]recording.Fact{sample(1, "queue", 1.5, nil), sample(2, "other", 2, nil), sample(3, "queue", 1.5, nil), sample(4, "queue", 3, nil)},
			"1.5@1 3@4",
		},
		"samples by labels": {
			series.Definition{Name: "s", Sample: &series.FromSample{Series: "queue", Labels: map[string]string{"pod": "a"}}},
			[]recording.Fact{
				sample(1, "queue", 1, map[string]string{"pod": "a", "node": "x"}), sample(2, "queue", 2, map[string]string{"pod": "b"}), sample(3, "queue", 3, nil),
			},
			"1@1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := read(t, 10, []series.Definition{c.def}, c.facts...)
			if got := pointsOf(t, set, "s"); got != c.want {
				t.Errorf("points %s, want %s", got, c.want)
			}
			if set.Facts != int64(len(c.facts)) || set.End != ms(10) {
				t.Errorf("%d facts, end %s", set.Facts, set.End)
			}
		})
	}
}

func TestMemoryIsBoundedByChanges(t *testing.T) {
	t.Parallel()
	var facts []recording.Fact
	for i := range 5000 {
		facts = append(facts, object(i, replicaSets, "a", uint64(i+1), 1+i/2500, i))
	}
	set := read(t, 5000, []series.Definition{size("s", replicaSets)}, facts...)
	s, err := set.Get("s")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 2 || cap(s.Points) > 8 {
		t.Errorf("%d points (room for %d) for two values", len(s.Points), cap(s.Points))
	}
}

func TestPointsNameTheObjectVersion(t *testing.T) {
	t.Parallel()
	double := series.Definition{Name: "double", Derive: &series.Derived{Inputs: []string{"size", "weight"}, Value: func(in []float64) float64 { return 2 * in[0] }}}
	set := read(t, 10, []series.Definition{size("size", replicaSets), size("weight", virtualServices), double},
		object(1, replicaSets, "a", 41, 2, 0), object(2, virtualServices, "d", 42, 5, 0))
	want := series.Point{T: ms(2), RV: 42, Value: series.Number(4), Ref: "replicasets.apps/a@41, virtualservices.networking.istio.io/d@42"}
	s, err := set.Get("double")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 1 || s.Points[0] != want {
		t.Errorf("points %+v, want %+v", s.Points, want)
	}
	if !reflect.DeepEqual(s.Resources, []string{replicaSets, virtualServices}) {
		t.Errorf("resources %v", s.Resources)
	}
}

// TestStoreOrderOutranksReceiptOrder: the watch of the VirtualService delivers
// weight 100 (version 12) before the watch of the ReplicaSet delivers that 20
// pods are available (version 11). Weight 100 never met fewer than 20 pods.
func TestStoreOrderOutranksReceiptOrder(t *testing.T) {
	t.Parallel()
	defs := []series.Definition{size("weight", virtualServices), available("available", replicaSets)}
	set := read(t, 100, defs,
		object(1, virtualServices, "d", 1, 0, 0), object(2, replicaSets, "a", 2, 20, 0),
		object(50, virtualServices, "d", 12, 100, 0), object(60, replicaSets, "a", 11, 20, 20))
	states, err := set.Join(series.Interval{To: ms(100)}, "weight", "available")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := joined(states), "0/0[2-60] 0/20[60-60] 100/20[60-100]"; got != want {
		t.Errorf("states %s, want %s", got, want)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	defs := []series.Definition{
		size("size", replicaSets), available("available", replicaSets), size("weight", virtualServices),
		{Name: "queue", Sample: &series.FromSample{Series: "queue"}},
		{Name: "load", Derive: &series.Derived{Inputs: []string{"weight", "available"}, Value: func(in []float64) float64 { return in[0] / max(in[1], 1) }}},
		{Name: "mixed", Derive: &series.Derived{Inputs: []string{"weight", "queue"}, Value: func(in []float64) float64 { return in[0] + in[1] }}},
	}
	facts := []recording.Fact{
		object(10, virtualServices, "d", 1, 0, 0), object(20, replicaSets, "a", 2, 20, 20),
		object(30, replicaSets, "a", 3, 2, 1), object(40, virtualServices, "d", 4, 100, 0), object(50, replicaSets, "a", 5, 20, 2),
		sample(15, "queue", 7, nil), sample(45, "queue", 9, nil),
	}
	whole := series.Interval{To: ms(100)}
	for name, c := range map[string]struct {
		in    series.Interval
		names []string
		want  string
	}{
		"from the moment that all are known":  {whole, []string{"weight", "available"}, "0/20[20-30] 0/1[30-40] 100/1[40-50] 100/2[50-100]"},
		"one object version is one state":     {whole, []string{"available", "size"}, "20/20[20-30] 1/2[30-50] 2/20[50-100]"},
		"the same series twice":               {whole, []string{"weight", "weight"}, "0/0[10-40] 100/100[40-100]"},
		"a window that begins in the middle":  {series.Interval{From: ms(35), To: ms(45)}, []string{"weight", "available"}, "0/1[35-40] 100/1[40-45]"},
		"a window that begins at a change":    {series.Interval{From: ms(40), To: ms(45)}, []string{"weight", "available"}, "100/1[40-45]"},
		"a window that ends at a change":      {series.Interval{From: ms(35), To: ms(40)}, []string{"weight", "available"}, "0/1[35-40] 100/1[40-40]"},
		"a window before all are known":       {series.Interval{To: ms(15)}, []string{"weight", "available"}, ""},
		"a window that begins before":         {series.Interval{From: ms(5), To: ms(25)}, []string{"weight", "available"}, "0/20[20-25]"},
		"a window of one instant":             {series.Interval{From: ms(35), To: ms(35)}, []string{"weight", "available"}, "0/1[35-35]"},
		"a window that ends before it begins": {series.Interval{From: ms(50), To: ms(40)}, []string{"weight", "available"}, ""},
		"samples are joined by receipt":       {whole, []string{"weight", "queue"}, "0/7[15-40] 100/7[40-45] 100/9[45-100]"},
		"a derived series":                    {whole, []string{"load"}, "0[20-40] 100[40-50] 50[50-100]"},
		"a derived series and its input":      {whole, []string{"load", "available"}, "0/20[20-30] 0/1[30-40] 100/1[40-50] 50/2[50-100]"},
		"derived from samples too":            {whole, []string{"mixed", "weight"}, "7/0[15-40] 107/100[40-45] 109/100[45-100]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, err := read(t, 100, defs, facts...).Join(c.in, c.names...)
			if err != nil {
				t.Fatal(err)
			}
			if got := joined(states); got != c.want {
				t.Errorf("states\n got %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := read(t, 100, defs).Join(whole, "wieght"); !errors.Is(err, series.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	defs := []series.Definition{
		size("state", replicaSets),
		{Name: "event", Log: &series.FromLog{Component: "c", Match: regexp.MustCompile(`.+`)}},
	}
	set := read(t, 100, defs,
		object(10, replicaSets, "a", 1, 1, 0), object(20, replicaSets, "a", 2, 2, 0), object(30, replicaSets, "a", 3, 3, 0),
		log(10, "c", "x"), log(20, "c", "y"), log(30, "c", "z"))
	for name, c := range map[string]struct {
		series   string
		from, to int
		want     string
	}{
		"the value in force comes first":           {"state", 15, 25, "1@15 2@20"},
		"a change at the begin is the first value": {"state", 20, 25, "2@20"},
		"a change at the end belongs to it":        {"state", 15, 30, "1@15 2@20 3@30"},
		"nothing before the first point":           {"state", 0, 15, "1@10"},
		"nothing at all":                           {"state", 0, 5, ""},
		"only the value in force":                  {"state", 40, 50, "3@40"},
		"events inside, both ends included":        {"event", 10, 20, "x@10 y@20"},
		"no value holds between events":            {"event", 15, 18, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := set.Get(c.series)
			if err != nil {
				t.Fatal(err)
			}
			if got := list(s.Changes(series.Interval{From: ms(c.from), To: ms(c.to)})); got != c.want {
				t.Errorf("changes %s, want %s", got, c.want)
			}
		})
	}
}

func TestTheRecordingsOwnFactsAreKept(t *testing.T) {
	t.Parallel()
	set := read(t, 100, nil,
		step(1, "deploy", "begin", ""), step(5, "deploy", "end", ""),
		step(6, "roll back", "begin", ""), step(7, "escape", "begin", ""), step(9, "roll back", "end", "v1 promoted: not reached within 1m0s"),
		step(20, "deploy", "begin", ""), step(30, "stray", "end", ""),
		recording.Fact{T: at(40), Gap: &recording.Gap{Resource: replicaSets, FromNS: at(31), ToNS: at(39), Lossless: true, Reason: "the server closed the watch"}},
		recording.Fact{T: at(41), Late: &recording.Late{Sampler: "traffic", ByNS: 5}}, recording.Fact{T: at(42), Late: &recording.Late{Sampler: "traffic", ByNS: 6}},
		recording.Fact{T: at(50), Fault: &recording.Fault{What: "kwok", Detail: "exited"}},
		recording.Fact{T: at(51), Call: &recording.Call{Verb: "patch", Resource: rollouts, Name: "drill"}})
	steps := []series.Step{
		{Name: "deploy", Begin: ms(1), End: ms(5), Ended: true},
		{Name: "roll back", Begin: ms(6), End: ms(9), Ended: true, Error: "v1 promoted: not reached within 1m0s"},
		{Name: "escape", Begin: ms(7)},
		{Name: "deploy", Begin: ms(20)},
	}
	if !reflect.DeepEqual(set.Steps, steps) {
		t.Errorf("steps %+v", set.Steps)
	}
	gap := series.Gap{Resource: replicaSets, From: ms(31), To: ms(39), Lossless: true, Reason: "the server closed the watch"}
	if !reflect.DeepEqual(set.Gaps, []series.Gap{gap}) {
		t.Errorf("gaps %+v", set.Gaps)
	}
	if !reflect.DeepEqual(set.Faults, []series.Fault{{At: ms(50), What: "kwok", Detail: "exited"}}) {
		t.Errorf("faults %+v", set.Faults)
	}
	if set.Late["traffic"] != 2 || set.Facts != 12 {
		t.Errorf("late %v, %d facts", set.Late, set.Facts)
	}
	for name, c := range map[string]struct {
		w    series.Window
		want series.Interval
		ok   bool
	}{
		"the whole recording":         {series.Window{}, series.Interval{To: ms(100)}, true},
		"one step":                    {series.Window{From: "deploy", To: "deploy"}, series.Interval{From: ms(1), To: ms(5)}, true},
		"several steps":               {series.Window{From: "deploy", To: "roll back"}, series.Interval{From: ms(1), To: ms(9)}, true},
		"from a step on":              {series.Window{From: "escape"}, series.Interval{From: ms(7), To: ms(100)}, true},
		"a step that did not end":     {series.Window{From: "deploy", To: "escape"}, series.Interval{}, false},
		"a step that was not reached": {series.Window{From: "quiet"}, series.Interval{}, false},
		"steps in the wrong order":    {series.Window{From: "roll back", To: "deploy"}, series.Interval{}, false},
	} {
		got, ok := set.Resolve(c.w)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for name, c := range map[string]struct {
		resources []string
		in        series.Interval
		want      int
	}{
		"over the begin":    {[]string{replicaSets}, series.Interval{From: ms(35), To: ms(50)}, 1},
		"over the end":      {[]string{rollouts, replicaSets}, series.Interval{To: ms(31)}, 1},
		"inside":            {[]string{replicaSets}, series.Interval{To: ms(100)}, 1},
		"before the gap":    {[]string{replicaSets}, series.Interval{To: ms(30)}, 0},
		"after the gap":     {[]string{replicaSets}, series.Interval{From: ms(40), To: ms(50)}, 0},
		"another resource":  {[]string{rollouts}, series.Interval{To: ms(100)}, 0},
		"a series of a log": {nil, series.Interval{To: ms(100)}, 0},
	} {
		if got := set.GapsOf(c.resources, c.in); len(got) != c.want {
			t.Errorf("gaps %s: %v", name, got)
		}
	}
}

func TestDefinitionsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	derived := func(name string, value func([]float64) float64, inputs ...string) series.Definition {
		return series.Definition{Name: name, Derive: &series.Derived{Inputs: inputs, Value: value}}
	}
	constant := func(v float64) func([]float64) float64 { return func([]float64) float64 { return v } }
	both := size("b", replicaSets)
	both.Log = &series.FromLog{}
	for name, c := range map[string]struct {
		defs []series.Definition
		want string
	}{
		"no source":              {[]series.Definition{{Name: "a"}}, `bad series definition: "a" has 0 sources, expected one`},
		"two sources":            {[]series.Definition{both}, `bad series definition: "b" has 2 sources, expected one`},
		"the same name twice":    {[]series.Definition{size("a", replicaSets), size("a", rollouts)}, `bad series definition: "a" is defined twice`},
		"an input that is not":   {[]series.Definition{derived("a", constant(1), "b")}, `bad series definition: "a" is derived from "b", which is not defined before it`},
		"an input that is later": {[]series.Definition{derived("a", constant(1), "s"), size("s", replicaSets)}, `bad series definition: "a" is derived from "s", which is not defined before it`},
		"itself as input":        {[]series.Definition{derived("a", constant(1), "a")}, `bad series definition: "a" is derived from "a", which is not defined before it`},
		"not a number":           {[]series.Definition{size("s", replicaSets), derived("a", constant(math.NaN()), "s")}, `series "a": bad series definition: the value for [2] is NaN, expected a finite number`},
		"infinity":               {[]series.Definition{size("s", replicaSets), derived("a", constant(math.Inf(1)), "s")}, `series "a": bad series definition: the value for [2] is +Inf, expected a finite number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryRead(t, 10, c.defs, object(1, replicaSets, "a", 1, 2, 0))
			if !errors.Is(err, series.ErrDefinition) || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestAnObjectThatIsNoneEndsTheReading(t *testing.T) {
	t.Parallel()
	bad := object(1, replicaSets, "a", 7, 2, 0)
	bad.Object.Body = json.RawMessage(`{"spec":{"replicas":"two"}}`)
	if _, err := tryRead(t, 10, []series.Definition{size("s", replicaSets)}, bad); err == nil || !strings.HasPrefix(err.Error(), "replicasets.apps a@7: ") {
		t.Errorf("error %v", err)
	}
	if _, err := tryRead(t, 10, nil, bad); err != nil {
		t.Errorf("nobody reads the object, but: %v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	set := read(t, 10, []series.Definition{size("b", replicaSets), size("a", rollouts)})
	if got := set.Names(); !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Errorf("names %v", got)
	}
	if _, err := set.Get("c"); !errors.Is(err, series.ErrUnknown) || err.Error() != `unknown series "c"` {
		t.Errorf("error %v", err)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]series.Value{
		"100": series.Number(100), "0": {}, "6.66667": series.Number(20.0 / 3), "-1.5": series.Number(-1.5), "Healthy": series.Text("Healthy"), "1e+09": series.Number(1e9),
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCallsAreEventsOrHold(t *testing.T) {
	t.Parallel()
	call := func(ms int, resource string, code int) recording.Fact {
		return recording.Fact{T: at(ms), Call: &recording.Call{Verb: "create", Resource: resource, Name: "n/p", Code: code}}
	}
	for holds, want := range map[bool]string{false: "429@10 429@40 201@50", true: "429@10 201@50"} {
		def := series.Definition{Name: "s", Call: &series.FromCall{Resource: "pods/eviction", Holds: holds, Value: func(c *recording.Call) (series.Value, bool) {
			return series.Number(float64(c.Code)), c.Code != 0
		}}}
		set := read(t, 100, []series.Definition{def},
			call(10, "pods/eviction", 429), call(20, "pods", 201), call(30, "pods/eviction", 0), call(40, "pods/eviction", 429), call(50, "pods/eviction", 201))
		if got := pointsOf(t, set, "s"); got != want {
			t.Errorf("holds %t: points %s, want %s", holds, got, want)
		}
		s, err := set.Get("s")
		if err != nil || (s.Kind == series.State) != holds || s.Points[0].Ref != "create of pods/eviction/n/p" {
			t.Errorf("holds %t: %+v, %v", holds, s, err)
		}
	}
}
