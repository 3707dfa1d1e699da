package statefulset

import (
	"fmt"
	"slices"
)

// A Drill is the canonical update: all pods ready at v1, the template becomes v2, pods
// become ready one by one in the order they are made; then the moves, each to its end.
type Drill struct {
	Spec Spec
	// Stuck are ordinals whose pods at v2 never become ready.
	Stuck []int
	Then  []Move
}

// The revisions of a Drill.
const (
	Old = "v1"
	New = "v2"
)

// A Move is something that people do to a set.
type Move struct {
	Text string
	Do   func(*World) error
}

// ToPartition changes the partition.
func ToPartition(n int) Move {
	return change(fmt.Sprintf("partition %d", n), func(s *Spec) { s.Partition = n })
}

// ToReplicas changes the scale.
func ToReplicas(n int) Move {
	return change(fmt.Sprintf("replicas %d", n), func(s *Spec) { s.Replicas = n })
}

func change(text string, edit func(*Spec)) Move {
	return Move{text, func(w *World) error { w.Change(edit); return nil }}
}

// ToTemplate changes the template; to Old it is a rollback.
func ToTemplate(revision string) Move {
	return Move{"template " + revision, func(w *World) error { w.Deploy(revision); return nil }}
}

// DeletePod deletes a pod by hand.
func DeletePod(ordinal int) Move {
	return Move{fmt.Sprintf("delete %d by hand", ordinal), func(w *World) error { return w.Tell(Terminating, ordinal) }}
}

// FailPod lets a pod fail.
func FailPod(ordinal int) Move {
	return Move{fmt.Sprintf("fail %d", ordinal), func(w *World) error { return w.Tell(Failed, ordinal) }}
}

// UnreadyPod lets a pod lose its readiness for a moment, long enough for one pass.
func UnreadyPod(ordinal int) Move {
	return Move{fmt.Sprintf("unready %d", ordinal), func(w *World) error { return w.Tell(Unready, ordinal) }}
}

// Play plays the drill. The error is a move that cannot be made.
func Play(rules Rules, d Drill) (Trace, error) {
	w := NewWorld(rules, d.Spec, Old)
	w.Settle(never)
	w.ResetTrace()
	stuck := func(ordinal int, revision string) bool {
		return revision == New && slices.Contains(d.Stuck, ordinal)
	}
	for _, m := range append([]Move{ToTemplate(New)}, d.Then...) {
		if err := m.Do(w); err != nil {
			return w.Trace(), fmt.Errorf("%s: %w", m.Text, err)
		}
		w.Settle(stuck)
	}
	return w.Trace(), nil
}

func never(int, string) bool { return false }
