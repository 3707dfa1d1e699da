package mesh

import (
	"math"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.5g, want %.5g ± %.2g", what, got, want, tolerance)
	}
}

func minute(n float64) time.Duration { return duration(60 * n) }

func waiting(age time.Duration) Lifetime { return Lifetime{age, WaitsForCut} }

func TestSteadyState(t *testing.T) {
	for _, c := range []struct {
		n, k                          int
		age                           float64 // minutes
		rate, floor, spread, most, mn float64
	}{
		{3600, 24, 30, 1.99, 0.080, 0.012, 1.16, 0.84},
		{3600, 24, 15, 3.95, 0.080, 0.012, 1.16, 0.84},
		{862, 24, 15, 0.95, 0.163, 0.025, 1.34, 0.69},
		{862, 5, 15, 0.95, 0.068, 0.023, 1.09, 0.91},
		{2908, 34, 15, 3.19, 0.1065, 0.013, 1.23, 0.78},
		{400, 8, 1, 5.63, 0.132, 0.035, 1.21, 0.80},
		{300, 6, 1, 4.23, 0.129, 0.041, 1.16, 0.84},
		{2950, 34, 15, 3.24, 0.1058, 0.013, 1.22, 0.78},
		{2900, 34, 30, 1.60, 0.1067, 0.013, 1.22, 0.78},
	} {
		f := Fleet{c.n, c.k, waiting(minute(c.age))}
		near(t, "rate", f.ReconnectRate(), c.rate, 0.006)
		near(t, "floor", f.Floor(), c.floor, 0.0006)
		near(t, "spread", f.FloorSpread(), c.spread, 0.0012)
		// The fullest and the emptiest were simulated; the normal form is off by so much.
		near(t, "max/mean", f.MaxOverMean(), c.most, 0.025)
		near(t, "min/mean", f.MinOverMean(), c.mn, 0.025)
	}
	near(t, "even below, 8x400", Fleet{400, 8, Lifetime{}}.EvenBelow(), 0.203, 0.0005)
	near(t, "even below, 24x862", Fleet{862, 24, Lifetime{}}.EvenBelow(), 0.212, 0.0005)
	near(t, "largest of 24 normals", largestOf(24), 1.948, 0.001)
	near(t, "largest of 34 normals", largestOf(34), 2.094, 0.004)
	near(t, "largest of 2 normals", largestOf(2), 1/math.Sqrt(math.Pi), 1e-9)
	near(t, "effective replicas at 146.5 %", EffectiveReplicas(24, 1.465), 7.6, 0.05)
}

func TestNothingToBeUnevenIsAnAnswer(t *testing.T) {
	for _, f := range []Fleet{{0, 0, Lifetime{}}, {0, 5, Lifetime{}}, {5, 0, Lifetime{}}, {5, 1, Lifetime{}}} {
		for _, v := range []float64{f.Floor(), f.FloorSpread(), f.EvenBelow(), f.ReconnectRate()} {
			if v != 0 {
				t.Errorf("%+v: %g, want 0", f, v)
			}
		}
		if f.MaxOverMean() != 1 || f.MinOverMean() != 1 {
			t.Errorf("%+v: max/mean %g, min/mean %g, want 1", f, f.MaxOverMean(), f.MinOverMean())
		}
	}
	for _, counts := range [][]int{nil, {0, 0}} {
		if cov, most, ok := Unevenness(counts); ok || cov != 0 || most != 0 {
			t.Errorf("unevenness of %v is %g, %g, %v", counts, cov, most, ok)
		}
	}
	if cov, most, ok := Unevenness([]int{3, 0, 3}); !ok || math.Abs(cov-math.Sqrt(0.5)) > 1e-12 || most != 1.5 {
		t.Errorf("unevenness of 3 0 3 is %g, %g, %v", cov, most, ok)
	}
	if EffectiveReplicas(0, 1) != 0 {
		t.Error("no replica carries nothing")
	}
}

func TestLifetimes(t *testing.T) {
	l := waiting(time.Minute)
	if l.Mean() != 71*time.Second || l.Shortest() != 65*time.Second || l.Longest() != 77*time.Second {
		t.Errorf("life of %v, %v to %v", l.Mean(), l.Shortest(), l.Longest())
	}
	if l.Life(0) != l.Shortest() || l.Life(1) != l.Longest() {
		t.Errorf("draws from %v to %v", l.Life(0), l.Life(1))
	}
	near(t, "harmonic at 15 min", waiting(minute(15)).Harmonic(), 0.937, 0.0005)
	near(t, "harmonic at 60 s", l.Harmonic(), 0.954, 0.0005)
	half, _ := waiting(minute(15)).HalfLife()
	near(t, "half life at 15 min, hours", half.Hours(), 2.7, 0.05)
	half, _ = waiting(minute(30)).HalfLife()
	near(t, "half life at 30 min, hours", half.Hours(), 5.3, 0.05)
	if from, to := l.Wave(2); from != 130*time.Second || to != 154*time.Second {
		t.Errorf("second wave from %v to %v", from, to)
	}
	for _, p := range []float64{0, 0.1, 0.5, 0.9, 0.95, 0.999, 1} {
		near(t, "unmoved after the residual", l.Unmoved(l.Residual(p)), 1-p, 1e-6)
	}
	near(t, "alive in the middle of the wave", l.Alive(71*time.Second), 0.5, 1e-9)
}

