package deployment

import "reckon.dev/reckon/harness/model/source"

// A Basis is where a rule was read, a path in github.com/kubernetes/kubernetes.
type Basis = source.Basis

// A Rule names one place in the controller, whatever its line at a tag.
type Rule string

// The rules. The first ones are also the reasons of a Scale.
const (
	RuleCreate         Rule = "create"
	RuleNew            Rule = "scaleNew"
	RuleUnhealthy      Rule = "cleanupUnhealthy"
	RuleOld            Rule = "scaleDownOld"
	RuleProportional   Rule = "proportional"
	RuleOnly           Rule = "onlyActive"
	RuleSaturated      Rule = "saturated"
	RuleRecreateDown   Rule = "recreateDown"
	RuleRecreateUp     Rule = "recreateUp"
	RuleRecreateWait   Rule = "recreateWait"
	RuleFenceposts     Rule = "fenceposts"
	RuleNewSize        Rule = "newSize"
	RuleMaxUnavailable Rule = "maxUnavailable"
	RuleScalingEvent   Rule = "scalingEvent"
	RuleFraction       Rule = "fraction"
	RuleScaledDown     Rule = "maxScaledDown"
	RuleProgressing    Rule = "progressing"
	RuleComplete       Rule = "complete"
	RuleTimedOut       Rule = "timedOut"
	RuleRequeue        Rule = "requeueStuck"
	RuleAvailable      Rule = "minReadySeconds"
	RuleRevision       Rule = "revision"
	RuleCleanup        Rule = "revisionHistoryLimit"
	RulePodOrder       Rule = "podsToDelete"
	RuleTemplate       Rule = "findNewReplicaSet"
)

// tag is the release at which a group's lines were read.
func (g Group) tag() string {
	switch g {
	case Group134:
		return "v1.34.2"
	case Group135:
		return "v1.36.3"
	}
	return "v1.37.2"
}

// A place has one line for each group, oldest first.
type place struct {
	source string
	lines  [3]int
	note   string
}

const (
	folder      = "pkg/controller/deployment/"
	rollingGo   = folder + "rolling.go"
	syncGo      = folder + "sync.go"
	recreateGo  = folder + "recreate.go"
	progressGo  = folder + "progress.go"
	utilGo      = folder + "util/deployment_util.go"
	controlGo   = "pkg/controller/controller_utils.go"
	availableGo = "pkg/api/v1/pod/util.go"
)

var places = map[Rule]place{
	RuleCreate:         {syncGo, [3]int{220, 220, 220}, "a missing ReplicaSet is created with as many pods as the surge leaves room for"},
	RuleNew:            {rollingGo, [3]int{68, 68, 68}, "the new ReplicaSet first; a pass that scaled it does nothing else"},
	RuleUnhealthy:      {rollingGo, [3]int{155, 155, 155}, "unavailable pods of old ReplicaSets go first, up to maxScaledDown"},
	RuleOld:            {rollingGo, [3]int{193, 193, 193}, "old pods go while more are available than must be"},
	RuleProportional:   {syncGo, [3]int{332, 332, 332}, "several active ReplicaSets share a change of size"},
	RuleOnly:           {syncGo, [3]int{310, 310, 310}, "the only active ReplicaSet, or the latest, takes the whole size"},
	RuleSaturated:      {syncGo, [3]int{320, 320, 320}, "a full new ReplicaSet: old ones to 0"},
	RuleRecreateDown:   {recreateGo, [3]int{78, 78, 78}, "all old ReplicaSets to 0 in one pass"},
	RuleRecreateUp:     {recreateGo, [3]int{129, 129, 129}, "then the new one to its whole size"},
	RuleRecreateWait:   {recreateGo, [3]int{99, 99, 99}, "not before the last old pod has ended, terminating ones included"},
	RuleFenceposts:     {utilGo, [3]int{887, 887, 883}, "surge rounded up, unavailable down, both 0 is unavailable 1"},
	RuleNewSize:        {utilGo, [3]int{820, 820, 817}, "counts spec.replicas, not pods"},
	RuleMaxUnavailable: {utilGo, [3]int{447, 447, 446}, "at most replicas, 0 when not rolling"},
	RuleScalingEvent:   {syncGo, [3]int{540, 539, 538}, "an active ReplicaSet's desired-replicas annotation differs from spec.replicas"},
	RuleFraction:       {utilGo, [3]int{502, 502, 501}, "share of a ReplicaSet in a change of size"},
	RuleScaledDown:     {rollingGo, [3]int{129, 129, 129}, "0 or less ends the pass"},
	RuleProgressing:    {utilGo, [3]int{755, 755, 752}, "more updated, ready or available pods, or fewer old ones"},
	RuleComplete:       {utilGo, [3]int{744, 744, 741}, "all pods new and available, none else"},
	RuleTimedOut:       {utilGo, [3]int{774, 774, 771}, "lastUpdateTime + progressDeadlineSeconds is before now"},
	RuleRequeue:        {progressGo, [3]int{160, 160, 160}, "one second after the deadline"},
	RuleAvailable:      {availableGo, [3]int{283, 283, 283}, "ready for minReadySeconds, by a time stamp of whole seconds"},
	RuleRevision:       {utilGo, [3]int{232, 232, 232}, "the new ReplicaSet takes the highest revision + 1"},
	RuleCleanup:        {syncGo, [3]int{443, 442, 441}, "old ReplicaSets beyond revisionHistoryLimit, lowest revision first"},
	RulePodOrder:       {controlGo, [3]int{835, 843, 843}, "pods that are not ready go first"},
	RuleTemplate:       {utilGo, [3]int{629, 629, 626}, "the oldest ReplicaSet with the wanted template"},
}

// Basis says where the group's rule is written. It is empty for an unknown rule.
func (g Group) Basis(rule Rule) Basis {
	p, ok := places[rule]
	if !ok {
		return Basis{}
	}
	for i, group := range Groups() {
		if group == g {
			return Basis{Source: p.source, Line: p.lines[i], Tag: g.tag(), Note: p.note}
		}
	}
	return Basis{Source: p.source, Line: p.lines[2], Tag: Group137.tag(), Note: p.note}
}

// Basis is that of the rules' group.
func (r Rules) Basis(rule Rule) Basis { return r.Group.Basis(rule) }
