package autoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// A Rule names one place in the controller, whatever its line at a tag.
type Rule string

// The rules.
const (
	RuleBase       Rule = "base"       // the size in spec, not that in status, is where a sync starts
	RuleActive     Rule = "active"     // a size could be computed from the metric
	RuleIgnored    Rule = "ignored"    // pods that are being deleted do not count
	RuleReady      Rule = "ready"      // for memory a pod counts whether or not it is ready
	RuleTolerance  Rule = "tolerance"  // a ratio near 1 changes nothing
	RuleMultiple   Rule = "multiple"   // else the size is a multiple of the pods that exist
	RuleMissing    Rule = "missing"    // pods without a reading are taken to be at the target
	RuleDirection  Rule = "direction"  // with assumed readings, the direction must not change
	RuleStabilized Rule = "stabilized" // the highest proposal of five minutes
	RuleBounds     Rule = "bounds"     // maxReplicas, and not more than twice the size
	RuleStatus     Rule = "status"     // the status is written when it differs
	RulePeriod     Rule = "period"     // each sync asks for the next one, a period later
	RuleStatusSize Rule = "statusSize" // an average of something external starts from the size in status
	RuleExternal   Rule = "external"   // outside the tolerance it is what the whole needs, whatever pods there are
	RuleHighest    Rule = "highest"    // of several metrics the one that wants the most
)

const (
	calculatorGo = "pkg/controller/podautoscaler/replica_calculator.go"
	horizontalGo = "pkg/controller/podautoscaler/horizontal.go"
)

// places have one line for each of the releases at which they were read.
var (
	tags   = [4]string{"v1.34.2", "v1.35.4", "v1.36.3", "v1.37.2"}
	places = map[Rule]struct {
		source string
		lines  [4]int
	}{
		RuleBase:       {horizontalGo, [4]int{311, 321, 321, 386}},
		RuleActive:     {horizontalGo, [4]int{348, 358, 358, 423}},
		RuleIgnored:    {calculatorGo, [4]int{414, 427, 427, 427}},
		RuleReady:      {calculatorGo, [4]int{450, 463, 463, 463}},
		RuleTolerance:  {calculatorGo, [4]int{219, 219, 219, 219}},
		RuleMultiple:   {calculatorGo, [4]int{223, 223, 223, 223}},
		RuleMissing:    {calculatorGo, [4]int{228, 228, 228, 228}},
		RuleDirection:  {calculatorGo, [4]int{257, 257, 257, 257}},
		RuleStabilized: {horizontalGo, [4]int{972, 989, 1044, 1095}},
		RuleBounds:     {horizontalGo, [4]int{1277, 1294, 1349, 1400}},
		RuleStatus:     {horizontalGo, [4]int{1421, 1438, 1493, 1548}},
		RulePeriod:     {horizontalGo, [4]int{291, 301, 301, 366}},
		RuleStatusSize: {calculatorGo, [4]int{388, 401, 401, 401}},
		RuleExternal:   {calculatorGo, [4]int{392, 405, 405, 405}},
		RuleHighest:    {horizontalGo, [4]int{330, 340, 340, 405}},
	}
)

// AllRules lists the rules.
func AllRules() []Rule { return slices.Sorted(maps.Keys(places)) }

// Rules are those of one release.
type Rules struct{ at int }

// RulesFor returns the rules of a release such as "v1.37.2". A release of a minor
// version that nobody read gets the nearest one with known false, and so does
// anything that is not a release, which gets the newest.
func RulesFor(version string) (rules Rules, known bool) {
	newest := Rules{len(tags) - 1}
	if !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	if !semver.IsValid(version) {
		return newest, false
	}
	for i, tag := range tags {
		if semver.MajorMinor(version) == semver.MajorMinor(tag) {
			return Rules{i}, true
		}
	}
	if semver.Compare(version, tags[0]) < 0 {
		return Rules{}, false
	}
	return newest, false
}

// Tag is the release at which the rules were read.
func (r Rules) Tag() string { return tags[r.at] }

// Basis is where a rule is written; empty for an unknown rule.
func (r Rules) Basis(rule Rule) string {
	p, ok := places[rule]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d (%s)", p.source, p.lines[r.at], r.Tag())
}
