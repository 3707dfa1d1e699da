package mesh

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// What the integers of the simulator hold: replicas times the square of the connections.
const (
	maxConnections = 1 << 24
	maxReplicas    = 1 << 14
)

// A Start is how old the connections are at 0.
type Start string

const (
	// Equilibrium is a fleet that has been running for long.
	Equilibrium Start = "equilibrium"
	// Together is a fleet whose clients were all started at once.
	Together Start = "together"
)

// A BackOff has full jitter: a client that is refused waits between 0 and Base, uniformly,
// and twice as long with every further refusal, up to Cap.
type BackOff struct{ Base, Cap time.Duration }

// EnvoyGap is what a proxy waits at most after the end of a stream: the first draw of its
// back-off, which begins at 500 ms.
const EnvoyGap = 500 * time.Millisecond

// EnvoyBackOff is what then follows if it is refused: the second draw, from twice as much.
func EnvoyBackOff() BackOff { return BackOff{2 * EnvoyGap, 30 * time.Second} }

// A Plan is what a simulated fleet goes through.
type Plan struct {
	Connections  int // at 0, spread over the replicas Ready then
	Replicas     int // Ready at 0, numbered from 0
	Lifetime     Lifetime
	Start        Start
	Events       []Event         // in any order
	RequestLimit float64         // new streams per second and replica; 0 is none
	BackOff      BackOff         // zero is EnvoyBackOff
	Gap          time.Duration   // a client reconnects up to this long after an end, uniformly
	Readings     []time.Duration // ascending; what happens at a reading's time is in it
	// Rules lead new connections, the first of them since 0. Without any, a connection
	// chooses among the replicas that are Ready.
	Rules []Rules
}

// An Event changes the replicas or the connections. Make one with Leave, Ready or Arrive.
type Event struct {
	At          time.Duration
	Kind        EventKind
	Replica     int // that leaves
	How         Departure
	Connections int // that arrive
}

// An EventKind says what an Event does.
type EventKind string

// The kinds of events.
const (
	ReplicaLeaves     EventKind = "leaves"
	ReplicaReady      EventKind = "ready"
	ConnectionsArrive EventKind = "arrive"
)

// A Departure is how the connections of a replica learn that it left: each at a time
// drawn uniformly between From and To after that. Until then they hang on it and are
// told nothing.
type Departure struct {
	From, To time.Duration
	// Stops is since when a replica that rules still lead to does not answer, after it left,
	// drawn uniformly. From the first of the ends on until then it refuses connections, and
	// before that it accepts them, to be ended with the others. See Rules.
	Stops Span
	// Drains sends GOAWAY at once: clients that close on it leave at once, the others
	// when they are cut or when their own age ends, whichever comes first.
	Drains bool
}

// Cut is a replica whose connections end with it: SIGKILL, and SIGTERM (RuleTerm).
func Cut() Departure { return Departure{} }

// Drain is a server that stops gracefully: GOAWAY, and a cut after shutdownDuration.
func Drain(shutdownDuration time.Duration) Departure {
	return Departure{From: shutdownDuration, To: shutdownDuration, Drains: true}
}

// Silence is a node that is gone or a process that is stopped: clients notice by their
// keepalive, between the two times (10 s and 40 s with pilot-agent's).
func Silence(from, to time.Duration) Departure { return Departure{From: from, To: to} }

// Leave lets replicas leave. The first ones are numbered from 0, those that become Ready
// later go on from there, in order of time; none comes back under its number.
func Leave(at time.Duration, how Departure, replicas ...int) []Event {
	var out []Event
	for _, r := range replicas {
		out = append(out, Event{At: at, Kind: ReplicaLeaves, Replica: r, How: how})
	}
	return out
}

// Ready lets a new replica become Ready at each of the times.
func Ready(at ...time.Duration) []Event {
	var out []Event
	for _, t := range at {
		out = append(out, Event{At: t, Kind: ReplicaReady})
	}
	return out
}

// Arrive lets new connections come, evenly spaced between two times.
func Arrive(connections int, from, to time.Duration) []Event {
	var out []Event
	for i, at := range Spaced(connections, from, to) {
		if i > 0 && out[len(out)-1].At == at {
			out[len(out)-1].Connections++
			continue
		}
		out = append(out, Event{At: at, Kind: ConnectionsArrive, Connections: 1})
	}
	return out
}

// Spaced is n times evenly between two, both included if there are two.
func Spaced(n int, from, to time.Duration) []time.Duration {
	out := make([]time.Duration, max(n, 0))
	for i := range out {
		out[i] = from
		if n > 1 {
			out[i] += time.Duration(float64(to-from) * float64(i) / float64(n-1))
		}
	}
	return out
}

// Every is readings from 0 to the end.
func Every(interval, end time.Duration) []time.Duration {
	var out []time.Duration
	if interval <= 0 {
		return nil
	}
	for t := time.Duration(0); t <= end; t += interval {
		out = append(out, t)
	}
	return out
}

// First is the numbers from 0 to n-1, for Leave.
func First(n int) []int {
	out := make([]int, max(n, 0))
	for i := range out {
		out[i] = i
	}
	return out
}

