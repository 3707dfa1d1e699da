//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/cli"
)

// withoutEngine takes all container engines out of reach.
func withoutEngine(t *testing.T) {
	t.Helper()
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "no-such-engine")
}

func TestWithoutAContainerEngineOnlyKindIsRefused(t *testing.T) {
	withoutEngine(t)
	clusters := filepath.Join(t.TempDir(), "clusters")
	code, _, stderr := inProcess(t, "cluster", "up", "--provider", "kind", "--clusters", clusters)
	if code != cli.ExitInvalid || !strings.Contains(stderr, "no container engine answers") {
		t.Errorf("up: code %d, %s", code, stderr)
	}
	for _, args := range [][]string{{"clean"}, {"cluster", "list"}} {
		if code, _, stderr := inProcess(t, append(args, "--clusters", clusters)...); code != cli.ExitPass {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(clusters); err == nil {
		t.Error("something was made")
	}
}

func TestARemainderThatNeedsTheEngineIsNotForgotten(t *testing.T) {
	withoutEngine(t)
	clusters := t.TempDir()
	dir := filepath.Join(clusters, ".kind", "crashed")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), []byte(`{"name":"crashed","phase":"creating","nodes":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := inProcess(t, "cluster", "list", "--clusters", clusters)
	if code != cli.ExitPass || !strings.Contains(stdout, "crashed  kind      creating  0 of 1") {
		t.Errorf("list: code %d, %s", code, stdout)
	}
	if code, _, stderr := inProcess(t, "clean", "--clusters", clusters); code != cli.ExitCleanup || !strings.Contains(stderr, "cannot be removed") {
		t.Errorf("clean: code %d, %s", code, stderr)
	}
}
