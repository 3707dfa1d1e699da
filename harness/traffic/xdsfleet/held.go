package xdsfleet

import (
	"cmp"
	"slices"
	"strings"
)

// held are the resources of one type that a proxy has, in the order of their names.
type held []resource

// with are the resources after an answer.
func (h held) with(a *answer) held {
	if len(a.resources) == 0 && len(a.removed) == 0 {
		return h
	}
	gone := map[string]bool{}
	for _, name := range a.removed {
		gone[name] = true
	}
	for _, r := range a.resources { // what is there anew replaces what was there
		gone[r.name.Value()] = true
	}
	out := make(held, 0, len(h)+len(a.resources))
	for _, r := range h {
		if !gone[r.name.Value()] {
			out = append(out, r)
		}
	}
	out = append(out, a.resources...)
	slices.SortFunc(out, func(a, b resource) int { return cmp.Compare(a.name.Value(), b.name.Value()) })
	return slices.Clip(slices.CompactFunc(out, func(a, b resource) bool { return a.name == b.name }))
}

// versions are what a proxy says on a new stream that it has.
func (h held) versions() map[string]string {
	if len(h) == 0 {
		return nil
	}
	out := make(map[string]string, len(h))
	for _, r := range h {
		out[r.name.Value()] = r.version.Value()
	}
	return out
}

// refs are the names of all that the resources refer to, sorted.
func (h held) refs() []string {
	var out []string
	for _, r := range h {
		if text := r.refs.Value(); text != "" {
			out = append(out, strings.Split(text, "\n")...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// difference is what is in a and not in b; both are sorted.
func difference(a, b []string) []string {
	var out []string
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			out = append(out, x)
		}
	}
	return out
}
