package rollouts

import (
	"fmt"
	"slices"
	"strings"
)

// A Row is one reconcile pass.
type Row struct {
	// Move is what woke the pass: a move of the environment, or "own write" when the
	// controller's own change did.
	Move string
	Pass int
	At   int // seconds
	// Weight is the canary weight of the VirtualService after the pass.
	Weight int
	// Second is that of the second VirtualService, Header whether they have the managed
	// route of a setHeaderRoute step.
	Second int
	Header bool
	// Size is spec.replicas by version after the pass.
	Size map[string]int
	// Replicas is spec.replicas of the Rollout.
	Replicas int
	// WeightFirst is set where the pass wrote the weight before the subsets.
	WeightFirst bool
	// SizeAtWeight is spec.replicas by version when the weight was written: routing
	// comes before scaling in a pass.
	SizeAtWeight map[string]int
	Available    map[string]int
	Index        int
	Stable       string
	Current      string
	Abort        bool
	Paused       bool
	// Phase is status.phase.
	Phase string
	// CanaryService and StableService are the selectors, empty with subset routing.
	CanaryService string
	StableService string
	Subsets       Subsets
	// Active and Preview are the selectors of a blue-green Rollout.
	Active, Preview string
	// Branch chose Want; see Decision. It is empty in a pass that only reset the status.
	Branch string
	Want   int
	Basis  Basis
	// Held tells what kept Want from being written: "G" the stable guard, "I" the subset
	// guard. With "I" and the rule SubsetGuardSkip only the DestinationRule is held.
	Held      string
	HeldBasis Basis
	Events    []string
	// Err ended the pass: nothing was scaled and the status was not patched.
	Err string
}

// A Trace is the passes since its Start.
type Trace struct {
	Rules Rules
	Spec  Spec
	Start Row
	Rows  []Row
	// Invalid says why a script could not be set up; then there are no rows.
	Invalid string
}

func (t Trace) all() []Row { return append([]Row{t.Start}, t.Rows...) }

// Sequence is a number of each row as a watch sees it: from the start, without repeats.
func (t Trace) Sequence(of func(Row) int) []int {
	var out []int
	for _, r := range t.all() {
		out = append(out, of(r))
	}
	return slices.Compact(out)
}

// WeightSequence is the weights.
func (t Trace) WeightSequence() []int { return t.Sequence(func(r Row) int { return r.Weight }) }

// SizeSequence is spec.replicas of a version.
func (t Trace) SizeSequence(version string) []int {
	return t.Sequence(func(r Row) int { return r.Size[version] })
}

// WeightChanges are the rows that changed the weight, each with its Branch and Basis. A
// reading of WeightSequence is explained by them.
func (t Trace) WeightChanges() []Row {
	var out []Row
	last := t.Start.Weight
	for _, r := range t.Rows {
		if r.Weight != last {
			out, last = append(out, r), r.Weight
		}
	}
	return out
}

// MaxWeightWhile is the largest weight on a version's canary while fewer than
// availableBelow of its pods were available, with its available pods and its size at the
// moment that weight was first written. All are 0 when there was no such moment.
func (t Trace) MaxWeightWhile(version string, availableBelow int) (weight, availableAtFirst, sizeAtFirst int) {
	before := t.Start.Weight
	for _, r := range t.Rows {
		written := r.Weight != before
		before = r.Weight
		if r.Current != version || r.Available[version] >= availableBelow || r.Weight <= weight {
			continue
		}
		weight = r.Weight
		availableAtFirst, sizeAtFirst = r.Available[version], r.Size[version]
		if written {
			sizeAtFirst = r.SizeAtWeight[version]
		}
	}
	return weight, availableAtFirst, sizeAtFirst
}

// Completed is the reason in the last event RolloutCompleted, if there was one.
func (t Trace) Completed() (reason string, ok bool) {
	for _, r := range t.Rows {
		for _, e := range r.Events {
			if s, found := strings.CutPrefix(e, EventCompleted+": "); found {
				reason, ok = s, true
			}
		}
	}
	return reason, ok
}

// CompletedAt is the first row with the event RolloutCompleted.
func (t Trace) CompletedAt() (Row, bool) {
	for _, r := range t.Rows {
		if r.HasEvent(EventCompleted) {
			return r, true
		}
	}
	return Row{}, false
}

// Final is the last row, or the start when no pass was made.
func (t Trace) Final() Row {
	if len(t.Rows) == 0 {
		return t.Start
	}
	return t.Rows[len(t.Rows)-1]
}

// Count is the number of events with that reason.
func (t Trace) Count(reason string) int {
	n := 0
	for _, r := range t.Rows {
		for _, e := range r.Events {
			if e == reason || strings.HasPrefix(e, reason+": ") {
				n++
			}
		}
	}
	return n
}

// Restless says that the controller goes on for ever: its last pass left everything as
// it was, and yet wrote, which wakes the next one. An aborted canary that has pods and a
// Service of its own is such a case: each pass points the Service at the canary and back
// (rollout/service.go:281, rollout/trafficrouting.go:206, v1.8.2).
func (t Trace) Restless() bool { return t.Final().HasEvent(EventSwitch) }

// Errors are the distinct errors of passes.
func (t Trace) Errors() []string {
	var out []string
	for _, r := range t.Rows {
		if r.Err != "" && !slices.Contains(out, r.Err) {
			out = append(out, r.Err)
		}
	}
	return out
}

// HasEvent says whether the pass sent an event with that reason.
func (r Row) HasEvent(reason string) bool {
	return slices.ContainsFunc(r.Events, func(e string) bool {
		return e == reason || strings.HasPrefix(e, reason+": ")
	})
}

// String is one line for people.
func (r Row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%3d %-16s weight=%-3d want=%-3d branch=%-2s%-1s index=%d stable=%s current=%s",
		r.Pass, r.Move, r.Weight, r.Want, r.Branch, r.Held, r.Index, r.Stable, r.Current)
	versions := make([]string, 0, len(r.Size))
	for v := range r.Size {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	for _, v := range versions {
		fmt.Fprintf(&b, " %s=%d/%d", v, r.Available[v], r.Size[v])
	}
	if r.Abort {
		b.WriteString(" aborted")
	}
	for _, e := range r.Events {
		fmt.Fprintf(&b, "; %s", e)
	}
	if r.Err != "" {
		fmt.Fprintf(&b, "; error: %s", r.Err)
	}
	return b.String()
}

// String is a line a pass.
func (t Trace) String() string {
	if t.Invalid != "" {
		return "invalid: " + t.Invalid + "\n"
	}
	var b strings.Builder
	for _, r := range t.all() {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}
