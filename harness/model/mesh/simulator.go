package mesh

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// A Simulator plays one plan as often as it is asked to. It keeps its memory between
// runs and must not be used by two goroutines at a time.
type Simulator struct {
	plan     Plan
	events   []Event
	eventAt  []float64
	readAt   []float64
	life     seconds
	gap      float64
	base     float64
	cap      float64
	interval float64 // between admissions of one replica, 0 without a limit
	limit    float64 // of the CoV that counts as even
	settled  time.Duration

	rng   rand.PCG
	queue queue

	// Of each connection.
	state    []state
	where    []int32
	stamp    []uint32
	attempt  []uint8
	ends     []float64 // of its life, once accepted
	starts   []float64 // when it is served, once accepted
	orphaned []float64 // when its replica left; negative for none

	// Of each replica.
	count []int32
	token []float64 // when it may next admit
	gone  []departed

	ready      []int32   // replicas
	led        []int32   // replicas that rules lead to
	rulesAt    []float64 // since when rules are in force
	known      int       // replicas that have been Ready
	arrived    int       // connections
	connected  int64
	hanging    int
	waiting    int
	squares    int64 // of the Ready replicas' counts, summed
	connects   int
	countedTo  int // connects at the reading before
	refusals   int
	lastOrphan float64
}

// A state is what a connection's next entry in the queue means.
type state uint8

const (
	waits    state = iota // for a reconnect: tries
	admitted              // by the request limit, later: is served
	served                // ages: ends
	hangs                 // on a replica that left: notices
	fails                 // to connect: backs off
)

// never is later than anything.
const never = math.MaxFloat64

// NewSimulator checks the plan.
func NewSimulator(plan Plan) (*Simulator, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	if plan.BackOff == (BackOff{}) {
		plan.BackOff = EnvoyBackOff()
	}
	connections, replicas := plan.total()
	s := &Simulator{
		plan: plan, events: plan.sorted(), life: plan.Lifetime.seconds(), gap: plan.Gap.Seconds(),
		base: plan.BackOff.Base.Seconds(), cap: plan.BackOff.Cap.Seconds(),
		limit: plan.Final().EvenBelow(), settled: plan.Settled(),
		state: make([]state, connections), where: make([]int32, connections), stamp: make([]uint32, connections),
		attempt: make([]uint8, connections), ends: make([]float64, connections), starts: make([]float64, connections), orphaned: make([]float64, connections),
		count: make([]int32, replicas), token: make([]float64, replicas), gone: make([]departed, replicas), ready: make([]int32, 0, replicas),
		queue: queue{make([]entry, 0, 2*connections)},
	}
	if plan.RequestLimit > 0 {
		s.interval = 1 / plan.RequestLimit
	}
	for _, e := range s.events {
		s.eventAt = append(s.eventAt, e.At.Seconds())
	}
	s.eventAt = append(s.eventAt, never)
	for _, t := range plan.Readings {
		s.readAt = append(s.readAt, t.Seconds())
	}
	return s, nil
}

// Run plays the plan once and overwrites path, whose memory it uses again. The same seed
// gives the same path.
func (s *Simulator) Run(seed uint64, path *Path) {
	s.reset(seed, path)
	read, event, rules := 0, 0, min(1, len(s.plan.Rules))
	for read < len(s.readAt) {
		next := never
		if len(s.queue.heap) > 0 {
			next = s.queue.heap[0].at
		}
		switch now := s.readAt[read]; {
		case s.eventAt[event] <= min(now, next, s.rulesAt[rules]):
			s.happen(s.events[event], s.eventAt[event])
			event++
		case s.rulesAt[rules] <= min(now, next):
			s.enforce(s.plan.Rules[rules])
			rules++
		case next <= now:
			s.step(path)
		default:
			path.Readings = append(path.Readings, s.reading(read))
			read++
		}
	}
	path.Connects, path.Refusals, path.lastOrphan = s.connects, s.refusals, s.lastOrphan
	for _, since := range s.orphaned[:s.arrived] {
		if since >= 0 {
			path.Unserved++
		}
	}
	path.findEven(s.settled, s.limit)
}

