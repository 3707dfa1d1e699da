package mesh

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func since(from, to float64, replicas ...int) Rules { return Rules{Span{at(from), at(to)}, replicas} }

func play(t *testing.T, plan Plan) Path {
	t.Helper()
	s, err := NewSimulator(plan)
	if err != nil {
		t.Fatal(err)
	}
	var path Path
	s.Run(1, &path)
	return path
}

func TestRulesThatFollowReadinessChangeNothing(t *testing.T) {
	plan := Plan{Connections: 300, Replicas: 3, Lifetime: waiting(30 * time.Second), Start: Equilibrium, RequestLimit: 20, Gap: EnvoyGap, Events: Ready(at(5), at(7)), Readings: Every(time.Second, time.Minute)}
	without := play(t, plan)
	plan.Rules = []Rules{since(0, 0, 0, 1, 2), since(5, 5, 0, 1, 2, 3), since(7, 7, 0, 1, 2, 3, 4)}
	if with := play(t, plan); !reflect.DeepEqual(with, without) {
		t.Errorf("%+v, want %+v", with, without)
	}
}

func TestARulesDrawLiesInItsSpan(t *testing.T) {
	plan := Plan{Connections: 300, Replicas: 1, Start: Equilibrium, Events: append(Ready(0), Arrive(1000, at(10), at(20))...), Rules: []Rules{since(0, 0, 0), since(12, 18, 0, 1)}, Readings: Every(time.Second, at(20))}
	b := simulate(t, plan, 200)
	spread := b.Curve(CoV)
	if spread[12].Low != 1 || spread[15].Low == spread[15].High || spread[19].High == 1 {
		t.Errorf("CoV %+v before, %+v within and %+v after the span", spread[12], spread[15], spread[19])
	}
}

// TestRulesThatLag: one of two replicas leaves 5 s after 0, and rules go on to lead to it
// until 15 s.
func TestRulesThatLag(t *testing.T) {
	const connections = 400
	plan := func(how Departure, rules ...Rules) Plan {
		return Plan{Connections: connections, Replicas: 2, Start: Equilibrium, Gap: EnvoyGap, Rules: rules, Events: Leave(at(5), how, 1), Readings: Every(at(0.5), time.Minute)}
	}
	lag := []Rules{since(0, 0, 0, 1), since(15, 15, 0)}
	for _, c := range []struct {
		name        string
		plan        Plan
		least, most float64 // of the longest outage
	}{
		{"nobody chooses it when they do not lag", plan(Cut(), since(0, 0, 0, 1), since(5, 5, 0)), 0, 0.5},
		{"it refuses, and who backs off tries again", plan(Departure{Stops: Span{at(20), at(20)}}, lag...), 2, 40},
		{"it does not answer, and who asks waits", plan(Departure{}, lag...), 2 * DialTimeout.Seconds(), 45},
		{"it accepts until it is cut", plan(Departure{From: at(4), To: at(4), Stops: Span{at(20), at(20)}}, lag...), 4, 40},
		{"rules that lead nowhere refuse", plan(Cut(), since(0, 0, 0, 1), since(5, 5), since(15, 15, 0)), 9, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := play(t, c.plan)
			if len(path.Outages) < connections/3 || path.Unserved > 0 {
				t.Fatalf("%d orphans served again, %d not", len(path.Outages), path.Unserved)
			}
			if longest := slices.Max(path.Outages); longest < c.least || longest > c.most {
				t.Errorf("the longest outage took %.2f s, want %g to %g", longest, c.least, c.most)
			}
			if last := path.Readings[len(path.Readings)-1]; last.Connected != connections {
				t.Errorf("at the end %+v", last)
			}
		})
	}
}

// TestWhatIsLedToALeavingReplicaIsCutWithIt: its connections wait for the cut, and so do
// those that it still accepts, which are served meanwhile.
func TestWhatIsLedToALeavingReplicaIsCutWithIt(t *testing.T) {
	plan := Plan{
		Connections: 100, Replicas: 1, Start: Equilibrium, RequestLimit: 5, Gap: EnvoyGap, Rules: []Rules{since(0, 0, 0), since(10, 10, 1)},
		Events:   slices.Concat(Leave(at(2), Departure{From: at(4), To: at(4), Stops: Span{at(4), at(4)}}, 0), Ready(at(8)), Arrive(40, at(3), at(3))),
		Readings: Every(time.Second, 2*time.Minute),
	}
	r := play(t, plan).Readings
	if r[5].Connects == 0 || r[5].Connected != 0 || r[5].Hanging < 100+r[5].Connects {
		t.Errorf("before the cut %+v, want what it accepted to hang with the others", r[5])
	}
	if r[6].Hanging != 0 || r[6].Waiting != 140 {
		t.Errorf("at the cut %+v, want all to wait", r[6])
	}
	for _, reading := range r[7:10] {
		if reading.Connects > 0 {
			t.Errorf("%+v: nobody is led to the new replica yet", reading)
		}
	}
	if end := r[len(r)-1]; end.Connected != 140 {
		t.Errorf("at the end %+v", end)
	}
}
