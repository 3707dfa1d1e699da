package deployment

import "slices"

// A Checker holds the recorded history of a Deployment's ReplicaSets against the model,
// without tolerance. It rests on three facts:
//
//   - All ReplicaSets reach the controller through one watch, so what a pass sees is a
//     prefix of their stored history.
//   - Every write names the version it is based on. So between the prefix that a pass saw
//     and its write, the ReplicaSet had no other version than that pass's earlier writes.
//   - Passes of a Deployment follow each other, and their prefixes only grow.
//
// A change of spec.replicas is legal if some prefix, and some version of the Deployment,
// make Reconcile write it. The Deployment comes over another watch and may be older or
// newer than the prefix: every version is tried that is not older than one that an
// earlier write proves seen.
//
// Feed everything in the order of resourceVersion, which is one count for a whole store.
// Only changes of spec.replicas, and creations, are judged; all other versions matter too,
// since each is a prefix.
//
// Not covered, and so possible false alarms: a pass whose create is answered by "already
// exists" may use a ReplicaSet newer than its prefix (sync.go:234, v1.37.2), and while the
// controller lists again after a broken watch, its ReplicaSets may be of different ages.
type Checker struct {
	base    []ReplicaSet // before log[0], oldest first
	now     []ReplicaSet // after all of log
	log     []Event
	low     int  // prefixes shorter than this are too old for the next pass
	cut     bool // history that the next pass may have seen was dropped
	dropped bool // some history was

	specs   []Spec
	specLow int

	running map[string]*pods

	sets []ReplicaSet // scratch
	out  []Scale      // scratch
}

// An Event is one stored version of a ReplicaSet. Running is not used: see Checker.Running.
type Event struct {
	ReplicaSet
	Deleted bool
}

// The history that a Checker keeps. A controller that is thousands of versions behind is
// no longer judged; IllegalError.Cut then tells that the history was too short.
const (
	keepEvents = 4096
	keepSpecs  = 256
)

// pods are those of one ReplicaSet that exist, terminating ones included.
type pods struct{ now, least int }

// NewChecker starts with the ReplicaSets that exist already; how they came to their size is
// not judged.
func NewChecker(spec Spec, sets ...ReplicaSet) *Checker {
	c := &Checker{specs: []Spec{spec}, running: map[string]*pods{}}
	c.base = slices.Clone(sets)
	slices.SortFunc(c.base, ReplicaSet.Older)
	for i := range c.base {
		c.base[i].Running = 0
	}
	c.now = slices.Clone(c.base)
	return c
}

// SpecChanged tells the next version of the Deployment's spec. The error says what the API
// would not have stored.
func (c *Checker) SpecChanged(spec Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	if c.specs[len(c.specs)-1] == spec {
		return nil
	}
	c.specs = append(c.specs, spec)
	if drop := len(c.specs) - keepSpecs; drop > 0 {
		c.specs = slices.Delete(c.specs, 0, drop)
		c.cut, c.dropped = c.cut || c.specLow < drop, true
		c.specLow = max(0, c.specLow-drop)
	}
	return nil
}

// Restarted tells that another controller process took over. Its first list may be older
// than what the last process saw.
func (c *Checker) Restarted() { c.low, c.specLow, c.cut = 0, 0, c.cut || c.dropped }

// Running tells how many pods of a ReplicaSet exist, terminating ones included but not
// those that failed or succeeded. Without it a Recreate rollout is judged by
// status.replicas alone. Pods come over a third watch; the smallest number since their
// ReplicaSet was scaled to 0 is what counts.
func (c *Checker) Running(set string, n int) {
	p := c.running[set]
	if p == nil {
		p = &pods{least: n}
		c.running[set] = p
	}
	p.now, p.least = n, min(p.least, n)
}

// Observe takes the next stored version of a ReplicaSet. The error is an *IllegalError if
// the version changed spec.replicas in a way that the controller does not. After an error
// the history goes on from what was stored.
func (c *Checker) Observe(e Event) error {
	e.ReplicaSet.Running = 0
	old := find(c.now, e.Name)
	changed := !e.Deleted && (old == nil || old.Replicas != e.Replicas)
	from := 0
	if old != nil {
		from = old.Replicas
	}
	c.log = append(c.log, e)
	var err error
	if changed {
		err = c.judge(from, old == nil)
	}
	c.now = apply(c.now, e)
	if p := c.running[e.Name]; p != nil && changed && e.Replicas == 0 {
		p.least = p.now
	}
	c.forget()
	return err
}

