package rollouts

import "fmt"

// Replace puts a release with these rules in the controller's place. It takes over what
// is stored: status, annotations of ReplicaSets and routes are all that a controller
// knows of an update under way.
func (m *Machine) Replace(rules Rules) {
	m.rules = rules
	m.wake(fmt.Sprintf("start %s", rules.Group))
}

// ForgetSteps makes the hash of the steps in the status one that the controller does not
// compute, as another release may have written the steps otherwise: see Life.Change.
func (m *Machine) ForgetSteps() { m.world.Status.StepsHash = "" }

// Analysing says whether the controller waits for an analysis step.
func (m *Machine) Analysing() bool {
	s := m.Status()
	return !s.Abort && !s.FullyPromoted() && s.Index < len(m.spec.Steps) && m.spec.Steps[s.Index].Analysis
}

// Alone makes a leg's move while no controller runs: no pass follows. The leg may not be
// one of TurnGrow, which lets the controller answer. What only a controller writes, the
// phase among it, stays as it was.
func (m *Machine) Alone(leg Leg) Trace {
	m.ResetTrace()
	out := m.Trace()
	m.turn(leg)
	row := m.row()
	row.Move, row.Phase = m.woken, out.Start.Phase
	out.Rows = []Row{row}
	return out
}
