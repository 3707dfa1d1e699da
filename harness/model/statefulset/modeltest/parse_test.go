package modeltest

import (
	"strings"
	"testing"

	"reckon.dev/reckon/harness/model/statefulset"
)

func TestParseErrorsCarryFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"sett replicas=1":                        `x.test:1: unknown word "sett"`,
		"set\nat":                                "x.test:2: at what?",
		"set\nat dawn":                           "x.test:2: at what?",
		"  pods v1":                              "x.test:1: indented line outside",
		"at script\n  pods v1":                   "x.test:1: a set line must come first",
		"set replicas=many":                      `x.test:1: replicas: "many" is not a number`,
		"set speed=3":                            "x.test:1: speed: unknown field",
		"set policy=Serial":                      `x.test:1: policy: "Serial" is neither`,
		"set maxUnavailable=101%":                `x.test:1: maxUnavailable: "101%" is neither`,
		"versions 2.0":                           `x.test:1: unknown version group "2.0"`,
		"versions":                               "x.test:1: versions needs a group",
		"set\nat script":                         "x.test:2: a case without lines",
		"set\nat script soon\n  pods v1":         `x.test:2: at script does not take ["soon"]`,
		"set\nat script\n  jump 3":               `x.test:3: unknown line "jump"`,
		"set\nat script\n  delete":               "x.test:3: delete N",
		"set\nat script\n  deletions":            "x.test:3: numbers are missing",
		"set\nat script\n  revisions":            "x.test:3: numbers are missing",
		"set\nat pass\n  does nothing":           "x.test:2: pods are missing",
		"set\nat pass v1?!\n  does nothing":      `x.test:2: "v1?!" is not a revision`,
		"set\nat pass v1\n  must delete 1":       "x.test:3: expected: does ACTIONS",
		"set\nat history\n  add 1":               "x.test:3: add ORDINALS at REVISION",
		"set\nat history\n  explode 1":           `x.test:3: unknown event "explode"`,
		"set\nat envelope\n  creations some":     `x.test:3: unknown line "creations"`,
		"at versions\n  v1.37.2 was 1.37":        "x.test:2: VERSION is|near GROUP",
		"at versions\n  v1.37.2 is 1.99":         `x.test:2: unknown version group "1.99"`,
		"set\nat script stuck=x\n  template v2":  `x.test:2: "x" is not a number`,
		"set\nat script\n  template v2 or maybe": `x.test:3: unknown line "template"`,
	} {
		_, err := Parse("x.test", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// A corpus that is wrong fails: the checks check something.
func TestWrongExpectationsAreFound(t *testing.T) {
	for _, line := range []string{
		"script\n  template v2\n  deletions 1 2 0", "script\n  template v2\n  pods v1 v1 v1",
		"script\n  template v2\n  least-ready 3", "script\n  delete 7",
		"pass v1 v1 v1\n  does nothing", "pass v1 v1 v1?\n  waits none",
		"history\n  add 0 at v2\n  legal", "history\n  add 0 at v1\n  illegal event 2",
		"envelope\n  deletions 0", "envelope\n  creations any", "versions\n  v1.37.2 near 1.37",
	} {
		cases, err := Parse("x.test", "versions 1.37\nset replicas=3\nat "+line)
		if err != nil {
			t.Fatal(err)
		}
		if errs := cases[0].Check(rulesOf(t, cases[0])); len(errs) == 0 {
			t.Errorf("%q holds", line)
		}
	}
}

func rulesOf(t *testing.T, c Case) statefulset.Rules {
	t.Helper()
	if len(c.Groups) != 1 {
		t.Fatalf("groups %v", c.Groups)
	}
	return statefulset.RulesForGroup(c.Groups[0])
}