// A Restart replaces every replica, a batch at a time: a batch of new ones becomes Ready,
// as many old ones leave at that moment, and the next batch is begun. With a surge of
// 100 % the batch is all.
type Restart struct {
	Replicas   int
	Batch      int
	ReadyAfter time.Duration // from a batch's begin
	How        Departure
}

// Events are those of the restart, nil if no batch can be made.
func (r Restart) Events() []Event {
	if r.Batch < 1 {
		return nil
	}
	var out []Event
	at := time.Duration(0)
	for from := 0; from < r.Replicas; from += r.Batch {
		at += r.ReadyAfter
		for i := from; i < min(from+r.Batch, r.Replicas); i++ {
			out = append(out, Ready(at)...)
			out = append(out, Leave(at, r.How, i)...)
		}
	}
	return out
}

// sorted are the events by time; those of one time stay in order.
func (p Plan) sorted() []Event {
	out := slices.Clone(p.Events)
	slices.SortStableFunc(out, func(a, b Event) int { return int(sign(a.At - b.At)) })
	return out
}

func sign(d time.Duration) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// total is the connections there will be and the replicas that will ever have been.
func (p Plan) total() (connections, replicas int) {
	connections, replicas = p.Connections, p.Replicas
	for _, e := range p.Events {
		switch e.Kind {
		case ReplicaReady:
			replicas++
		case ConnectionsArrive:
			connections += e.Connections
		}
	}
	return connections, replicas
}

// Final is the fleet when all events are over.
func (p Plan) Final() Fleet {
	connections, replicas := p.total()
	for _, e := range p.Events {
		if e.Kind == ReplicaLeaves {
			replicas--
		}
	}
	return Fleet{connections, replicas, p.Lifetime}
}

// Settled is the time of the last event, 0 of none.
func (p Plan) Settled() time.Duration {
	var last time.Duration
	for _, e := range p.Events {
		last = max(last, e.At)
	}
	return last
}

// Validate says what is wrong with a plan.
func (p Plan) Validate() error {
	if err := p.Lifetime.Validate(); err != nil {
		return err
	}
	switch connections, replicas := p.total(); {
	case p.Connections < 0 || p.Replicas < 0:
		return fmt.Errorf("%d connections on %d replicas: both must be 0 or more", p.Connections, p.Replicas)
	case p.Connections > 0 && p.Replicas == 0:
		return fmt.Errorf("%d connections on no replica: let them arrive with Arrive", p.Connections)
	case connections > maxConnections || replicas > maxReplicas:
		return fmt.Errorf("%d connections and %d replicas: at most %d and %d", connections, replicas, maxConnections, maxReplicas)
	case p.Start != Equilibrium && p.Start != Together:
		return fmt.Errorf("start %q is neither %q nor %q", p.Start, Equilibrium, Together)
	case p.RequestLimit < 0 || math.IsNaN(p.RequestLimit) || math.IsInf(p.RequestLimit, 0):
		return fmt.Errorf("request limit %g: must be a number of streams per second, 0 for none", p.RequestLimit)
	case p.Gap < 0:
		return fmt.Errorf("reconnect gap %v: must be 0 or more", p.Gap)
	case p.BackOff != (BackOff{}) && (p.BackOff.Base <= 0 || p.BackOff.Cap < p.BackOff.Base):
		return fmt.Errorf("back-off from %v up to %v: must begin above 0 and not fall", p.BackOff.Base, p.BackOff.Cap)
	case len(p.Readings) == 0:
		return fmt.Errorf("no readings: say when the fleet is looked at")
	case p.Readings[0] < 0 || !slices.IsSorted(p.Readings):
		return fmt.Errorf("readings must not be before 0 and must be in order of time")
	}
	if err := p.validateRules(); err != nil {
		return err
	}
	return p.validateEvents()
}

func (p Plan) validateEvents() error {
	known, gone := p.Replicas, map[int]bool{}
	for _, e := range p.sorted() {
		if e.At < 0 {
			return fmt.Errorf("an event at %v: must not be before 0", e.At)
		}
		switch e.Kind {
		case ReplicaReady:
			known++
		case ConnectionsArrive:
			if e.Connections < 0 {
				return fmt.Errorf("%d connections arrive at %v: must be 0 or more", e.Connections, e.At)
			}
		case ReplicaLeaves:
			if e.Replica < 0 || e.Replica >= known {
				return fmt.Errorf("replica %d leaves at %v: only 0 to %d have been Ready by then", e.Replica, e.At, known-1)
			}
			if gone[e.Replica] {
				return fmt.Errorf("replica %d leaves at %v: it has left before", e.Replica, e.At)
			}
			if e.How.From < 0 || e.How.To < e.How.From {
				return fmt.Errorf("replica %d leaves and is noticed between %v and %v: must be 0 or more, and in order", e.Replica, e.How.From, e.How.To)
			}
			if stops := e.How.Stops; stops != (Span{}) && (stops.From < e.How.From || stops.To < stops.From) {
				return fmt.Errorf("replica %d leaves and stops to answer between %v and %v: must be in order, and not before connections end", e.Replica, stops.From, stops.To)
			}
			gone[e.Replica] = true
		default:
			return fmt.Errorf("unknown event %q at %v (known: %s, %s, %s)", e.Kind, e.At, ReplicaLeaves, ReplicaReady, ConnectionsArrive)
		}
	}
	return nil
}
