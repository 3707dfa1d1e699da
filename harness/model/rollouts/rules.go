package rollouts

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A Group is a range of releases whose canary code behaves the same.
type Group string

// The groups, oldest first. Patch releases inside one were compared with diff.
const (
	Group17  Group = "1.7"
	Group180 Group = "1.8.0-1.8.2"
	Group183 Group = "1.8.3-1.8.5"
	Group19  Group = "1.9"
	Group110 Group = "1.10"
)

// Groups returns all groups, oldest first.
func Groups() []Group { return []Group{Group17, Group180, Group183, Group19, Group110} }

// A SubsetGuard is what Istio's UpdateHash does when a ReplicaSet is not fully
// available and the Rollout names no Services (routing by DestinationRule subsets).
type SubsetGuard string

const (
	// SubsetGuardNone rewrites the subsets unconditionally.
	// rollout/trafficrouting/istio/istio.go:317 (v1.7.2)
	SubsetGuardNone SubsetGuard = "none"
	// SubsetGuardErrorAny fails the pass when any ReplicaSet with spec.replicas>0 is short,
	// old ones included. rollout/trafficrouting/istio/istio.go:328 (v1.8.2)
	SubsetGuardErrorAny SubsetGuard = "errorAnyReplicaSet"
	// SubsetGuardSkip leaves the DestinationRule alone and goes on to the weight.
	// rollout/trafficrouting/istio/istio.go:332 (v1.8.3)
	SubsetGuardSkip SubsetGuard = "skip"
	// SubsetGuardErrorStableCanary fails the pass when the stable or canary ReplicaSet is
	// short; an aborted canary is exempt. rollout/trafficrouting/istio/istio.go:356 (v1.9.2)
	SubsetGuardErrorStableCanary SubsetGuard = "errorStableCanary"
)

// Rules is plain data: one field for each behaviour that differs between versions.
// Pass it by value; change a field to ask "what if".
type Rules struct {
	// Group names the releases that these rules describe.
	Group Group

	// StableGuard withholds all routing while the stable ReplicaSet has fewer available
	// pods than its share of the traffic needs (branch G).
	// rollout/trafficrouting.go:266 (v1.8.2); absent in v1.7.2 and in v1.8.0.
	StableGuard bool

	// StableGuardOfMaxWeight divides that share by maxTrafficWeight; before, by 100.
	// rollout/trafficrouting.go:149 (v1.9.2), :145 (v1.8.2)
	StableGuardOfMaxWeight bool

	// SubsetGuard is what happens to a DestinationRule while pods are missing (branch I).
	SubsetGuard SubsetGuard

	// EarlyZeroWeight writes the weight before the subsets when the canary has no pods and
	// traffic still goes to it (branch H2). rollout/trafficrouting.go:298 (v1.9.2)
	EarlyZeroWeight bool

	// MinPodsCappedToReplicas caps minPodsPerReplicaSet to spec.replicas.
	// utils/replicaset/canary.go:367 (v1.10.1)
	MinPodsCappedToReplicas bool

	// AbortLadder walks the setWeight steps down on abort with dynamicStableScale, instead
	// of following the stable pods one by one.
	// utils/replicaset/canary.go:512, rollout/trafficrouting.go:360 (v1.9.2)
	AbortLadder bool

	// ProgressThreshold honours spec.strategy.canary.replicaProgressThreshold.
	// utils/replicaset/canary.go:36 (v1.9.2)
	ProgressThreshold bool

	// PromoteAtLeast promotes with available >= replicas; before, == replicas.
	// rollout/sync.go:951 (v1.9.2), :945 (v1.8.2)
	PromoteAtLeast bool

	// AbortDelayAtLeast starts the abort scale-down delay with stable available >= replicas;
	// before, == replicas. rollout/replicaset.go:201 (v1.10.1), :155 (v1.8.2)
	AbortDelayAtLeast bool

	// SubsetReferenceKeepsPods keeps an old ReplicaSet that a DestinationRule subset still
	// names. rollout/replicaset.go:397 (v1.9.2)
	SubsetReferenceKeepsPods bool

	// CreateBeforePass creates a missing ReplicaSet before the first pass of an update;
	// before, in its second pass. rollout/controller.go:562 (v1.8.2), rollout/sync.go:52 (v1.7.2)
	CreateBeforePass bool

	// AbortDelaySyncsReplicas notes spec.replicas on an aborted ReplicaSet that is kept;
	// before, a change of spec.replicas made every pass a scaling one until it was gone.
	// rollout/replicaset.go:139 (v1.10.1)
	AbortDelaySyncsReplicas bool

	// EmptyCanaryLosesHeader removes managed routes whenever the canary has no available
	// pod; the step that made them is over by then. rollout/trafficrouting.go:225 (v1.8.2)
	EmptyCanaryLosesHeader bool

	// OnlyRouteNeedsNoName patches the weight of a VirtualService's only route also if it
	// has a name that the Rollout does not list.
	// rollout/trafficrouting/istio/istio.go:915 (v1.8.3)
	OnlyRouteNeedsNoName bool

	// AnyReplicaSetScales takes the annotation of any ReplicaSet with pods for a change of
	// spec.replicas; later, only that of the new and the stable one.
	// rollout/sync.go:332 (v1.7.2), :330 (v1.8.2)
	AnyReplicaSetScales bool

	// FastRollback promotes as "Fast rollback" when the desired ReplicaSet is the stable one.
	// A blue-green rollback is fast, so that it waits for nobody, when it goes to the stable
	// or to an older ReplicaSet inside the window or its scale-down delay; before, any
	// ReplicaSet with a scale-down deadline was, in whatever direction.
	// rollout/sync.go:1019 and :955, rollout/bluegreen.go:114 (v1.10.1)
	FastRollback bool

	// CompletedIsNotPaused: a pause leaves the conditions of a completed update alone.
	// rollout/sync.go:498 (v1.8.2)
	CompletedIsNotPaused bool

	// DeadlineSparesCompleted: progressDeadlineAbort is evaluated first, and not for an
	// update that is completed. rollout/sync.go:589 (v1.10.1)
	DeadlineSparesCompleted bool

	// WindowSkipsAnalysis cancels all analysis while rolling back inside the window.
	// rollout/analysis.go:78 (v1.7.2); absent in v1.7.1.
	WindowSkipsAnalysis bool
}

