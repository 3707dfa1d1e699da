package series_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

func TestFleetSeries(t *testing.T) {
	t.Parallel()
	const s = time.Second
	two := func() *recordingtest.Fleet {
		return recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0", "i1").Begin(0, "a", "b", "c", "d")
	}
	for _, tt := range []struct {
		name, series, want string
		fleet              *recordingtest.Fleet
	}{
		{"proxies are there from their begin until they leave", series.ProxiesName, "4@0s 3@5s",
			two().Leave(5*s, "a")},
		{"those without a connection have no control plane", series.WithoutName, "4@0s 2@1s 3@2s 2@3s",
			two().Connect(s, "i0", "a", "b").Close(2*s, "Unavailable", "a").Leave(3*s, "a")},
		{"a connection that its proxy takes along is open no more", series.ConnectedName, "0@0s 2@1s 1@2s",
			two().Connect(s, "i0", "a", "b").Leave(2*s, "a")},
		{"each replica has its connections", series.ConnectionsToName("i0"), "0@0s 2@1s 1@3s",
			two().Connect(s, "i0", "a", "b").Connect(2*s, "i1", "c").Close(3*s, "", "b")},
		{"a replica without any has a series", series.ConnectionsToName("i1"), "0@0s",
			two().Connect(s, "i0", "a", "b")},
		{"replicas count while they are Ready", series.ReadyName, "1@0s 2@1s 1@2s 0@3s 1@4s",
			recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0").Replica(s, recording.ReplicaStarted, "i1").Replica(s, recording.ReplicaReady, "i1", "i1").
				Replica(2*s, recording.ReplicaUnready, "i0").Replica(3*s, recording.ReplicaGone, "i0", "i1").Replica(4*s, recording.ReplicaReady, "i0")},
		{"what is open to none of them is unplaced", series.UnplacedName, "0@0s 1@2s 3@3s",
			two().Connect(s, "i0", "a", "b").Connect(2*s, "", "c").Replica(3*s, recording.ReplicaUnready, "i0")},
		{"one of two has all", series.CoVName, "100@1s", two().Connect(s, "i0", "a", "b")},
		{"three and one", series.CoVName, "100@1s 0@2s 33.3333@3s 50@4s",
			two().Begin(0, "e").Connect(s, "i0", "a").Connect(2*s, "i1", "b").Connect(3*s, "i0", "c").Connect(4*s, "i0", "d")},
		{"a replica that is not Ready does not count", series.CoVName, "100@1s 0@2s", two().Connect(s, "i0", "a").Replica(2*s, recording.ReplicaUnready, "i1")},
		{"the most by the mean", series.MaxMeanName, "2@1s 1.5@2s", two().Connect(s, "i0", "a", "b", "c").Connect(2*s, "i1", "d")},
		{"what happens at one instant is one point", series.CoVName, "0@1s 100@2s",
			two().Connect(s, "i0", "a").Connect(s, "i1", "b").Close(2*s, "", "a").Connect(2*s, "i1", "a")},
		{"a window slides", series.ConnectRateName, "0@0s 2@1s 3@1.5s 1@2s 0@2.5s",
			two().Connect(s, "i0", "a", "b").Connect(s+s/2, "i0", "c")},
		{"seconds are counted at their ends", series.ConnectsName, "0@1s 3@2s 0@3s 1@4s 0@5s",
			two().Connect(s, "i0", "a", "b").Connect(2*s-1, "i0", "c").Connect(3*s, "i0", "d")},
		{"refusals", series.RejectsName, "0@0s 2@1s 3@2s", two().Reject(s, "ResourceExhausted", "a", "b").Reject(2*s, "Unavailable", "a")},
		{"requests to leave", series.GoAwayRateName, "0@0s 1@2s 0@3s", two().Connect(s, "i0", "a").GoAway(2*s, "a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := read(t, 5000, series.FleetDefinitions(), tt.fleet.Facts...)
			if got := points(t, set, tt.series); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.series, got, tt.want)
			}
			if got := gapsOf(set, recording.Connections); got != "" {
				t.Errorf("gaps %s", got)
			}
		})
	}
}

