package mesh

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawPlan is any small fleet, with any events that Validate lets pass.
func drawPlan(t *rapid.T) Plan {
	second := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most*10).Draw(t, name)) * time.Second / 10
	}
	p := Plan{
		Connections:  rapid.IntRange(0, 60).Draw(t, "connections"),
		Replicas:     rapid.IntRange(1, 6).Draw(t, "replicas"),
		Lifetime:     Lifetime{rapid.SampledFrom([]time.Duration{0, 2 * time.Second, 20 * time.Second}).Draw(t, "age"), rapid.SampledFrom([]time.Duration{ClosesOnGoAway, WaitsForCut}).Draw(t, "grace")},
		Start:        rapid.SampledFrom([]Start{Equilibrium, Together}).Draw(t, "start"),
		RequestLimit: rapid.SampledFrom([]float64{0, 0.5, 3, 20}).Draw(t, "limit"),
		Gap:          rapid.SampledFrom([]time.Duration{0, EnvoyGap}).Draw(t, "gap"),
		Readings:     Every(time.Second, time.Minute),
	}
	hows := []Departure{
		Cut(), Drain(10 * time.Second), Silence(30*time.Second, 40*time.Second),
		{From: time.Second, To: 1200 * time.Millisecond, Stops: Span{1500 * time.Millisecond, 2 * time.Second}},
	}
	for r := range p.Replicas {
		if rapid.Bool().Draw(t, "leaves") {
			p.Events = append(p.Events, Leave(second("left", 50), rapid.SampledFrom(hows).Draw(t, "how"), r)...)
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "new") {
		p.Events = append(p.Events, Ready(second("ready", 50))...)
	}
	p.Events = append(p.Events, Arrive(rapid.IntRange(0, 20).Draw(t, "arriving"), 5*time.Second, second("until", 50)+5*time.Second)...)
	if rapid.Bool().Draw(t, "led") {
		p.Rules = drawRules(t, p)
	}
	return p
}

// drawRules are any that Validate lets pass: behind what there is, or ahead of it.
func drawRules(t *rapid.T, p Plan) []Rules {
	ready := make([]time.Duration, p.Replicas)
	for _, e := range p.sorted() {
		if e.Kind == ReplicaReady {
			ready = append(ready, e.At)
		}
	}
	out := []Rules{{Replicas: First(p.Replicas)}}
	for range rapid.IntRange(0, 5).Draw(t, "rules") {
		from := out[len(out)-1].Since.To + time.Duration(rapid.IntRange(0, 200).Draw(t, "since"))*time.Second/10
		r := Rules{Since: Span{from, from + time.Duration(rapid.IntRange(0, 20).Draw(t, "written"))*time.Second/10}}
		for replica, at := range ready {
			if at <= from && rapid.Bool().Draw(t, "led to") {
				r.Replicas = append(r.Replicas, replica)
			}
		}
		out = append(out, r)
	}
	return out
}

// standing is what a plan alone says of a time: replicas Ready and connections there are.
func standing(p Plan, at time.Duration) (ready, connections int) {
	ready, connections = p.Replicas, p.Connections
	for _, e := range p.Events {
		switch {
		case e.At > at:
		case e.Kind == ReplicaReady:
			ready++
		case e.Kind == ReplicaLeaves:
			ready--
		default:
			connections += e.Connections
		}
	}
	return ready, connections
}

func TestEveryConnectionIsSomewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		s, err := NewSimulator(plan)
		if err != nil {
			t.Fatal(err)
		}
		var path Path
		s.Run(rapid.Uint64().Draw(t, "seed"), &path)
		connects := 0
		for _, r := range path.Readings {
			connects += r.Connects
			ready, connections := standing(plan, r.At)
			if r.Connected+r.Hanging+r.Waiting != connections || min(r.Connected, r.Hanging, r.Waiting) < 0 {
				t.Fatalf("%d connections at %v: %+v", connections, r.At, r)
			}
			if r.Ready != ready || r.Ready == 0 && r.Connected > 0 {
				t.Fatalf("%d replicas at %v: %+v", ready, r.At, r)
			}
			if !(r.CoV >= 0 && r.CoV <= math.Sqrt(float64(max(r.Ready-1, 0)))+1e-9) || r.Connected > 0 != (r.MaxOverMean >= 1) {
				t.Fatalf("impossible: %+v", r)
			}
		}
		if len(path.Readings) != len(plan.Readings) || connects != path.Connects {
			t.Fatalf("%d readings, %d of %d connects", len(path.Readings), connects, path.Connects)
		}
		checkCounts(t, s, path.Readings[len(path.Readings)-1])
	})
}

