//go:build linux

package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/judge"
)

const (
	patchedVersion = "v1.8.2"
	// lastWeight is the rule that a rollback takes while its pods become ready:
	// the weight of the last step. The patch takes no more than what is there.
	lastWeight = "desiredWeight = *step.SetWeight\n"
	fairWeight = "desiredWeight = min(*step.SetWeight, 100*c.newRS.Status.AvailableReplicas / *c.rollout.Spec.Replicas)\n"
)

// A controller that does not do what the model of its release says is found
// out. The slow one: it compiles a controller unless the cache has it.
func TestPatchedControllerBreaksClaims(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := patched(t)
	// Slow enough for a pass of the controller between the two pods.
	cmd := p.run(small("--set", "ramp=3s", "--version", "argo-rollouts="+dir+"@"+patchedVersion)...)
	cmd.exits(1)
	v := wantVerdict(t, p.runDirs()[0], judge.Fail)
	for _, c := range v.Claims {
		if c.ID != "weights" {
			continue
		}
		if c.Status != judge.Broken || !strings.HasPrefix(c.Observed, "0 → 50") || len(c.Objects) == 0 || !strings.Contains(c.Objects[0], "virtualservices.networking.istio.io/drill@") {
			t.Fatalf("claim weights: %+v", c)
		}
		for _, want := range []string{"weights", c.Observed, c.Objects[0], "BROKEN"} {
			if !strings.Contains(cmd.stdout.String(), want) {
				t.Errorf("no %q in the report:\n%s", want, cmd.stdout.String())
			}
		}
	}
	for _, c := range v.Components {
		if c.Name == "argo-rollouts" && (c.Source != "directory" || c.Base != patchedVersion) {
			t.Errorf("component: %+v", c)
		}
	}
	p.nothingLeft(nil)
}

// The same patch is what a gate is for: it fails as something that no model predicts.
func TestGateFindsAPatchedController(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	args := []string{"gate", "argo-rollouts", patchedVersion, patched(t) + "@" + patchedVersion, "--drill", "scenario:rollback-window", "--results", p.results}
	cmd := p.start(append(args, small("--set", "ramp=3s")[1:]...)...)
	cmd.exits(1)
	for _, want := range []string{"FAIL", "CHANGED, UNKNOWN  rollback-window", "claim weights", "where its model predicts"} {
		if !strings.Contains(cmd.stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, cmd.stdout.String())
		}
	}
	p.nothingLeft(nil)
}

// patched copies the sources of the release and changes one rule.
func patched(t *testing.T) string {
	t.Helper()
	const module = "github.com/argoproj/argo-rollouts"
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), module+"@"+patchedVersion)
	if _, err := os.Stat(source); err != nil {
		t.Skipf("the sources of Argo Rollouts %s are not in the module cache: %v", patchedVersion, err)
	}
	dir := t.TempDir()
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(source, path)
		to := filepath.Join(dir, rel)
		if err != nil || d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	rule := filepath.Join(dir, "rollout", "trafficrouting.go")
	text, err := os.ReadFile(rule)
	if err != nil || bytes.Count(text, []byte(lastWeight)) != 1 {
		t.Fatalf("the rule is not where it was: %v", err)
	}
	if err := os.WriteFile(rule, bytes.Replace(text, []byte(lastWeight), []byte(fairWeight), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