func gapsOf(set *series.Set, resources ...string) string {
	var out []string
	for _, g := range set.GapsOf(resources, series.Interval{To: set.End}) {
		out = append(out, fmt.Sprintf("%s-%s %s", g.From, g.To, g.Reason))
	}
	return strings.Join(out, "; ")
}

func TestFactsInTheOrderOfTheirReceiptAreReadInThatOfTheirTimes(t *testing.T) {
	t.Parallel()
	f := recordingtest.NewFleet().Begin(0, "a").Connect(time.Second, "i0", "a").Replica(500*time.Millisecond, recording.ReplicaReady, "i0")
	for i := range f.Facts {
		f.Facts[i].T = int64(3 * time.Second)
	}
	set := read(t, 4000, series.FleetDefinitions(), f.Facts...)
	if got := points(t, set, series.ReadyName) + ", " + points(t, set, series.CoVName); got != "0@0s 1@500ms, 0@1s" {
		t.Error(got)
	}
}

func TestATimeWithoutAValueIsAGapOfTheSeriesAlone(t *testing.T) {
	t.Parallel()
	const s = time.Second
	f := recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0").Begin(0, "a", "b").Connect(s, "i0", "a").
		Replica(2*s, recording.ReplicaGone, "i0").Replica(3*s, recording.ReplicaReady, "i0").Close(4*s, "Unavailable", "a")
	set := read(t, 5000, series.FleetDefinitions(), f.Facts...)
	cov, err := set.Get(series.CoVName)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := gapsOf(set, cov.Resources...), "2s-3s it has none since i0 gone; 4s-5s it has none since a closed, i0"; got != want {
		t.Errorf("gaps of %s: %s, want %s", cov.Name, got, want)
	}
	if g := set.Gaps[0]; g.Source() != "value of "+series.CoVName || !g.Undefined() {
		t.Errorf("source %q", g.Source())
	}
	without, err := set.Get(series.WithoutName)
	if err != nil {
		t.Fatal(err)
	}
	if got := gapsOf(set, without.Resources...); got != "" {
		t.Errorf("gaps of %s: %s", without.Name, got)
	}
}

