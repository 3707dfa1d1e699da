package statefulset

import (
	"fmt"
	"maps"
	"slices"
)

// Verb is what the controller does to a pod.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Delete Verb = "delete"
)

// Why is the reason of an action.
type Why string

const (
	// WhyMissing fills an empty ordinal. stateful_set_control.go:439
	WhyMissing Why = "missing"
	// WhyFailed replaces a pod whose phase is final. stateful_set_control.go:429
	WhyFailed Why = "failed"
	// WhyScaleDown removes a pod out of range. stateful_set_control.go:537
	WhyScaleDown Why = "scale down"
	// WhyUpdate removes the highest pod of an old revision.
	// stateful_set_control.go:752, :899, :919
	WhyUpdate Why = "update"
	// WhyBroken removes an unavailable pod of an old revision before the healthy ones.
	// stateful_set_control.go:882
	WhyBroken Why = "update of an unavailable pod"
)

// An Action is one call of the controller. A delete names the pod and nothing else: no
// UID, no resourceVersion. stateful_pod_control.go:119
type Action struct {
	Verb    Verb
	Ordinal int
	// Revision is that of the pod made, or of the pod deleted as the controller saw it.
	Revision string
	Why      Why
	// Batch orders the calls of a pass: those of one batch are sent at once, and a batch
	// begins when the one before succeeded. stateful_set_control.go:334
	Batch int
}

// String is "create 4 at v2" or "delete 4".
func (a Action) String() string {
	if a.Verb == Create {
		return fmt.Sprintf("create %d at %s", a.Ordinal, a.Revision)
	}
	return fmt.Sprintf("delete %d", a.Ordinal)
}

// A Pass is what one reconcile does.
type Pass struct {
	Actions []Action
	// Waits says what kept the pass from doing more; empty when nothing did.
	Waits string
	// Current and CurrentReplicas are the status that the pass writes.
	Current         string
	CurrentReplicas int
}

// slot is a place in the set: its pod, or the one that is about to be made.
type slot struct {
	ordinal int
	pod     Pod
	exists  bool
}

type pass struct {
	rules     Rules
	set       Set
	pods      map[int]Pod
	replicas  []slot // in range, ascending
	condemned []slot // out of range, descending
	batch     int
	updated   int // pods deleted for the update
	out       Pass
}

// Reconcile is one pass: missing pods, then pods out of range, then the update. It is
// updateStatefulSet. stateful_set_control.go:564
func (r Rules) Reconcile(v View) Pass {
	p := &pass{rules: r, set: v.Set, pods: v.Pods}
	p.sort()
	if p.fill() && p.scaleDown() && !v.Set.Spec.OnDelete {
		p.update()
	}
	p.status()
	return p.out
}

// sort makes the slots; an empty one holds the pod that would fill it.
// stateful_set_control.go:604
func (p *pass) sort() {
	spec := p.set.Spec
	for ordinal := spec.Start; ordinal <= spec.end(); ordinal++ {
		pod, ok := p.pods[ordinal]
		if !ok {
			pod = Pod{Revision: p.set.RevisionFor(ordinal)}
		}
		p.replicas = append(p.replicas, slot{ordinal, pod, ok})
	}
	for _, ordinal := range slices.Backward(slices.Sorted(maps.Keys(p.pods))) {
		if !spec.inRange(ordinal) {
			p.condemned = append(p.condemned, slot{ordinal, p.pods[ordinal], true})
		}
	}
}

func (p *pass) do(verb Verb, s slot, why Why, batch int) {
	p.out.Actions = append(p.out.Actions, Action{verb, s.ordinal, s.pod.Revision, why, batch})
	p.batch = batch + 1
}

// wait ends the pass.
func (p *pass) wait(format string, args ...any) bool {
	p.out.Waits = fmt.Sprintf(format, args...)
	return false
}

// fill makes missing pods. An ordered set stops at the first pod that is not available:
// also in the middle of an update, and before the pod could be replaced by it.
// stateful_set_control.go:421, :690
func (p *pass) fill() bool {
	ordered := p.set.Spec.ordered()
	batches := p.batches(len(p.replicas))
	for i, s := range p.replicas {
		if s.pod.Failed {
			if !s.pod.Terminating {
				p.do(Delete, s, WhyFailed, batches[i])
			}
		} else if !s.exists {
			p.do(Create, s, WhyMissing, batches[i])
		}
		if ordered && (!s.exists || s.pod.Failed || s.pod.unavailable()) {
			return p.wait("ordinal %d to be available", s.ordinal)
		}
	}
	p.batch = 1 + slices.Max(append(batches, p.batch-1))
	return true
}

// scaleDown removes pods out of range, from the highest. An ordered set removes one at a
// time, and a pod that is unavailable only if it is the lowest such: with two of them it
// waits for ever. stateful_set_control.go:511, :720
func (p *pass) scaleDown() bool {
	if !p.set.Spec.ordered() {
		batches := p.batches(len(p.condemned))
		for i, s := range p.condemned {
			if !s.pod.Terminating {
				p.do(Delete, s, WhyScaleDown, batches[i])
			}
		}
		p.batch = 1 + slices.Max(append(batches, p.batch-1))
		return true
	}
	if len(p.condemned) == 0 {
		return true
	}
	s, first := p.condemned[0], 0
	for _, c := range p.condemned {
		if c.pod.unavailable() {
			first = c.ordinal
		}
	}
	switch {
	case s.pod.Terminating:
		return p.wait("ordinal %d to be gone", s.ordinal)
	case s.pod.unavailable() && s.ordinal != first:
		return p.wait("ordinal %d to be available before it is removed", s.ordinal)
	}
	p.do(Delete, s, WhyScaleDown, p.batch)
	return false
}

// maxBatch is MaxBatchSize. stateful_set_control.go:45
const maxBatch = 500

// batches numbers the calls of a slow start: 1, 2, 4 and so on at once. An ordered set
// goes one by one. stateful_set_control.go:334, :540
func (p *pass) batches(n int) []int {
	out := make([]int, 0, n)
	for size, batch := 1, p.batch; len(out) < n; batch++ {
		for range min(size, n-len(out)) {
			out = append(out, batch)
		}
		if !p.set.Spec.ordered() {
			size = min(2*size, maxBatch)
		}
	}
	return out
}

// status counts the pods as they were seen, less those deleted for the update, and moves
// the current revision on when all are updated and ready; available they need not be.
// stateful_set_control.go:374, stateful_set_utils.go:645
func (p *pass) status() {
	updated, ready := 0, 0
	p.out.Current = p.set.current()
	for _, pod := range p.pods {
		if pod.Ready {
			ready++
		}
		if !pod.Terminating && pod.Revision == p.out.Current {
			p.out.CurrentReplicas++
		}
		if !pod.Terminating && pod.Revision == p.set.Template {
			updated++
		}
	}
	p.out.CurrentReplicas -= p.updated
	n := p.set.Spec.Replicas
	if (p.rules.CompletesAlways || !p.set.Spec.OnDelete) && updated == n && ready == n && len(p.pods) == n {
		p.out.Current, p.out.CurrentReplicas = p.set.Template, updated
	}
}
