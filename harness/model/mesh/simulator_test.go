package mesh

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// squares is the mean of the squared CoV over runs, with its standard error. It is what
// the closed forms give exactly: counts are multinomial.
func squares(b *Bands, reading int) (mean, stderr float64) {
	values := newSample(nil, 0)
	for _, v := range b.column(CoV, reading) {
		values.Values = append(values.Values, float64(v)*float64(v))
	}
	return values.Mean(), values.SD() / math.Sqrt(float64(len(values.Values)))
}

// within4 holds a square against its form with four standard errors of 1,000 runs.
func within4(t *testing.T, b *Bands, form func(time.Duration) float64) {
	t.Helper()
	for i, at := range b.Plan.Readings {
		mean, stderr := squares(b, i)
		if want := form(at) * form(at); math.Abs(mean-want) > 4*stderr+1e-6 {
			t.Errorf("squared CoV at %v is %.5g ± %.2g, the form gives %.5g", at, mean, stderr, want)
		}
	}
}

func simulate(t *testing.T, plan Plan, runs int) *Bands {
	t.Helper()
	b, err := Simulate(t.Context(), plan, runs, 7)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWithoutEventsAFleetStaysAtTheFloor(t *testing.T) {
	for _, grace := range []time.Duration{WaitsForCut, ClosesOnGoAway} {
		plan := Plan{Connections: 400, Replicas: 8, Lifetime: Lifetime{time.Minute, grace}, Start: Equilibrium, Readings: Every(20*time.Second, 5*time.Minute)}
		b := simulate(t, plan, 1000)
		within4(t, b, func(time.Duration) float64 { return plan.Final().Floor() })
		rate := b.Connects.Mean() / 300
		near(t, "reconnects a second", rate, plan.Final().ReconnectRate(), 4*b.Connects.SD()/300/math.Sqrt(1000))
	}
}

func TestScaleOutFollowsItsForm(t *testing.T) {
	for _, grace := range []time.Duration{WaitsForCut, ClosesOnGoAway} {
		s := ScaleOut{Connections: 300, From: 3, To: 6, Lifetime: Lifetime{time.Minute, grace}}
		plan := Plan{Connections: 300, Replicas: 3, Lifetime: s.Lifetime, Start: Equilibrium, Events: Ready(0, 0, 0), Readings: Every(6*time.Second, 90*time.Second)}
		within4(t, simulate(t, plan, 1000), s.CoV)
	}
	grown := ScaleOut{Connections: 150, Joining: 150, From: 3, To: 6, Lifetime: waiting(time.Minute)}
	plan := Plan{Connections: 150, Replicas: 3, Lifetime: grown.Lifetime, Start: Equilibrium, Events: append(Ready(0, 0, 0), Arrive(150, 0, 0)...), Readings: Every(6*time.Second, 60*time.Second)}
	within4(t, simulate(t, plan, 1000), grown.CoV)
}

func TestMassLossFollowsItsForm(t *testing.T) {
	m := MassLoss{Connections: 400, Replicas: 8, Lost: 6, Back: 6, ReadyAfter: 15 * time.Second, Lifetime: waiting(time.Minute)}
	plan := Plan{
		Connections: 400, Replicas: 8, Lifetime: m.Lifetime, Start: Equilibrium,
		Events:   append(Leave(0, Cut(), First(6)...), Ready(slices.Repeat([]time.Duration{15 * time.Second}, 6)...)...),
		Readings: Spaced(12, 20*time.Second, 77*time.Second),
	}
	b := simulate(t, plan, 1000)
	within4(t, b, m.CoV)
	if hi, ok := b.LastOrphan.Quantile(1); !ok || hi != 0 {
		t.Errorf("orphans wait until %g s without a limit and a gap", hi)
	}
}

func TestTheEchoComesAgain(t *testing.T) {
	m := MassLoss{Connections: 400, Replicas: 8, Lost: 6, Back: 6, ReadyAfter: 15 * time.Second, Lifetime: waiting(time.Minute)}
	plan := referencePlans()["mass-loss-no-limit"]
	plan.Gap, plan.Readings = 0, []time.Duration{at(2), at(64), at(65), at(77), at(130), at(154)}
	rates := simulate(t, plan, 1000).Curve(Connects)
	// Wave and survivors' connections, by the closed forms. The second wave is the first
	// one folded with the jitter again: all of it is within twice the bounds.
	near(t, "dead time", rates[1].Mean, m.DeadRate(), 0.1)
	near(t, "first wave", rates[3].Mean, m.WaveRate()+m.DeadRate(), 0.6)
	if second := rates[5].Mean; second < 2*m.Fleet().ReconnectRate() || second > rates[3].Mean {
		t.Errorf("second wave of %g a second after %g, in equilibrium %g", second, rates[3].Mean, m.Fleet().ReconnectRate())
	}
}

func TestHowOrphansLearn(t *testing.T) {
	for _, c := range []struct {
		name        string
		how         Departure
		grace       time.Duration
		least, most float64 // of the outages, seconds
	}{
		{"a cut is noticed at once", Cut(), WaitsForCut, 0, 0.5},
		{"a drained replica holds those that wait for the cut", Drain(10 * time.Second), WaitsForCut, 0, 10.5},
		{"and not those that close on GOAWAY", Drain(10 * time.Second), ClosesOnGoAway, 0, 0.5},
		{"silence is noticed by keepalive", Silence(30*time.Second, 40*time.Second), WaitsForCut, 30, 40.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := NewSimulator(Plan{
				Connections: 200, Replicas: 4, Lifetime: Lifetime{time.Minute, c.grace}, Start: Equilibrium, Gap: EnvoyGap,
				Events: Leave(5*time.Second, c.how, 1), Readings: Every(time.Second, time.Minute),
			})
			if err != nil {
				t.Fatal(err)
			}
			var path Path
			s.Run(1, &path)
			if len(path.Outages) < 20 || path.Unserved > 0 {
				t.Fatalf("%d orphans served again, %d not", len(path.Outages), path.Unserved)
			}
			if lo, hi := slices.Min(path.Outages), slices.Max(path.Outages); lo < c.least || hi > c.most || hi < c.most-1 {
				t.Errorf("outages from %.2f to %.2f s, want %g to %g", lo, hi, c.least, c.most)
			}
			last, ok := path.LastOrphan()
			if !ok || math.Abs(last.Seconds()-5-slices.Max(path.Outages)) > 1e-6 {
				t.Errorf("last orphan at %v, %v", last, ok)
			}
			if hanging := path.Readings[6].Hanging; (hanging > 0) != (c.most > 1) {
				t.Errorf("%d connections hang a second later", hanging)
			}
		})
	}
}