func TestWhatCannotHaveBeenIsAGap(t *testing.T) {
	t.Parallel()
	const s = time.Second
	begun := func() *recordingtest.Fleet { return recordingtest.NewFleet().Begin(s, "a") }
	for _, tt := range []struct {
		name  string
		fleet *recordingtest.Fleet
		want  string
	}{
		{"a connection of a proxy that has not begun", recordingtest.NewFleet().Connect(s, "i0", "a"), "0s-1s a is said to be connected, and it has not begun"},
		{"a proxy that begins twice", begun().Begin(2*s, "a"), "1s-2s a is said to be begun, and it was there before"},
		{"an end without a connection", begun().Close(2*s, "", "a"), "1s-2s a is said to be closed, and it has no connection"},
		{"a second connection", begun().Connect(2*s, "i0", "a").Connect(3*s, "i1", "a"), "2s-3s a is said to be connected, and it has a connection"},
		{"a refusal of one that is connected", begun().Connect(2*s, "i0", "a").Reject(3*s, "Unavailable", "a"), "2s-3s a is said to be rejected, and it has a connection"},
		{"the end of another connection", &recordingtest.Fleet{Facts: append(begun().Connect(2*s, "i0", "a").Facts,
			recording.Fact{Connection: &recording.Connection{Event: recording.Closed, Proxy: "a", Replica: "i1", AtNS: int64(3 * s)}})},
			"2s-3s a is said to be closed, and its connection is to i0"},
		{"an event that there is none", &recordingtest.Fleet{Facts: append(begun().Facts,
			recording.Fact{Connection: &recording.Connection{Event: "lost", Proxy: "a", AtNS: int64(2 * s)}})},
			"1s-2s a is said to be lost, and there is no such event"},
		{"one that left twice", begun().Leave(2*s, "a").Leave(3*s, "a"), "2s-3s a is said to be left, and it has not begun"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := read(t, 5000, series.FleetDefinitions(), tt.fleet.Facts...)
			if got := gapsOf(set, recording.Connections); got != tt.want {
				t.Errorf("gaps %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLivesAndAbsencesOfConnections(t *testing.T) {
	t.Parallel()
	const s = time.Second
	f := recordingtest.NewFleet().Begin(0, "a", "b", "c", "d", "e").Connect(s, "i0", "a", "b", "c").Connect(s, "", "d").
		GoAway(3*s, "a").Close(4*s, "Unavailable", "a", "b").Close(5*s, "", "c").Connect(6*s, "i1", "a").
		Reject(6*s, "Unavailable", "b", "e").Reject(7*s, "Unavailable", "b").Connect(8*s, "i1", "b").Leave(9*s, "d", "e")
	set := read(t, 10_000, series.FleetDefinitions(), f.Facts...)
	connection := func(proxy, replica string, from, to, asked time.Duration, because series.Ending, code string) series.Connection {
		return series.Connection{Proxy: proxy, Replica: replica, From: from * s, To: to * s, Asked: asked * s, Because: because, Code: code}
	}
	want := []series.Connection{
		connection("a", "i0", 1, 4, 3, series.AfterGoAway, "Unavailable"), connection("b", "i0", 1, 4, 0, series.Lost, "Unavailable"),
		connection("c", "i0", 1, 5, 0, series.ByProxy, ""), connection("d", "", 1, 9, 0, series.WithProxy, ""),
		connection("a", "i1", 6, 10, 0, series.StillOpen, ""), connection("b", "i1", 8, 10, 0, series.StillOpen, ""),
	}
	if diff := cmp.Diff(want, set.Fleet.Connections); diff != "" {
		t.Error(diff)
	}
	without := map[string]time.Duration{"a": 2 * s, "b": 4 * s, "c": 5 * s, "e": 7 * s}
	if diff := cmp.Diff(without, set.Fleet.Without(series.Interval{From: 2 * s, To: 10 * s})); diff != "" {
		t.Error(diff)
	}
	var rejects, over int
	for _, a := range set.Fleet.Absences {
		rejects += a.Rejects
		if a.Over {
			over++
		}
	}
	if rejects != 3 || over != 6 {
		t.Errorf("%d refusals and %d absences over, want 3 and 6: %+v", rejects, over, set.Fleet.Absences)
	}
	all := series.Interval{To: 10 * s}
	if got := fmt.Sprint(set.Fleet.Lifetimes(all, series.AfterGoAway, series.Lost), set.Fleet.Lifetimes(all, series.ByProxy)); got != "[3s 3s] [4s]" {
		t.Errorf("lifetimes %s", got)
	}
	ages := set.Fleet.Ages(series.Interval{From: 2 * s, To: 8 * s}, 3*s, 2*s)
	if diff := cmp.Diff([]series.AgeColumn{{2 * s, []int{4, 0, 0, 0}}, {5 * s, []int{0, 0, 1, 0}}, {8 * s, []int{1, 1, 0, 1}}}, ages); diff != "" {
		t.Error(diff)
	}
}

func TestReplicasAreReadyForTheirTimes(t *testing.T) {
	t.Parallel()
	const s = time.Second
	f := recordingtest.NewFleet().Replica(0, recording.ReplicaStarted, "i0", "i1").Replica(s, recording.ReplicaReady, "i0", "i1").
		Replica(2*s, recording.ReplicaGone, "i0").Replica(3*s, recording.ReplicaReady, "i0").Replica(4*s, recording.ReplicaUnready, "i1")
	f.Facts = append(f.Facts, recording.Fact{Replica: &recording.Replica{Name: "i1", Event: recording.ReplicaGone, AtNS: int64(5 * s), How: "eviction"}})
	set := read(t, 6000, nil, f.Facts...)
	var got []string
	for _, r := range set.Fleet.Replicas {
		got = append(got, fmt.Sprintf("%s %v %t %s %s", r.Name, r.Ready, r.Ended(), r.Gone, r.How))
	}
	want := []string{"i0 [{1s 2s} {3s 6s}] false 2s ", "i1 [{1s 4s}] true 5s eviction"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLateTicksAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	set := read(t, 10_000, nil,
		recording.Fact{T: at(5000), Late: &recording.Late{Sampler: recording.FleetSampler, ByNS: at(400), AtNS: at(3000)}},
		recording.Fact{T: at(3000), Late: &recording.Late{Sampler: "metrics", ByNS: at(100)}},
	)
	for _, tt := range []struct {
		sampler    string
		from, to   int
		wantByMSes string
	}{
		{recording.FleetSampler, 2000, 2599, "[]"}, {recording.FleetSampler, 2000, 2600, "[400ms]"}, {recording.FleetSampler, 3001, 9000, "[]"},
		{"metrics", 0, 10_000, "[100ms]"}, {"metrics", 0, 2899, "[]"}, {"none", 0, 10_000, "[]"},
	} {
		var got []time.Duration
		for _, l := range set.LateIn(tt.sampler, series.Interval{From: ms(tt.from), To: ms(tt.to)}) {
			got = append(got, l.By())
		}
		if fmt.Sprint(got) != tt.wantByMSes {
			t.Errorf("%s from %d to %d ms: late by %v, want %s", tt.sampler, tt.from, tt.to, got, tt.wantByMSes)
		}
	}
	if set.Late[recording.FleetSampler] != 1 {
		t.Errorf("%v", set.Late)
	}
}

func TestReadingsAreWhatAGaugeShows(t *testing.T) {
	t.Parallel()
	const s = time.Second
	f := recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0", "i1").Begin(0, "a", "b").
		Connect(1500*time.Millisecond, "i0", "a").Connect(3*s, "i1", "b")
	set := read(t, 5000, series.FleetDefinitions(), f.Facts...)
	for _, tt := range []struct{ name, series, want string }{
		{"from the first point on", series.CoVName, "100@2s 0@3s 0@4s"},
		{"a value that was there before", series.ConnectedName, "0@0s 0@1s 1@2s 2@3s 2@4s"},
	} {
		got, err := set.Get(tt.series)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range got.Readings(series.Interval{To: 4500 * time.Millisecond}, s) {
			out = append(out, fmt.Sprintf("%s@%s", p.Value, p.T))
		}
		if strings.Join(out, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, out, tt.want)
		}
	}
}

func TestFleetDefinitionsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	value := func(*series.FleetState) (float64, bool) { return 0, true }
	for _, from := range []series.FromFleet{{Value: value, Over: -1}, {Value: value, Every: -1}, {Value: value, Over: 1, Every: 1}} {
		if _, err := tryRead(t, 0, []series.Definition{{Name: "x", Fleet: &from}}); err == nil {
			t.Errorf("over %v, every %v is taken", from.Over, from.Every)
		}
	}
}

// history draws what happens to a few proxies and replicas, all of it possible.
func history(t *rapid.T) (f *recordingtest.Fleet, end time.Duration) {
	f = recordingtest.NewFleet()
	state := map[string]string{} // of each proxy: there, open
	replicas := []string{"i0", "i1", "i2", ""}
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		end += rapid.SampledFrom([]time.Duration{0, 1, 300 * time.Millisecond, time.Second}).Draw(t, "pause")
		proxy := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "proxy")
		replica := rapid.SampledFrom(replicas).Draw(t, "replica")
		what := rapid.IntRange(0, 3).Draw(t, "what")
		switch {
		case what == 0 && replica != "":
			f.Replica(end, rapid.SampledFrom([]recording.ReplicaEvent{recording.ReplicaReady, recording.ReplicaUnready, recording.ReplicaGone}).Draw(t, "replica is"), replica)
		case state[proxy] == "":
			f.Begin(end, proxy)
			state[proxy] = "there"
		case state[proxy] == "left":
		case what == 1 && rapid.Bool().Draw(t, "leaves"):
			f.Leave(end, proxy)
			state[proxy] = "left"
		case state[proxy] == "there" && what == 2:
			f.Reject(end, "Unavailable", proxy)
		case state[proxy] == "there":
			f.Connect(end, replica, proxy)
			state[proxy] = "open"
		default:
			f.Close(end, rapid.SampledFrom([]string{"", "Unavailable"}).Draw(t, "code"), proxy)
			state[proxy] = "there"
		}
	}
	return f, end + rapid.SampledFrom([]time.Duration{1, time.Second}).Draw(t, "rest")
}

// TestSeriesOfAFleetCountEveryConnectionOnce: at any time the connections to all
// replicas, known and unknown, are those that lives say are open, absences are the
// other proxies, and counts of seconds and of windows are those of the events.
func TestSeriesOfAFleetCountEveryConnectionOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f, end := history(rt)
		set, err := series.Read(recordingtest.Of(t, end, f.Facts...), series.FleetDefinitions())
		if err != nil {
			rt.Fatal(err)
		}
		if len(set.GapsOf([]string{recording.Connections}, series.Interval{To: end})) > 0 {
			rt.Fatalf("gaps %v", set.Gaps)
		}
		at := time.Duration(rapid.Int64Range(0, int64(end)-1).Draw(rt, "at")) // before what lasts to the end is over
		if set.Fleet == nil {
			return
		}
		value := func(name string) float64 {
			s, err := set.Get(name)
			if err != nil {
				rt.Fatal(err)
			}
			p, _ := s.At(at)
			return p.Value.Num
		}
		open, absent, ready := lives(set.Fleet, at)
		total := 0
		for _, n := range open {
			total += n
		}
		same(rt, "connected", value(series.ConnectedName), float64(total))
		same(rt, "without", value(series.WithoutName), float64(absent))
		same(rt, "proxies", value(series.ProxiesName), float64(total+absent))
		same(rt, "ready", value(series.ReadyName), float64(len(ready)))
		placed := 0
		var loads []float64
		for _, s := range set.Fleet.Loads {
			name := strings.TrimPrefix(s.Name, series.ConnectionsToName(""))
			p, _ := s.At(at)
			same(rt, s.Name, p.Value.Num, float64(open[name]))
			if ready[name] {
				placed += open[name]
				loads = append(loads, p.Value.Num)
			}
		}
		same(rt, "unplaced", value(series.UnplacedName), float64(total-placed))
		if placed > 0 {
			same(rt, "CoV", value(series.CoVName), cov(loads))
		}
		same(rt, "connects in the last second", value(series.ConnectRateName), float64(connects(f.Facts, at-time.Second, at)))
		second := at / time.Second * time.Second
		same(rt, "connects in the second before", value(series.ConnectsName), float64(connects(f.Facts, second-time.Second-1, second-1)))
	})
}

