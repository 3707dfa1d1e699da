package rollouts

// InWindow says whether going from stable to target is a rollback inside
// rollbackWindow. It counts ReplicaSets born strictly between the two, whatever their
// history; births have whole seconds, so two in the same second are not ordered.
// rollout/sync.go:903 (v1.8.2)
func InWindow(sets []ReplicaSet, target, stable string, revisions int) bool {
	to, from := find(sets, target), find(sets, stable)
	if to == nil || from == nil || to.BornAt >= from.BornAt || revisions <= 0 {
		return false
	}
	between := 0
	for _, rs := range sets {
		if !rs.Experiment && to.BornAt < rs.BornAt && rs.BornAt < from.BornAt {
			between++
		}
	}
	return between < revisions
}

func find(sets []ReplicaSet, version string) *ReplicaSet {
	for i := range sets {
		if sets[i].Version == version {
			return &sets[i]
		}
	}
	return nil
}
