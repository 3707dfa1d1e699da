package rollouts

// Command is what a kubectl-argo-rollouts command does to the status: a pure function.
type Command func(spec Spec, status Status) Status

// Abort patches status.abort. pkg/kubectl-argo-rollouts/cmd/abort/abort.go:30 (v1.8.2)
func Abort(_ Spec, s Status) Status {
	s.Abort = true
	return s
}

// Retry clears status.abort. pkg/kubectl-argo-rollouts/cmd/retry/retry.go:19 (v1.8.2)
func Retry(_ Spec, s Status) Status {
	s.Abort = false
	return s
}

// Promote ends a pause, or else skips the current step: also one whose pods are still
// starting. pkg/kubectl-argo-rollouts/cmd/promote/promote.go:163 (v1.8.2)
func Promote(spec Spec, s Status) Status {
	if s.Paused {
		s.Paused = false
		return s
	}
	return SkipStep(spec, s)
}

// SkipStep is promote --skip-current-step.
// pkg/kubectl-argo-rollouts/cmd/promote/promote.go:144 (v1.8.2)
func SkipStep(spec Spec, s Status) Status {
	if s.Index < len(spec.Steps) {
		s.Index++
	}
	return s
}

// SkipAllSteps is promote --skip-all-steps: the index jumps to the end, without
// promoteFull. pkg/kubectl-argo-rollouts/cmd/promote/promote.go:156 (v1.8.2)
func SkipAllSteps(spec Spec, s Status) Status {
	s.Index = len(spec.Steps)
	return s
}

// PromoteFull is promote --full; it does nothing when already promoted.
// pkg/kubectl-argo-rollouts/cmd/promote/promote.go:159 (v1.8.2)
func PromoteFull(_ Spec, s Status) Status {
	if s.Current != s.Stable {
		s.PromoteFull = true
	}
	return s
}

func (m *Machine) command(name string, c Command) {
	m.world.Status = c(m.spec, m.world.Status)
	m.wake(name)
}

// Abort is the command abort.
func (m *Machine) Abort() { m.command("abort", Abort) }

// Retry is the command retry rollout.
func (m *Machine) Retry() { m.command("retry", Retry) }

// Promote is the command promote.
func (m *Machine) Promote() { m.command("promote", Promote) }

// SkipStep is the command promote --skip-current-step.
func (m *Machine) SkipStep() { m.command("promote --skip-current-step", SkipStep) }

// SkipAllSteps is the command promote --skip-all-steps.
func (m *Machine) SkipAllSteps() { m.command("promote --skip-all-steps", SkipAllSteps) }

// PromoteFull is the command promote --full.
func (m *Machine) PromoteFull() { m.command("promote --full", PromoteFull) }

// UndoTarget is the version that undo applies: revision, or the second highest when 0,
// promoted or not. pkg/kubectl-argo-rollouts/cmd/undo/undo.go:143 (v1.8.2)
func UndoTarget(sets []ReplicaSet, revision int) (string, bool) {
	latest, previous := -1, -1
	for i, rs := range sets {
		switch {
		case revision > 0 && rs.Revision == revision:
			return rs.Version, true
		case revision > 0:
		case latest < 0 || sets[latest].Revision < rs.Revision:
			latest, previous = i, latest
		case previous < 0 || sets[previous].Revision < rs.Revision:
			previous = i
		}
	}
	if previous < 0 {
		return "", false
	}
	return sets[previous].Version, true
}

// Undo is the command undo; revision 0 is the previous one. It reports whether there
// was one.
func (m *Machine) Undo(revision int) bool {
	version, ok := UndoTarget(m.world.Sets, revision)
	if ok {
		m.Deploy(version)
	}
	return ok
}
