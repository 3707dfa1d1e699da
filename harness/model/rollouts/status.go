package rollouts

// Weights is status.canary.weights.
type Weights struct {
	Canary, Stable               int
	CanaryVersion, StableVersion string
}

// Status is the part of a Rollout's status that the controller's decisions read.
type Status struct {
	Stable, Current string
	StepsHash       string
	Index           int
	Abort           bool
	PromoteFull     bool
	ControllerPause bool
	Paused          bool
	PausedAt        int
	HasWeights      bool
	Weights         Weights
	// Active and Preview are the selectors as a blue-green status has them.
	Active, Preview string
	// CheckPoint is status.blueGreen.scaleUpPreviewCheckPoint: the preview was approved
	// and may have all of its pods.
	CheckPoint bool
	Progress   Progress
	// Healthy is the condition of that name.
	Healthy bool
	Counts  Counts
}

// FullyPromoted says whether the wanted ReplicaSet is the stable one.
// utils/rollout/rolloututil.go:19 (v1.8.2)
func (s Status) FullyPromoted() bool { return s.Stable == s.Current }

func (s Status) weights() *Weights {
	if !s.HasWeights {
		return nil
	}
	w := s.Weights
	return &w
}

// A ReplicaSet is one revision's pods. Size is spec.replicas, Created status.replicas.
type ReplicaSet struct {
	Version   string
	BornAt    int // creationTimestamp, whole seconds
	Revision  int
	Size      int
	Created   int
	Available int
	// Deadline is the scale-down-deadline annotation, nil if there is none.
	Deadline *int
	// Desired is the desired-replicas annotation, spec.replicas when this ReplicaSet was
	// last sized; nil if there is none.
	Desired *int
	// Experiment marks a ReplicaSet of an experiment; the window does not count it.
	Experiment bool
}

// fullyAvailable is IsReplicaSetAvailable.
// utils/replicaset/replicaset.go:640 (v1.8.2)
func (rs ReplicaSet) fullyAvailable() bool {
	return rs.Size != 0 && rs.Available != 0 && rs.Size <= rs.Available
}

// The phases of a Rollout, as status.phase has them.
const (
	PhaseDegraded    = "Degraded"
	PhasePaused      = "Paused"
	PhaseProgressing = "Progressing"
	PhaseHealthy     = "Healthy"
)

// phase is CalculateRolloutPhase. utils/rollout/rolloututil.go:91 (v1.8.2)
func (m *Machine) phase() string {
	s, available, created := m.world.Status, 0, 0
	for _, rs := range m.world.Sets {
		available, created = available+rs.Available, created+rs.Created
	}
	updated := 0
	if rs := find(m.world.Sets, m.world.Template); rs != nil {
		updated = rs.Created
	}
	switch {
	case s.Progress.Reason == ReasonAborted, s.Progress.Reason == ReasonTimedOut:
		return PhaseDegraded
	case s.Paused:
		return PhasePaused
	case m.spec.basic() && created > updated:
		return PhaseProgressing
	case updated < m.spec.Replicas, available < updated, s.Stable == "", !s.FullyPromoted():
		return PhaseProgressing
	}
	return PhaseHealthy
}

// A View is all that the formulas read: one pass's copy of the world.
type View struct {
	Spec   Spec
	Status Status
	// New and Stable are nil when there is no such ReplicaSet. They may be the same.
	New, Stable *ReplicaSet
	// Others are all others.
	Others []ReplicaSet
	// Aborted is status.abort unless this pass removed it already.
	// rollout/controller.go:572 (v1.8.2)
	Aborted bool
}

// step is GetCurrentCanaryStep: nil when there are no steps or none is left.
// utils/replicaset/canary.go:452 (v1.8.2)
func (v View) step() *Step {
	if v.Status.Index < 0 || v.Status.Index >= len(v.Spec.Steps) {
		return nil
	}
	return &v.Spec.Steps[v.Status.Index]
}