// RulesForGroup returns the rules of a group; an unknown one gets the newest rules.
func RulesForGroup(group Group) Rules {
	rules := Rules{Group: group, SubsetGuard: SubsetGuardNone, WindowSkipsAnalysis: true}
	if group == Group17 {
		rules.AnyReplicaSetScales = true
		return rules
	}
	rules.StableGuard = true
	rules.CreateBeforePass = true
	rules.EmptyCanaryLosesHeader = true
	rules.CompletedIsNotPaused = true
	rules.SubsetGuard = SubsetGuardErrorAny
	if group == Group180 {
		return rules
	}
	rules.SubsetGuard = SubsetGuardSkip
	rules.OnlyRouteNeedsNoName = true
	if group == Group183 {
		return rules
	}
	rules.StableGuardOfMaxWeight = true
	rules.SubsetGuard = SubsetGuardErrorStableCanary
	rules.EarlyZeroWeight = true
	rules.AbortLadder = true
	rules.ProgressThreshold = true
	rules.PromoteAtLeast = true
	rules.SubsetReferenceKeepsPods = true
	if group == Group19 {
		return rules
	}
	rules.Group = Group110
	rules.MinPodsCappedToReplicas = true
	rules.AbortDelayAtLeast = true
	rules.AbortDelaySyncsReplicas = true
	rules.FastRollback = true
	rules.DeadlineSparesCompleted = true
	return rules
}

// read lists the releases whose source was read or compared with one that was.
var read = map[string]bool{
	"v1.7.1": true, "v1.7.2": true,
	"v1.8.0": true, "v1.8.2": true, "v1.8.3": true, "v1.8.4": true, "v1.8.5": true,
	"v1.9.0": true, "v1.9.1": true, "v1.9.2": true, "v1.9.3": true,
	"v1.10.0": true, "v1.10.1": true, "v1.10.2": true,
}

// RulesFor returns the rules of a release such as "v1.8.2". A release that nobody read
// gets the nearest group with known false, and so does anything that is not a release
// (a directory build), which gets the newest.
func RulesFor(version string) (rules Rules, known bool) {
	v := version
	if !strings.HasPrefix(v, "v") {
		v = "v" + v
	}
	if !semver.IsValid(v) {
		return RulesForGroup(Group110), false
	}
	rules = RulesForGroup(groupOf(semver.Canonical(v)))
	switch semver.Canonical(v) {
	case "v1.7.0", "v1.7.1":
		rules.WindowSkipsAnalysis = false
	case "v1.8.0":
		// v1.8.0 has the subset guard but not yet the stable guard.
		rules.StableGuard = false
	}
	return rules, read[v]
}

// Nearest notes that these rules stand in for those of a version that nobody read.
func (r Rules) Nearest(version string) string {
	return fmt.Sprintf("the model knows no Argo Rollouts %s: the nearest group, %s, was used", version, r.Group)
}

// groupOf compares the release part only: a release candidate of 1.9 behaves as 1.9.
func groupOf(v string) Group {
	release, _, _ := strings.Cut(v, "-")
	switch {
	case semver.Compare(release, "v1.8.0") < 0:
		return Group17
	case semver.Compare(release, "v1.8.3") < 0:
		return Group180
	case semver.Compare(release, "v1.9.0") < 0:
		return Group183
	case semver.Compare(release, "v1.10.0") < 0:
		return Group19
	}
	return Group110
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
