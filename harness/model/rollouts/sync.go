package rollouts

import "fmt"

// resetStatus is the whole first pass after a change of template or steps.
// rollout/canary.go:372 (v1.8.2)
func (p *pass) resetStatus() {
	s, v := &p.newStatus, p.view()
	s.Current, s.StepsHash = p.start.Template, p.m.stepsHash()
	s.PromoteFull, s.Index = false, 0
	p.clearPause, p.removeAbort = true, true
	p.m.world.AnalysisPassed = false
	p.decision.Basis = p.rules.Basis(RuleReset)
	if v.New != nil && len(v.Spec.Steps) > 0 {
		switch {
		case v.Status.Stable == v.New.Version:
			p.event(EventSkipSteps, "Rollback to stable ReplicaSets")
			s.Index = len(v.Spec.Steps)
		case p.inWindow() && v.New.Size > 0:
			p.event(EventSkipSteps, "Rollback to active ReplicaSets within RollbackWindow")
			s.Index = len(v.Spec.Steps)
			p.decision.Basis = p.rules.Basis(RuleWindowActive)
		}
	}
	p.patch()
}

// syncStatus is syncRolloutStatusCanary. In the window it clears pauses, undoes an abort
// and moves the index to the end, every pass. rollout/canary.go:390 (v1.8.2)
func (p *pass) syncStatus() {
	s, v := &p.newStatus, p.view()
	s.Current = p.start.Template
	n := len(v.Spec.Steps)
	if v.Status.PromoteFull || p.inWindow() {
		p.clearPause, p.removeAbort = true, true
		if n > 0 {
			s.Index = n
		}
	}
	if reason := p.promoteReason(v); reason != "" {
		p.promote(reason)
		p.patch()
		return
	}
	if p.aborted() {
		s.Index = 0
		if s.Stable == s.Current {
			s.Index = n
		}
		p.patch()
		return
	}
	if step := v.step(); step != nil && p.stepDone(v, step) {
		// In the window this can reach n+1: the step was read before the index moved.
		s.Index++
		p.endPause = true
		p.m.world.AnalysisPassed = false
		p.event(EventStep, fmt.Sprintf("%d/%d (%s)", s.Index, n, step))
	}
	p.patch()
}

// promoteReason is shouldFullPromote; "" means not yet. It reads the index of the status,
// not the one that the window moved in this pass. rollout/sync.go:937 (v1.8.2)
func (p *pass) promoteReason(v View) string {
	if v.Stable == nil {
		return "Initial deploy"
	}
	if p.aborted() || v.New == nil || !p.rules.enoughToPromote(v) {
		return ""
	}
	switch {
	case v.Status.PromoteFull:
		return "Full promotion requested"
	case p.inWindow():
		return "Rollback within window"
	case p.rules.FastRollback && v.Status.Stable == v.New.Version:
		return "Fast rollback"
	case len(v.Spec.Steps) == 0 || v.Status.Index == len(v.Spec.Steps):
		return fmt.Sprintf("Completed all %d canary steps", len(v.Spec.Steps))
	}
	return ""
}

func (r Rules) enoughToPromote(v View) bool {
	if !r.PromoteAtLeast {
		return v.New.Available == v.Spec.Replicas
	}
	return v.New.Available >= v.Spec.Replicas || r.thresholdMet(v.Spec, v.New, v.Spec.Replicas)
}

// promote makes the wanted ReplicaSet the stable one. rollout/sync.go:1003 (v1.8.2)
func (p *pass) promote(reason string) {
	s := &p.newStatus
	p.clearPause, p.removeAbort = true, true
	s.PromoteFull, s.CheckPoint = false, false
	s.Index = len(p.m.spec.Steps)
	if s.Stable != s.Current {
		s.Stable = s.Current
		p.event(EventCompleted, reason)
	}
}

// stepDone is completedCurrentCanaryStep. rollout/canary.go:319 (v1.8.2)
func (p *pass) stepDone(v View, step *Step) bool {
	switch {
	case step.Pause != nil:
		return p.pauseDone(v, step.Pause)
	case step.SetCanaryScale != nil, step.SetWeight != nil:
		return p.rules.AtDesired(v, p.newStatus.weights())
	case step.Analysis:
		return p.start.AnalysisPassed
	}
	return step.Header != ""
}

// pauseDone: a human removed the pause condition, or its time is over.
// rollout/pause.go:185 (v1.8.2)
func (p *pass) pauseDone(v View, pause *Pause) bool {
	if v.Status.ControllerPause && !v.Status.Paused {
		return true
	}
	return v.Status.Paused && !pause.Indefinite && p.m.world.Now >= v.Status.PausedAt+pause.Seconds
}

// pause is reconcileCanaryPause: it begins the pause of a pause step.
// rollout/canary.go:125 (v1.8.2)
func (p *pass) pause() {
	v := p.view()
	step := v.step()
	if v.Status.PromoteFull || step == nil || step.Pause == nil || v.Status.Paused || v.Status.ControllerPause {
		return
	}
	p.addPause = true
}

// patch is persistRolloutStatus with CalculatePauseStatus. rollout/pause.go:59 (v1.8.2)
func (p *pass) patch() {
	s, was := &p.newStatus, p.start.Status
	p.conditions(s, was)
	s.Abort = p.aborted() || p.addAbort
	s.Paused, s.ControllerPause, s.PausedAt = false, false, 0
	switch {
	case s.Abort || p.clearPause || p.endPause && was.Paused:
	case was.Paused:
		s.Paused, s.ControllerPause, s.PausedAt = true, was.ControllerPause, was.PausedAt
	case p.addPause && !p.endPause:
		s.Paused, s.ControllerPause, s.PausedAt = true, true, p.m.world.Now
	}
	if s.Paused && !was.Paused {
		p.event(EventPaused, p.pauseReason())
	} else if was.Paused && !s.Paused && !s.Abort {
		p.event(EventResumed, "Rollout is resumed")
	}
	p.m.world.Status = *s
}

func (p *pass) pauseReason() string {
	if p.m.spec.BlueGreen != nil {
		return "BlueGreenPause"
	}
	return "CanaryPauseStep"
}
