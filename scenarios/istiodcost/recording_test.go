package istiodcost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

const proxies = 50

// run is a recording that a test makes up: each step takes ten seconds.
type run struct {
	facts []recording.Fact
	now   time.Duration
}

func (r *run) sample(of, replica string, value float64, labels ...string) {
	s := recording.Sample{Series: of, Value: value, Labels: map[string]string{"replica": replica}}
	for i := 0; i < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	r.facts = append(r.facts, recording.Fact{T: int64(r.now), Sample: &s})
}

// step plays what happens in the middle of a step.
func (r *run) step(name string, in func()) {
	r.facts = append(r.facts, recording.Fact{T: int64(r.now), Step: &recording.Step{Name: name, Phase: "begin"}})
	r.now += 5 * time.Second
	in()
	r.now += 5 * time.Second
	r.facts = append(r.facts, recording.Fact{T: int64(r.now), Step: &recording.Step{Name: name, Phase: "end"}})
}

// memory of a replica, in MB.
func (r *run) memory(replica string, resident, peak float64) {
	r.sample(recording.ResidentMemory, replica, resident*mega)
	r.sample(recording.PeakMemory, replica, peak*mega)
}

func (r *run) heap(replica, at string, mb float64) {
	r.sample(recording.LiveHeap, replica, mb*mega, "at", at)
}

// spent: CPU and answers with clusters so far, and bytes sent for each of them.
func (r *run) spent(replica string, cpu, answers float64) {
	r.sample("process_cpu_seconds_total", replica, cpu)
	r.sample("pilot_xds_pushes", replica, answers, "type", "cds")
	r.sample("pilot_xds_pushes", replica, 3*answers, "type", "eds")
	for _, typ := range sentOrder {
		r.sample("pilot_xds_config_size_bytes_sum", replica, 1000*answers, "type", sentTypes[typ])
	}
}

func (r *run) fleet(do func(f *recordingtest.Fleet)) {
	f := recordingtest.NewFleet()
	do(f)
	r.facts = append(r.facts, f.Facts...)
}

func names() []string {
	var out []string
	for i := range proxies {
		out = append(out, fmt.Sprintf("proxy-%d", i))
	}
	return out
}

// typical is a run as the laws below have it.
func typical() *run {
	r := &run{}
	r.step(StepMesh, func() {})
	r.step(StepStart, func() { r.memory(first, 110, 115); r.sample("process_cpu_seconds_total", first, 0.5) })
	r.step(StepIdle, func() { r.memory(first, 116, 120); r.sample("pilot_services", first, 201) })
	r.step(StepIdleHeap, func() { r.heap(first, heapIdle, 17) })
	r.step(StepRamp, func() {
		r.fleet(func(f *recordingtest.Fleet) {
			f.Begin(r.now, names()...).Connect(r.now+time.Millisecond, first, names()...)
		})
		r.memory(first, 130, 133)
		r.spent(first, 1.5, proxies)
	})
	r.step(StepRampHeap, func() { r.heap(first, heapRamp, 22) })
	r.step(StepPush, func() { r.memory(first, 160, 165); r.spent(first, 2.0, 2*proxies) })
	r.step(StepSecond, func() { r.memory(second, 116, 120); r.sample("process_cpu_seconds_total", second, 0.5) })
	r.step(StepBurst, func() {
		r.fleet(func(f *recordingtest.Fleet) {
			f.Connect(r.now-time.Hour, first, names()...) // so that what closes is known to the maker
			f.Facts = nil
			f.Close(r.now, "Unavailable", names()...).Connect(r.now+time.Millisecond, second, names()...)
		})
		r.memory(second, 150, 165)
		r.spent(second, 1.5, proxies)
	})
	r.step(StepBackHeap, func() { r.heap(second, heapBack, 22) })
	return r
}

