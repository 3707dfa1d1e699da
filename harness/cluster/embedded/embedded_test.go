//go:build linux

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

// fakeBinaries are five times the same shell script.
func fakeBinaries(t *testing.T, script string) Binaries {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Binaries{Etcd: path, APIServer: path, ControllerManager: path, Scheduler: path, Kwok: path}
}

func assertEmpty(t *testing.T, root string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != ".lock" {
			t.Errorf("left behind: %s", entry.Name())
		}
	}
	assertNoProcess(t, root)
}

func assertNoProcess(t *testing.T, root string) {
	t.Helper()
	strays, err := process.Marked(func(m process.Mark) bool { return m.Root == root })
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strays {
		t.Errorf("still running: %+v", s)
	}
}

func TestComponentThatDiesIsNamedAndNothingIsLeft(t *testing.T) {
	root := t.TempDir()
	begin := time.Now()
	_, err := Up(context.Background(), Config{Root: root, Binaries: fakeBinaries(t, "echo no space left on device; exit 7")})
	if err == nil {
		t.Fatal("Up with a program that only exits")
	}
	for _, want := range []string{"ended by itself", "exit status 7", "no space left on device"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if time.Since(begin) > 10*time.Second {
		t.Error("waited for a process that was dead")
	}
	assertEmpty(t, root)
}

func TestCancelledUpLeavesNothing(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		eventually(t, "two processes", func() bool {
			strays, _ := process.Marked(func(m process.Mark) bool { return m.Root == root })
			return len(strays) == 2
		})
	}()
	_, err := Up(ctx, Config{Root: root, Binaries: fakeBinaries(t, "exec sleep 600")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Up: %v", err)
	}
	assertEmpty(t, root)
}

func TestNameIsTakenOnce(t *testing.T) {
	root := t.TempDir()
	cfg, err := Config{Root: root, Binaries: fakeBinaries(t, "exec sleep 600"), Options: cluster.Options{Name: "one"}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	c, err := create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create(cfg); err == nil || !strings.Contains(err.Error(), "there is a cluster one") {
		t.Errorf("second cluster of a name: %v", err)
	}
	for range 2 {
		if err := c.Down(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := Down(context.Background(), root, "one"); err != nil {
		t.Errorf("Down of what is gone: %v", err)
	}
	assertEmpty(t, root)
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Root: t.TempDir(), Binaries: fakeBinaries(t, "")}
	for _, breakIt := range []func(*Config){
		func(c *Config) { c.Root = "" },
		func(c *Config) { c.Name = "../evil" },
		func(c *Config) { c.Name = "Capital" },
		func(c *Config) { c.Nodes = -1 },
		func(c *Config) { c.Nodes = MaxNodes + 1 },
		func(c *Config) { c.Binaries.Kwok = "" },
		func(c *Config) { c.Binaries.Etcd = "/nonexistent" },
		func(c *Config) { c.Binaries.Etcd = c.Root },
	} {
		cfg := good
		breakIt(&cfg)
		if _, err := Up(context.Background(), cfg); err == nil {
			t.Errorf("accepted: %+v", cfg)
		}
	}
	if entries, _ := os.ReadDir(good.Root); len(entries) != 0 {
		t.Error("a refused configuration left something")
	}
}

func TestFullDiskIsSaidInWords(t *testing.T) {
	err := checkSpace("/data", func(string) (uint64, error) { return 3 << 20, nil })
	if err == nil || !strings.Contains(err.Error(), "only 3 MiB are free on the disk of /data") {
		t.Error(err)
	}
	if err := checkSpace("/data", func(string) (uint64, error) { return minFree, nil }); err != nil {
		t.Error(err)
	}
	err = explain(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if !strings.Contains(err.Error(), "is full") || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// Clean must not kill the process that has the id of one of ours by now, nor
// touch what is not ours.
func TestCleanChecksIdentity(t *testing.T) {
	root := t.TempDir()
	stranger := startOther(t, "ports")
	stranger.line(t)
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := process.Of(stranger.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	identity.Start--
	dead := self
	dead.Start--
	writeTestState(t, root, &state{Name: "crashed", Owner: dead, Phase: phaseReady, Processes: []processState{{Name: etcdName, Identity: identity}}})
	writeTestState(t, root, &state{Name: "living", Owner: self, Phase: phaseCreating})
	mine := filepath.Join(root, "holiday-pictures")
	half := filepath.Join(root, scratchPrefix+"gone-123")
	for _, dir := range []string{mine, half} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Clean(context.Background(), root, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range removed {
		if r.Kind != "directory" || (r.Cluster != "crashed" && r.What != half) {
			t.Errorf("removed %+v", r)
		}
	}
	if len(removed) != 2 {
		t.Errorf("removed %+v, want the crashed cluster and the half one", removed)
	}
	if current, err := process.Of(stranger.cmd.Process.Pid); err != nil || !current.Alive() {
		t.Error("a stranger was killed")
	}
	for _, dir := range []string{mine, clusterDir(root, "living")} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

func writeTestState(t *testing.T, root string, s *state) {
	t.Helper()
	dir := clusterDir(root, s.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.write(layout{dir}); err != nil {
		t.Fatal(err)
	}
}

func TestAbandoned(t *testing.T) {
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.Start--
	both := func(i process.Identity) []processState {
		return []processState{{Name: etcdName, Identity: i}, {Name: apiServerName, Identity: i}}
	}
	for name, c := range map[string]struct {
		state state
		want  bool
	}{
		"owner lives":                {state{Owner: self}, false},
		"owner died":                 {state{Owner: dead, Phase: phaseReady, Processes: both(self)}, true},
		"detached, owner went":       {state{Owner: dead, Phase: phaseReady, Detached: true, Processes: both(self)}, false},
		"detached, owner died early": {state{Owner: dead, Phase: phaseCreating, Detached: true, Processes: both(self)}, true},
		"detached, machine rebooted": {state{Owner: dead, Phase: phaseReady, Detached: true, Processes: both(dead)}, true},
	} {
		if got := c.state.abandoned(); got != c.want {
			t.Errorf("%s: abandoned = %v", name, got)
		}
	}
}

func TestCleanWithoutRoot(t *testing.T) {
	removed, err := Clean(context.Background(), filepath.Join(t.TempDir(), "never"), false)
	if err != nil || len(removed) != 0 {
		t.Errorf("%v, %v", removed, err)
	}
}

// Every address in every command line is loopback.
func TestCommandLinesNameLoopbackOnly(t *testing.T) {
	b := blueprint{name: "x", lay: layout{"/d"}, ports: map[string]int{}, bins: Binaries{}.byComponent()}
	for i, name := range portNames() {
		b.ports[name] = firstPort + i
	}
	for _, component := range componentNames() {
		line := strings.Join(b.spec(component).Args, " ")
		for _, bad := range []string{"0.0.0.0", "http://", "localhost", "[::]"} {
			if strings.Contains(line, bad) {
				t.Errorf("%s: %s in %s", component, bad, line)
			}
		}
	}
}