func (s *Simulator) reset(seed uint64, path *Path) {
	*path = Path{Readings: path.Readings[:0], Outages: path.Outages[:0]}
	s.rng.Seed(seed, scramble(seed))
	s.queue.heap = s.queue.heap[:0]
	clear(s.count)
	clear(s.token)
	clear(s.gone)
	s.ready, s.known, s.arrived = s.ready[:0], 0, 0
	s.connected, s.hanging, s.waiting, s.squares = 0, 0, 0, 0
	s.connects, s.countedTo, s.refusals, s.lastOrphan = 0, 0, 0, 0
	for range s.plan.Replicas {
		s.admitReplica()
	}
	s.drawRules()
	if len(s.plan.Rules) > 0 {
		s.enforce(s.plan.Rules[0])
	}
	for range s.plan.Connections {
		i := s.newConnection()
		s.where[i] = s.choose()
		s.serve(i)
		s.ends[i] = never
		if !s.life.endless {
			s.ends[i] = s.firstEnd()
			s.queue.push(entry{s.ends[i], i, s.stamp[i]})
		}
	}
}

func (s *Simulator) firstEnd() float64 {
	if s.plan.Start == Together {
		return s.life.life(s.uniform())
	}
	return s.life.residual(s.uniform())
}

// scramble makes the second half of a seed, so that neighbouring seeds share no half.
// It is the finalizer of SplitMix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform is from 0 to 1, without 1.
func (s *Simulator) uniform() float64 { return float64(s.rng.Uint64()>>11) / (1 << 53) }

// choices are the replicas among which a connection chooses.
func (s *Simulator) choices() []int32 {
	if len(s.plan.Rules) > 0 {
		return s.led
	}
	return s.ready
}

// choose is one of the choices; there must be one.
func (s *Simulator) choose() int32 {
	among := s.choices()
	i, _ := bits.Mul64(s.rng.Uint64(), uint64(len(among)))
	return among[i]
}

// happen plays one of the plan's events.
func (s *Simulator) happen(e Event, t float64) {
	switch e.Kind {
	case ReplicaReady:
		s.admitReplica()
	case ConnectionsArrive:
		for range e.Connections {
			i := s.newConnection()
			s.waiting++
			s.queue.push(entry{t, i, s.stamp[i]})
		}
	case ReplicaLeaves:
		s.leave(int32(e.Replica), e.How, t)
	}
}

func (s *Simulator) admitReplica() {
	s.ready = append(s.ready, int32(s.known))
	s.known++
}

// newConnection is one that waits and is not yet counted.
func (s *Simulator) newConnection() int32 {
	i := int32(s.arrived)
	s.arrived++
	s.state[i], s.stamp[i], s.attempt[i], s.orphaned[i] = waits, 0, 0, -1
	return i
}

// leave takes a replica away. Its connections hang until they notice.
func (s *Simulator) leave(replica int32, how Departure, t float64) {
	for i, r := range s.ready {
		if r == replica {
			s.ready[i] = s.ready[len(s.ready)-1]
			s.ready = s.ready[:len(s.ready)-1]
			break
		}
	}
	n := int64(s.count[replica])
	s.connected -= n
	s.squares -= n * n
	s.count[replica] = 0
	led := len(s.plan.Rules) > 0
	if led {
		s.depart(replica, how, t)
	}
	for i := range int32(s.arrived) {
		if s.where[i] != replica || s.state[i] != served && s.state[i] != admitted {
			continue
		}
		switch {
		case s.state[i] == admitted && led:
			s.keepWaiting(i, s.gone[replica])
			continue
		case s.state[i] == admitted:
			s.waiting--
		}
		if s.orphaned[i] < 0 {
			s.orphaned[i] = t
		}
		s.hang(i, how, t)
	}
}

// hang leaves a connection on a replica that left until it notices.
func (s *Simulator) hang(i int32, how Departure, t float64) {
	notices := t + how.From.Seconds() + s.uniform()*(how.To-how.From).Seconds()
	if how.Drains {
		notices = min(notices, s.ends[i])
		if s.plan.Lifetime.Grace == ClosesOnGoAway {
			notices = t
		}
	}
	s.stamp[i]++
	if notices <= t {
		notices = s.lose(i, t)
	} else {
		s.state[i] = hangs
		s.hanging++
	}
	s.queue.push(entry{notices, i, s.stamp[i]})
}