func TestWhenAFleetIsEvenAgain(t *testing.T) {
	plan := referencePlans()["mass-loss-no-limit"]
	plan.Readings = Every(time.Second, 2*time.Minute)
	b := simulate(t, plan, 300)
	// Simulated before: 76, 77 and 78 s; a real fleet: 78 s.
	for p, want := range map[float64]float64{0.1: 76, 0.5: 77, 0.9: 78} {
		got, ok := b.Even.Quantile(p)
		near(t, "even again", got, want, 1)
		if !ok {
			t.Error("never even")
		}
	}
	plan.Lifetime = Lifetime{}
	if b = simulate(t, plan, 100); b.Even.Missing != 100 {
		t.Errorf("%d of 100 fleets that nothing moves are even again", 100-b.Even.Missing)
	}
	if _, ok := b.Even.Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
	var short Path
	plan.Events, plan.Readings = nil, Every(time.Second, 3*time.Second)
	s, err := NewSimulator(plan)
	if err != nil {
		t.Fatal(err)
	}
	s.Run(1, &short)
	if _, ok := short.Even(); ok {
		t.Error("four readings are five in a row")
	}
}

func TestNobodyReadyIsNotBalance(t *testing.T) {
	s, err := NewSimulator(Plan{
		Connections: 50, Replicas: 2, Lifetime: waiting(time.Minute), Start: Equilibrium, RequestLimit: 20,
		Events: Leave(10*time.Second, Cut(), 0, 1), Readings: Every(time.Second, time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	var path Path
	s.Run(1, &path)
	last := path.Readings[60]
	if last.Ready != 0 || last.Connected != 0 || last.CoV != 0 || last.Waiting != 50 || path.Unserved == 0 {
		t.Errorf("%+v, %d unserved", last, path.Unserved)
	}
	if _, ok := path.Even(); ok {
		t.Error("nobody is even")
	}
	if _, ok := path.LastOrphan(); ok {
		t.Error("nobody came back")
	}
}

func TestARestartMovesEverythingAtOnce(t *testing.T) {
	for _, c := range []struct{ batch, events int }{{8, 16}, {2, 16}, {3, 16}} {
		plan := Plan{
			Connections: 400, Replicas: 8, Lifetime: waiting(15 * time.Minute), Start: Equilibrium, Gap: EnvoyGap,
			Events:   Restart{Replicas: 8, Batch: c.batch, ReadyAfter: 10 * time.Second, How: Cut()}.Events(),
			Readings: Every(time.Second, 2*time.Minute),
		}
		if len(plan.Events) != c.events || plan.Final().Replicas != 8 {
			t.Fatalf("batches of %d: %d events, %d replicas", c.batch, len(plan.Events), plan.Final().Replicas)
		}
		s, err := NewSimulator(plan)
		if err != nil {
			t.Fatal(err)
		}
		var path Path
		s.Run(1, &path)
		for _, r := range path.Readings {
			if r.Ready != 8 {
				t.Fatalf("%d Ready at %v", r.Ready, r.At)
			}
		}
		if len(path.Outages) < 400 || path.Unserved > 0 {
			t.Errorf("batches of %d: %d outages of 400 connections, %d unserved", c.batch, len(path.Outages), path.Unserved)
		}
	}
	if (Restart{Replicas: 3}).Events() != nil {
		t.Error("batches of none")
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	good := Plan{Connections: 10, Replicas: 2, Lifetime: waiting(time.Minute), Start: Equilibrium, Readings: Every(time.Second, time.Minute)}
	if _, err := NewSimulator(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Connections = -1 }, "0 or more"},
		{func(p *Plan) { p.Replicas = 0 }, "on no replica"},
		{func(p *Plan) { p.Connections = 1 << 25 }, "at most"},
		{func(p *Plan) { p.Lifetime.Age = time.Millisecond }, "at least 1s"},
		{func(p *Plan) { p.Start = "slow" }, "neither"},
		{func(p *Plan) { p.RequestLimit = math.NaN() }, "request limit"},
		{func(p *Plan) { p.RequestLimit = -1 }, "request limit"},
		{func(p *Plan) { p.Gap = -1 }, "gap"},
		{func(p *Plan) { p.BackOff = BackOff{Cap: time.Second} }, "back-off"},
		{func(p *Plan) { p.BackOff = BackOff{Base: 2, Cap: 1} }, "back-off"},
		{func(p *Plan) { p.Readings = nil }, "no readings"},
		{func(p *Plan) { p.Readings = []time.Duration{2, 1} }, "order"},
		{func(p *Plan) { p.Events = Leave(1, Cut(), 2) }, "only 0 to 1"},
		{func(p *Plan) { p.Events = append(Leave(1, Cut(), 2), Ready(2)...) }, "only 0 to 1"},
		{func(p *Plan) { p.Events = Leave(1, Cut(), 1, 1) }, "left before"},
		{func(p *Plan) { p.Events = Leave(-1, Cut(), 1) }, "before 0"},
		{func(p *Plan) { p.Events = Leave(1, Silence(40, 30), 1) }, "in order"},
		{func(p *Plan) { p.Events = Leave(1, Departure{From: 2, To: 2, Stops: Span{1, 3}}, 1) }, "before connections end"},
		{func(p *Plan) { p.Events = Leave(1, Departure{Stops: Span{3, 1}}, 1) }, "in order"},
		{func(p *Plan) { p.Rules = []Rules{{Since: Span{1, 1}, Replicas: First(2)}} }, "since 0"},
		{func(p *Plan) { p.Rules = []Rules{{}} }, "name no replica"},
		{func(p *Plan) { p.Rules = []Rules{{Replicas: First(2)}, {Since: Span{2, 1}}} }, "in order"},
		{func(p *Plan) { p.Rules = []Rules{{Replicas: First(2)}, {Since: Span{1, 3}}, {Since: Span{2, 2}}} }, "in order"},
		{func(p *Plan) { p.Rules = []Rules{{Replicas: First(3)}} }, "not been Ready"},
		{func(p *Plan) {
			p.Events, p.Rules = Ready(2), []Rules{{Replicas: First(2)}, {Since: Span{1, 3}, Replicas: First(3)}}
		}, "not been Ready"},
		{func(p *Plan) { p.Events = []Event{{Kind: ConnectionsArrive, Connections: -1}} }, "arrive"},
		{func(p *Plan) { p.Events = []Event{{Kind: "sleeps"}} }, "unknown event"},
	} {
		plan := good
		c.change(&plan)
		if _, err := NewSimulator(plan); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	good.Events = append(Ready(1), Leave(2, Cut(), 2)...)
	good.Rules = []Rules{{Replicas: First(2)}, {Since: Span{2, 3}, Replicas: First(3)}, {Since: Span{3, 3}}}
	if err := good.Validate(); err != nil {
		t.Errorf("a replica that comes and leaves: %v", err)
	}
}

func TestARunTakesNoMemory(t *testing.T) {
	s, err := NewSimulator(incidentPlan(time.Minute, 2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var path Path
	s.Run(1, &path)
	if n := testing.AllocsPerRun(5, func() { s.Run(1, &path) }); n != 0 {
		t.Errorf("%g allocations in a run", n)
	}
}

// TestBackOffBeginsAnew: a client that was refused often and then served is as fast as
// any other when it loses its replica again.
func TestBackOffBeginsAnew(t *testing.T) {
	b := simulate(t, Plan{
		Connections: 60, Replicas: 1, Start: Equilibrium, RequestLimit: 5, Gap: EnvoyGap,
		Events:   slices.Concat(Ready(0, 200*time.Second), Leave(0, Cut(), 0), Leave(200*time.Second, Cut(), 1)),
		Readings: []time.Duration{at(5), at(10), at(190), at(205), at(210)},
	}, 1000)
	curve := b.Curve(Connected)
	if curve[2].Low != 60 {
		t.Fatalf("not all are back before the second loss: %+v", curve[2])
	}
	for i := range 2 {
		first, second := curve[i], curve[i+3]
		near(t, "connected after the second loss", second.Mean, first.Mean, 4*math.Hypot(first.SD, second.SD)/math.Sqrt(1000))
	}
}
