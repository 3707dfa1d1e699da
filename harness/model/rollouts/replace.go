package rollouts

import "fmt"

// Replace puts a release with these rules in the controller's place. It takes over what
// is stored: status, annotations of ReplicaSets and routes are all that a controller
// knows of an update under way.
func (m *Machine) Replace(rules Rules) {
	m.rules = rules
	m.wake(fmt.Sprintf("start %s", rules.Group))
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