func TestAnEndlessLifeMovesNothing(t *testing.T) {
	l := Lifetime{Grace: WaitsForCut}
	if l.Mean() != 0 || l.Shortest() != 0 || l.Longest() != 0 || l.Life(1) != 0 || l.Residual(0.5) != 0 {
		t.Error("an endless life has a length")
	}
	for _, at := range []time.Duration{0, time.Hour, 1000 * time.Hour} {
		if l.Unmoved(at) != 1 || l.Alive(at) != 1 {
			t.Errorf("unmoved %g, alive %g after %v", l.Unmoved(at), l.Alive(at), at)
		}
	}
	if _, ok := l.HalfLife(); ok || l.Harmonic() != 1 {
		t.Error("echoes without ends")
	}
	s := ScaleOut{Connections: 300, From: 3, To: 6, Lifetime: l}
	if _, ok := s.HardEnd(); ok {
		t.Error("a scale-out that ends")
	}
	if _, ok := s.EvenAt(); ok {
		t.Error("a scale-out that gets even")
	}
	near(t, "CoV after a day", s.CoV(24*time.Hour), s.CoV(0), 0)
	m := MassLoss{Connections: 400, Replicas: 8, Lost: 6, Back: 6, Lifetime: l}
	if _, ok := m.DeadTime(); ok || m.WaveRate() != 0 || m.DeadRate() != 0 {
		t.Error("a mass loss with an echo")
	}
	near(t, "CoV a day after a loss", m.CoV(24*time.Hour), math.Hypot(math.Sqrt(3*399./400), m.Fleet().Floor()), 1e-9)
}

func TestScaleOut(t *testing.T) {
	s := ScaleOut{Connections: 2908, From: 24, To: 34, Lifetime: waiting(minute(15))}
	for _, c := range []struct{ minutes, percent float64 }{{0, 65.4}, {3, 52.9}, {6, 40.5}, {9, 28.4}, {12, 17.2}, {15, 10.8}} {
		near(t, "24 to 34, percent", 100*s.CoV(minute(c.minutes)), c.percent, 0.06)
	}
	for _, c := range []struct{ age, minutes, even float64 }{{15, 16.7, 13.1}, {30, 33.2, 26.2}} {
		s.Lifetime = waiting(minute(c.age))
		end, ok := s.HardEnd()
		near(t, "hard end, minutes", end.Minutes(), c.minutes, 0.05)
		even, evens := s.EvenAt()
		near(t, "even, minutes", even.Minutes(), c.even, 0.5)
		if !ok || !evens {
			t.Error("no end")
		}
	}
	s = ScaleOut{Connections: 300, From: 3, To: 6, Lifetime: waiting(time.Minute)}
	near(t, "old replica at 0", s.OldOverMean(0), 2, 0)
	near(t, "old replica after the end", s.OldOverMean(77*time.Second), 1, 0)
	near(t, "new replica after the end", s.NewMean(77*time.Second), 50, 0)
	near(t, "moved by A+g", 1-s.Unmoved(71*time.Second), 0.979, 0.001)
	grown := ScaleOut{Connections: 1029, Joining: 1879, From: 24, To: 34, Lifetime: waiting(minute(15))}
	near(t, "CoV of growth", grown.CoV(0), 0.25, 0.003)
	none := ScaleOut{From: 3, To: 6}
	near(t, "CoV of no connections", none.CoV(0), 0, 0)
}

