package deployment

import "slices"

// Chaos is what may go wrong while Explore looks at all rollouts.
type Chaos struct {
	// Ready limits how many pods of the new version are ever available at once; 0 is no
	// limit, NoneReady is none.
	Ready int
	// Losses is how many times, in all, an available pod may become unavailable.
	Losses int
}

// NoneReady as Chaos.Ready is a version that never comes up.
const NoneReady = -1

// An Envelope bounds all rollouts.
type Envelope struct {
	// Enumerated is false when there were too many states. Then only the fenceposts are
	// given: LeastAvailable and MostTotal are what the controller aims at.
	Enumerated bool
	States     int
	// LeastAvailable is the smallest number of available pods of all versions.
	LeastAvailable int
	// MostTotal is the greatest sum of spec.replicas; MostPods that of pods that are not
	// terminating. Pods can exceed MostTotal for a moment: the controller counts what it
	// wants, and pods of an old ReplicaSet that was scaled down may not be deleted yet.
	MostTotal, MostPods int
	// Ends are the distinct sizes at which nothing can change any more, by version and
	// oldest first, each followed by its available pods.
	Ends []End
	// Unique is true if the order of the changes of spec.replicas is the same in all
	// rollouts; then Orders has the sizes of each version, as a watch sees them.
	Unique bool
	Orders map[string][]int
}

// An End is a state without a next one.
type End struct{ Replicas, Available []int }

// Limits of the exploration: a count has 6 bits of a state, a ReplicaSet three counts.
const (
	maxCount  = 63
	maxSets   = 3
	maxStates = 2_000_000
	maxLosses = 255
)

// Explore looks at all rollouts to spec.Template from the given ReplicaSets, or from a
// complete First if none are given: passes, single pods that become available or are
// deleted, and losses, in any order. Pods are created at once, since a pod that is not
// created yet counts like one that is not available.
//
// Every pass sees the present. With one old ReplicaSet the fenceposts hold for a lagging
// controller too; with several, a pass that misses its own last write to one of them can
// exceed both for a while.
func Explore(spec Spec, chaos Chaos, sets ...ReplicaSet) Envelope {
	if len(sets) == 0 {
		sets = []ReplicaSet{{
			Name: First, Replicas: spec.Replicas, Pods: spec.Replicas, Available: spec.Replicas,
			Desired: spec.Replicas, Max: spec.Most(),
		}}
	}
	x := newExplorer(spec, chaos, sets)
	if x == nil || !x.run() {
		return Envelope{LeastAvailable: spec.Least(), MostTotal: spec.Most(), MostPods: spec.Most()}
	}
	return x.envelope()
}

// state packs the counts of all ReplicaSets, the losses so far, and whether the new
// ReplicaSet is still to be created.
type state uint64

const missing state = 1 << 62

type explorer struct {
	view   View // scratch: a decoded state
	sets   []ReplicaSet
	latest int // index of the new ReplicaSet in sets
	chaos  Chaos
	limit  int // of available pods of the new version
	seen   stateSet
	queue  []state
	out    []Scale
	result Envelope
	// next has the writes that follow each combination of sizes.
	next map[state]step
	many bool // some combination has several next ones
	from state
}

// step is a pass's writes and the sizes after it.
type step struct {
	to     state
	scales []Scale
}

// newExplorer returns nil if the start does not fit a state.
func newExplorer(spec Spec, chaos Chaos, sets []ReplicaSet) *explorer {
	v := NewView(spec, sets...)
	first := state(0)
	if v.New == NoSet {
		youngest := v.Sets[len(v.Sets)-1].Created
		v.Sets = append(v.Sets, ReplicaSet{Name: spec.Template, Created: youngest + 1})
		v.New, first = len(v.Sets)-1, missing
	}
	biggest := spec.Most()
	for i := range v.Sets {
		r := &v.Sets[i]
		biggest = max(biggest, r.Replicas, r.Pods, r.Available)
		r.Desired, r.Max = spec.Replicas, spec.Most()
	}
	if len(v.Sets) > maxSets || biggest > maxCount || chaos.Losses < 0 || chaos.Losses > maxLosses {
		return nil
	}
	x := &explorer{view: v, sets: v.Sets, latest: v.New, chaos: chaos, limit: maxCount, next: map[state]step{}, seen: newStateSet()}
	switch {
	case chaos.Ready == NoneReady:
		x.limit = 0
	case chaos.Ready > 0:
		x.limit = chaos.Ready
	}
	x.from = x.encode(0) | first
	x.result = Envelope{Enumerated: true, LeastAvailable: maxCount * maxSets}
	return x
}

func (x *explorer) encode(losses int) state {
	s := state(losses)
	for i := range x.sets {
		r := &x.sets[i]
		s = s<<18 | state(r.Replicas)<<12 | state(r.Pods)<<6 | state(r.Available)
	}
	return s
}

// absent is missing, or 0 once the new ReplicaSet exists.
func (x *explorer) absent() state {
	if x.view.New == NoSet {
		return missing
	}
	return 0
}