func same(rt *rapid.T, what string, got, want float64) {
	rt.Helper()
	if math.Abs(got-want) > 1e-6 {
		rt.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// lives counts what is open, absent and Ready at an instant.
func lives(f *series.Fleet, at time.Duration) (open map[string]int, absent int, ready map[string]bool) {
	open, ready = map[string]int{}, map[string]bool{}
	for _, c := range f.Connections {
		if c.From <= at && (at < c.To || c.Because == series.StillOpen) {
			open[c.Replica]++
		}
	}
	for _, a := range f.Absences {
		if a.From <= at && at < a.To {
			absent++
		}
	}
	for _, r := range f.Replicas {
		for _, in := range r.Ready {
			if in.From <= at && at < in.To {
				ready[r.Name] = true
			}
		}
	}
	return open, absent, ready
}

// cov is the textbook's.
func cov(loads []float64) float64 {
	var sum, squares float64
	for _, x := range loads {
		sum += x
	}
	mean := sum / float64(len(loads))
	for _, x := range loads {
		squares += (x - mean) * (x - mean)
	}
	return 100 * math.Sqrt(squares/float64(len(loads))) / mean
}

// connects counts connections made after a time and up to another.
func connects(facts []recording.Fact, after, upTo time.Duration) int {
	n := 0
	for _, f := range facts {
		if c := f.Connection; c != nil && c.Event == recording.Connected && time.Duration(c.AtNS) > after && time.Duration(c.AtNS) <= upTo {
			n++
		}
	}
	return n
}
