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

const patchedVersion = "v1.8.2"

// patch is one decision of the controller, altered.
type patch struct{ file, old, new string }

// The weight of the last step is the rule that a rollback takes while its pods become
// ready. The patch takes no more than what is there.
var fairWeight = patch{
	file: "rollout/trafficrouting.go",
	old:  "desiredWeight = *step.SetWeight\n",
	new:  "desiredWeight = min(*step.SetWeight, 100*c.newRS.Status.AvailableReplicas / *c.rollout.Spec.Replicas)\n",
}

// A controller that does not do what the model of its release says is found
// out. The slow one: it compiles a controller unless the cache has it.
func TestPatchedControllerBreaksClaims(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := patched(t, fairWeight)
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

// Forks are what a gate is for: it names the scenario that tells each of them from
// its release, as something that no model predicts, and no other.
func TestGateFindsPatchedControllers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const drill = "testdata/forks.yaml"
	p.run(drill, "--version", "argo-rollouts="+patchedVersion).exits(0)
	scenarios := []string{"rollback-window", "canary-abort", "canary-sizes"}
	for _, fork := range []struct {
		name string
		patch
		changes string
	}{
		{name: "no more weight than pods", patch: fairWeight, changes: "rollback-window"},
		{
			name: "the stable version's missing pods do not matter",
			patch: patch{
				file: "rollout/trafficrouting.go",
				old:  "if !c.checkReplicasAvailable(c.stableRS, weightutil.MaxTrafficWeight(c.rollout)-desiredWeight) {",
				new:  "if desiredWeight > weightutil.MaxTrafficWeight(c.rollout) {",
			},
			changes: "canary-abort",
		},
		{
			name: "the least number of pods does not matter",
			patch: patch{
				file: "utils/replicaset/canary.go",
				old:  "return max(count, *rollout.Spec.Strategy.Canary.MinPodsPerReplicaSet)",
				new:  "return count",
			},
			changes: "canary-sizes",
		},
	} {
		t.Run(fork.name, func(t *testing.T) {
			gate := p.start("gate", "argo-rollouts", patchedVersion, patched(t, fork.patch)+"@"+patchedVersion, "--drill", drill,
				"--baselines="+filepath.Join(p.results, "runs"), "--results", t.TempDir())
			gate.exits(1)
			out := gate.stdout.String()
			for _, scenario := range scenarios {
				found := strings.Contains(out, "CHANGED, UNKNOWN  "+scenario+"[")
				if found != (scenario == fork.changes) {
					t.Errorf("%s found: %v\n%s", scenario, found, out)
				}
			}
			for _, want := range []string{"FAIL", "where its model predicts"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
	p.nothingLeft(nil)
}

// A version that ends as it starts is what an upgrade is asked about: a claim breaks,
// and the run counts.
func TestAVersionThatDoesNotStartBreaksAClaim(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := patched(t, patch{
		file: "cmd/rollouts-controller/main.go",
		old:  "log.WithField(\"version\", version.GetVersion()).Info(\"Argo Rollouts starting\")",
		new:  "log.Fatal(\"the fork does not like its configuration\")",
	})
	cmd := p.run("scenario:upgrade-noop", "--set", "from="+patchedVersion, "--set", "to="+dir+"@"+patchedVersion)
	cmd.exits(1)
	v := wantVerdict(t, p.runDirs()[0], judge.Fail)
	for _, c := range v.Claims {
		starts := strings.HasPrefix(c.ID, "starts ")
		if starts != (c.Status == judge.Broken) && !strings.HasPrefix(c.ID, "lives ") {
			t.Errorf("claim %s: %s, observed %s", c.ID, c.Status, c.Observed)
		}
		if starts && !strings.Contains(c.Why, "does not like its configuration") {
			t.Errorf("the log of the version is not told: %+v", c)
		}
	}
	p.nothingLeft(nil)
}

// patched copies the sources of the release and alters one decision.
func patched(t *testing.T, alter patch) string {
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
	file := filepath.Join(dir, filepath.FromSlash(alter.file))
	text, err := os.ReadFile(file)
	if err != nil || bytes.Count(text, []byte(alter.old)) != 1 {
		t.Fatalf("the decision is not where it was: %v", err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(alter.old), []byte(alter.new), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
