package rollouts

import "math"

// ShareOf is the number of pods that a weight needs, rounded up.
// utils/replicaset/canary.go:388 (v1.8.2)
func ShareOf(replicas, weight, maxWeight int) int {
	return int(math.Ceil(float64(weight) * float64(replicas) / float64(maxWeight)))
}

// Floor applies minPodsPerReplicaSet. Zero stays zero.
// utils/replicaset/canary.go:327 (v1.8.2), :357 (v1.10.1)
func (r Rules) Floor(spec Spec, count int) int {
	if count == 0 || spec.MinPods == 0 {
		return count
	}
	least := spec.MinPods
	if r.MinPodsCappedToReplicas {
		least = min(least, spec.Replicas)
	}
	return max(count, least)
}

// CurrentSetWeight is the last setWeight at or before the current step, the full weight
// after the last step, and 0 when aborted.
// utils/replicaset/canary.go:484 (v1.8.2)
func (v View) CurrentSetWeight() int {
	if v.Status.Abort {
		return 0
	}
	if v.step() == nil {
		return v.Spec.maxWeight()
	}
	return v.setWeightBefore(v.Status.Index + 1)
}

// setWeightBefore is the last setWeight in Steps[:end], 0 if none.
func (v View) setWeightBefore(end int) int {
	for i := end - 1; i >= 0; i-- {
		if w := v.Spec.Steps[i].SetWeight; w != nil {
			return *w
		}
	}
	return 0
}

// DesiredCanaryWeight is the weight that sizes the canary. It differs from
// CurrentSetWeight only on abort with dynamicStableScale, where it is the next lower rung
// of the setWeight steps. utils/replicaset/canary.go:512 (v1.9.2)
func (r Rules) DesiredCanaryWeight(v View) int {
	ladder := r.AbortLadder && v.Status.Abort && v.Spec.DynamicStableScale
	if !ladder || v.New == nil || v.Stable == nil {
		return v.CurrentSetWeight()
	}
	canary := max(v.Spec.Replicas-v.Stable.Available, v.New.Available)
	for i := len(v.Spec.Steps) - 1; i >= 0; i-- {
		w := v.Spec.Steps[i].SetWeight
		if w != nil && ShareOf(v.Spec.Replicas, *w, v.Spec.maxWeight()) < canary {
			return *w
		}
	}
	return 0
}

// canaryScale is UseSetCanaryScale: the last setCanaryScale at or before the current
// step, with traffic routing. On abort it counts only with abortScaleDownDelaySeconds: 0.
// utils/replicaset/canary.go:505 (v1.8.2)
func (v View) canaryScale() *CanaryScale {
	if _, never, _ := v.Spec.abortDelay(); v.Spec.basic() || v.Status.Abort && !never {
		return nil
	}
	if v.step() == nil {
		return nil
	}
	for i := v.Status.Index; i >= 0; i-- {
		scale := v.Spec.Steps[i].SetCanaryScale
		if scale == nil {
			continue
		}
		if scale.MatchTrafficWeight {
			return nil
		}
		return scale
	}
	return nil
}

// replicasOrWeight is GetCanaryReplicasOrWeight: a fixed count, or the sizing weight.
// utils/replicaset/canary.go:467 (v1.8.2)
func (r Rules) replicasOrWeight(v View) (*int, int) {
	if v.Status.PromoteFull || v.Status.Stable == "" || v.Status.FullyPromoted() {
		return nil, v.Spec.maxWeight()
	}
	if scale := v.canaryScale(); scale != nil {
		if scale.Replicas != nil {
			return scale.Replicas, 0
		}
		if scale.Weight != nil {
			return nil, *scale.Weight
		}
	}
	return nil, r.DesiredCanaryWeight(v)
}

// Counts returns the wanted sizes of the canary and the stable ReplicaSet. weights is the
// traffic as last written, nil to ignore it.
// utils/replicaset/canary.go:341 (v1.8.2)
func (r Rules) Counts(v View, weights *Weights) (canary, stable int) {
	replicas, most := v.Spec.Replicas, v.Spec.maxWeight()
	fixed, weight := r.replicasOrWeight(v)
	if fixed != nil {
		canary = *fixed // not floored
	} else {
		canary = r.Floor(v.Spec, ShareOf(replicas, weight, most))
	}
	if !v.Spec.DynamicStableScale {
		return canary, replicas
	}
	stable = ShareOf(replicas, most-weight, most)
	if weights != nil {
		stable = max(stable, ShareOf(replicas, weights.Stable, most))
		if v.Status.Abort {
			canary = max(canary, ShareOf(replicas, weights.Canary, most))
		}
	}
	return r.Floor(v.Spec, canary), r.Floor(v.Spec, stable)
}

// counts are those of Counts, or without traffic routing of BasicCounts.
func (r Rules) counts(v View, weights *Weights) (canary, stable int) {
	if v.Spec.basic() {
		return r.BasicCounts(v)
	}
	return r.Counts(v, weights)
}

// thresholdMet is ReplicaProgressThresholdMet: without a threshold, spec and available
// must equal what is wanted. utils/replicaset/canary.go:36 (v1.9.2), :23 (v1.8.2)
func (r Rules) thresholdMet(spec Spec, rs *ReplicaSet, want int) bool {
	t := spec.Threshold
	if !r.ProgressThreshold || t == nil || rs == nil || t.Value < 0 {
		return rs != nil && rs.Size == want && rs.Available == want
	}
	if t.Type == ThresholdPods {
		return rs.Available >= t.Value
	}
	if want == 0 {
		return true
	}
	percent := float64(rs.Available) / float64(want) * 100
	return percent >= float64(t.Value)-1e-10
}

// AtDesired says whether the canary has the pods its step wants. The stable ReplicaSet
// must have them created, not available. utils/replicaset/canary.go:31 (v1.8.2)
func (r Rules) AtDesired(v View, weights *Weights) bool {
	canary, stable := r.counts(v, weights)
	if !r.thresholdMet(v.Spec, v.New, canary) {
		return false
	}
	if v.Spec.DynamicStableScale {
		return true
	}
	for _, rs := range v.Others {
		if v.Spec.basic() && rs.Available > 0 {
			return false // without routing their pods get traffic
		}
	}
	return v.Stable != nil && v.Stable.Size == stable && v.Stable.Created == stable
}
