package strict_test

import (
	"strings"
	"testing"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/strict"
)

// FuzzDrill: whatever a drill file holds, reading it ends in a drill or in an
// error of one line.
func FuzzDrill(f *testing.F) {
	for _, text := range []string{
		"", "a: b\n", "- - - -", "{a: {b: [", "? [a]\n: b\n", "a: &a [*a]\n", "a: !!binary x\n", "%YAML 9\n---\n", "\xff\xfe", "a: \"\\n\"\n", "<<: {a: b}\n",
		"apiVersion: reckon/v1\nkind: Drill\nmetadata: {name: a}\nspec:\n  repeat: 2\n  scenarios:\n  - name: rollback-window\n    params: {steps: [5, pause 2s, {setCanaryScale: {weight: 5}}], ramp: 1s}\n    matrix: {argo-rollouts: [v1.8.2], replicas: [1, 2]}\n    guards: {overload: 1.5}\n",
		"apiVersion: reckon/v1\nkind: Drill\nmetadata: {name: a}\nspec:\n  scenarios:\n  - name: rollback-window-abort\n    params: {escape: abort, atWeight: 5}\n  gate: {claims: report}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		oneLine := func(err error) {
			if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error has more than one line: %q", err)
			}
		}
		doc, err := strict.Parse("f", []byte(text))
		oneLine(err)
		if err != nil {
			return
		}
		oneLine(doc.Decode(&drills.Drill{}))
		_, err = drills.Load("f", []byte(text))
		oneLine(err)
	})
}
