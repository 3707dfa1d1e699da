package rollouts

// Reasons of the condition Progressing. utils/conditions/conditions.go (v1.8.2)
const (
	ReasonUpdated   = "ReplicaSetUpdated"
	ReasonNotReady  = "ReplicaSetNotAvailable"
	ReasonAvailable = "NewReplicaSetAvailable"
	ReasonPaused    = "RolloutPaused"
	ReasonResumed   = "RolloutResumed"
	ReasonRetry     = "RolloutRetry"
	ReasonAborted   = "RolloutAborted"
	ReasonTimedOut  = "ProgressDeadlineExceeded"
)

// Progress is the condition Progressing: its reason, and since when the clock of the
// progress deadline runs, in seconds.
type Progress struct {
	Reason string
	At     int
}

// Counts are the numbers of pods in a status, as a pass counted them.
type Counts struct{ Replicas, Updated, Available int }

// checkPaused is checkPausedConditions, the begin of every pass: a pause stops the clock
// of the progress deadline, its end and a retry start it anew. rollout/sync.go:487 (v1.8.2)
func (p *pass) checkPaused() {
	s := p.start.Status
	reason := s.Progress.Reason
	switch aborted := reason == ReasonAborted; {
	case aborted && !s.Abort:
		reason = ReasonRetry
	case aborted, p.rules.CompletedIsNotPaused && s.Stable != "" && s.FullyPromoted():
		return
	case s.Paused && reason != ReasonPaused:
		reason = ReasonPaused
	case !s.Paused && reason == ReasonPaused:
		reason = ReasonResumed
	default:
		return
	}
	progress := Progress{Reason: reason, At: p.start.Now}
	p.m.world.Status.Progress, p.start.Status.Progress = progress, progress
}

// conditions is calculateRolloutConditions: whether the update is healthy, gets on, or has
// not for too long. rollout/sync.go:588 (v1.8.2)
func (p *pass) conditions(s *Status, was Status) {
	v := p.view()
	s.Counts = p.counted()
	became := was.Healthy
	s.Healthy = !was.Paused && p.healthy(s)
	became = became && !s.Healthy
	set := func(reason string) bool {
		if s.Progress.Reason == reason {
			return false
		}
		s.Progress = Progress{Reason: reason, At: p.start.Now}
		return true
	}
	if p.aborted() {
		if set(ReasonAborted) {
			p.event(EventAborted, "Rollout aborted update")
		}
		return
	}
	switch {
	case p.healthy(s):
		set(ReasonAvailable)
	case progresses(was, *s) || became:
		s.Progress = Progress{Reason: ReasonUpdated, At: p.start.Now}
		if became && s.Stable == s.Current {
			s.Progress.Reason = ReasonNotReady
		}
	case !p.indefinite(v) && !p.scalingDown(v) && p.timedOut(*s):
		if set(ReasonTimedOut) || p.m.spec.ProgressDeadlineAbort {
			p.deadlineAbort(s, v)
		}
	}
}

// deadlineAbort aborts an update that has not got on, if that is asked for. From 1.10 on
// one that is completed is left alone. rollout/sync.go:687 (v1.8.2), :589 (v1.10.1)
func (p *pass) deadlineAbort(s *Status, v View) {
	if !p.m.spec.ProgressDeadlineAbort || p.rules.DeadlineSparesCompleted && s.Stable == s.Current {
		return
	}
	p.event(EventAborted, "ReplicaSet has timed out progressing")
	p.addAbort = true
	if p.rules.DeadlineSparesCompleted { // evaluated before the conditions: they say so at once
		s.Progress = Progress{Reason: ReasonAborted, At: p.start.Now}
		p.event(EventAborted, "Rollout aborted update")
	}
}

// counted are the numbers of pods as this pass sees them.
func (p *pass) counted() Counts {
	var c Counts
	for _, rs := range p.start.Sets {
		c.Replicas += rs.Created
		c.Available += rs.Available
		if rs.Version == p.start.Template {
			c.Updated = rs.Created
		}
	}
	return c
}

// healthy is RolloutHealthy. utils/conditions/conditions.go:286 (v1.8.2)
func (p *pass) healthy(s *Status) bool {
	n := p.m.spec.Replicas
	return s.Counts == Counts{n, n, n} && s.Stable != "" && s.Stable == s.Current && s.Index == len(p.m.spec.Steps)
}

// progresses is RolloutProgressing. utils/conditions/conditions.go:253 (v1.8.2)
func progresses(was, s Status) bool {
	return s.Counts.Updated != was.Counts.Updated ||
		s.Counts.Replicas-s.Counts.Updated < was.Counts.Replicas-was.Counts.Updated ||
		s.Counts.Available > was.Counts.Available ||
		s.Stable != was.Stable || s.Index != was.Index || s.StepsHash != was.StepsHash
}

// indefinite is isIndefiniteStep: what may take any time. rollout/sync.go:563 (v1.8.2)
func (p *pass) indefinite(v View) bool {
	step := v.step()
	return step != nil && (step.Pause != nil || step.Analysis) || v.Status.Paused
}

// scalingDown is isWaitingForReplicaSetScaleDown. rollout/sync.go:575 (v1.8.2)
func (p *pass) scalingDown(v View) bool {
	for _, rs := range v.Others {
		if rs.Deadline != nil {
			return true
		}
	}
	return false
}

// timedOut is RolloutTimedOut. utils/conditions/conditions.go:341 (v1.8.2)
func (p *pass) timedOut(s Status) bool {
	switch s.Progress.Reason {
	case "", ReasonAborted, ReasonPaused:
		return false
	case ReasonTimedOut:
		return true
	}
	return s.Progress.At+p.m.spec.progressDeadline() < p.start.Now
}

// NextTimeout is how many seconds from now the update has not got on for too long, and
// whether that is to come.
func (m *Machine) NextTimeout() (seconds int, ok bool) {
	p := &pass{m: m, rules: m.rules, start: m.World()}
	s, v := m.Status(), p.view()
	switch s.Progress.Reason {
	case "", ReasonAborted, ReasonPaused, ReasonTimedOut, ReasonAvailable:
		return 0, false
	}
	if s.Abort || p.indefinite(v) || p.scalingDown(v) || p.healthy(&s) {
		return 0, false
	}
	return max(1, s.Progress.At+m.spec.progressDeadline()+1-m.world.Now), true
}
