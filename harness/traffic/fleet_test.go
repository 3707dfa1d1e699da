package traffic

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reckon.dev/reckon/harness/recording"
)

func (s *script) fleet() *script {
	return s.add(Line{Hello: &Hello{Client: "grpc", PID: 7, StartNS: at(1000), Fleet: FleetSettings{Proxies: 2, Cohort: "c"}}})
}

// interval is the seq-th, of 100 ms, with events in its middle unless they have times.
func (s *script) interval(seq int64, events ...recording.Connection) *script {
	c := &Connections{Seq: seq, FromNS: at(1000 + 100*seq), ToNS: at(1100 + 100*seq), Events: events}
	for i := range c.Events {
		if c.Events[i].AtNS == 0 {
			c.Events[i].AtNS = at(1050 + 100*seq)
		}
	}
	return s.add(Line{Connections: c})
}

func (s *script) fleetEnd(totals FleetTotals) *script {
	return s.add(Line{End: &End{AtNS: at(1000 + 100*totals.Intervals), Fleet: totals}})
}

// one is an event of proxy p, after how many ms of its connection.
func one(event recording.ConnectionEvent, replica string, ageMS int64) recording.Connection {
	return recording.Connection{Event: event, Proxy: "p", Replica: replica, AgeNS: ageMS * ms}
}

// life has all that can happen to a proxy, in six intervals.
func life() *script {
	return new(script).fleet().
		interval(0, one(recording.Begun, "", 0), one(recording.Rejected, "b", 0)).interval(1, one(recording.Connected, "a", 0)).
		interval(2, one(recording.GoAway, "a", 100)).interval(3, one(recording.Closed, "a", 200)).
		interval(4, one(recording.Connected, "b", 0)).interval(5, one(recording.Left, "b", 100)).
		fleetEnd(FleetTotals{Intervals: 6, Proxies: 1, Connects: 2, GoAways: 1, Closes: 1, Rejects: 1, Open: 1})
}