// judge looks for a pass that made the last event.
func (c *Checker) judge(from int, created bool) error {
	last := len(c.log) - 1
	lowest, lowestSpec := -1, -1
	c.eachPrefix(func(prefix int) {
		for k := c.specLow; k < len(c.specs); k++ {
			v := c.view(k)
			c.out = AppendPass(c.out[:0], &v)
			if !c.explains(&v, prefix, last) {
				continue
			}
			if lowest < 0 {
				lowest = prefix // prefixes grow
			}
			if lowestSpec < 0 || k < lowestSpec {
				lowestSpec = k
			}
		}
	})
	if lowest < 0 {
		return c.illegal(from, created)
	}
	c.low, c.specLow = max(c.low, lowest), max(c.specLow, lowestSpec)
	return nil
}

// eachPrefix calls f with c.sets at every prefix that the writer of the last event can
// have seen: no longer than what was stored before, and no older than low.
func (c *Checker) eachPrefix(f func(prefix int)) {
	c.sets = append(c.sets[:0], c.base...)
	for prefix := range c.log {
		if prefix >= c.low {
			f(prefix)
		}
		c.sets = apply(c.sets, c.log[prefix])
	}
}

// view is c.sets with a version of the Deployment.
func (c *Checker) view(spec int) View {
	v := View{Spec: c.specs[spec], Sets: c.sets, New: NoSet}
	for i := range v.Sets {
		r := &v.Sets[i]
		v.StatusReplicas += r.Pods
		if r.Name == v.Spec.Template {
			v.New = i
		}
		if p := c.running[r.Name]; p != nil {
			r.Running = p.least
		}
	}
	return v
}

// explains says whether the pass c.out, from a view at prefix, wrote the event at last: its
// writes up to that one are, in order, the next versions of their ReplicaSets.
func (c *Checker) explains(v *View, prefix, last int) bool {
	after := prefix
	for i, w := range c.out {
		nth := 0 // write of this pass to this ReplicaSet
		for _, earlier := range c.out[:i] {
			if earlier.Set == w.Set {
				nth++
			}
		}
		at, ok := c.stored(v, prefix, nth, w)
		if !ok || at < after {
			return false
		}
		if at == last {
			return true
		}
		after = at + 1
	}
	return false
}

// stored finds the version that a write of a pass became, if it is there.
func (c *Checker) stored(v *View, prefix, nth int, w Scale) (at int, ok bool) {
	name := v.Spec.Template
	var before ReplicaSet
	if w.Set != NoSet {
		before = v.Sets[w.Set]
		name = before.Name
	}
	// A paused pass may first renew the annotations of the new ReplicaSet, and go on with
	// the answer. Otherwise a pass that renews them fails with a conflict, since it does so
	// twice from the same version. sync.go:167, deployment_controller.go:635 (v1.37.2)
	renewed := !v.Spec.Paused || w.Set != v.New
	for at = prefix; at < len(c.log); at++ {
		e := &c.log[at]
		if e.Name != name {
			continue
		}
		if e.Deleted || w.Set != NoSet && !sameStatus(e.ReplicaSet, before) {
			return 0, false
		}
		if !renewed && e.Replicas == before.Replicas && w.From != w.To {
			renewed = true
			continue
		}
		if nth--; nth < 0 {
			return at, e.Replicas == w.To
		}
	}
	return 0, false
}

// sameStatus holds for a version that the Deployment controller wrote: the status belongs
// to another controller.
func sameStatus(a, b ReplicaSet) bool { return a.Pods == b.Pods && a.Available == b.Available }

// forget bounds the history. It drops half at a time, so that it is cheap.
func (c *Checker) forget() {
	if len(c.log) < keepEvents {
		return
	}
	drop := keepEvents / 2
	for _, e := range c.log[:drop] {
		c.base = apply(c.base, e)
	}
	c.log = slices.Delete(c.log, 0, drop)
	c.cut, c.dropped = c.cut || c.low < drop, true
	c.low = max(0, c.low-drop)
}

// apply makes an event part of sets, which stay sorted.
func apply(sets []ReplicaSet, e Event) []ReplicaSet {
	for i := range sets {
		if sets[i].Name != e.Name {
			continue
		}
		if e.Deleted {
			return slices.Delete(sets, i, i+1)
		}
		sets[i] = e.ReplicaSet
		return sets
	}
	if e.Deleted {
		return sets
	}
	at, _ := slices.BinarySearchFunc(sets, e.ReplicaSet, ReplicaSet.Older)
	return slices.Insert(sets, at, e.ReplicaSet)
}

func find(sets []ReplicaSet, name string) *ReplicaSet {
	for i := range sets {
		if sets[i].Name == name {
			return &sets[i]
		}
	}
	return nil
}
