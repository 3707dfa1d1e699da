package rollouts

// A Decision is the canary weight that a pass wants and the branch that chose it.
//
//	A   rolling back to stable with dynamicStableScale
//	B   fully promoted
//	C   aborted
//	D   canary has no available pod
//	E   promote --full
//	F1  canary not at its size: weight of the step before
//	F2  canary at its size: weight of the step
//	F3  canary at its size and no step left: all
//	N   no steps: nothing until promotion
type Decision struct {
	Branch string
	Want   int
	Basis  Basis
	// Panics is set where the controller divides by zero replicas.
	Panics bool
}

// Decide is the weight decision of reconcileTrafficRouting, in its order.
// rollout/trafficrouting.go:156 (v1.8.2)
func (r Rules) Decide(v View) Decision {
	d := r.decide(v)
	d.Basis = r.Group.Basis(Rule("branch" + d.Branch))
	return d
}

func (r Rules) decide(v View) Decision {
	switch {
	case v.rollingBackToStable():
		return r.onAbort(v, "A")
	case v.Status.FullyPromoted():
		return Decision{Branch: "B"}
	case v.Aborted:
		return r.onAbort(v, "C")
	case v.New == nil || v.New.Available == 0:
		return Decision{Branch: "D"}
	case v.Status.PromoteFull:
		return promoteFullWeight(v)
	case len(v.Spec.Steps) == 0:
		return Decision{Branch: "N"}
	case !r.AtDesired(v, nil):
		if v.Status.Index > len(v.Spec.Steps) {
			return Decision{Branch: "F1", Panics: true} // index n+1, out of range
		}
		return Decision{Branch: "F1", Want: v.setWeightBefore(v.Status.Index)}
	case v.Status.Index != len(v.Spec.Steps):
		return Decision{Branch: "F2", Want: v.CurrentSetWeight()}
	}
	return Decision{Branch: "F3", Want: v.Spec.maxWeight()}
}

// promoteFullWeight freezes the weight at what was last written; only with
// dynamicStableScale does it follow the pods. rollout/trafficrouting.go:233 (v1.8.2)
func promoteFullWeight(v View) Decision {
	d := Decision{Branch: "E"}
	if !v.Spec.DynamicStableScale {
		d.Want = v.Status.Weights.Canary
		return d
	}
	if v.Spec.Replicas == 0 {
		d.Panics = true
		return d
	}
	d.Want = v.Spec.maxWeight() * v.New.Available / v.Spec.Replicas
	return d
}

// rollingBackToStable is isDynamicallyRollingBackToStable.
// rollout/canary.go:259 (v1.8.2)
func (v View) rollingBackToStable() bool {
	return v.Status.FullyPromoted() && v.Spec.DynamicStableScale && v.Status.HasWeights &&
		v.New != nil && v.Status.Weights.CanaryVersion != v.New.Version &&
		v.New.Available < v.Spec.Replicas
}

// onAbort is calculateDesiredWeightOnAbortOrStableRollback.
func (r Rules) onAbort(v View, branch string) Decision {
	d := Decision{Branch: branch}
	if !v.Spec.DynamicStableScale {
		return d // the stable ReplicaSet is trusted to be full size
	}
	if v.Spec.Replicas == 0 || v.Stable == nil {
		d.Panics = !r.AbortLadder
		return d
	}
	most := v.Spec.maxWeight()
	served := most * v.Stable.Available / v.Spec.Replicas
	unserved := max(0, most-served)
	if !r.AbortLadder {
		d.Want = unserved
		if v.Status.HasWeights {
			d.Want = min(d.Want, v.Status.Weights.Canary)
		}
		return d
	}
	d.Want = r.ladderWeight(v, unserved, served)
	return d
}

// ladderWeight keeps the weight until the stable pods for the next lower rung are there.
// rollout/trafficrouting.go:360 (v1.9.2)
func (r Rules) ladderWeight(v View, unserved, served int) int {
	if v.New == nil {
		return 0
	}
	rung := r.DesiredCanaryWeight(v)
	if !v.Status.HasWeights {
		return max(unserved, rung)
	}
	now := v.Status.Weights.Canary
	if rung <= 0 {
		return min(unserved, now)
	}
	if served < v.Spec.maxWeight()-rung {
		return now
	}
	return min(rung, now)
}

// StableNeeds is the number of available stable pods that branch G asks for before a
// canary weight is applied, rounded down. rollout/trafficrouting.go:138 (v1.8.2)
func (r Rules) StableNeeds(spec Spec, want int) int {
	if !r.StableGuard {
		return 0
	}
	divisor := 100
	if r.StableGuardOfMaxWeight {
		divisor = spec.maxWeight()
	}
	return (spec.maxWeight() - want) * spec.Replicas / divisor
}

// stableReady is branch G: false leaves all routing as it is, without an error.
func (r Rules) stableReady(v View, want int) bool {
	if !r.StableGuard {
		return true
	}
	if v.Stable == nil {
		return false
	}
	needs := r.StableNeeds(v.Spec, want)
	if v.Stable.Available >= needs {
		return true
	}
	return r.ProgressThreshold && r.thresholdMet(v.Spec, v.Stable, needs)
}

// A SubsetDecision is what branch I does with the DestinationRule.
type SubsetDecision struct {
	Write bool
	// Blocking is the ReplicaSet whose missing pods hold the subsets back.
	Blocking string
	// Fails ends the pass before scaling and before the status patch.
	Fails bool
}

// DecideSubsets is the guard in Istio's UpdateHash.
// rollout/trafficrouting/istio/istio.go:323 (v1.8.2)
func (r Rules) DecideSubsets(v View, sets []ReplicaSet, canary, stable string) SubsetDecision {
	if v.Spec.Routing != RoutingSubsets || r.SubsetGuard == SubsetGuardNone {
		return SubsetDecision{Write: true}
	}
	exempt := r.SubsetGuard == SubsetGuardErrorStableCanary &&
		(v.Status.Abort || v.rollingBackTo(find(sets, stable)))
	for _, rs := range sets {
		if rs.Size == 0 || rs.fullyAvailable() {
			continue
		}
		if r.SubsetGuard != SubsetGuardErrorAny && rs.Version != canary && rs.Version != stable {
			continue
		}
		if exempt && rs.Version == canary {
			continue
		}
		return SubsetDecision{Blocking: rs.Version, Fails: r.SubsetGuard != SubsetGuardSkip}
	}
	return SubsetDecision{Write: true}
}

// rollingBackTo asks rollingBackToStable about a ReplicaSet, as
// AbortOrDynamicRollbackToStable does. utils/rollout/rolloututil.go:50 (v1.9.2)
func (v View) rollingBackTo(rs *ReplicaSet) bool {
	if rs == nil {
		return false
	}
	v.New = rs
	return v.rollingBackToStable()
}
