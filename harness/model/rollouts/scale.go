package rollouts

import (
	"cmp"
	"fmt"
	"slices"
)

// scale is reconcileCanaryReplicaSets: the stable, then the new, then the others, and no
// further once one changed. rollout/canary.go:433 (v1.8.2)
func (p *pass) scale() bool {
	p.removeDeadlines()
	if p.scaleStable() || p.scaleNew() {
		return true
	}
	return p.scaleOthers()
}

// live is the world's ReplicaSet behind one of the view's.
func (p *pass) live(rs *ReplicaSet) *ReplicaSet { return find(p.m.world.Sets, rs.Version) }

// removeDeadlines forgets the scale-down of ReplicaSets that are in use again.
// rollout/replicaset.go:100 (v1.8.2)
func (p *pass) removeDeadlines() {
	v := p.view()
	if v.New != nil && !p.delaysAbort(v) {
		p.live(v.New).Deadline = nil
	}
	if v.Stable != nil && (v.New == nil || v.Stable.Version != v.New.Version) {
		p.live(v.Stable).Deadline = nil
	}
}

func (p *pass) resize(rs *ReplicaSet, size int) bool {
	live := p.live(rs)
	p.desire(live)
	if live.Size == size {
		return false
	}
	p.event(EventScaling, fmt.Sprintf("%s from %d to %d", rs.Version, live.Size, size))
	live.Size = size
	if size == 0 && !p.delaysAbort(p.view()) {
		live.Deadline = nil
	}
	return true
}

// desire is the annotation that a ReplicaSet gets with its size.
// rollout/sync.go:371 (v1.8.2)
func (p *pass) desire(live *ReplicaSet) {
	replicas := p.m.spec.Replicas
	live.Desired = &replicas
}

// scaleStable sizes by the weights of the pass before, so that the stable pods outlive
// the traffic to them. rollout/canary.go:98 (v1.8.2)
func (p *pass) scaleStable() bool {
	v := p.view()
	if v.Stable == nil || (v.New != nil && v.New.Version == v.Stable.Version) {
		return false
	}
	_, stable := p.rules.counts(v, v.Status.weights())
	return p.resize(v.Stable, stable)
}

// scaleNew is reconcileNewReplicaSet. rollout/replicaset.go:119 (v1.8.2)
func (p *pass) scaleNew() bool {
	v := p.view()
	if v.New == nil {
		return false
	}
	size := p.newSize(v)
	if p.delaysAbort(v) {
		keep, down := p.abortDelay(v)
		if keep {
			return false
		}
		if down {
			size = 0
		}
	}
	return p.resize(v.New, size)
}

func (p *pass) newSize(v View) int {
	if v.Spec.BlueGreen != nil {
		return v.previewSize()
	}
	size, _ := p.rules.counts(v, p.newStatus.weights())
	return size
}

// delaysAbort is shouldDelayScaleDownOnAbort. rollout/replicaset.go:187 (v1.8.2)
func (p *pass) delaysAbort(v View) bool {
	if !p.aborted() || v.Stable == nil || v.Spec.basic() {
		return false
	}
	_, never, set := v.Spec.abortDelay()
	return !never && (!v.Spec.DynamicStableScale || set)
}

// abortDelay tells whether to keep an aborted canary as it is, or to take it down. It
// starts the delay once the stable pods can take everything. A deadline beyond the
// resync period is not waited for. rollout/replicaset.go:133 (v1.8.2)
func (p *pass) abortDelay(v View) (keep, down bool) {
	rs, now := p.live(v.New), p.m.world.Now
	if p.rules.AbortDelaySyncsReplicas && (rs.Deadline == nil || *rs.Deadline > now) {
		p.desire(rs)
	}
	if rs.Deadline != nil {
		return *rs.Deadline > now && *rs.Deadline-now < defaultResync, *rs.Deadline <= now
	}
	full := v.Stable.Available == v.Spec.Replicas
	if p.rules.AbortDelayAtLeast {
		full = v.Stable.Available >= v.Spec.Replicas
	}
	if full {
		seconds, _, _ := v.Spec.abortDelay()
		at := now + seconds
		rs.Deadline = &at
	}
	return true, false
}

// scaleOthers takes old ReplicaSets down, newest first, as far as availability allows.
// rollout/canary.go:168 (v1.8.2)
func (p *pass) scaleOthers() bool {
	v := p.view()
	others := p.others(v)
	scaled := p.removeUnhealthy(others)
	total := 0
	for _, rs := range p.start.Sets {
		total += rs.Available
	}
	_, unavailable := v.Spec.fences()
	spare := total - (v.Spec.Replicas - unavailable)
	if spare <= 0 {
		return false // it reports no scaling, even if it removed unhealthy pods
	}
	for _, rs := range others {
		if spare <= 0 {
			break
		}
		live := p.live(&rs)
		if !v.Spec.basic() && p.referenced(rs.Version) || live.Size == 0 {
			continue
		}
		was, size := live.Size, max(0, live.Size-spare)
		if !v.Spec.basic() {
			size = p.otherSize(v, live)
		}
		if p.resize(&rs, size) {
			spare -= was - live.Size
			scaled = true
		}
	}
	return scaled
}

func (p *pass) others(v View) []ReplicaSet {
	var out []ReplicaSet
	for _, rs := range p.start.Sets {
		isNew := v.New != nil && rs.Version == v.New.Version
		isStable := v.Stable != nil && rs.Version == v.Stable.Version
		if !isNew && !isStable && rs.Size > 0 {
			out = append(out, rs)
		}
	}
	slices.SortStableFunc(out, func(a, b ReplicaSet) int { return cmp.Compare(b.Revision, a.Revision) })
	return out
}

// removeUnhealthy first drops the pods of old ReplicaSets that are not available.
// rollout/replicaset.go:250 (v1.8.2)
func (p *pass) removeUnhealthy(others []ReplicaSet) bool {
	scaled := false
	for _, rs := range others {
		if rs.Available < rs.Size && p.resize(&rs, rs.Available) {
			scaled = true
		}
	}
	return scaled
}

// otherSize is 0 for an intermediate version, and the present size during the
// scale-down delay of a former stable one. rollout/replicaset.go:282 (v1.8.2)
func (p *pass) otherSize(v View, rs *ReplicaSet) int {
	if !v.Status.FullyPromoted() && rs.Deadline == nil || v.Spec.DynamicStableScale {
		return 0
	}
	if rs.Deadline == nil {
		at := p.m.world.Now + v.Spec.scaleDownDelay()
		rs.Deadline = &at
		return rs.Size
	}
	if *rs.Deadline > p.m.world.Now {
		return rs.Size
	}
	return 0
}

// referenced is isReplicaSetReferenced: something may still send traffic there.
// rollout/replicaset.go:321 (v1.8.2), :397 (v1.9.2)
func (p *pass) referenced(version string) bool {
	s, w := p.start.Status, p.m.world
	names := []string{s.Stable, s.Current}
	if s.HasWeights {
		names = append(names, s.Weights.CanaryVersion, s.Weights.StableVersion)
	}
	if p.m.spec.Routing == RoutingServices {
		names = append(names, w.CanaryService.Selector, w.StableService.Selector)
	} else if p.rules.SubsetReferenceKeepsPods {
		names = append(names, w.Subsets.Canary, w.Subsets.Stable)
	}
	return slices.Contains(names, version)
}
