package deployment

import (
	"fmt"
	"slices"
	"strings"
)

// A Write is a Scale by name.
type Write struct {
	Version  string
	From, To int
	Why      Rule
}

// A VersionRow is one ReplicaSet in a Row.
type VersionRow struct {
	Name                      string
	Replicas, Pods, Available int
}

// A Row is one event and the state after it: a move, a pass that wrote, or a pod that
// became available.
type Row struct {
	// Event is empty in a pass; then there are Writes.
	Event     string
	Writes    []Write
	Versions  []VersionRow // oldest first
	Available int          // of all versions
	Total     int          // spec.replicas of all versions
}

// Version returns the row of a version; it is zero before its ReplicaSet exists.
func (r Row) Version(name string) VersionRow {
	for _, v := range r.Versions {
		if v.Name == name {
			return v
		}
	}
	return VersionRow{Name: name}
}

// A Trace is what happened since its Start. Spec is that of the end.
type Trace struct {
	Spec  Spec
	Start Row
	Rows  []Row
}

func (t Trace) all() []Row { return append([]Row{t.Start}, t.Rows...) }

// Sizes is spec.replicas of a version as a watch sees it: every write, without repeats.
func (t Trace) Sizes(version string) []int {
	out := []int{t.Start.Version(version).Replicas}
	add := func(n int) {
		if out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	for _, r := range t.Rows {
		for _, w := range r.Writes {
			if w.Version == version {
				add(w.To)
			}
		}
		add(r.Version(version).Replicas)
	}
	return out
}

// Writes are the writes to sizes of all versions in order.
func (t Trace) Writes() []Write {
	var out []Write
	for _, r := range t.Rows {
		for _, w := range r.Writes {
			if w.From != w.To || w.Why == RuleCreate {
				out = append(out, w)
			}
		}
	}
	return out
}

// LeastAvailable is the smallest number of available pods of all rows, start included.
func (t Trace) LeastAvailable() int {
	return slices.MinFunc(t.all(), func(a, b Row) int { return a.Available - b.Available }).Available
}

// MostTotal is the greatest sum of spec.replicas of all rows, start included.
func (t Trace) MostTotal() int {
	return slices.MaxFunc(t.all(), func(a, b Row) int { return a.Total - b.Total }).Total
}

// Final is the last row, or the start when nothing happened.
func (t Trace) Final() Row {
	if len(t.Rows) == 0 {
		return t.Start
	}
	return t.Rows[len(t.Rows)-1]
}

// Complete says whether the wanted version has all its pods available and no other has
// any. util/deployment_util.go:741 (v1.37.2), :744 (v1.34.2)
func (t Trace) Complete() bool {
	last := t.Final()
	v := last.Version(t.Spec.Template)
	pods := 0
	for _, other := range last.Versions {
		pods += other.Pods
	}
	n := t.Spec.Replicas
	return v.Pods == n && pods == n && last.Available == n && last.Total == n
}

// String is one line for people: available/wanted of each version.
func (r Row) String() string {
	var b strings.Builder
	event := r.Event
	if event == "" {
		var writes []string
		for _, w := range r.Writes {
			writes = append(writes, fmt.Sprintf("%s %d → %d", w.Version, w.From, w.To))
		}
		event = strings.Join(writes, ", ")
	}
	fmt.Fprintf(&b, "%-28s", event)
	for _, v := range r.Versions {
		fmt.Fprintf(&b, " %s=%d/%d", v.Name, v.Available, v.Replicas)
	}
	fmt.Fprintf(&b, " available=%d total=%d", r.Available, r.Total)
	return b.String()
}

// String is a line a row.
func (t Trace) String() string {
	var b strings.Builder
	for _, r := range t.all() {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}
