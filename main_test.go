package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCommands runs the commands of the README as a reader would: those
// of its console blocks one after the other in one directory, and `make drill`.
func TestReadmeCommands(t *testing.T) {
	reckon := os.Getenv("RECKON")
	if reckon == "" || testing.Short() {
		t.Skip("RECKON names no built binary, or -short: these commands bring clusters up")
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := consoleCommands(string(text))
	if len(commands) == 0 {
		t.Fatal("the README has no console block")
	}
	dir := t.TempDir()
	for _, command := range commands {
		run(t, dir, command, "PATH="+filepath.Dir(reckon)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	out := run(t, ".", "make drill")
	for _, want := range []string{"PASS", "BROKEN (as predicted)", "overload  1.5    20               20"} {
		if !strings.Contains(out, want) {
			t.Errorf("make drill does not print %q:\n%s", want, out)
		}
	}
}

// TestShippedDrills runs the drills of Kubernetes' own controllers: every claim
// of every cell must hold on the real ones.
func TestShippedDrills(t *testing.T) {
	reckon := os.Getenv("RECKON")
	if reckon == "" || testing.Short() {
		t.Skip("RECKON names no built binary, or -short: these drills bring clusters up")
	}
	for _, name := range []string{"single-replica-restart", "deployments", "revisions", "statefulsets", "evictions"} {
		t.Run(name, func(t *testing.T) {
			run(t, t.TempDir(), reckon+" run "+name+" --quiet")
		})
	}
}

// TestTheDrillOfRealPods runs what `make drill-kind` runs: every claim must hold
// on real pods under real requests, and nothing may be left of them.
func TestTheDrillOfRealPods(t *testing.T) {
	reckon := os.Getenv("RECKON_TEST_KIND")
	if reckon == "" {
		t.Skip("RECKON_TEST_KIND is not set: `make test-kind` sets it")
	}
	before := run(t, ".", reckon+" cluster list")
	out := run(t, t.TempDir(), reckon+" run kind --quiet")
	for _, want := range []string{"PASS  3 runs: 3 pass", "Three-way check", "busiest pods (client grpc)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the drill does not print %q:\n%s", want, out)
		}
	}
	if after := run(t, ".", reckon+" cluster list"); after != before {
		t.Errorf("clusters before:\n%s\nand after:\n%s", before, after)
	}
}

func consoleCommands(readme string) []string {
	var out []string
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, strings.TrimSpace(command))
			}
		}
	}
	return out
}

func run(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}
