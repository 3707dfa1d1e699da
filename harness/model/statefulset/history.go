package statefulset

import (
	"fmt"
	"maps"
)

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	SetChanged  Kind = "set"
	Added       Kind = "add"
	Ready       Kind = "ready"
	Unready     Kind = "unready"
	Failed      Kind = "failed"
	Terminating Kind = "terminating"
	Gone        Kind = "gone"
)

// An Event is one change of the set or of one pod, in the order of resourceVersions.
// minReadySeconds must be 0: a ready pod is available.
type Event struct {
	Kind    Kind
	Ordinal int `json:",omitempty"`
	// Revision is the pod's; of Added only.
	Revision string `json:",omitempty"`
	// Set is the set from now on; of SetChanged only.
	Set *Set `json:",omitempty"`
	// By names who made or deleted the pod if it was not the controller.
	By string `json:",omitempty"`
}

// String is one line for people.
func (e Event) String() string {
	text := fmt.Sprintf("%s %d", e.Kind, e.Ordinal)
	switch {
	case e.Kind == SetChanged && e.Set == nil:
		return "set"
	case e.Kind == SetChanged:
		return fmt.Sprintf("set replicas=%d partition=%d template=%s current=%s",
			e.Set.Spec.Replicas, e.Set.Spec.Partition, e.Set.Template, e.Set.Current)
	case e.Kind == Added:
		text += " at " + e.Revision
	}
	if e.By != "" {
		text += " by " + e.By
	}
	return text
}

// A snapshot is the pods at one moment. made counts the pods there have been at an
// ordinal, so that a pod can be told from its predecessor of the same name.
type snapshot struct {
	pods map[int]Pod
	made map[int]int
}

func (s snapshot) clone() snapshot {
	return snapshot{maps.Clone(s.pods), maps.Clone(s.made)}
}

// apply changes a pod. An event that does not fit is a gap in the history.
func (s snapshot) apply(e Event) error {
	pod, ok := s.pods[e.Ordinal]
	if ok == (e.Kind == Added) {
		if ok {
			return fmt.Errorf("there is such a pod already")
		}
		return fmt.Errorf("there is no such pod")
	}
	switch e.Kind {
	case Added:
		pod = Pod{Revision: e.Revision}
		s.made[e.Ordinal]++
	case Ready, Unready:
		pod.Ready, pod.Available = e.Kind == Ready, e.Kind == Ready
	case Failed:
		pod.Ready, pod.Available, pod.Failed = false, false, true
	case Terminating:
		pod.Terminating = true
	case Gone:
		delete(s.pods, e.Ordinal)
		return nil
	default:
		return fmt.Errorf("unknown kind of event")
	}
	s.pods[e.Ordinal] = pod
	return nil
}

// call is the verb that an event is the effect of; a pod that was never scheduled is gone
// without having been seen terminating.
func (s snapshot) call(e Event) (Verb, bool) {
	terminating := s.pods[e.Ordinal].Terminating
	switch {
	case e.By != "":
		return "", false
	case e.Kind == Added:
		return Create, true
	case e.Kind == Terminating && !terminating, e.Kind == Gone && !terminating:
		return Delete, true
	}
	return "", false
}
