package istiodthrottle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/controlplane"
	"reckon.dev/reckon/scenarios/istiodthrottle"
)

func params(change func(p *istiodthrottle.Params)) *istiodthrottle.Params {
	p := istiodthrottle.Scenario{}.Defaults().(*istiodthrottle.Params)
	change(p)
	return p
}

func predict(t testing.TB, p *istiodthrottle.Params, provider string) judge.Prediction {
	t.Helper()
	out, err := istiodthrottle.Scenario{}.Predict(scenario.Input{Params: p, On: cluster.Offered(provider)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryKeyReadsDefinedSeriesAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, cpu := range []quota.Limit{300, 600, 1000, 1500, 2000, 16000} {
		for _, procs := range []string{istiodthrottle.Chart, istiodthrottle.Runtime} {
			for _, provider := range cluster.Providers() {
				name := fmt.Sprintf("%s, %s, %s", cpu, procs, provider)
				p := predict(t, params(func(p *istiodthrottle.Params) { p.CPU, p.Procs = cpu, procs }), provider)
				for _, s := range p.Computed(keytest.Empty(t, p.Definitions)) {
					if len(s.Points) > 0 {
						t.Errorf("%s: %s has points without a sample", name, s.Name)
					}
				}
				computed := keys(p)
				p.Guards, p.Chart.Panels = nil, slices.DeleteFunc(p.Chart.Panels, func(panel judge.Panel) bool {
					return slices.Contains(computed, panel.Lines[0].Series)
				})
				keytest.ReadsDefinedSeries(t, name, p)
				keytest.HasBasis(t, name, p)
			}
		}
	}
}

// keys are the names of the series that are computed, which a recording without a
// script has all the same.
func keys(p judge.Prediction) []string {
	var out []string
	for _, s := range p.Computed(&series.Set{}) {
		out = append(out, s.Name)
	}
	return out
}

func TestParametersThatCannotBeMeasuredAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(p *istiodthrottle.Params){
		"cpu: 200m is not between":              func(p *istiodthrottle.Params) { p.CPU = 200 },
		"cpu: 17 is not between":                func(p *istiodthrottle.Params) { p.CPU = 17000 },
		"connections: 90 are admitted too soon": func(p *istiodthrottle.Params) { p.Connections = 90 },
		"every: 100ms is less than 200ms":       func(p *istiodthrottle.Params) { p.Every = scenario.Duration(100 * time.Millisecond) },
		"push: 3s is less than 5s":              func(p *istiodthrottle.Params) { p.Push = scenario.Duration(3 * time.Second) },
		"push: 10s is less than 20s": func(p *istiodthrottle.Params) {
			p.Push, p.Every = scenario.Duration(10*time.Second), scenario.Duration(20*time.Second)
		},
	} {
		if err := (istiodthrottle.Scenario{}).Check(params(change), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := (istiodthrottle.Scenario{}).Check(params(func(*istiodthrottle.Params) {}), nil); err != nil {
		t.Error(err)
	}
}

// tape is what an istiod with a limit of 600m does, second by second: a push uses
// 200 ms, and three of the eight periods that are counted are throttled.
type tape struct {
	facts   []recording.Fact
	procs   float64
	rate    time.Duration // between two admissions
	cpus    float64
	perPush counts
}

type counts struct {
	use, lost          time.Duration
	periods, throttled int64
}

func honest() *tape {
	return &tape{procs: 1, rate: 50 * time.Millisecond, cpus: 2, perPush: counts{200 * time.Millisecond, 120 * time.Millisecond, 8, 3}}
}

const (
	connections   = 150
	connectBegin  = 5 * time.Second
	quietBegin    = 15 * time.Second
	pushBegin     = 25 * time.Second
	pushEnd       = 55 * time.Second
	readingsEvery = 100 * time.Millisecond
)

func (tp *tape) add(at time.Duration, f recording.Fact) {
	f.T = int64(at)
	tp.facts = append(tp.facts, f)
}

func (tp *tape) sample(at time.Duration, name string, value float64, labels map[string]string) {
	tp.add(at, recording.Fact{Sample: &recording.Sample{Series: name, Value: value, Labels: labels}})
}

func (tp *tape) step(name string, from, to time.Duration) {
	tp.add(from, recording.Fact{Step: &recording.Step{Name: name, Phase: "begin"}})
	tp.add(to, recording.Fact{Step: &recording.Step{Name: name, Phase: "end"}})
}

func (tp *tape) recording() []recording.Fact {
	tp.sample(time.Second, recording.MachineCPUs, tp.cpus, nil)
	tp.sample(2*time.Second, "go_sched_gomaxprocs_threads", tp.procs, nil)
	tp.step(controlplane.StepConnect, connectBegin, quietBegin-time.Millisecond)
	tp.step(istiodthrottle.StepQuiet, quietBegin, pushBegin-time.Millisecond)
	tp.step(istiodthrottle.StepPush, pushBegin, pushEnd)
	f := recordingtest.NewFleet().Replica(time.Second, recording.ReplicaReady, "istiod-0")
	for i := range connections {
		proxy := fmt.Sprintf("p%03d", i)
		f.Begin(connectBegin, proxy)
		f.Connect(connectBegin+time.Duration(i)*tp.rate, "istiod-0", proxy)
	}
	tp.facts = append(tp.facts, f.Facts...)
	var now counts
	for at := quietBegin; at <= pushEnd; at += readingsEvery {
		now.use += 10 * time.Microsecond // somebody asks it whether it is Ready
		if at > pushBegin && (at-pushBegin)%time.Second == 300*time.Millisecond {
			now.use += tp.perPush.use
			now.lost += tp.perPush.lost
			now.periods += tp.perPush.periods
			now.throttled += tp.perPush.throttled
		}
		if at < pushBegin && at%time.Second == 0 {
			now.periods++
			now.use += time.Millisecond
		}
		tp.cpu(at, now)
	}
	slices.SortStableFunc(tp.facts, func(a, b recording.Fact) int { return int(a.T - b.T) })
	return tp.facts
}

func (tp *tape) cpu(at time.Duration, c counts) {
	labels := map[string]string{recording.ContainerLabel: recording.IstiodContainer}
	tp.sample(at, recording.CPUPeriods, float64(c.periods), labels)
	tp.sample(at, recording.CPUThrottled, float64(c.throttled), labels)
	tp.sample(at, recording.CPULost, c.lost.Seconds(), labels)
	tp.sample(at, recording.CPUUse, c.use.Seconds(), labels)
}

func verdict(t *testing.T, p *istiodthrottle.Params, facts []recording.Fact) judge.Verdict {
	t.Helper()
	prediction := predict(t, p, cluster.Embedded)
	set, err := series.Read(recordingtest.Of(t, time.Minute, facts...), prediction.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, computed := range prediction.Computed(set) {
		set.Add(computed)
	}
	v, err := judge.Judge(recording.Header{}, prediction, set, judge.Gate{Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func claim(t *testing.T, v judge.Verdict, id string) judge.ClaimResult {
	t.Helper()
	i := slices.IndexFunc(v.Claims, func(c judge.ClaimResult) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no claim %s", id)
	}
	return v.Claims[i]
}

func TestWhatALimitDoesIsTold(t *testing.T) {
	t.Parallel()
	v := verdict(t, params(func(*istiodthrottle.Params) {}), honest().recording())
	if v.Outcome != judge.Pass {
		t.Fatalf("%s: %q", v.Outcome, v.Reasons)
	}
	got := map[string]string{}
	for _, row := range claim(t, v, "throttled").Detail.Rows {
		got[row[0]] = row[1] + " | " + row[2]
	}
	for name, want := range map[string]string{
		"cores used, mean":                     "0.001 | 0.200",
		"of the limit, mean":                   "0 % | 33 %",
		"cores used, most in 100 ms":           "0.010 | 2.000",
		"periods counted in a second, of 10":   "0.9 | 8.0",
		"of those, throttled":                  "0.0 % | 37.5 %",
		"of all periods there were, throttled": "0.0 % | 30.0 %",
		"time lost, in a throttled period":     "- | 40.0 ms",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if g := v.Guards[0]; g.Status != judge.Broken || *g.Worst != 37.5 {
		t.Errorf("guard: %+v", g)
	}
}

func TestAnIstiodThatIsNotAsPredictedBreaksOneClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(tp *tape)
		claim  string
	}{
		"GOMAXPROCS of a machine without a limit":  {func(tp *tape) { tp.procs = 2 }, "gomaxprocs"},
		"the admissions of two processors":         {func(tp *tape) { tp.rate = 40 * time.Millisecond }, "admissions"},
		"admissions at a lower rate":               {func(tp *tape) { tp.rate = 60 * time.Millisecond }, "admissions"},
		"no limit is enforced":                     {func(tp *tape) { tp.perPush = counts{use: 200 * time.Millisecond} }, "in-force"},
		"periods of 50 ms":                         {func(tp *tape) { tp.perPush.periods = 20 }, "in-force"},
		"more is used than the limit":              {func(tp *tape) { tp.perPush.use = 800 * time.Millisecond }, "capped"},
		"more is throttled than was used":          {func(tp *tape) { tp.perPush.throttled = 5 }, "throttled"},
		"more time is lost than periods throttled": {func(tp *tape) { tp.perPush.lost = 700 * time.Millisecond }, "throttled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := honest()
			c.change(tp)
			v := verdict(t, params(func(*istiodthrottle.Params) {}), tp.recording())
			for _, got := range v.Claims {
				want := judge.Held
				if got.ID == c.claim {
					want = judge.Broken
				}
				if got.Status != want {
					t.Errorf("claim %s is %s: %s %s", got.ID, got.Status, got.Observed, got.Why)
				}
			}
		})
	}
}

// Go's runtime has two processors where the chart has one.
func TestLeftToGosRuntimeThereAreTwoProcessors(t *testing.T) {
	t.Parallel()
	tp := honest()
	tp.procs, tp.rate = 2, 40*time.Millisecond
	v := verdict(t, params(func(p *istiodthrottle.Params) { p.Procs = istiodthrottle.Runtime }), tp.recording())
	if v.Outcome != judge.Pass {
		t.Errorf("%s: %q", v.Outcome, v.Reasons)
	}
}

func TestWhatIsNotKnownIsInconclusive(t *testing.T) {
	t.Parallel()
	without := func(series string) func(facts []recording.Fact) []recording.Fact {
		return func(facts []recording.Fact) []recording.Fact {
			return slices.DeleteFunc(facts, func(f recording.Fact) bool { return f.Sample != nil && f.Sample.Series == series })
		}
	}
	for name, c := range map[string]struct {
		change func(facts []recording.Fact) []recording.Fact
		claim  string
	}{
		"the machine's CPUs":  {without(recording.MachineCPUs), "throttled"},
		"GOMAXPROCS":          {without("go_sched_gomaxprocs_threads"), "gomaxprocs"},
		"the kernel's counts": {without(recording.CPUPeriods), "in-force"},
		"whose counts they are": {func(facts []recording.Fact) []recording.Fact {
			tp := &tape{facts: facts}
			tp.cpu(40*time.Second+readingsEvery/2, counts{})
			return tp.facts
		}, "capped"},
		"when the proxies were admitted": {func(facts []recording.Fact) []recording.Fact {
			return append(facts, recording.Fact{T: int64(10 * time.Second), Late: &recording.Late{Sampler: recording.FleetSampler, ByNS: int64(time.Second)}})
		}, "admissions"},
		"whether all were admitted": {func(facts []recording.Fact) []recording.Fact {
			return slices.DeleteFunc(facts, func(f recording.Fact) bool { return f.Connection != nil && f.Connection.Proxy == "p000" })
		}, "admissions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := c.change(honest().recording())
			slices.SortStableFunc(facts, func(a, b recording.Fact) int { return int(a.T - b.T) })
			v := verdict(t, params(func(*istiodthrottle.Params) {}), facts)
			if got := claim(t, v, c.claim); got.Status != judge.Inconclusive || v.Outcome != judge.Undecided {
				t.Errorf("claim %s is %s (%s): %q", c.claim, got.Status, got.Why, v.Reasons)
			}
		})
	}
}
