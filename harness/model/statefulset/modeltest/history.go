package modeltest

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/model/statefulset"
)

var podEvents = []statefulset.Kind{
	statefulset.Added, statefulset.Ready, statefulset.Unready,
	statefulset.Failed, statefulset.Terminating, statefulset.Gone,
}

// compileHistory reads an event, a change of the set, or the end: "legal", or "illegal"
// with the error.
func compileHistory(word string, rest []string) (runFunc, error) {
	switch {
	case word == "legal" && len(rest) == 0:
		return func(s *state) error { return statefulset.Check(s.rules, s.history) }, nil
	case word == "illegal" && len(rest) > 0:
		want := strings.Join(rest, " ")
		return func(s *state) error {
			err := statefulset.Check(s.rules, s.history)
			return same("the error", fmt.Sprint(err), want)
		}, nil
	case (word == "template" || word == "current") && len(rest) == 1:
		return func(s *state) error {
			if word == "current" {
				s.set.Current = rest[0]
			} else {
				s.set.Template = rest[0]
			}
			s.changed()
			return nil
		}, nil
	case word == "partition" && len(rest) == 1:
		n, err := number(rest[0])
		return func(s *state) error { s.set.Spec.Partition = n; s.changed(); return nil }, err
	case slices.Contains(podEvents, statefulset.Kind(word)):
		return compileEvents(statefulset.Kind(word), rest)
	}
	return nil, fmt.Errorf("unknown event %q (known: %v, template, current, partition, legal, illegal)", word, podEvents)
}

// compileEvents reads "add 3 at v1", "terminating 3 by hand", "ready 0 1 2".
func compileEvents(kind statefulset.Kind, rest []string) (runFunc, error) {
	like := statefulset.Event{Kind: kind}
	if n := len(rest); n > 2 && rest[n-2] == "by" {
		like.By, rest = rest[n-1], rest[:n-2]
	}
	if n := len(rest); n > 2 && rest[n-2] == "at" {
		like.Revision, rest = rest[n-1], rest[:n-2]
	}
	if (kind == statefulset.Added) != (like.Revision != "") {
		return nil, fmt.Errorf("add ORDINALS at REVISION, and only that")
	}
	ordinals, err := numbers(rest)
	return func(s *state) error {
		for _, o := range ordinals {
			e := like
			e.Ordinal = o
			s.history = append(s.history, e)
		}
		return nil
	}, err
}