func TestARecordOfAFleetBecomesFacts(t *testing.T) {
	t.Parallel()
	s := life()
	s.lines[3].Connections.LateNS = 51 * ms
	s.lines[4].Connections.LateNS = 50 * ms
	r := newTapRig(1700)
	r.read(t, s.log(0))
	if err := r.Close(); err != nil || !r.Ended() {
		t.Errorf("%v, ended %t", err, r.Ended())
	}
	fact := func(event recording.ConnectionEvent, replica string, atMS, ageMS int64) recording.Fact {
		return recording.Fact{T: 1700 * ms, Connection: &recording.Connection{Event: event, Proxy: "p", Replica: replica, AtNS: atMS * ms, AgeNS: ageMS * ms}}
	}
	want := []recording.Fact{
		fact(recording.Begun, "", 1050, 0), fact(recording.Rejected, "b", 1050, 0), fact(recording.Connected, "a", 1150, 0),
		fact(recording.GoAway, "a", 1250, 100), {T: 1700 * ms, Late: &recording.Late{Sampler: recording.FleetSampler, ByNS: 51 * ms, AtNS: 1300 * ms}},
		fact(recording.Closed, "a", 1350, 200), fact(recording.Connected, "b", 1450, 0), fact(recording.Left, "b", 1550, 100),
	}
	if diff := cmp.Diff(want, r.facts); diff != "" {
		t.Error(diff)
	}
	if got, want := r.Fleet(), (FleetTotals{Intervals: 6, Proxies: 1, Connects: 2, GoAways: 1, Closes: 1, Rejects: 1, Open: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestARecordOfAFleetThatBreaksOffIsAGap(t *testing.T) {
	t.Parallel()
	s := new(script).fleet().interval(0, one(recording.Begun, "", 0))
	r := newTapRig(1900)
	r.read(t, s.log(0))
	if err := r.Close(); !errors.Is(err, ErrNotWhole) {
		t.Errorf("error %v", err)
	}
	want := recording.Gap{Resource: recording.Connections, FromNS: 1100 * ms, ToNS: 1900 * ms, Reason: "the record of the proxies' connections broke off"}
	if last := r.facts[len(r.facts)-1].Gap; last == nil || *last != want {
		t.Errorf("%+v, want %+v", last, want)
	}
}

func TestRecordsOfFleetsThatAreNotWholeAreRefused(t *testing.T) {
	t.Parallel()
	begun := func() *script { return new(script).fleet().interval(0, one(recording.Begun, "", 0)) }
	open := func() *script { return begun().interval(1, one(recording.Connected, "a", 0)) }
	left := func() *script { return begun().interval(1, one(recording.Left, "", 0)) }
	moved := func(change func(*Connections)) *script {
		s := begun()
		change(s.lines[1].Connections)
		return s
	}
	totals := FleetTotals{Intervals: 2, Proxies: 1}
	for _, tt := range []struct {
		name string
		s    *script
		want string
	}{
		{"before hello", new(script).interval(0), "before the client said hello"},
		{"of a client that sends requests", new(script).hello().interval(0), "of a client that is no fleet"},
		{"requests of a fleet", new(script).fleet().bin(0), "requests of a fleet"},
		{"an interval is missing", new(script).fleet().interval(1), "interval 1 follows interval -1"},
		{"a hole between intervals", moved(func(c *Connections) { c.FromNS += ms }), "begins 1ms after the last one ended"},
		{"an interval that ends before it begins", moved(func(c *Connections) { c.ToNS = c.FromNS - 1 }), "interval 0 lasts -1ns"},
		{"an interval that ended before it was due", moved(func(c *Connections) { c.LateNS = -1 }), "ended 1ns before it was due"},
		{"an event before the interval", moved(func(c *Connections) { c.Events[0].AtNS = c.FromNS - 1 }), "out of its order"},
		{"an event after the interval", moved(func(c *Connections) { c.Events[0].AtNS = c.ToNS + 1 }), "out of its order"},
		{"events in another order", new(script).fleet().interval(0, recording.Connection{Event: recording.Begun, Proxy: "p", AtNS: at(1060)}, one(recording.Connected, "a", 0)), "out of its order"},
		{"a proxy without a name", new(script).fleet().interval(0, recording.Connection{Event: recording.Begun}), "it has no name"},
		{"a proxy that has not begun", new(script).fleet().interval(0, one(recording.Connected, "a", 0)), "it has not begun"},
		{"a proxy that begins twice", begun().interval(1, one(recording.Begun, "", 0)), "it was there before"},
		{"a proxy that comes back", left().interval(2, one(recording.Connected, "a", 0)), "it has left"},
		{"a second connection", open().interval(2, one(recording.Connected, "a", 0)), "it has a connection"},
		{"a refusal of one that is connected", open().interval(2, one(recording.Rejected, "", 0)), "it has a connection"},
		{"an end without a connection", begun().interval(1, one(recording.Closed, "", 0)), "it has no connection"},
		{"a request to leave without a connection", begun().interval(1, one(recording.GoAway, "", 0)), "it has no connection"},
		{"two requests to leave", open().interval(2, one(recording.GoAway, "a", 100), one(recording.GoAway, "a", 100)), "it was asked to leave before"},
		{"the end of another replica's connection", open().interval(2, one(recording.Closed, "b", 100)), `its connection is to "a", not to "b"`},
		{"an age that is not that of the connection", open().interval(2, one(recording.Closed, "a", 99)), "with an age of 99ms"},
		{"an age without a connection", begun().interval(1, one(recording.Rejected, "", 1)), "with an age of 1ms"},
		{"an event that there is none", begun().interval(1, one("lost", "", 0)), "there is no such event"},
		{"other totals", left().fleetEnd(FleetTotals{Intervals: 2, Proxies: 2}), "the client counts"},
		{"totals of requests", left().add(Line{End: &End{AtNS: at(1200), Due: 1, Fleet: totals}}), "the client counts"},
		{"a proxy that did not leave", begun().interval(1).fleetEnd(totals), `proxy "p" has not left`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := newTapRig(1400).Read(strings.NewReader(tt.s.log(0)))
			if !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestClocksOfAFleetThatDisagreeAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		nowMS int64
		late  int64
		want  string
	}{
		{"at once", 1100, 0, ""},
		{"before it ended", 1079, 0, "received 21ms before it ended"},
		{"after the delay of a log", 1100 + 5000, 0, ""},
		{"too late", 1100 + 5001, 0, "received 5.001s after it ended, the limit is 5s"},
		{"as late as the fleet itself", 1100 + 5001, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newTapRig(0)
			s := new(script).fleet().interval(0)
			s.lines[1].Connections.LateNS = tt.late * ms
			lines := strings.SplitAfter(s.log(0), "\n")
			r.read(t, lines[0])
			r.nowMS = tt.nowMS // the clock moves between the lines
			_, err := r.line([]byte(strings.TrimSpace(lines[1])), -1)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAResumedLogOfAFleetIsReadOn(t *testing.T) {
	t.Parallel()
	s := life()
	whole := s.log(0)
	for from := range s.lines {
		for cut := 0; cut < len(whole); cut += 7 {
			if strings.Count(whole[:cut], "\n") < from {
				continue // resumed too late
			}
			r := newTapRig(1700)
			r.read(t, whole[:cut])
			r.read(t, s.log(from))
			if err := r.Close(); err != nil || len(r.facts) != 7 {
				t.Fatalf("cut at %d, resumed from line %d: %v, %d facts", cut, from, err, len(r.facts))
			}
		}
	}
}

// wholeFleet checks what the facts of a fleet's record have in common.
func wholeFleet(facts []recording.Fact) error {
	since := map[string]time.Duration{}
	for _, f := range facts {
		c := f.Connection
		if c == nil {
			continue
		}
		_, open := since[c.Proxy]
		switch c.Event {
		case recording.Connected, recording.Rejected:
			if open {
				return fmt.Errorf("%+v, and it has a connection", c)
			}
		case recording.GoAway, recording.Closed:
			if !open {
				return fmt.Errorf("%+v, and it has no connection", c)
			}
		}
		switch c.Event {
		case recording.Connected:
			since[c.Proxy] = time.Duration(c.AtNS)
		case recording.Closed, recording.Left:
			delete(since, c.Proxy)
		}
	}
	return nil
}
