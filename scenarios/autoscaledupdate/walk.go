package autoscaledupdate

import (
	"fmt"

	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/series"
)

// walk follows spec.replicas, the pods that run and those that do not run yet. A sync
// reads the pods first and writes the size later, so that a size may rest on any
// state since the one before it.
type walk struct {
	autoscaler autoscaler.Autoscaler
	seen       map[[2]int]bool // running and pending pods since the last change of the size
}

func (w *walk) next(state []series.Value) error {
	size, found := int(state[0].Num), [2]int{int(state[1].Num), int(state[2].Num)}
	if w.seen == nil {
		w.autoscaler, w.seen = w.autoscaler.At(size), map[[2]int]bool{}
	}
	w.seen[found] = true
	if size == w.autoscaler.Current {
		return nil
	}
	for pods := range w.seen {
		if reached, ok := w.autoscaler.Reaches(size, pods[0], pods[1]); ok {
			w.autoscaler, w.seen = reached, map[[2]int]bool{found: true}
			return nil
		}
	}
	return fmt.Errorf("%d replicas became %d: no number of pods since the last change leads there", w.autoscaler.Current, size)
}
