package modeltest

import (
	"strings"
	"testing"
)

func TestParseErrorsCarryFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"budget none":                             `x.test:1: unknown line "budget none"`,
		"at":                                      `x.test:1: unknown line "at"`,
		"  code 201":                              "x.test:1: indented line outside",
		"at dawn":                                 `x.test:1: unknown case "dawn"`,
		"budgets minAvailable=some":               `x.test:1: "some" is neither`,
		"budgets speed=1":                         `x.test:1: unknown field "speed"`,
		"budgets policy=Sometimes":                `x.test:1: unknown policy "Sometimes"`,
		"at evictions replicas=x":                 `x.test:1: replicas: "x" is not a number`,
		"at evictions pace=3":                     `x.test:1: unknown option "pace=3"`,
		"at evictions replacement=soon":           `x.test:1: unknown option "replacement=soon"`,
		"at evictions replicas=1":                 "x.test:1: a case without lines",
		"at status d:ready":                       "x.test:1: one budget is needed",
		"budgets minAvailable=1\nat status d:odd": `x.test:2: unknown state of a pod "odd"`,
		"at answer":                               "x.test:1: a pod is missing",
		"at answer ready mood=3":                  `x.test:1: unknown option "mood=3"`,
	} {
		_, err := Parse("x.test", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// A corpus that is wrong fails: the checks check something.
func TestWrongExpectationsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"at answer ready\n  code 429":       `x.test:3: code is "201", want "429"`,
		"at answer ready\n  colour red":     `x.test:3: "colour" is not known here`,
		"at evictions n=1\n  least-ready 1": `x.test:3: least-ready is "0", want "1"`,
	} {
		cases, err := Parse("x.test", "budgets none\n"+text)
		if err != nil {
			t.Fatal(err)
		}
		if err := cases[0].Check(); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
