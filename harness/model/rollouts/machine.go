package rollouts

import (
	"fmt"
	"reflect"
	"slices"
)

// A Service is a selector. Managed is the annotation that the controller leaves on a
// Service that it adopted.
type Service struct {
	Selector string
	Managed  bool
}

// Subsets is the DestinationRule: the version that each subset selects.
type Subsets struct{ Canary, Stable string }

// World is everything outside the Rollout's spec: what kubectl would show.
type World struct {
	Now            int // seconds
	Template       string
	Sets           []ReplicaSet // oldest first
	Status         Status
	Phase          string // status.phase, which a pass that fails does not write
	Weight         int    // canary weight of the VirtualService
	Second         int    // of the second one
	Header         bool   // whether they have the managed route
	CanaryService  Service
	StableService  Service
	Subsets        Subsets
	ActiveService  Service
	PreviewService Service
	AnalysisPassed bool
}

// A Machine is one Rollout and its controller. Its methods are moves of the environment;
// Pass and Settle let the controller act.
type Machine struct {
	rules Rules
	spec  Spec
	world World
	trace Trace
	woken string
}

// NewMachine returns a Rollout that does not exist yet: Deploy the first version.
func NewMachine(rules Rules, spec Spec) *Machine {
	if spec.Routing == "" {
		spec.Routing = RoutingServices
	}
	m := &Machine{rules: rules, spec: spec}
	m.world.Phase = m.phase()
	m.ResetTrace()
	return m
}

// Clone returns an independent copy, for trying what would happen.
func (m *Machine) Clone() *Machine {
	c := *m
	c.world = m.World()
	c.trace.Rows = slices.Clone(m.trace.Rows)
	return &c
}

// World returns a copy of the present state.
func (m *Machine) World() World {
	w := m.world
	w.Sets = slices.Clone(m.world.Sets)
	return w
}

// Rules returns the rules of the controller.
func (m *Machine) Rules() Rules { return m.rules }

// Spec returns the Rollout's spec.
func (m *Machine) Spec() Spec { return m.spec }

// Status returns the Rollout's status.
func (m *Machine) Status() Status { return m.world.Status }

// Weight returns the canary weight of the VirtualService.
func (m *Machine) Weight() int { return m.world.Weight }

// ReplicaSet returns the one of that version, and whether it exists.
func (m *Machine) ReplicaSet(version string) (ReplicaSet, bool) {
	if rs := find(m.world.Sets, version); rs != nil {
		return *rs, true
	}
	return ReplicaSet{}, false
}

// Trace returns what happened since the last ResetTrace.
func (m *Machine) Trace() Trace {
	t := m.trace
	t.Rows = slices.Clone(t.Rows)
	return t
}

// ResetTrace starts a new trace at the present state.
func (m *Machine) ResetTrace() {
	m.trace = Trace{Rules: m.rules, Spec: m.spec, Start: m.row()}
	m.trace.Start.Move = "start"
}

// Deploy applies the template of a version. The controller creates its ReplicaSet, or
// takes the one that is there.
func (m *Machine) Deploy(version string) {
	m.world.Template = version
	m.wake("deploy " + version)
}

// SetSteps edits the steps of the Rollout.
func (m *Machine) SetSteps(steps []Step) {
	m.spec.Steps = steps
	m.wake("edit steps")
}

// SetReplicas edits spec.replicas, as a user or an autoscaler does.
func (m *Machine) SetReplicas(replicas int) {
	m.spec.Replicas = replicas
	m.wake(fmt.Sprintf("scale to %d", replicas))
}

// EditWeight is somebody else's edit of the first VirtualService. It is a row of the
// trace, as a watch sees it before the controller answers.
func (m *Machine) EditWeight(weight int) {
	m.world.Weight = weight
	row := m.row()
	row.Move = fmt.Sprintf("edit weight to %d", weight)
	row.Pass = len(m.trace.Rows) + 1
	m.trace.Rows = append(m.trace.Rows, row)
	m.wake("edited")
}