func TestMassLoss(t *testing.T) {
	m := MassLoss{Connections: 862, Replicas: 24, Lost: 19, Back: 19, Lifetime: waiting(minute(15))}
	near(t, "peak, 5 of 24 left", m.Peak(), 1.95, 0.005)
	m.Lost, m.Back = 20, 20
	near(t, "peak, 4 of 24 left", m.Peak(), 2.236, 0.001)
	dead, _ := m.DeadTime()
	over, _ := m.Over()
	near(t, "dead time, minutes", dead.Minutes(), 13.7, 0.05)
	near(t, "over, minutes", over.Minutes(), 16.7, 0.05)
	m = MassLoss{Connections: 864, Replicas: 24, Lost: 19, Back: 19, Lifetime: waiting(minute(15))}
	near(t, "wave", m.WaveRate(), 3.8, 0.06)
	near(t, "dead rate", m.DeadRate(), 0.95*5/24, 0.01)
	admission, ok := m.Admission(20)
	near(t, "admission, seconds", admission.Seconds(), 6.9, 0.1)
	if !ok {
		t.Error("no admission")
	}
	d3 := MassLoss{Connections: 400, Replicas: 8, Lost: 6, Back: 6, ReadyAfter: 15 * time.Second, Lifetime: waiting(time.Minute)}
	// Simulated, 60 runs, standard deviation 2 to 6.
	for _, c := range []struct{ t, percent float64 }{{5, 5}, {16, 173}, {45, 154}, {60, 145}} {
		near(t, "6 of 8, percent", 100*d3.CoV(at(c.t)), c.percent, 2)
	}
	if d3.CoV(60*time.Second) < d3.Plateau(60*time.Second) {
		t.Error("the floor makes the plateau lower")
	}
	near(t, "orphans", d3.Orphans(), 300, 0)
	near(t, "connections moved by 19 of 24 one by one", func() float64 { _, n := m.Moves(); return n }(), 864*1.4926, 1)
}

func TestALossThatLeavesNobody(t *testing.T) {
	all := MassLoss{Connections: 400, Replicas: 8, Lost: 8, Back: 8, ReadyAfter: time.Second, Lifetime: waiting(time.Minute)}
	if err := all.Validate(); err != nil {
		t.Errorf("all replaced: %v", err)
	}
	near(t, "peak if all are replaced together", all.Peak(), 0, 0)
	near(t, "CoV before", all.CoV(0), 0, 0)
	near(t, "CoV after", all.CoV(time.Minute), all.Fleet().Floor(), 1e-12)
	if _, ok := all.Admission(20); ok {
		t.Error("nobody admits anybody")
	}
	if _, ok := all.Admission(0); !ok {
		t.Error("without a limit there is no wait")
	}
	all.Back = 0
	if all.Validate() == nil {
		t.Error("nobody left and none back is accepted")
	}
	near(t, "peak of nobody", all.Peak(), 0, 0)
	near(t, "CoV of nobody", all.CoV(time.Minute), 0, 0)
	near(t, "kept by nobody", MassLoss{}.Kept(), 0, 0)
}

func TestShapesThatAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"negative age":         Lifetime{Age: -1}.Validate(),
		"age under a second":   Lifetime{Age: time.Millisecond}.Validate(),
		"negative grace":       Lifetime{Grace: -1}.Validate(),
		"scale-out from none":  ScaleOut{Connections: 1, To: 3}.Validate(),
		"scale-in":             ScaleOut{Connections: 1, From: 3, To: 2}.Validate(),
		"negative connections": ScaleOut{Connections: -1, From: 1, To: 2}.Validate(),
		"more lost than there": MassLoss{Replicas: 3, Lost: 4, Back: 4}.Validate(),
		"too many carriers":    MassLoss{Replicas: 3, Lost: 2, Back: 2, Carriers: 3.5}.Validate(),
		"negative readiness":   MassLoss{Replicas: 3, Lost: 2, Back: 2, ReadyAfter: -1}.Validate(),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := (ScaleOut{Connections: 1, From: 3, To: 3}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	for procs, want := range map[int]int{-1: 20, 0: 20, 1: 20, 2: 25, 4: 35, 17: 100, 32: 100} {
		if got := PushThrottle(procs); got != want || RequestLimit(procs) != float64(want) {
			t.Errorf("%d: %d, %g, want %d", procs, got, RequestLimit(procs), want)
		}
	}
	if rate, limited := Admission(5, 20); rate != 100 || !limited {
		t.Errorf("5 replicas admit %g, %v", rate, limited)
	}
	if _, limited := Admission(5, 0); limited {
		t.Error("no limit limits")
	}
}

func TestGaugeIncreases(t *testing.T) {
	near(t, "3.24/s", GaugeIncreases(3.24, 34, 35*time.Second), 0.98, 0.005)
	near(t, "1.60/s", GaugeIncreases(1.60, 34, 35*time.Second), 0.67, 0.005)
	// Rare reconnects do not cancel: half of the moves are increases.
	near(t, "rare", GaugeIncreases(0.001, 100, time.Second), 0.001, 1e-6)
	near(t, "root of the rate", GaugeIncreases(4e6, 10, time.Second)/GaugeIncreases(1e6, 10, time.Second), 2, 0.001)
	for _, v := range []float64{GaugeIncreases(0, 3, 1), GaugeIncreases(1, 0, 1), GaugeIncreases(1, 3, 0)} {
		near(t, "nothing to count", v, 0, 0)
	}
}
