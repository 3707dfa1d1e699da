package disruption

import (
	"fmt"
	"maps"
	"slices"
)

// A Rule names one place in the API server or the controller, whatever its line at a tag.
type Rule string

// The rules.
const (
	RuleNoBudget  Rule = "noBudget"
	RuleMany      Rule = "moreThanOneBudget"
	RuleAlways    Rule = "alwaysAllow"
	RuleIfHealthy Rule = "ifHealthyBudget"
	RuleSpent     Rule = "spent"
	RuleCause     Rule = "cause"
	RuleCharge    Rule = "charge"
	RuleDelete    Rule = "delete"
	RuleExpected  Rule = "expected"
	RuleHealthy   Rule = "healthy"
	RuleDisrupted Rule = "disrupted"
	RuleAllowed   Rule = "allowed"
	RuleObserved  Rule = "observed"
	// RuleActive is the ReplicaSet controller's: a pod that is being deleted is none.
	RuleActive Rule = "active"
)

const (
	evictionGo   = "pkg/registry/core/pod/storage/eviction.go"
	disruptionGo = "pkg/controller/disruption/disruption.go"
	replicaSetGo = "pkg/controller/replicaset/replica_set.go"
)

// places have one line for each of the releases at which they were read.
var (
	tags   = [3]string{"v1.34.2", "v1.36.0", "v1.37.2"}
	places = map[Rule]struct {
		source string
		lines  [3]int
	}{
		RuleNoBudget:  {evictionGo, [3]int{231, 231, 232}},
		RuleMany:      {evictionGo, [3]int{223, 223, 224}},
		RuleAlways:    {evictionGo, [3]int{241, 241, 242}},
		RuleIfHealthy: {evictionGo, [3]int{247, 247, 248}},
		RuleSpent:     {evictionGo, [3]int{435, 435, 446}},
		RuleCause:     {evictionGo, [3]int{437, 444, 455}},
		RuleCharge:    {evictionGo, [3]int{441, 460, 471}},
		RuleDelete:    {evictionGo, [3]int{301, 301, 302}},
		RuleExpected:  {disruptionGo, [3]int{808, 813, 815}},
		RuleHealthy:   {disruptionGo, [3]int{914, 919, 921}},
		RuleDisrupted: {disruptionGo, [3]int{934, 939, 941}},
		RuleAllowed:   {disruptionGo, [3]int{998, 1003, 1005}},
		RuleObserved:  {disruptionGo, [3]int{991, 996, 998}},
		RuleActive:    {replicaSetGo, [3]int{738, 804, 804}},
	}
)

// AllRules lists the rules.
func AllRules() []Rule { return slices.Sorted(maps.Keys(places)) }

// Basis is where the rule is written, at the release of these rules that was read; empty
// for an unknown rule.
func (r Rules) Basis(rule Rule) string {
	at := 0
	switch {
	case r.CauseOnForbidden:
		at = 2
	case r.TellsReason:
		at = 1
	}
	p, ok := places[rule]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d (%s)", p.source, p.lines[at], tags[at])
}

// Group names the releases that the rules speak for.
func (r Rules) Group() string {
	switch {
	case r.CauseOnForbidden:
		return "1.37"
	case r.TellsReason:
		return "1.35-1.36"
	}
	return "1.34"
}
