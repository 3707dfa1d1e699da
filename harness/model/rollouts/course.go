package rollouts

// A Turn is what happens to a Rollout, by hand or by its surroundings.
type Turn string

// The turns of a course.
const (
	// TurnNone is nothing: the controller is looked at.
	TurnNone Turn = ""
	// TurnUpdate applies the template of a version.
	TurnUpdate Turn = "update"
	// TurnGrow makes the missing pods of a version available, one at a time, and lets
	// timed pauses end, until nothing more happens; with N, until N pods are available.
	TurnGrow Turn = "grow"
	// TurnHold leaves N pods of a version available.
	TurnHold Turn = "hold"
	// TurnElapse lets N seconds pass.
	TurnElapse Turn = "elapse"
	// TurnScale changes spec.replicas to N.
	TurnScale Turn = "scale"

	// TurnPassAnalysis lets the analysis step that runs succeed.
	TurnPassAnalysis Turn = "analysis passes"

	TurnAbort       Turn = "abort"
	TurnRetry       Turn = "retry"
	TurnPromote     Turn = "promote"
	TurnPromoteFull Turn = "promote --full"
	TurnSkipStep    Turn = "promote --skip-current-step"
	TurnSkipAll     Turn = "promote --skip-all-steps"
)

// A Leg is a turn, with the version or the number that it is about.
type Leg struct {
	Turn    Turn
	Version string
	N       int
}

// Play plays a leg and lets the controller come to rest; what a promotion replaced goes
// when its delay is over. Pods become available in legs only. It returns what the
// controller did.
func (m *Machine) Play(leg Leg) Trace {
	m.ResetTrace()
	m.turn(leg)
	m.Settle(settleMax)
	for m.replaced() {
		seconds, _ := m.NextDeadline()
		m.Elapse(seconds)
		m.Settle(settleMax)
	}
	return m.Trace()
}

func (m *Machine) turn(leg Leg) {
	switch leg.Turn {
	case TurnUpdate:
		m.Deploy(leg.Version)
	case TurnGrow:
		m.grow(leg.Version, leg.N)
	case TurnHold:
		m.Ready(leg.Version, leg.N)
	case TurnElapse:
		m.Elapse(leg.N)
	case TurnScale:
		m.SetReplicas(leg.N)
	case TurnPassAnalysis:
		m.PassAnalysis()
	case TurnAbort:
		m.Abort()
	case TurnRetry:
		m.Retry()
	case TurnPromote:
		m.Promote()
	case TurnPromoteFull:
		m.PromoteFull()
	case TurnSkipStep:
		m.SkipStep()
	case TurnSkipAll:
		m.SkipAllSteps()
	}
}

// grow makes one pod of the version available after the other, up to a number unless
// that is 0. A pause of some seconds ends once no pod is missing.
func (m *Machine) grow(version string, most int) {
	for range scriptMax {
		rs, _ := m.ReplicaSet(version)
		switch pause := m.timedPause(); {
		case rs.Available < rs.Size && (most == 0 || rs.Available < most):
			m.Ready(version, rs.Available+1)
		case pause != nil:
			m.Elapse(pause.Seconds)
		default:
			return
		}
		m.Settle(settleMax)
	}
}

// replaced says whether a version that was replaced waits for its scale-down.
func (m *Machine) replaced() bool {
	_, waits := m.NextDeadline()
	return waits && m.Status().FullyPromoted()
}

// timedPause is the pause with an end that the Rollout is in, nil if it is in none.
func (m *Machine) timedPause() *Pause {
	s := m.Status()
	if !s.Paused || s.Index >= len(m.spec.Steps) {
		return nil
	}
	pause := m.spec.Steps[s.Index].Pause
	if pause == nil || pause.Indefinite {
		return nil
	}
	return pause
}

// Missing says whether the version wants pods that are not available.
func (m *Machine) Missing(version string) bool {
	rs, ok := m.ReplicaSet(version)
	return ok && rs.Available < rs.Size
}

// NextDeadline is how many seconds from now the next scale-down deadline is over, and
// whether there is one of a ReplicaSet with pods.
func (m *Machine) NextDeadline() (seconds int, ok bool) {
	for _, rs := range m.world.Sets {
		if rs.Deadline == nil || rs.Size == 0 || *rs.Deadline <= m.world.Now {
			continue
		}
		if left := *rs.Deadline - m.world.Now; !ok || left < seconds {
			seconds, ok = left, true
		}
	}
	return seconds, ok
}
