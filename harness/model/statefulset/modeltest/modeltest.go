// Package modeltest runs a corpus of text cases against the model in package statefulset.
// The language is described in ../testdata/README.md.
package modeltest

import (
	"os"
	"path/filepath"
	"testing"

	"reckon.dev/reckon/harness/model/statefulset"
)

// RunCorpus runs every *.test file of a folder, one subtest for a case and a group of
// versions. A folder without cases fails.
func RunCorpus(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.test"))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases += runText(t, file, string(text))
	}
	if cases == 0 {
		t.Fatalf("%s: no cases in *.test files", dir)
	}
	t.Logf("%d cases in %d files", cases, len(files))
}

func runText(t *testing.T, file, text string) int {
	t.Helper()
	cases, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, group := range c.Groups {
			t.Run(c.Name()+"/"+string(group), func(t *testing.T) {
				for _, err := range c.Check(statefulset.RulesForGroup(group)) {
					t.Error(err)
				}
			})
		}
	}
	return len(cases)
}