// lose lets a connection that belongs nowhere wait, and returns when it tries.
func (s *Simulator) lose(i int32, t float64) float64 {
	s.state[i], s.attempt[i] = waits, 0
	s.waiting++
	return t + s.uniform()*s.gap
}

// step plays the first entry of the queue.
func (s *Simulator) step(path *Path) {
	e := s.queue.heap[0]
	if s.stamp[e.conn] != e.stamp {
		s.queue.pop()
		return
	}
	e.at = s.next(e.conn, e.at, path)
	if e.at == never {
		s.queue.pop()
		return
	}
	s.queue.replace(e)
}

// next does to a connection what its state says and returns when something happens to it
// again.
func (s *Simulator) next(i int32, t float64, path *Path) float64 {
	switch s.state[i] {
	case served:
		r := s.where[i]
		s.squares -= 2*int64(s.count[r]) - 1
		s.count[r]--
		s.connected--
		return s.lose(i, t)
	case hangs:
		s.hanging--
		return s.lose(i, t)
	case admitted:
		return s.establish(i, t, path)
	case fails:
		s.state[i] = waits
		return s.backOff(i, t)
	}
	return s.try(i, t, path)
}

// try asks a replica, which admits it, now or within a second, or refuses it.
func (s *Simulator) try(i int32, t float64, path *Path) float64 {
	if len(s.choices()) == 0 {
		return s.backOff(i, t)
	}
	r := s.choose()
	gone := s.gone[r]
	if gone.refuses(t) {
		return s.inVain(i, gone, t)
	}
	start := t
	if s.interval > 0 {
		if start = max(t, s.token[r]); start-t > 1 {
			s.refusals++
			return s.backOff(i, t)
		}
		s.token[r] = start + s.interval
	}
	s.where[i], s.starts[i] = r, start
	if gone.refuses(start) { // cut while it waits
		return s.fail(i, gone.cut)
	}
	// The age runs from the acceptance of the connection, not from the admission of the
	// stream.
	s.ends[i] = never
	if !s.life.endless {
		s.ends[i] = t + s.life.life(s.uniform())
	}
	if start > t {
		s.state[i] = admitted
		return start
	}
	return s.establish(i, t, path)
}

func (s *Simulator) backOff(i int32, t float64) float64 {
	most := min(s.cap, math.Ldexp(s.base, int(s.attempt[i])))
	if s.attempt[i] < math.MaxUint8 {
		s.attempt[i]++
	}
	return t + s.uniform()*most
}

// establish counts a stream that waited, and returns when its life ends.
func (s *Simulator) establish(i int32, t float64, path *Path) float64 {
	s.waiting--
	s.connects++
	if since := s.orphaned[i]; since >= 0 {
		path.Outages = append(path.Outages, t-since)
		s.orphaned[i] = -1
		s.lastOrphan = t
	}
	if gone := s.gone[s.where[i]]; gone.left { // it is cut with the others
		s.state[i] = hangs
		s.hanging++
		return max(t, s.between(gone.cut, gone.over))
	}
	s.serve(i)
	return max(t, s.ends[i])
}

func (s *Simulator) serve(i int32) {
	r := s.where[i]
	s.state[i] = served
	s.squares += 2*int64(s.count[r]) + 1
	s.count[r]++
	s.connected++
}

func (s *Simulator) reading(i int) Reading {
	out := Reading{
		At: s.plan.Readings[i], Ready: len(s.ready), Connected: int(s.connected),
		Hanging: s.hanging, Waiting: s.waiting, Connects: s.connects - s.countedTo,
	}
	s.countedTo = s.connects
	if s.connected == 0 {
		return out
	}
	var largest int32
	for _, r := range s.ready {
		largest = max(largest, s.count[r])
	}
	out.CoV, out.MaxOverMean = unevenness(int64(len(s.ready)), s.connected, s.squares, int64(largest))
	return out
}
