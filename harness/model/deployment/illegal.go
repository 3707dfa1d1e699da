package deployment

import (
	"fmt"
	"strings"
)

// IllegalError is a write that the controller does not make in any state that it can have
// seen. Its text names the latest one.
type IllegalError struct {
	Set      string
	From, To int
	Created  bool
	View     View    // what was stored just before the write
	Allowed  []Scale // what Reconcile writes there
	Tried    int     // prefixes and versions of the Deployment that were tried
	Cut      bool    // older history was dropped
}

// Error is one line.
func (e *IllegalError) Error() string {
	var b strings.Builder
	if e.Created {
		fmt.Fprintf(&b, "%s created with %d", e.Set, e.To)
	} else {
		fmt.Fprintf(&b, "%s %d → %d", e.Set, e.From, e.To)
	}
	fmt.Fprintf(&b, ": with %s the model allows %s", e.View, e.View.Describe(e.Allowed))
	if e.Tried > 1 {
		fmt.Fprintf(&b, ", and it is none of the writes in %d earlier states", e.Tried-1)
	}
	if e.Cut {
		b.WriteString(" (older history was dropped)")
	}
	return b.String()
}

// String is such as "10 wanted, 3 surge, 2 unavailable, old 5 (5 available), new 8 (2 available)".
func (v View) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d wanted", v.Spec.Replicas)
	if v.Spec.Recreate {
		b.WriteString(", Recreate")
	} else {
		fmt.Fprintf(&b, ", %d surge, %d unavailable", v.Spec.MaxSurge(), v.Spec.MaxUnavailable())
	}
	if v.Spec.Paused {
		b.WriteString(", paused")
	}
	for i, r := range v.Sets {
		if i != v.New {
			fmt.Fprintf(&b, ", old %s %d (%d available)", r.Name, r.Replicas, r.Available)
		}
	}
	if v.New != NoSet {
		r := v.Sets[v.New]
		fmt.Fprintf(&b, ", new %s %d (%d available)", r.Name, r.Replicas, r.Available)
	} else {
		fmt.Fprintf(&b, ", no %s yet", v.Spec.Template)
	}
	return b.String()
}

// Describe is such as "v2 → 5, v1 → 3", or "nothing".
func (v View) Describe(scales []Scale) string {
	var parts []string
	for _, s := range scales {
		if s.From == s.To && s.Set != NoSet {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s → %d", v.name(s.Set), s.To))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func (v View) name(set int) string {
	if set == NoSet {
		return v.Spec.Template
	}
	return v.Sets[set].Name
}

// illegal describes the last event, which no pass made.
func (c *Checker) illegal(from int, created bool) *IllegalError {
	e := c.log[len(c.log)-1]
	err := &IllegalError{Set: e.Name, From: from, To: e.Replicas, Created: created, Cut: c.cut}
	err.Tried = (len(c.log) - min(c.low, len(c.log))) * (len(c.specs) - c.specLow)
	err.View = NewView(c.specs[len(c.specs)-1], c.now...)
	err.Allowed = Reconcile(err.View)
	return err
}
