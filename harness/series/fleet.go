package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// FromFleet reads a state series off the connections of proxies and the replicas of
// istiod: a point whenever the value changes, at the times at which things happened.
type FromFleet struct {
	Value FleetValue
	// Over is how much of the time before an instant FleetState.Last counts: a window
	// that slides. 0 counts all since the first event.
	Over time.Duration
	// Every makes a point at the end of each interval of this length, from t = 0 on,
	// and Last counts what happened in the interval. It takes the place of Over.
	Every time.Duration
}

// FleetValue is a number that says something of the fleet at an instant. ok is false
// where it says nothing, such as how even no connections are: the last value stays
// in force, and where there was one the time without is a gap of the series.
type FleetValue func(*FleetState) (value float64, ok bool)

// FleetState is what there is at an instant.
type FleetState struct {
	// Proxies is how many there are, Open how many of them have a connection.
	Proxies, Open int
	// Last counts events of the series' window.
	Last FleetEvents
	// Span is the length of that window, 0 for all since the first event.
	Span time.Duration

	connections map[string]int // by replica, without zeros
	ready       map[string]bool
}

// FleetEvents counts what happened to connections.
type FleetEvents struct{ Connects, GoAways, Closes, Rejects int }

func (e *FleetEvents) add(kind recording.ConnectionEvent, times int) {
	switch kind {
	case recording.Connected:
		e.Connects += times
	case recording.GoAway:
		e.GoAways += times
	case recording.Closed:
		e.Closes += times
	case recording.Rejected:
		e.Rejects += times
	}
}

// Connections is how many are open to a replica; the empty name is that of replicas
// that did not say who they are.
func (s *FleetState) Connections(replica string) int { return s.connections[replica] }

// Ready is how many replicas are Ready.
func (s *FleetState) Ready() int { return len(s.ready) }

// Without is how many proxies have no control plane.
func (s *FleetState) Without() int { return s.Proxies - s.Open }

// Unplaced is how many connections are open to no Ready replica: to one that does
// not accept any more, that is gone without a sign of it, or that is not known.
func (s *FleetState) Unplaced() int {
	sum, _, _ := s.loads()
	return s.Open - sum
}

// loads are the sum, the sum of squares and the maximum of the connections to Ready
// replicas.
func (s *FleetState) loads() (sum, squares, most int) {
	for name := range s.ready {
		n := s.connections[name]
		sum, squares, most = sum+n, squares+n*n, max(most, n)
	}
	return sum, squares, most
}

// CoV is how uneven the connections are over the Ready replicas: the population's
// standard deviation by the mean, in percent. Replicas without any count.
func (s *FleetState) CoV() (percent float64, ok bool) {
	sum, squares, _ := s.loads()
	if sum == 0 {
		return 0, false
	}
	k, mean := float64(len(s.ready)), float64(sum)/float64(len(s.ready))
	variance := max(0, float64(squares)/k-mean*mean)
	return 100 * math.Sqrt(variance) / mean, true
}

// MaxMean is the most connections of a Ready replica by their mean.
func (s *FleetState) MaxMean() (ratio float64, ok bool) {
	sum, _, most := s.loads()
	if sum == 0 {
		return 0, false
	}
	return float64(most*len(s.ready)) / float64(sum), true
}

// change is one event in an order in which it can have happened.
type change struct {
	t   time.Duration
	ref string
	// kind is what happened to a connection, if anything.
	kind recording.ConnectionEvent
	// proxies came or went, and connections to a replica.
	proxies, open int
	replica       string
	// ready and unready name a replica that became so.
	ready, unready string
}

func (s *FleetState) apply(c *change) {
	s.Proxies += c.proxies
	s.Open += c.open
	if s.connections[c.replica] += c.open; s.connections[c.replica] == 0 {
		delete(s.connections, c.replica)
	}
	s.Last.add(c.kind, 1)
	if c.ready != "" {
		s.ready[c.ready] = true
	}
	delete(s.ready, c.unready)
}

// finishFleet puts events in order, finds what cannot have been, and reads the series.
func (b *builder) finishFleet() {
	if len(b.fleet) == 0 {
		return
	}
	slices.SortStableFunc(b.fleet, func(x, y fleetEvent) int { return cmp.Compare(x.t, y.t) })
	a := newAccount()
	for i := range b.fleet {
		a.take(&b.fleet[i])
	}
	b.fleet = nil
	a.close(b.set.End)
	b.set.Fleet = &a.fleet
	if len(b.service.Changes) > 0 {
		b.set.Fleet.Service = &b.service
	}
	b.set.Gaps = append(b.set.Gaps, a.gaps...)
	b.perReplica(a.changes)
	ways := map[fleetWay][]int{}
	for i, d := range b.defs {
		if d.Fleet != nil {
			way := fleetWay{d.Fleet.Over, d.Fleet.Every}
			ways[way] = append(ways[way], i)
		}
	}
	for way, readers := range ways {
		b.walk(way, readers, a.changes)
	}
}