// SetWindow edits rollbackWindow.revisions.
func (m *Machine) SetWindow(revisions int) {
	m.spec.WindowRevisions = revisions
	m.wake("edit rollbackWindow")
}

// Ready makes n pods of a version available, or as many as its ReplicaSet has.
func (m *Machine) Ready(version string, n int) {
	rs := find(m.world.Sets, version)
	if rs == nil {
		return
	}
	rs.Available = max(0, min(n, rs.Created))
	m.wake(fmt.Sprintf("ready %s %d", version, rs.Available))
}

// PassAnalysis makes the running analysis step succeed.
func (m *Machine) PassAnalysis() {
	m.world.AnalysisPassed = true
	m.wake("analysis passed")
}

// Elapse lets time pass. Pauses end and scale-down deadlines expire at the next pass.
func (m *Machine) Elapse(seconds int) {
	m.world.Now += seconds
	m.wake(fmt.Sprintf("elapse %ds", seconds))
}

func (m *Machine) wake(move string) { m.woken = move }

// Pass lets the controller reconcile once and reports whether anything changed. The
// ReplicaSet controller and the informers then catch up at once.
func (m *Machine) Pass() bool {
	before := m.World()
	p := &pass{m: m, rules: m.rules, start: before}
	p.reconcile()
	m.catchUp()
	changed := !reflect.DeepEqual(before, m.world)
	if p.err == "" {
		m.world.Phase = m.phase()
	}
	m.record(p, before)
	return changed
}

// Settle lets the controller reconcile until a pass changes nothing, or max passes. It
// returns the number of passes; a result of max means that it may not have settled.
func (m *Machine) Settle(max int) int {
	for n := 1; n <= max; n++ {
		if !m.Pass() {
			return n
		}
	}
	return max
}

// catchUp is the ReplicaSet controller: it creates the pods that are wanted, not
// available yet, and deletes those that are not, unavailable ones first.
func (m *Machine) catchUp() {
	for i := range m.world.Sets {
		rs := &m.world.Sets[i]
		rs.Created = rs.Size
		rs.Available = min(rs.Available, rs.Size)
	}
}

func (m *Machine) record(p *pass, before World) {
	row := m.row()
	row.Move, m.woken = m.woken, ""
	if row.Move == "" {
		row.Move = "own write"
	}
	row.Pass = len(m.trace.Rows) + 1
	row.SizeAtWeight = sizesOf(before.Sets)
	row.Branch, row.Want, row.Basis = p.decision.Branch, p.decision.Want, p.decision.Basis
	row.Held, row.Events, row.Err = p.held, p.events, p.err
	row.WeightFirst = p.weightFirst
	switch p.held {
	case "G":
		row.HeldBasis = p.rules.Basis(RuleStableGuard)
	case "I":
		row.HeldBasis = p.rules.Basis(RuleSubsetGuard)
	}
	m.trace.Rows = append(m.trace.Rows, row)
}

func (m *Machine) row() Row {
	w := &m.world
	row := Row{
		At: w.Now, Replicas: m.spec.Replicas, Weight: w.Weight, Second: w.Second, Header: w.Header, Size: sizesOf(w.Sets), SizeAtWeight: sizesOf(w.Sets), Available: map[string]int{},
		Index: w.Status.Index, Stable: w.Status.Stable, Current: w.Status.Current,
		Abort: w.Status.Abort, Paused: w.Status.Paused,
		CanaryService: w.CanaryService.Selector, StableService: w.StableService.Selector,
		Subsets: w.Subsets, Active: w.ActiveService.Selector, Preview: w.PreviewService.Selector, Phase: w.Phase,
	}
	for _, rs := range w.Sets {
		row.Available[rs.Version] = rs.Available
	}
	return row
}

func sizesOf(sets []ReplicaSet) map[string]int {
	sizes := map[string]int{}
	for _, rs := range sets {
		sizes[rs.Version] = rs.Size
	}
	return sizes
}