// checkCounts holds the running sums against the connections one by one.
func checkCounts(t *rapid.T, s *Simulator, last Reading) {
	counts := make([]int, s.known)
	for i := range s.arrived {
		if s.state[i] == served {
			counts[s.where[i]]++
		}
	}
	var ready []int
	for r, n := range counts {
		if slices.Contains(s.ready, int32(r)) {
			ready = append(ready, n)
		} else if n > 0 {
			t.Fatalf("%d connections are served by replica %d, which is gone", n, r)
		}
	}
	if cov, most, _ := Unevenness(ready); math.Abs(cov-last.CoV) > 1e-9 || math.Abs(most-last.MaxOverMean) > 1e-9 {
		t.Fatalf("CoV %g and max/mean %g of %v, read as %+v", cov, most, ready, last)
	}
}

func TestASeedIsAPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		one, err := NewSimulator(plan)
		if err != nil {
			t.Fatal(err)
		}
		two, err := NewSimulator(plan)
		if err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var a, b, other Path
		one.Run(seed, &a)
		two.Run(seed+1, &other)
		two.Run(seed, &b)
		if !reflect.DeepEqual(a.Readings, b.Readings) || a.Refusals != b.Refusals || !slices.Equal(a.Outages, b.Outages) || a.Unserved != b.Unserved {
			t.Fatalf("two paths of seed %d", seed)
		}
	})
}

func TestNoFormIsEverWithoutAValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, least int) int { return rapid.IntRange(least, 30).Draw(t, name) }
		l := Lifetime{time.Duration(n("age", 0)) * time.Minute, time.Duration(n("grace", 0)) * time.Second}
		when := time.Duration(rapid.IntRange(-10, 5000).Draw(t, "t")) * time.Second
		f := Fleet{n("N", 0), n("k", 0), l}
		s := ScaleOut{n("from N", 0), n("joining", 0), n("from", 0), n("to", 0), l}
		m := MassLoss{n("N", 0), n("k0", 0), n("lost", 0), n("back", 0), time.Duration(n("after", 0)) * time.Second, float64(n("carriers", 0)), l}
		once, oneByOne := m.Moves()
		for i, v := range []float64{
			f.ReconnectRate(), f.Floor(), f.FloorSpread(), f.EvenBelow(), f.MaxOverMean(), f.MinOverMean(), l.Harmonic(), l.Alive(when), l.Unmoved(when),
			s.CoV(when), s.Unmoved(when), s.OldOverMean(when), s.NewMean(when), m.CoV(when), m.Peak(), m.Plateau(when), m.Kept(), m.Unmoved(when), m.WaveRate(), m.DeadRate(), once, oneByOne,
			EffectiveReplicas(f.Replicas, m.Peak()), GaugeIncreases(f.ReconnectRate(), f.Replicas, when),
		} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && m.Lost <= m.Replicas {
				t.Fatalf("number %d is %g: %+v %+v %+v at %v", i, v, f, s, m, when)
			}
		}
		s.EvenAt()
		m.Admission(float64(n("limit", 0)))
	})
}

func TestUnmovedFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Lifetime{time.Duration(rapid.IntRange(1, 1800).Draw(t, "age")) * time.Second, rapid.SampledFrom([]time.Duration{ClosesOnGoAway, WaitsForCut}).Draw(t, "grace")}
		before := 1.0
		for i := range 101 {
			now := l.Unmoved(time.Duration(i) * l.Longest() / 100)
			if now > before+1e-12 {
				t.Fatalf("%g after %g at %d %% of the longest life", now, before, i)
			}
			before = now
		}
		if before != 0 {
			t.Fatalf("%g are left after the longest life", before)
		}
	})
}
