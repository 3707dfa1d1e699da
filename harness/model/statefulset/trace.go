package statefulset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Row is one event with the pods after it.
type Row struct {
	Event Event
	// Why is the reason of the controller, if it was an action of its.
	Why  Why
	Pods map[int]Pod
}

// A Trace is the events since its Start.
type Trace struct {
	Rules Rules
	Start Row
	Rows  []Row
	// Waits is what the controller waits for at the end; empty when all is done.
	Waits string
	// Current is status.currentRevision at the end.
	Current string
}

func (t Trace) all() []Row { return append([]Row{t.Start}, t.Rows...) }

// Final is the last row, or the start when nothing happened.
func (t Trace) Final() Row { return t.all()[len(t.Rows)] }

// Deletions are the ordinals that the controller deleted, in order.
func (t Trace) Deletions() []int {
	return t.ordinals(func(r Row) bool { return r.Why != "" && r.Event.Kind == Terminating })
}

// Creations are the ordinals that were made, in order.
func (t Trace) Creations() []int {
	return t.ordinals(func(r Row) bool { return r.Event.Kind == Added })
}

func (t Trace) ordinals(match func(Row) bool) []int {
	var out []int
	for _, r := range t.Rows {
		if match(r) {
			out = append(out, r.Event.Ordinal)
		}
	}
	return out
}

// RevisionSequence is the revisions of the pods at an ordinal, one for each pod.
func (t Trace) RevisionSequence(ordinal int) []string {
	var out []string
	if pod, ok := t.Start.Pods[ordinal]; ok {
		out = append(out, pod.Revision)
	}
	for _, r := range t.Rows {
		if r.Event.Kind == Added && r.Event.Ordinal == ordinal {
			out = append(out, r.Event.Revision)
		}
	}
	return out
}

// LeastReady is the least number of pods that were ready and not terminating.
func (t Trace) LeastReady() int {
	least := t.Start.ReadyPods()
	for _, r := range t.Rows {
		least = min(least, r.ReadyPods())
	}
	return least
}

// ReadyPods counts pods that are ready and not terminating.
func (r Row) ReadyPods() int { return readyPods(r.Pods) }

func readyPods(pods map[int]Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.Ready && !pod.Terminating {
			n++
		}
	}
	return n
}

// PodsString is "0:v1 1:v1? 2:v2-", as Pod.String; "none" without pods.
func (r Row) PodsString() string {
	var parts []string
	for _, ordinal := range slices.Sorted(maps.Keys(r.Pods)) {
		parts = append(parts, fmt.Sprintf("%d:%s", ordinal, r.Pods[ordinal]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}

// String is one line for people.
func (r Row) String() string {
	line := fmt.Sprintf("%-16s %s", r.Event, r.PodsString())
	if r.Why != "" {
		line += "  (" + string(r.Why) + ")"
	}
	return line
}

// String is a line an event.
func (t Trace) String() string {
	var b strings.Builder
	for _, r := range t.all() {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	if t.Waits != "" {
		b.WriteString("waits for " + t.Waits + "\n")
	}
	return b.String()
}
