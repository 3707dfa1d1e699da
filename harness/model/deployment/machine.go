package deployment

import (
	"fmt"
	"slices"
)

// All is no limit to the pods of a version that become available.
const All = -1

// A Machine is one Deployment, its controller and the ReplicaSet controller, without lag:
// after each pass the ReplicaSet controller creates or deletes all pods that differ, and
// then pods become available one by one. Its methods are moves of the environment; Settle
// lets both controllers act until nothing changes.
type Machine struct {
	spec   Spec
	sets   []ReplicaSet   // oldest first
	limits map[string]int // of available pods by version; All if not named
	slow   bool           // terminating pods stay until Gone
	trace  Trace
	clock  int64
}

// NewMachine returns a Deployment without ReplicaSets; its Template is empty.
func NewMachine(spec Spec) *Machine {
	m := &Machine{spec: spec, limits: map[string]int{}}
	m.ResetTrace()
	return m
}

// Spec returns the Deployment's spec.
func (m *Machine) Spec() Spec { return m.spec }

// View is what the controller sees now.
func (m *Machine) View() View { return NewView(m.spec, m.sets...) }

// ReplicaSet returns the one of that version, and whether it exists.
func (m *Machine) ReplicaSet(version string) (ReplicaSet, bool) {
	if r := find(m.sets, version); r != nil {
		return *r, true
	}
	return ReplicaSet{}, false
}

// Trace returns what happened since the last ResetTrace.
func (m *Machine) Trace() Trace {
	t := m.trace
	t.Spec = m.spec
	t.Rows = slices.Clone(t.Rows)
	return t
}

// ResetTrace starts a new trace at the present state.
func (m *Machine) ResetTrace() {
	m.trace = Trace{Spec: m.spec, Start: m.row("start", nil)}
}

// Limit lets no more than n pods of a version be available, now and later. All lifts it.
func (m *Machine) Limit(version string, n int) {
	if m.limits[version] = n; n == All {
		delete(m.limits, version)
		return
	}
	if r := find(m.sets, version); r != nil && r.Available > n {
		r.Available = n
		m.record(fmt.Sprintf("%s down to %d available", version, n), nil)
	}
}

// Deploy applies the template of a version.
func (m *Machine) Deploy(version string) {
	m.change("deploy "+version, func(s *Spec) { s.Template = version })
}

// Scale changes spec.replicas.
func (m *Machine) Scale(replicas int) {
	m.change(fmt.Sprintf("scale to %d", replicas), func(s *Spec) { s.Replicas = replicas })
}

// Pause and Resume set spec.paused.
func (m *Machine) Pause()  { m.change("pause", func(s *Spec) { s.Paused = true }) }
func (m *Machine) Resume() { m.change("resume", func(s *Spec) { s.Paused = false }) }

// SetFenceposts edits maxSurge and maxUnavailable.
func (m *Machine) SetFenceposts(surge, unavailable IntOrPercent) {
	m.change(fmt.Sprintf("surge %s unavailable %s", surge, unavailable),
		func(s *Spec) { s.Surge, s.Unavailable = surge, unavailable })
}

func (m *Machine) change(event string, edit func(*Spec)) {
	edit(&m.spec)
	m.record(event, nil)
}

// KeepTerminating makes deleted pods stay, terminating, until Gone.
func (m *Machine) KeepTerminating() { m.slow = true }

// Gone ends the pods that are terminating.
func (m *Machine) Gone() {
	for i := range m.sets {
		m.sets[i].Running = m.sets[i].Pods
	}
	m.record("terminated", nil)
}

// Pass lets the controller reconcile once and the ReplicaSet controller catch up. It
// reports whether anything was written.
func (m *Machine) Pass() bool {
	v := m.View()
	m.sets = v.Sets
	scales := Reconcile(v)
	if len(scales) == 0 {
		return false
	}
	for _, s := range scales {
		m.write(v, s)
		m.catchUp()
	}
	m.record("", describe(v, scales))
	return true
}

func (m *Machine) write(v View, s Scale) {
	name := v.name(s.Set)
	r := find(m.sets, name)
	if r == nil {
		m.clock++
		m.sets = apply(m.sets, Event{ReplicaSet: ReplicaSet{Name: name, Created: m.clock}})
		r = find(m.sets, name)
	}
	r.Replicas, r.Desired, r.Max = s.To, m.spec.Replicas, m.spec.Most()
}

// catchUp is the ReplicaSet controller: it creates missing pods and deletes those too
// many, those that are not ready first.
// pkg/controller/replicaset/replica_set.go:649, pkg/controller/controller_utils.go:843 (v1.37.2)
func (m *Machine) catchUp() {
	for i := range m.sets {
		r := &m.sets[i]
		r.Running += max(0, r.Replicas-r.Pods)
		r.Pods = r.Replicas
		r.Available = min(r.Available, r.Pods)
		if !m.slow {
			r.Running = r.Pods
		}
	}
}

// Ready makes one more pod available: of the wanted version, or else of the oldest one
// that lacks some. It reports whether there was one.
func (m *Machine) Ready() bool {
	if r := find(m.sets, m.spec.Template); r != nil && m.readyOne(r) {
		return true
	}
	for i := range m.sets {
		if m.readyOne(&m.sets[i]) {
			return true
		}
	}
	return false
}

func (m *Machine) readyOne(r *ReplicaSet) bool {
	limit, limited := m.limits[r.Name]
	if r.Available >= r.Pods || limited && r.Available >= limit {
		return false
	}
	r.Available++
	m.record("ready "+r.Name, nil)
	return true
}

// Settle lets the controllers act until nothing changes, or max steps. It returns the
// number of steps; a result of max means that it may not have settled.
func (m *Machine) Settle(max int) int {
	for n := range max {
		if !m.Pass() && !m.Ready() {
			return n
		}
	}
	return max
}

func describe(v View, scales []Scale) []Write {
	var out []Write
	for _, s := range scales {
		out = append(out, Write{Version: v.name(s.Set), From: s.From, To: s.To, Why: s.Why})
	}
	return out
}

func (m *Machine) record(event string, writes []Write) {
	m.trace.Rows = append(m.trace.Rows, m.row(event, writes))
}

func (m *Machine) row(event string, writes []Write) Row {
	row := Row{Event: event, Writes: writes}
	for _, r := range m.sets {
		row.Versions = append(row.Versions, VersionRow{Name: r.Name, Replicas: r.Replicas, Pods: r.Pods, Available: r.Available})
		row.Total += r.Replicas
		row.Available += r.Available
	}
	return row
}
