package catalogue

import (
	"fmt"
	"slices"
	"strings"
)

// lineUp are the squares of a row, in the order of versions.
type lineUp []square

// ids are the names of claims and guards, those first that tell most.
func (l lineUp) ids(first []string) []string {
	out := slices.Clone(first)
	for _, s := range l {
		for _, id := range s.ids() {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// alike are those of the claims that tell most, which are predicted the same for all.
func (l lineUp) alike(tells []string) []string {
	var out []string
	for _, id := range tells {
		if text := l[0].predicted(id); text != "" && l.kind(id) == l.same() {
			out = append(out, id)
		}
	}
	return out
}

// kind says which squares have the same of a prediction: the number of the first that
// has it, for each of them.
func (l lineUp) kind(id string) string {
	var out strings.Builder
	for _, s := range l {
		text := s.predicted(id)
		fmt.Fprint(&out, slices.IndexFunc(l, func(other square) bool { return other.predicted(id) == text }), " ")
	}
	return out.String()
}

// same is the kind of what is the same in all squares.
func (l lineUp) same() string { return strings.Repeat("0 ", len(l)) }

// apart are the fewest claims and guards that tell all predictions of the row apart,
// such as are made for all squares before others. Of claims that are made for some
// only, those that tell the same come along.
func (l lineUp) apart(tells []string) []string {
	all := l.ids(tells)
	made := func(id string) bool {
		return !slices.ContainsFunc(l, func(s square) bool { return s.predicted(id) == "" })
	}
	var out []string
	known := map[string]bool{l.same(): true}
	classes := make([]string, len(l))
	for _, everywhere := range []bool{true, false} {
		for _, id := range all {
			kind := l.kind(id)
			if made(id) != everywhere {
				continue
			}
			if refined := refine(classes, kind); count(refined) > count(classes) {
				classes = refined
				known[kind] = true
				out = append(out, id)
			} else if !everywhere && kind != l.same() && known[kind] && l.fills(out, id, kind) {
				out = append(out, id)
			}
		}
	}
	return out
}

// fills says that a claim is made where those of its kind that are chosen are not.
func (l lineUp) fills(chosen []string, id, kind string) bool {
	for _, s := range l {
		has := slices.ContainsFunc(chosen, func(c string) bool { return l.kind(c) == kind && s.predicted(c) != "" })
		if !has && s.predicted(id) != "" {
			return true
		}
	}
	return false
}

// refine tells squares apart that classes or kinds do.
func refine(classes []string, kind string) []string {
	out := make([]string, len(classes))
	for i, k := range strings.Fields(kind) {
		out[i] = classes[i] + k + " "
	}
	return out
}

func count(classes []string) int { return len(slices.Compact(slices.Sorted(slices.Values(classes)))) }
