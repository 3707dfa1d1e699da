// Package modeltest runs a corpus of text cases against the model in package deployment.
// The language is described in ../testdata/README.md.
package modeltest

import (
	"os"
	"path/filepath"
	"testing"
)

// RunCorpus runs every *.test file of a folder, one subtest for a case. A folder without
// cases fails.
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
		parsed, err := Parse(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		cases += len(parsed)
		for _, c := range parsed {
			t.Run(c.Name(), func(t *testing.T) {
				for _, err := range c.Check() {
					t.Error(err)
				}
			})
		}
	}
	if cases == 0 {
		t.Fatalf("%s: no cases in *.test files", dir)
	}
	t.Logf("%d cases in %d files", cases, len(files))
}
