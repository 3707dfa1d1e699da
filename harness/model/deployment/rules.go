package deployment

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A Group is a range of releases whose Deployment controller behaves the same.
type Group string

// The groups, oldest first. Releases inside one were compared with diff.
const (
	Group134 Group = "1.34"
	Group135 Group = "1.35-1.36"
	Group137 Group = "1.37"
)

// Groups returns all groups, oldest first.
func Groups() []Group { return []Group{Group134, Group135, Group137} }

// Rules is plain data: one field for each behaviour that differs between versions. None of
// them changes a size: the sizes are written by the same arithmetic in all groups, so
// Reconcile takes no rules.
type Rules struct {
	// Group names the releases that these rules describe.
	Group Group

	// WakesForEveryPod syncs a Recreate Deployment at every pod that goes; before, only at
	// the last one of all its ReplicaSets, counted with a live list.
	// deployment_controller.go:336 (v1.37.2), :356 (v1.34.2)
	WakesForEveryPod bool

	// ReportsTerminating fills status.terminatingReplicas of ReplicaSets and Deployments:
	// a terminating pod that goes is then one more version of its ReplicaSet. The field
	// takes part in no decision. sync.go:513 (v1.37.2);
	// pkg/features/kube_features.go:1554 (v1.37.2), on by default since 1.35
	ReportsTerminating bool
}

// RulesForGroup returns the rules of a group; an unknown one gets the newest rules.
func RulesForGroup(group Group) Rules {
	switch group {
	case Group134:
		return Rules{Group: Group134}
	case Group135:
		return Rules{Group: Group135, ReportsTerminating: true}
	}
	return Rules{Group: Group137, ReportsTerminating: true, WakesForEveryPod: true}
}

// read lists the releases whose source was read or compared with one that was.
var read = map[string]bool{
	"v1.34.1": true, "v1.34.2": true, "v1.34.5": true, "v1.36.3": true, "v1.37.2": true,
}

// RulesFor returns the rules of a release such as "v1.37.2". A release that nobody read
// gets the nearest group with known false, and so does anything that is not a release
// (a directory build), which gets the newest.
func RulesFor(version string) (rules Rules, known bool) {
	v := version
	if !strings.HasPrefix(v, "v") {
		v = "v" + v
	}
	if !semver.IsValid(v) {
		return RulesForGroup(Group137), false
	}
	release, _, _ := strings.Cut(semver.Canonical(v), "-")
	switch {
	case semver.Compare(release, "v1.35.0") < 0:
		rules = RulesForGroup(Group134)
	case semver.Compare(release, "v1.37.0") < 0:
		rules = RulesForGroup(Group135)
	default:
		rules = RulesForGroup(Group137)
	}
	return rules, read[v]
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
