package statefulset

import "fmt"

// A Phase is the time between two changes of a set's spec or template.
type Phase struct {
	Set Set
	// Deletions are the ordinals that the controller deleted, in order. The first can
	// still be one that was under way when the set changed.
	Deletions []int
	// BelowPartition are those of them that the partition protects.
	BelowPartition []int
	LeastReady     int
	// MostDown is the most pods at once that the controller deleted and that were not
	// ready again.
	MostDown int
	// Disturbed says that something else than the update happened: a pod lost its
	// readiness or failed, somebody else deleted one, some were not ready at the
	// beginning, or the scale changed.
	Disturbed bool
}

// Phases cuts a history into its phases; the first begins with the set.
func Phases(history []Event) ([]Phase, error) {
	var out []Phase
	now, down := snapshot{map[int]Pod{}, map[int]int{}}, map[int]bool{}
	for i, e := range history {
		if e.Kind == SetChanged && e.Set != nil {
			if len(out) == 0 || !sameGoal(out[len(out)-1].Set, *e.Set) {
				out = append(out, begin(*e.Set, now))
				clear(down)
			}
			continue
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("event %d: %s: there is no set yet", i+1, e)
		}
		phase := &out[len(out)-1]
		phase.see(e, now, down)
		if err := now.apply(e); err != nil {
			return nil, fmt.Errorf("event %d: %s: %w", i+1, e, err)
		}
		phase.LeastReady = min(phase.LeastReady, readyPods(now.pods))
	}
	return out, nil
}

func sameGoal(a, b Set) bool { return a.Spec == b.Spec && a.Template == b.Template }

func begin(set Set, now snapshot) Phase {
	ready := readyPods(now.pods)
	return Phase{Set: set, LeastReady: ready, Disturbed: ready != set.Spec.Replicas || len(now.pods) != ready}
}

func (p *Phase) see(e Event, now snapshot, down map[int]bool) {
	pod := now.pods[e.Ordinal]
	switch verb, ok := now.call(e); {
	case ok && verb == Delete:
		p.Deletions = append(p.Deletions, e.Ordinal)
		if index := e.Ordinal - p.Set.Spec.Start; index >= 0 && index < p.Set.Spec.partition() && !pod.Failed {
			p.BelowPartition = append(p.BelowPartition, e.Ordinal)
		}
		down[e.Ordinal] = true
		p.MostDown = max(p.MostDown, len(down))
	case e.Kind == Ready:
		delete(down, e.Ordinal)
	case e.By != "", e.Kind == Unready, e.Kind == Failed:
		p.Disturbed = true
	}
}

// Broken lists the promises of a rolling update that the phase breaks: pods go from the
// highest ordinal down, those below the partition stay, and no more than maxUnavailable
// are down. Order and number are promised only while nothing disturbs the update; what a
// disturbed controller may do only a Checker can tell.
func (p Phase) Broken(rules Rules) []string {
	var out []string
	own := p.Deletions
	if len(own) > 0 {
		own = own[1:] // see Deletions
	}
	for _, ordinal := range own {
		for _, below := range p.BelowPartition {
			if ordinal == below {
				out = append(out, fmt.Sprintf("%d is below the partition and was deleted", ordinal))
			}
		}
	}
	if p.Disturbed || p.Set.Spec.Bare {
		return out
	}
	for i := 1; i < len(own); i++ {
		if own[i] >= own[i-1] {
			out = append(out, fmt.Sprintf("%d was deleted after %d", own[i], own[i-1]))
		}
	}
	if limit := rules.MaxUnavailableOf(p.Set.Spec); p.MostDown > limit {
		out = append(out, fmt.Sprintf("%d pods were down, %d may be", p.MostDown, limit))
	}
	return out
}
