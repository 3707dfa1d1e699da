package rollouts

import "fmt"

// RollbackOptions changes the script of RollbackWindow.
type RollbackOptions struct {
	// OldStillUp re-applies v1 within its scale-down delay, with all its pods up.
	OldStillUp bool
	// AbortAtWeight aborts once, when the weight of v1 first reaches it before promotion.
	AbortAtWeight *int
	// PromoteFullBeforeFirst is promote --full before the first pod of v1 is available.
	PromoteFullBeforeFirst bool
	// PromotePauses promotes indefinite pauses; without it the script ends there.
	PromotePauses bool
	// StableAvailable is how many pods of v2 are available from the rollback on, nil all.
	StableAvailable *int
}

const (
	settleMax = 100
	scriptMax = 10000
)

// RollbackWindow plays the rollback from v2 to v1: v1 is promoted, v2 is promoted, v1
// goes down to 0, then v1 is applied again and its pods become available one by one.
// The trace starts when v1 is applied again and ends when all delays are over.
func RollbackWindow(rules Rules, spec Spec, opts RollbackOptions) Trace {
	m := NewMachine(rules, spec)
	for _, version := range []string{"v1", "v2"} {
		if err := m.BringUp(version); err != nil {
			return Trace{Rules: rules, Spec: spec, Start: m.row(), Invalid: err.Error()}
		}
	}
	if !opts.OldStillUp {
		m.Elapse(m.spec.scaleDownDelay())
		m.Settle(settleMax)
	}
	if opts.StableAvailable != nil {
		m.Ready("v2", *opts.StableAvailable)
		m.Settle(settleMax)
	}
	m.ResetTrace()
	m.Deploy("v1")
	m.Settle(settleMax)
	if opts.PromoteFullBeforeFirst {
		m.PromoteFull()
		m.Settle(settleMax)
	}
	m.walk("v1", opts)
	m.quiet()
	return m.Trace()
}

// BringUp deploys a version and lets its pods come up and its pauses end until it is
// promoted. Then two seconds pass, since births of ReplicaSets are compared by whole
// seconds. The error says why it is not promoted.
func (m *Machine) BringUp(version string) error {
	m.Deploy(version)
	m.Settle(settleMax)
	m.walk(version, RollbackOptions{PromotePauses: true})
	if m.Status().Stable != version {
		rs, _ := m.ReplicaSet(version)
		return fmt.Errorf("%s was never promoted: %d of %d pods available, %d wanted (%s)",
			version, rs.Available, rs.Size, m.spec.Replicas, m.rules.Basis(RulePromoteCount))
	}
	m.Elapse(2)
	return nil
}

// walk lets the pods of a version come up one at a time and its pauses end, until
// nothing more happens.
func (m *Machine) walk(version string, opts RollbackOptions) {
	aborted := opts.AbortAtWeight == nil
	for range scriptMax {
		if !aborted && m.Status().Current == version && m.Status().Stable != version && m.Weight() >= *opts.AbortAtWeight {
			aborted = true
			m.Abort()
			m.Settle(settleMax)
			continue
		}
		if !m.step(version, opts) {
			return
		}
		// One pass at a time until the weight is high enough, else to the end: an
		// operator aborts what a watch shows, also a weight that lasts for one pass.
		for range settleMax {
			if !m.Pass() || !aborted && m.Weight() >= *opts.AbortAtWeight {
				break
			}
		}
	}
}

// step makes the next move of the environment; false means that there is none.
func (m *Machine) step(version string, opts RollbackOptions) bool {
	rs, _ := m.ReplicaSet(version)
	s := m.Status()
	if rs.Available < rs.Size {
		m.Ready(version, rs.Available+1)
		return true
	}
	if m.spec.BlueGreen != nil {
		return m.approve(s, opts)
	}
	if s.Abort || s.FullyPromoted() || s.Index >= len(m.spec.Steps) {
		return m.pull(s)
	}
	switch step := m.spec.Steps[s.Index]; {
	case step.Analysis:
		m.PassAnalysis()
	case step.Pause == nil || !s.Paused:
		return false
	case !step.Pause.Indefinite:
		m.Elapse(step.Pause.Seconds)
	case opts.PromotePauses:
		m.Promote()
	default:
		return false
	}
	return true
}

// approve ends the pause of a blue-green update.
func (m *Machine) approve(s Status, opts RollbackOptions) bool {
	switch b := m.spec.BlueGreen; {
	case !s.Paused:
		return false
	case !b.Approval:
		m.Elapse(b.AutoPromotionSeconds)
	case opts.PromotePauses:
		m.Promote()
	default:
		return false
	}
	return true
}

// pull makes missing pods of a stable ReplicaSet available that is growing again, as it
// does with dynamicStableScale. Pods that a script took away stay away.
func (m *Machine) pull(s Status) bool {
	if !m.spec.DynamicStableScale {
		return false
	}
	rs, ok := m.ReplicaSet(s.Stable)
	if !ok || rs.Available >= rs.Size {
		return false
	}
	m.Ready(s.Stable, rs.Available+1)
	return true
}

// quiet lets all delays run out.
func (m *Machine) quiet() {
	delay := m.spec.scaleDownDelay()
	if seconds, _, _ := m.spec.abortDelay(); seconds > delay {
		delay = seconds
	}
	for range 2 {
		m.Elapse(delay)
		m.Settle(settleMax)
	}
}