// made are laws of measurements that have what the typical run has at its load.
func made(t *testing.T) laws {
	t.Helper()
	at := func(base, endpoint, connection, pair float64) func(l footprint.Load) float64 {
		return func(l footprint.Load) float64 {
			n := float64(l.Connections)
			return mega*base + endpoint*float64(l.Endpoints) + connection*n + pair*n*float64(l.Visible)
		}
	}
	live, slow, peak := at(15, 1000, 60e3, 20), at(116, 2000, 160e3, 50), at(116, 2000, 400e3, 250)
	var all []footprint.Measurement
	for i, endpoints := range []int{0, 500, 2000, 8000} {
		for j, connections := range []int{50, 200, 400} {
			l, none := footprint.Load{Connections: connections, Endpoints: endpoints, Visible: endpoints}, footprint.Load{Endpoints: endpoints}
			off := 1 + 0.02*float64((i+j)%3-1)
			all = append(all, footprint.Measurement{
				Load: l, Idle: slow(none) / off, LiveIdle: live(none) / off, LiveRamp: live(l) * off, LiveBurst: live(l) / off,
				Ramp: slow(l) * off, Push: peak(l) * off, Burst: peak(l) / off,
			})
		}
	}
	out, err := lawsOf(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verdict judges a run of 50 proxies and 2,000 endpoints.
func (r *run) verdict(t *testing.T, laws laws, change func(*Params)) judge.Verdict {
	t.Helper()
	p := params(func(p *Params) { p.Connections = proxies })
	if change != nil {
		change(p)
	}
	key := p.key(nil, laws)
	v, err := judge.Judge(recording.Header{}, key, r.read(t), judge.Gate{Claims: "fail", Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *run) read(t *testing.T) *series.Set {
	t.Helper()
	set, err := series.Read(recordingtest.Of(t, r.now, r.facts...), definitions())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestARunAsTheLawsHaveItPasses(t *testing.T) {
	t.Parallel()
	v := typical().verdict(t, made(t), nil)
	if v.Outcome != judge.Pass || len(v.Claims) != 9 || len(v.Guards) != 1 || v.Guards[0].Status != judge.Held {
		t.Errorf("%s: %q", v.Outcome, v.Reasons)
	}
	if v := typical().verdict(t, nil, nil); v.Outcome != judge.Pass || len(v.Claims) != 4 {
		t.Errorf("without laws: %s with %d claims: %q", v.Outcome, len(v.Claims), v.Reasons)
	}
}

// replaced has other values of samples.
func (r *run) replaced(of, replica string, by func(v float64) float64) *run {
	for i, f := range r.facts {
		if s := f.Sample; s != nil && s.Series == of && s.Labels["replica"] == replica {
			s := *s
			s.Value = by(s.Value)
			r.facts[i].Sample = &s
		}
	}
	return r
}

func (r *run) without(gone func(f recording.Fact) bool) *run {
	r.facts = slices.DeleteFunc(r.facts, gone)
	return r
}

func TestWhatTheLawsDoNotHaveBreaksItsClaim(t *testing.T) {
	t.Parallel()
	twice := func(v float64) float64 { return 2 * v }
	for name, c := range map[string]struct {
		run    *run
		change func(*Params)
		claims []string
	}{
		"a heap that keeps what was sent":    {typical().replaced(recording.LiveHeap, first, twice), nil, []string{"live-heap"}},
		"a heap that a burst leaves larger":  {typical().replaced(recording.LiveHeap, second, twice), nil, []string{"live-heap-again"}},
		"twice the memory of the first":      {typical().replaced(recording.PeakMemory, first, twice), nil, []string{"ramp", "push"}},
		"twice the memory of the second":     {typical().replaced(recording.PeakMemory, second, twice), nil, []string{"burst"}},
		"half the memory of the second":      {typical().replaced(recording.PeakMemory, second, func(v float64) float64 { return v / 2 }), nil, []string{"burst"}},
		"twice of one that is held back":     {typical().replaced(recording.PeakMemory, second, twice), func(p *Params) { p.Limit = 512 }, []string{"burst"}},
		"half of one that is held back":      {typical().replaced(recording.PeakMemory, second, func(v float64) float64 { return v / 2 }), func(p *Params) { p.Limit = 512 }, nil},
		"one proxy is pushed to twice":       {typical().replaced("pilot_xds_pushes", first, func(v float64) float64 { return v + 1 }), nil, []string{"answers"}},
		"one proxy gets nothing of a second": {typical().replaced("pilot_xds_pushes", second, func(v float64) float64 { return v - 1 }), nil, []string{"answers"}},
		"istiod does not know the mesh":      {typical().replaced("pilot_services", first, func(float64) float64 { return 1 }), nil, []string{"services"}},
		"one proxy is not back": {typical().without(func(f recording.Fact) bool {
			return f.Connection != nil && f.Connection.Event == recording.Connected && f.Connection.Replica == second && f.Connection.Proxy == "proxy-7"
		}), nil, []string{"connected-again"}},
		"one proxy never connects": {typical().without(func(f recording.Fact) bool {
			return f.Connection != nil && f.Connection.Event != recording.Begun && f.Connection.Proxy == "proxy-7"
		}), nil, []string{"connected", "connected-again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken []string
			for _, claim := range c.run.verdict(t, made(t), c.change).Claims {
				if claim.Status == judge.Broken {
					broken = append(broken, claim.ID)
				}
			}
			slices.Sort(broken)
			slices.Sort(c.claims)
			if !slices.Equal(broken, c.claims) {
				t.Errorf("broken %q, want %q", broken, c.claims)
			}
		})
	}
}

func TestWhatIsNotRecordedIsInconclusive(t *testing.T) {
	t.Parallel()
	lacks := func(of string) func(f recording.Fact) bool {
		return func(f recording.Fact) bool { return f.Sample != nil && f.Sample.Series == of }
	}
	for name, r := range map[string]*run{
		"no memory":     typical().without(lacks(recording.PeakMemory)),
		"no heap":       typical().without(lacks(recording.LiveHeap)),
		"no answers":    typical().without(lacks("pilot_xds_pushes")),
		"no CPU":        typical().without(lacks("process_cpu_seconds_total")),
		"no services":   typical().without(lacks("pilot_services")),
		"a cut script":  typical().without(func(f recording.Fact) bool { return f.Step != nil && f.Step.Name == StepBackHeap }),
		"no last phase": typical().without(func(f recording.Fact) bool { return f.Step != nil && f.Step.Name == StepBurst }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := r.verdict(t, made(t), nil)
			if v.Outcome != judge.Undecided {
				t.Errorf("%s: %q", v.Outcome, v.Reasons)
			}
			if _, ok := Measure("run", footprint.Load{Connections: proxies}, r.read(t)); ok && name != "no services" && name != "a cut script" {
				t.Error("it is a measurement all the same")
			}
		})
	}
}

func TestAMeasurementIsWhatThePhasesTook(t *testing.T) {
	t.Parallel()
	load := footprint.Load{Connections: proxies, Endpoints: 2000, Visible: 2000}
	got, ok := Measure("run", load, typical().read(t))
	want := footprint.Measurement{
		Run: "run", Load: load, Idle: 120 * mega, LiveIdle: 17 * mega, LiveRamp: 22 * mega, LiveBurst: 22 * mega,
		Ramp: 133 * mega, Push: 165 * mega, Burst: 165 * mega, CPURamp: 1, CPUPush: 0.5, CPUBurst: 1, Sent: 4000,
	}
	if !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheAccountTellsWhatAPhaseTookPerProxy(t *testing.T) {
	t.Parallel()
	for _, c := range typical().verdict(t, nil, nil).Claims {
		if c.ID != "answers" {
			continue
		}
		if c.Detail == nil || len(c.Detail.Rows) != 4 {
			t.Fatalf("detail %+v", c.Detail)
		}
		if got, want := strings.Join(c.Detail.Rows[burst], "|"), "burst|istiod-1|50|4 kB|1.00 s|20.0 ms|150 MB|165 MB|22 MB"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
