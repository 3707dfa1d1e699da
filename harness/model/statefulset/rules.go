package statefulset

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A Group is a range of releases whose StatefulSet controller behaves the same with
// default feature gates.
type Group string

// The groups, oldest first.
const (
	Group134  Group = "1.34"
	Group1350 Group = "1.35.0-1.35.3"
	Group1354 Group = "1.35.4-1.36"
	Group137  Group = "1.37"
)

// Groups returns all groups, oldest first.
func Groups() []Group { return []Group{Group134, Group1350, Group1354, Group137} }

// Rules is plain data: one field for each behaviour that differs between versions.
// Pass it by value; change a field to ask "what if".
type Rules struct {
	// Group names the releases that these rules describe.
	Group Group

	// MaxUnavailable is the feature gate MaxUnavailableStatefulSet. Off, the API server
	// drops the field and one pod at a time is updated.
	// pkg/features/kube_features.go:1474 (v1.34.2, off), :1515 (v1.35.0, on),
	// :1515 (v1.35.4, off), :1672 (v1.36.0, off), :1839 (v1.37.2, on);
	// pkg/registry/apps/statefulset/strategy.go:121
	MaxUnavailable bool

	// UnavailableFirst lets a Parallel set replace pods of an old revision that are
	// unavailable already, whatever the budget. Before, with the gate on, they used the
	// budget up and a set whose old pods are broken was never updated.
	// stateful_set_control.go:863, :882; absent in v1.36.0
	UnavailableFirst bool

	// CompletesAlways moves the current revision on when all pods are updated, whatever
	// the strategy; before, only with RollingUpdate.
	// stateful_set_utils.go:645, :642 (v1.34.2)
	CompletesAlways bool
}

// RulesForGroup returns the rules of a group; an unknown one gets the newest rules.
func RulesForGroup(group Group) Rules {
	switch group {
	case Group134, Group1354:
		return Rules{Group: group}
	case Group1350:
		return Rules{Group: group, MaxUnavailable: true}
	}
	return Rules{Group: Group137, MaxUnavailable: true, UnavailableFirst: true, CompletesAlways: true}
}

// read lists the releases whose source was read or compared with one that was.
var read = map[string]bool{
	"v1.34.1": true, "v1.34.2": true, "v1.34.5": true,
	"v1.35.0": true, "v1.35.4": true, "v1.36.0": true, "v1.36.3": true, "v1.37.2": true,
}

// RulesFor returns the rules of a release such as "v1.37.2". A release that nobody read
// gets the nearest group with known false, and so does anything that is not a release.
func RulesFor(version string) (rules Rules, known bool) {
	v := version
	if !strings.HasPrefix(v, "v") {
		v = "v" + v
	}
	if !semver.IsValid(v) {
		return RulesForGroup(Group137), false
	}
	return RulesForGroup(groupOf(semver.Canonical(v))), read[v]
}

// groupOf compares the release part only: a release candidate of 1.37 behaves as 1.37.
func groupOf(v string) Group {
	release, _, _ := strings.Cut(v, "-")
	switch {
	case semver.Compare(release, "v1.35.0") < 0:
		return Group134
	case semver.Compare(release, "v1.35.4") < 0:
		return Group1350
	case semver.Compare(release, "v1.37.0") < 0:
		return Group1354
	}
	return Group137
}

// ParseGroup returns the group of that name.
func ParseGroup(s string) (Group, error) {
	for _, g := range Groups() {
		if string(g) == s {
			return g, nil
		}
	}
	return "", fmt.Errorf("unknown version group %q (known: %v)", s, Groups())
}
