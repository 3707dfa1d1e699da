package statefulset

import "testing"

func TestEveryRuleHasABasis(t *testing.T) {
	for rule := range places {
		for _, g := range Groups() {
			b := g.Basis(rule)
			if absent := rule == RuleBroken && !RulesForGroup(g).UnavailableFirst; absent != (b.Line == 0) || b.Source == "" || b.Tag == "" || b.Note == "" {
				t.Errorf("%s of %s: %+v", rule, g, b)
			}
		}
	}
	if got := Group137.Basis(RuleMissing).String(); got != "pkg/controller/statefulset/stateful_set_control.go:439 (v1.37.2)" {
		t.Errorf("basis %q", got)
	}
	for _, got := range []string{Group134.Basis("no such rule").String(), Group134.Basis(RuleBroken).String()} {
		if got != "" {
			t.Errorf("a rule that is not there has the basis %q", got)
		}
	}
}
