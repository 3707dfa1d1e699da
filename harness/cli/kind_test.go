//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

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

// withEngine puts a docker into PATH that does what the script says, and returns
// where it notes what it is asked.
func withEngine(t *testing.T, script string) (calls string) {
	t.Helper()
	bin := t.TempDir()
	calls = filepath.Join(bin, "calls")
	text := "#!/bin/sh\necho \"$@\" >> " + calls + "\n" + script
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "docker")
	return calls
}

func TestANodeImageThatCannotBeHadIsNoEnvironmentThatFails(t *testing.T) {
	withEngine(t, `case "$1" in info) ;; *) echo "manifest unknown" >&2; exit 1 ;; esac`)
	clusters := t.TempDir()
	for _, args := range [][]string{
		{"cluster", "up", "--provider", "kind", "--node-image", "my/node:v9", "--clusters", clusters},
		{"run", "single-replica-restart", "--provider", "kind", "--node-image", "my/node:v9", "--clusters", clusters, "--results", t.TempDir()},
	} {
		if args[0] == "run" {
			args[1] = "scenario:" + args[1]
		}
		code, _, stderr := inProcess(t, args...)
		if code != cli.ExitUsage || !strings.Contains(stderr, "no image for the nodes: my/node:v9 is not here and cannot be pulled") {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
}

func TestADoctorThatIsInterruptedFindsNothing(t *testing.T) {
	calls := withEngine(t, "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(calls); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var out, stderr bytes.Buffer
	code := cli.Main(ctx, []string{"doctor", "--clusters", t.TempDir()}, cli.IO{Out: &out, Err: &stderr, Getenv: func(string) string { return "" }, Clock: clock.RealClock{}})
	if code != cli.ExitAborted || !strings.Contains(stderr.String(), "interrupted") || strings.Contains(out.String(), "kind:") {
		t.Errorf("code %d, %s\n%s", code, stderr.String(), out.String())
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
