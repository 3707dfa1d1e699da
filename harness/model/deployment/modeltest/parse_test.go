package modeltest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestParseErrorsCarryFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"deploment replicas=1":                           `x.test:1: unknown word "deploment"`,
		"at\n":                                           "x.test:1: at what?",
		"deployment\n\nat dawn\n":                        `x.test:3: unknown case "dawn"`,
		"  10 3 2":                                       "x.test:1: indented line outside",
		"deployment replicas=many":                       `x.test:1: replicas: "many" is not a number`,
		"deployment surge=-1":                            `x.test:1: surge: "-1" is neither`,
		"deployment speed=3":                             "x.test:1: speed: unknown field",
		"at play\n":                                      "x.test:1: a case without lines",
		"at play\n  wait 3":                              `x.test:2: unknown line "wait"`,
		"at play\n  deploy":                              "x.test:2: deploy with 0 arguments",
		"at play\n  up":                                  "x.test:2: up with 0 arguments",
		"at play\n  scale":                               "x.test:2: numbers are missing",
		"at play\n  sizes v1":                            "x.test:2: expected: sizes VERSION",
		"at play\n  surge 2":                             "x.test:2: expected: surge N unavailable N",
		"at play\n  deploy v2 fast":                      `x.test:2: "fast" is not ready=N`,
		"at play v1=1/1\n  up v1":                        `x.test:1: at play takes no "v1=1/1"`,
		"at pass v1\n  writes nothing":                   `x.test:1: "v1" is not VERSION=AVAILABLE/WANTED`,
		"at pass v1=1/1\n  wrote v1 2":                   `x.test:2: unknown line "wrote"`,
		"at pass v1=1/1\n  writes v1":                    `x.test:2: "v1" is not VERSION SIZE`,
		"at fenceposts\n  1 2":                           "x.test:2: expected: REPLICAS SURGE UNAVAILABLE",
		"at explore\n  fewest 3":                         `x.test:2: unknown line "fewest"`,
		"at history\n  redo":                             `x.test:2: unknown line "redo"`,
		"at history\n  undo last":                        `x.test:2: "last" is not a number`,
		"at versions\n  v1.37.2 was 1.37":                "x.test:2: VERSION is|near GROUP",
		"at versions\n  v1.37.2 is 2.0":                  `x.test:2: unknown version group "2.0"`,
		"deployment replicas=99999999\nat play\n  up v1": "x.test:1: replicas:",
	} {
		_, err := Parse("x.test", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestCheckNamesFileAndLine(t *testing.T) {
	cases, err := Parse("x.test", "deployment replicas=3\nat play\n  up v1\n  deploy v2\n  sizes v2 0 3\n  least 3\n")
	if err != nil {
		t.Fatal(err)
	}
	errs := cases[0].Check()
	if len(errs) != 1 || errs[0].Error() != "x.test:5: sizes of v2 is [0 1 2 3], want [0 3]" {
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
		if _, err := Parse("x.test", text); err != nil && !position.MatchString(err.Error()) {
			t.Errorf("error without a position: %v", err)
		}
	})
}
