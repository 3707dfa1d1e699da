package modeltest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/model/rollouts"
)

func TestParseErrorsCarryFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"rolout replicas=1":                                      `x.test:1: unknown word "rolout"`,
		"rollout replicas=1\nat\n":                               "x.test:2: at what?",
		"rollout replicas=1\n\nat dawn\n":                        `x.test:3: unknown case "dawn"`,
		"  weight 0":                                             "x.test:1: indented line outside",
		"at rollback\n  weight 0":                                "x.test:1: a rollout line must come first",
		"rollout replicas=many":                                  `x.test:1: replicas: "many" is not a number`,
		"rollout speed=3":                                        "x.test:1: speed: unknown field",
		"rollout steps=5,stop":                                   `x.test:1: steps: unknown step "stop"`,
		"rollout steps=500":                                      `x.test:1: steps: unknown step "500"`,
		"rollout routing=dns":                                    `x.test:1: routing: "dns" is none of`,
		"versions 2.0":                                           `x.test:1: unknown version group "2.0"`,
		"versions":                                               "x.test:1: versions needs a group",
		"rollout\nat rollback\n":                                 "x.test:2: a case without lines",
		"rollout\nat rollback\n  wait 3":                         `x.test:3: unknown line "wait"`,
		"rollout\nat rollback\n  weight":                         "x.test:3: numbers are missing",
		"rollout\nat rollback fast\n  weight 0":                  `x.test:2: unknown option "fast"`,
		"rollout\nat script\n  deploy":                           "x.test:3: deploy VERSION",
		"rollout\nat script\n  final weight":                     `x.test:3: "weight" is not key=value`,
		"rollout\nat count\n  weight 101 canary 3":               "x.test:3: weight 101 is above 100",
		"rollout\nat window v1\n  v1 from v2 fast":               `x.test:2: "v1" is not version:second`,
		"rollout\nat window v1:0\n  v1 from v2 soon":             "x.test:3: VERSION from VERSION fast|normal",
		"at versions\n  v1.8.2 was 1.7":                          "x.test:2: VERSION is|near GROUP",
		"rollout\nat rollback\n  max-weight-below-replicas 5 at": "x.test:3: max-weight-below-replicas WEIGHT",
	} {
		_, err := Parse("x.test", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestCheckNamesFileLineAndVersion(t *testing.T) {
	cases, err := Parse("x.test", "rollout replicas=20 minPods=2 steps=5,pause,100 window=3\nversions 1.9\nat rollback\n  weight 0\n  weight 0 100 0\n")
	if err != nil {
		t.Fatal(err)
	}
	errs := cases[0].Check(rollouts.RulesForGroup(rollouts.Group19))
	if len(errs) != 1 || errs[0].Error() != "x.test:4: 1.9: weight is [0 100 0], want [0]" {
		t.Errorf("errors %v", errs)
	}
}

// FuzzParse: a corpus file never panics the parser, and its errors have a position.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../testdata/*.test")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	position := regexp.MustCompile(`^x\.test:[1-9][0-9]*: `)
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := Parse("x.test", text)
		if err != nil {
			if !position.MatchString(err.Error()) {
				t.Errorf("error without a position: %v", err)
			}
			return
		}
		for _, c := range cases {
			if len(c.Groups) == 0 || c.Line == 0 {
				t.Errorf("case without versions or line: %+v", c)
			}
		}
	})
}
