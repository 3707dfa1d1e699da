package rollouts

import "math"

// basic says that there is no traffic routing: pods are the only weights.
func (s Spec) basic() bool { return s.Routing == RoutingNone }

// fences are maxSurge and maxUnavailable in pods: 25 % by default, rounded up and down,
// and one pod unavailable if both come to nothing.
// utils/replicaset/replicaset.go:407 (v1.8.2)
func (s Spec) fences() (surge, unavailable int) {
	surge, unavailable = (s.Replicas+3)/4, s.Replicas/4
	if s.MaxSurge != nil {
		surge = *s.MaxSurge
	}
	if s.MaxUnavailable != nil {
		unavailable = *s.MaxUnavailable
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, s.Replicas)
}

// BasicCounts returns the sizes that the canary and the stable ReplicaSet get in this
// pass without traffic routing: a way, inside maxSurge and maxUnavailable, towards those
// that come closest to the weight. utils/replicaset/canary.go:94 (v1.8.2)
func (r Rules) BasicCounts(v View) (canary, stable int) {
	b := basicCounts{v: v}
	b.surge, b.unavailable = v.Spec.fences()
	_, weight := r.replicasOrWeight(v)
	b.wantCanary, b.wantStable = ApproximateCounts(v.Spec.Replicas, weight, v.Spec.maxWeight(), b.surge)
	if !b.hasStable() {
		b.wantCanary, b.wantStable = v.Spec.Replicas, 0
	}
	b.scaleUp()
	if sizeOf(v.Others...) > 0 {
		return b.canary, b.stable // older versions go first
	}
	b.scaleDown()
	return b.canary, b.stable
}

type basicCounts struct {
	v                      View
	surge, unavailable     int
	wantCanary, wantStable int
	canary, stable         int
}

func (b *basicCounts) hasStable() bool {
	return b.v.Stable != nil && (b.v.New == nil || b.v.New.Version != b.v.Stable.Version)
}

// scaleUp gives the stable what may be added first, then the canary.
func (b *basicCounts) scaleUp() {
	spare := b.v.Spec.Replicas + b.surge - sizeOf(b.v.Others...)
	if b.v.New != nil {
		b.canary = b.v.New.Size
		spare -= b.canary
	}
	if b.hasStable() {
		b.stable = b.v.Stable.Size
		spare -= b.stable
		if more := min(spare, b.wantStable-b.stable); more > 0 {
			b.stable += more
			spare -= more
		}
	}
	if more := min(spare, b.wantCanary-b.canary); b.v.New != nil && more > 0 {
		b.canary += more
	}
}

// scaleDown takes from the version that shrinks what availability allows. Pods of the one
// that grows count only if they are available.
func (b *basicCounts) scaleDown() {
	least := b.v.Spec.Replicas - b.unavailable
	growing := b.v.New == nil || b.wantCanary >= b.v.New.Size
	spare := forScaleDown(b.v.New, !growing) + forScaleDown(b.v.Stable, growing) - least
	if spare <= 0 {
		return
	}
	if !growing {
		b.canary = drained(b.v.New, b.wantCanary, spare, b.canary)
		b.canary, b.stable = b.within(b.v.New, b.v.Stable, b.canary, b.stable)
	} else if b.hasStable() {
		b.stable = drained(b.v.Stable, b.wantStable, spare, b.stable)
		b.stable, b.canary = b.within(b.v.Stable, b.v.New, b.stable, b.canary)
	}
}

// forScaleDown is GetReplicasForScaleDown. utils/replicaset/canary.go:432 (v1.8.2)
func forScaleDown(rs *ReplicaSet, ignoreAvailability bool) int {
	switch {
	case rs == nil:
		return 0
	case ignoreAvailability || rs.Size < rs.Available:
		return rs.Size
	}
	return rs.Available
}

func drained(rs *ReplicaSet, want, spare, now int) int {
	if rs != nil && rs.Size > want {
		return max(want, rs.Size-spare)
	}
	return now
}

// within is adjustReplicaWithinLimits. utils/replicaset/canary.go:272 (v1.8.2)
func (b *basicCounts) within(drain, other *ReplicaSet, drainCount, otherCount int) (int, int) {
	most, least := b.v.Spec.Replicas+b.surge, b.v.Spec.Replicas-b.unavailable
	over := max(0, otherCount+drainCount-most)
	available := 0
	if drain != nil {
		available += min(drain.Available, drainCount)
	}
	if other != nil {
		otherCount -= over
		available += min(other.Available, otherCount)
		lost := max(0, other.Available-otherCount)
		otherCount += min(lost, max(0, least-available))
		drainCount -= max(0, otherCount+drainCount-most)
	}
	return drainCount, otherCount
}

// ApproximateCounts are the sizes whose share comes closest to a weight, among those of
// replicas pods and, if pods may be added, of one more. Of equally close ones it is the
// first, with the larger canary. utils/replicaset/canary.go:188 (v1.8.2)
func ApproximateCounts(replicas, weight, most, surge int) (canary, stable int) {
	if replicas == 0 {
		return 0, 0
	}
	type option struct{ canary, total int }
	var options []option
	up, down := ShareOf(replicas, weight, most), replicas*weight/most
	zero := weight == most || weight == 0 || replicas == 1 && surge == 0
	if up < replicas || zero {
		options = append(options, option{up, replicas})
	}
	if !tied(weight, most, replicas) && (down != 0 || zero) {
		options = append(options, option{down, replicas})
	}
	if surge > 0 {
		options = append(options, option{up, replicas + 1})
		if !tied(weight, most, replicas+1) && (down != 0 || zero) {
			options = append(options, option{down, replicas + 1})
		}
	}
	if len(options) == 0 {
		return 0, replicas
	}
	best := options[0]
	off := func(o option) float64 {
		return math.Abs(float64(o.canary*most)/float64(o.total) - float64(weight))
	}
	for _, o := range options[1:] {
		if off(o) < off(best) {
			best = o
		}
	}
	return best.canary, best.total - best.canary
}

// tied says whether rounding up and down are as far from the weight.
func tied(weight, most, total int) bool {
	_, rest := math.Modf(float64(total) * (float64(weight) / float64(most)))
	return rest == 0.5
}

func sizeOf(sets ...ReplicaSet) int {
	n := 0
	for _, rs := range sets {
		n += rs.Size
	}
	return n
}