// fleetWay is one way of going through the events; all series that go the same way
// are read at once.
type fleetWay struct{ over, every time.Duration }

func (b *builder) walk(way fleetWay, readers []int, changes []change) {
	w := walker{builder: b, readers: readers, holes: make([]*Point, len(readers))}
	w.state = FleetState{Span: max(way.over, way.every), connections: map[string]int{}, ready: map[string]bool{}}
	if way.every > 0 {
		w.intervals(way.every, changes)
	} else {
		w.instants(way.over, changes)
	}
	for i, hole := range w.holes {
		w.fill(i, hole, b.set.End)
	}
}

// walker goes through events in order.
type walker struct {
	*builder
	readers []int
	state   FleetState
	// holes are since when the readers have no value again.
	holes []*Point
}

// instants reads the series after each instant at which something happened or left
// the window.
func (w *walker) instants(over time.Duration, changes []change) {
	oldest := 0
	for next := 0; next < len(changes) || over > 0 && oldest < next; {
		var at time.Duration
		switch {
		case next == len(changes):
			at = changes[oldest].t + over
		case over > 0 && oldest < next:
			at = min(changes[next].t, changes[oldest].t+over)
		default:
			at = changes[next].t
		}
		ref := ""
		for ; next < len(changes) && changes[next].t <= at; next++ {
			w.state.apply(&changes[next])
			ref = changes[next].ref
		}
		for ; over > 0 && oldest < next && changes[oldest].t+over <= at; oldest++ {
			w.state.Last.add(changes[oldest].kind, -1)
			ref = cmp.Or(ref, changes[oldest].ref)
		}
		if at <= w.set.End {
			w.points(Point{T: at, Ref: ref})
		}
	}
}

// intervals reads the series at the end of each interval from that of the first event on.
func (w *walker) intervals(every time.Duration, changes []change) {
	next := 0
	for edge := (changes[0].t/every + 1) * every; edge <= w.set.End; edge += every {
		w.state.Last = FleetEvents{}
		ref := "proxies' connections"
		for ; next < len(changes) && changes[next].t < edge; next++ {
			w.state.apply(&changes[next])
			ref = changes[next].ref
		}
		w.points(Point{T: edge, Ref: ref})
	}
}

func (w *walker) points(at Point) {
	for i, reader := range w.readers {
		value, ok := w.defs[reader].Fleet.Value(&w.state)
		if !ok {
			if w.holes[i] == nil && len(w.series[reader].Points) > 0 {
				w.holes[i] = &at
			}
			continue
		}
		w.fill(i, w.holes[i], at.T)
		w.holes[i] = nil
		p := at
		p.Value = Number(value)
		w.append(reader, p)
	}
}

// fill says of a time without a value that there was none.
func (w *walker) fill(i int, hole *Point, until time.Duration) {
	if hole == nil {
		return
	}
	name := w.series[w.readers[i]].Name
	w.set.Gaps = append(w.set.Gaps, Gap{
		Resource: undefinedPrefix + name, From: hole.T, To: until, Reason: "it has none since " + hole.Ref,
	})
}

// perReplica makes a series of the connections to each replica.
func (b *builder) perReplica(changes []change) {
	byName := map[string]*Series{}
	counts := map[string]int{}
	for i := range changes {
		c := &changes[i]
		name := cmp.Or(c.ready, c.unready, c.replica)
		if c.open == 0 && c.ready == "" && c.unready == "" || c.open != 0 && c.replica == "" {
			continue
		}
		s := byName[name]
		if s == nil {
			s = &Series{Name: ConnectionsToName(name), Unit: "connections", Doc: "connections to " + name, Resources: []string{recording.Connections}}
			byName[name] = s
			b.set.byName[s.Name] = s
			b.set.Fleet.Loads = append(b.set.Fleet.Loads, s)
		}
		counts[name] += c.open
		value := Number(float64(counts[name]))
		switch n := len(s.Points); {
		case n > 0 && s.Points[n-1].T == c.t:
			s.Points[n-1].Value, s.Points[n-1].Ref = value, c.ref
		case n == 0 || s.Points[n-1].Value != value:
			s.Points = append(s.Points, Point{T: c.t, Value: value, Ref: c.ref})
		}
	}
	slices.SortFunc(b.set.Fleet.Loads, func(x, y *Series) int { return cmp.Compare(x.Name, y.Name) })
}