func (x *explorer) decode(s state) (losses int) {
	x.view.Sets, x.view.New = x.sets, x.latest
	if s&missing != 0 { // then it is the youngest
		x.view.Sets, x.view.New = x.sets[:x.latest], NoSet
	}
	s &^= missing
	for i := len(x.sets) - 1; i >= 0; i-- {
		r := &x.sets[i]
		r.Replicas, r.Pods, r.Available = int(s>>12&maxCount), int(s>>6&maxCount), int(s&maxCount)
		r.Running = r.Pods
		s >>= 18
	}
	return int(s)
}

// sizes is the state with the wanted sizes only.
func (x *explorer) sizes(s state) state {
	mask := state(0)
	for range x.sets {
		mask = mask<<18 | maxCount<<12
	}
	return s & (mask | missing)
}

// run visits all states; false if there are too many.
func (x *explorer) run() bool {
	x.visit(x.from)
	for len(x.queue) > 0 {
		s := x.queue[len(x.queue)-1]
		x.queue = x.queue[:len(x.queue)-1]
		x.expand(s)
		if x.seen.count > maxStates {
			return false
		}
	}
	return true
}

func (x *explorer) visit(s state) {
	if x.seen.add(s) {
		x.queue = append(x.queue, s)
	}
}

// expand visits what can follow.
func (x *explorer) expand(s state) {
	losses := x.decode(s)
	x.measure()
	moved := x.pass(s, losses)
	for i := range x.view.Sets {
		if x.podMoves(i, s, losses) {
			moved = true
		}
	}
	if !moved {
		x.end()
	}
}

// pass applies the writes of a pass at once: what happens between them can as well
// happen after the last, since no pod move depends on another ReplicaSet.
func (x *explorer) pass(s state, losses int) bool {
	x.out = AppendPass(x.out[:0], &x.view)
	if len(x.out) == 0 {
		return false
	}
	changed := false
	for _, w := range x.out {
		if w.Set == NoSet {
			w.Set, changed = x.latest, true
		}
		r := &x.sets[w.Set]
		changed = changed || r.Replicas != w.To
		r.Replicas, r.Pods = w.To, max(r.Pods, w.To)
	}
	to := x.encode(losses)
	x.follow(s, to)
	x.visit(to)
	x.decode(s)
	return changed
}

// follow notes the order of sizes.
func (x *explorer) follow(from, to state) {
	a, b := x.sizes(from), x.sizes(to)
	known, ok := x.next[a]
	if !ok {
		x.next[a] = step{b, slices.Clone(x.out)}
		return
	}
	if known.to != b || !slices.EqualFunc(known.scales, x.out, func(p, q Scale) bool { return p.Set == q.Set && p.To == q.To }) {
		x.many = true
	}
}

// podMoves are the deletion of a pod too many, one that becomes available, and a loss.
func (x *explorer) podMoves(i int, s state, losses int) (moved bool) {
	r := &x.view.Sets[i]
	was := *r
	try := func(pods, available, losses int) {
		r.Pods, r.Available = pods, available
		x.visit(x.encode(losses) | x.absent())
		*r = was
		moved = true
	}
	limit := was.Pods
	if i == x.view.New {
		limit = min(limit, x.limit)
	}
	if was.Pods > was.Replicas {
		try(was.Pods-1, min(was.Available, was.Pods-1), losses)
	}
	if was.Available < limit {
		try(was.Pods, was.Available+1, losses)
	}
	if was.Available > 0 && losses < x.chaos.Losses {
		try(was.Pods, was.Available-1, losses+1)
	}
	return moved
}

func (x *explorer) measure() {
	available, total, pods := 0, 0, 0
	for i := range x.view.Sets {
		r := &x.view.Sets[i]
		available, total, pods = available+r.Available, total+r.Replicas, pods+r.Pods
	}
	x.result.LeastAvailable = min(x.result.LeastAvailable, available)
	x.result.MostTotal = max(x.result.MostTotal, total)
	x.result.MostPods = max(x.result.MostPods, pods)
}

func (x *explorer) end() {
	var e End
	for _, r := range x.view.Sets {
		e.Replicas, e.Available = append(e.Replicas, r.Replicas), append(e.Available, r.Available)
	}
	same := func(o End) bool {
		return slices.Equal(o.Replicas, e.Replicas) && slices.Equal(o.Available, e.Available)
	}
	if !slices.ContainsFunc(x.result.Ends, same) {
		x.result.Ends = append(x.result.Ends, e)
	}
}

func (x *explorer) envelope() Envelope {
	e := x.result
	e.States = x.seen.count
	if e.Unique = !x.many; e.Unique {
		e.Orders = x.orders()
	}
	return e
}

// orders follows the only next sizes from the start.
func (x *explorer) orders() map[string][]int {
	x.decode(x.from)
	orders := map[string][]int{}
	for _, r := range x.sets {
		orders[r.Name] = []int{r.Replicas}
	}
	at := x.sizes(x.from)
	for range x.next { // no combination comes twice, or the order would not be unique
		s, ok := x.next[at]
		if !ok {
			break
		}
		for _, w := range s.scales {
			name := x.sets[x.latest].Name
			if w.Set != NoSet {
				name = x.sets[w.Set].Name
			}
			if order := orders[name]; order[len(order)-1] != w.To {
				orders[name] = append(order, w.To)
			}
		}
		at = s.to
	}
	return orders
}
