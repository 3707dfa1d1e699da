package statefulset

import "reckon.dev/reckon/harness/model/source"

// A Basis is where a rule was read, a path in github.com/kubernetes/kubernetes.
type Basis = source.Basis

// A Rule names one place in the controller, whatever its line at a tag.
type Rule string

// The rules.
const (
	RuleMissing        Rule = "missing"
	RuleOrdered        Rule = "ordered"
	RulePartition      Rule = "partition"
	RuleRevisionFor    Rule = "revisionFor"
	RuleSameRevision   Rule = "sameRevision"
	RuleUpdate         Rule = "update"
	RuleUpdateParallel Rule = "updateParallel"
	RuleBroken         Rule = "broken"
	RuleBudget         Rule = "budget"
	RuleMaxUnavailable Rule = "maxUnavailable"
	RuleFeature        Rule = "feature"
	RuleField          Rule = "field"
	RuleComplete       Rule = "complete"
	RuleObserved       Rule = "observed"
)

// tag is the release at which a group's lines were read.
func (g Group) tag() string {
	switch g {
	case Group134:
		return "v1.34.2"
	case Group1350:
		return "v1.35.0"
	case Group1354:
		return "v1.36.0"
	}
	return "v1.37.2"
}

// A place has one line for each group, oldest first.
type place struct {
	source string
	lines  [4]int
	note   string
}

const (
	controlGo  = "pkg/controller/statefulset/stateful_set_control.go"
	utilsGo    = "pkg/controller/statefulset/stateful_set_utils.go"
	featuresGo = "pkg/features/kube_features.go"
	strategyGo = "pkg/registry/apps/statefulset/strategy.go"
)

// Where a group has the gate on, update and budget are those of the other function.
var places = map[Rule]place{
	RuleMissing:        {controlGo, [4]int{440, 441, 435, 439}, "a missing pod is made"},
	RuleOrdered:        {controlGo, [4]int{488, 487, 481, 485}, "an ordered set stops at the first pod that is not available"},
	RulePartition:      {controlGo, [4]int{729, 767, 711, 828}, "the update ends at the partition"},
	RuleRevisionFor:    {utilsGo, [4]int{536, 532, 533, 538}, "below the partition a pod is made at the current revision, else at that of the template"},
	RuleSameRevision:   {controlGo, [4]int{290, 291, 291, 295}, "a template that was there before is that revision again"},
	RuleUpdate:         {controlGo, [4]int{732, 809, 714, 919}, "from the highest ordinal down"},
	RuleUpdateParallel: {controlGo, [4]int{732, 809, 714, 899}, "from the highest ordinal down"},
	RuleBroken:         {controlGo, [4]int{0, 0, 0, 882}, "unavailable pods of an old revision go first, whatever the budget"},
	RuleBudget:         {controlGo, [4]int{748, 792, 728, 863}, "not while too many pods are unavailable"},
	RuleMaxUnavailable: {utilsGo, [4]int{691, 687, 688, 700}, "a percentage goes down, but never below 1"},
	RuleFeature:        {featuresGo, [4]int{1474, 1515, 1672, 1839}, "whether MaxUnavailableStatefulSet is on"},
	RuleField:          {strategyGo, [4]int{126, 121, 121, 121}, "without the gate the API server drops maxUnavailable"},
	RuleComplete:       {utilsGo, [4]int{642, 638, 639, 645}, "the current revision moves on when all pods are updated and ready"},
	RuleObserved:       {controlGo, [4]int{591, 586, 574, 585}, "the status says which generation it speaks of"},
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
	return Basis{Source: p.source, Line: p.lines[len(p.lines)-1], Tag: Group137.tag(), Note: p.note}
}

// Basis is that of the rules' group.
func (r Rules) Basis(rule Rule) Basis { return r.Group.Basis(rule) }
