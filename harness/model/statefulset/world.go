package statefulset

import (
	"fmt"
	"maps"
	"slices"
)

// A World is a set with its pods and a controller that sees everything at once. Nothing
// happens in it by itself: pods become ready and go away when told to, or in Settle.
type World struct {
	rules   Rules
	set     Set
	now     snapshot
	order   []int // of pods, the oldest first
	history []Event
	trace   Trace
}

// NewWorld returns a set without pods at revision template.
func NewWorld(rules Rules, spec Spec, template string) *World {
	w := &World{rules: rules, now: snapshot{map[int]Pod{}, map[int]int{}}}
	w.setTo(Set{Spec: spec, Template: template})
	return w
}

// History is all events so far, as a recording has them.
func (w *World) History() []Event { return slices.Clone(w.history) }

// Set is the set as it is.
func (w *World) Set() Set { return w.set }

// Pods are the pods as they are.
func (w *World) Pods() map[int]Pod { return maps.Clone(w.now.pods) }

// ResetTrace begins a new trace with the pods as they are.
func (w *World) ResetTrace() {
	w.trace = Trace{Rules: w.rules, Start: w.row(w.history[len(w.history)-1], "")}
}

// Trace is what happened since the last ResetTrace.
func (w *World) Trace() Trace {
	t := w.trace
	t.Rows = slices.Clone(t.Rows)
	t.Waits = w.rules.Reconcile(w.view()).Waits
	t.Current = w.set.current()
	return t
}

func (w *World) view() View { return View{Set: w.set, Pods: w.now.pods} }

func (w *World) row(e Event, why Why) Row { return Row{Event: e, Why: why, Pods: w.Pods()} }

func (w *World) happens(e Event, why Why) error {
	if err := w.now.apply(e); err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	w.order = slices.DeleteFunc(w.order, func(o int) bool {
		return o == e.Ordinal && (e.Kind == Added || e.Kind == Gone)
	})
	if e.Kind == Added {
		w.order = append(w.order, e.Ordinal)
	}
	w.history = append(w.history, e)
	w.trace.Rows = append(w.trace.Rows, w.row(e, why))
	return nil
}

// setTo changes the set. A change of status.currentReplicas alone is not worth a row.
func (w *World) setTo(set Set) {
	e := Event{Kind: SetChanged, Set: &set}
	if !sameGoal(w.set, set) || w.set.Current != set.Current {
		w.trace.Rows = append(w.trace.Rows, w.row(e, ""))
	}
	w.set = set
	w.history = append(w.history, e)
}

// Change edits the spec.
func (w *World) Change(edit func(*Spec)) {
	set := w.set
	edit(&set.Spec)
	w.setTo(set)
}

// Deploy changes the template.
func (w *World) Deploy(revision string) {
	set := w.set
	set.Template = revision
	w.setTo(set)
}

// Tell makes something happen to a pod: Ready, Unready, Failed, Terminating (a delete by
// hand), Gone.
func (w *World) Tell(kind Kind, ordinal int) error {
	e := Event{Kind: kind, Ordinal: ordinal}
	if kind == Terminating {
		e.By = "hand"
	}
	return w.happens(e, "")
}

// Reconcile is one pass of the controller over everything. It reports whether the pass
// did anything.
func (w *World) Reconcile() bool {
	pass := w.rules.Reconcile(w.view())
	for _, a := range pass.Actions {
		e := Event{Kind: Added, Ordinal: a.Ordinal, Revision: a.Revision}
		if a.Verb == Delete {
			e = Event{Kind: Terminating, Ordinal: a.Ordinal}
		}
		if err := w.happens(e, a.Why); err != nil {
			panic("a pass over everything cannot fail: " + err.Error())
		}
	}
	set := w.set
	set.Current, set.CurrentReplicas = pass.Current, pass.CurrentReplicas
	if set != w.set {
		w.setTo(set)
		return true
	}
	return len(pass.Actions) > 0
}

// Settle lets the controller act, then deleted pods go, then pods become ready one by one
// in the order they were made, until nothing more happens. Pods for which stuck is true
// never become ready.
func (w *World) Settle(stuck func(ordinal int, revision string) bool) {
	for w.Reconcile() || w.step(stuck) {
	}
}

// step is the next thing that happens to a pod, if there is one.
func (w *World) step(stuck func(int, string) bool) bool {
	for _, ordinal := range w.order {
		if w.now.pods[ordinal].Terminating {
			return w.Tell(Gone, ordinal) == nil
		}
	}
	for _, ordinal := range w.order {
		pod := w.now.pods[ordinal]
		if !pod.Ready && !pod.Failed && !stuck(ordinal, pod.Revision) {
			return w.Tell(Ready, ordinal) == nil
		}
	}
	return false
}
