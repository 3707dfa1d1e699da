//go:build linux

package process

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestUnexpectedEndCarriesStatusAndTail(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	p := mustStart(t, sup, roleSpec(t, "lines"))
	waitDone(t, p)
	var exit *ExitError
	if !errors.As(p.Err(), &exit) {
		t.Fatalf("Err() = %v, want an ExitError", p.Err())
	}
	if exit.State.ExitCode() != 3 {
		t.Errorf("exit code %d, want 3", exit.State.ExitCode())
	}
	if len(exit.Tail) != tailLines || exit.Tail[0] != "line 11" || exit.Tail[29] != "last words without a newline" {
		t.Errorf("tail = %q", exit.Tail)
	}
	if !strings.Contains(p.Err().Error(), "exit status 3") || !strings.Contains(p.Err().Error(), "line 39") {
		t.Errorf("message lacks status or log: %v", p.Err())
	}
	select {
	case e := <-sup.Exited():
		if e.Process != p || e.Err != p.Err() {
			t.Errorf("notified of %v", e)
		}
	default:
		t.Error("no notification")
	}
}

func TestTeeDeliversEveryLineInOrder(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "lines")
	var mu sync.Mutex
	var lines []string
	spec.OnLine = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	p := mustStart(t, sup, spec)
	waitDone(t, p)
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 41 || lines[0] != "line 0" || lines[40] != "last words without a newline" {
		t.Errorf("got %d lines: %q", len(lines), lines)
	}
	if got := p.Tail(1); !slices.Equal(got, lines[40:]) {
		t.Errorf("file ends with %q", got)
	}
}

func TestAChildStartsFromWhereItIsToBe(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "sleep")
	var forkedFrom int
	spec.Within = func(attributes *syscall.SysProcAttr, start func() error) error {
		forkedFrom = syscall.Gettid()
		if attributes.Pdeathsig != syscall.SIGKILL {
			t.Errorf("attributes %+v", attributes)
		}
		return start()
	}
	p := mustStart(t, sup, spec)
	if !p.Running() || forkedFrom == 0 {
		t.Errorf("running %v, forked from thread %d", p.Running(), forkedFrom)
	}
	spec.Within = func(_ *syscall.SysProcAttr, start func() error) error {
		return errors.Join(start(), errors.New("no way back"))
	}
	if _, err := sup.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "no way back") {
		t.Errorf("error %v", err)
	}
	if running := sup.Running(); len(running) != 1 {
		t.Errorf("%d children, want the first", len(running))
	}
}

func TestTailStopsAtThisStart(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "lines")
	if err := os.WriteFile(spec.LogPath, []byte("from an earlier run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := mustStart(t, sup, spec)
	waitDone(t, p)
	if got := p.Tail(1000); len(got) != 41 || got[0] != "line 0" {
		t.Errorf("tail = %q", got)
	}
}

func TestStopIsNotAnError(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	p := mustStart(t, sup, roleSpec(t, "sleep"))
	if err := p.Stop(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if p.Err() != nil {
		t.Errorf("Err() = %v after Stop", p.Err())
	}
	if err := p.Stop(context.Background(), time.Minute); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	select {
	case e := <-sup.Exited():
		t.Errorf("notified of a stop that was asked for: %v", e)
	default:
	}
}

func TestStopKillsAfterGrace(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	sup := newTestSupervisor(t, Options{Clock: fake})
	spec := roleSpec(t, "stubborn")
	ready := make(chan struct{})
	signal := sync.OnceFunc(func() { close(ready) }) // it may have more than one line to say
	spec.OnLine = func(string) { signal() }
	p := mustStart(t, sup, spec)
	<-ready
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(context.Background(), time.Hour) }()
	eventually(t, "Stop waits on the clock", fake.HasWaiters)
	if !p.Running() {
		t.Fatal("SIGTERM was not ignored")
	}
	fake.Step(time.Hour)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

func TestStopKillsWhenContextEnds(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "stubborn")
	ready := make(chan struct{})
	signal := sync.OnceFunc(func() { close(ready) }) // it may have more than one line to say
	spec.OnLine = func(string) { signal() }
	p := mustStart(t, sup, spec)
	<-ready
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Stop(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("still running")
	}
}

// The rest of a child's group dies with it.
func TestGroupDiesWithItsLeader(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "grandchild")
	line := make(chan string, 1)
	spec.OnLine = func(l string) { line <- l }
	p := mustStart(t, sup, spec)
	grandchild, err := Of(atoi(t, <-line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitDone(t, p)
	eventually(t, "grandchild dead", func() bool { return !grandchild.Alive() })
}

func TestKilledParentTakesSupervisedChildrenAlong(t *testing.T) {
	child, parent := startParent(t, false)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "child dead", func() bool { return !child.Alive() })
}

func TestDetachedChildSurvivesAndCanBeFound(t *testing.T) {
	child, parent := startParent(t, true)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if !child.Alive() {
		t.Fatal("the detached child died with its parent")
	}
	// Its environment is there a moment after Start has returned: the pipe that tells
	// of the exec closes first (Linux fs/exec.c, begin_new_exec).
	eventually(t, "child found", func() bool {
		strays, err := Marked(func(m Mark) bool { return m.Cluster == "pdeathsig" })
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(strays, func(s Stray) bool { return s.Identity == child && s.Mark.Name == "child" })
	})
	if err := child.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "child dead", func() bool { return !child.Alive() })
}

func startParent(t *testing.T, detached bool) (Identity, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=parent", "RECKON_TEST_DIR="+t.TempDir())
	if detached {
		cmd.Env = append(cmd.Env, "RECKON_TEST_DETACHED=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := ParseIdentity(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Kill(context.Background()) })
	return child, cmd
}

func TestACommandLineFindsItsProcess(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	spec := roleSpec(t, "sleep")
	spec.Args = []string{"--volume=" + t.TempDir() + ":/there"}
	p := mustStart(t, sup, spec)
	found, err := Mentioning(spec.Args[0])
	if err != nil || !slices.Equal(found, []Identity{p.Identity()}) {
		t.Errorf("found %v, %v, want %v", found, err, p.Identity())
	}
	if found, err := Mentioning(spec.Args[0] + "/else"); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

// A process id that now belongs to another process must not be killed.
func TestKillChecksIdentity(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	p := mustStart(t, sup, roleSpec(t, "sleep"))
	for _, wrong := range []Identity{
		{PID: p.PID(), Start: p.Identity().Start - 1, Boot: p.Identity().Boot},
		{PID: p.PID(), Start: p.Identity().Start, Boot: "another-boot"},
		{},
	} {
		if wrong.Alive() {
			t.Errorf("%s is said to be alive", wrong)
		}
		if err := wrong.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if !p.Identity().Alive() || !p.Running() {
		t.Error("a stranger was killed")
	}
}

func TestSpecIsChecked(t *testing.T) {
	sup := newTestSupervisor(t, Options{})
	ok := roleSpec(t, "sleep")
	for _, breakIt := range []func(*Spec){
		func(s *Spec) { s.Name = "" },
		func(s *Spec) { s.Path = "" },
		func(s *Spec) { s.LogPath = "" },
		func(s *Spec) { s.Path = "/nonexistent/binary" },
		func(s *Spec) { s.LogPath = "/nonexistent/dir/log" },
		func(s *Spec) { s.Detached, s.OnLine = true, func(string) {} },
	} {
		spec := ok
		breakIt(&spec)
		if _, err := sup.Start(context.Background(), spec); err == nil {
			t.Errorf("%+v was started", spec)
		}
	}
}

func TestStartAfterClose(t *testing.T) {
	sup := NewSupervisor(Options{})
	p := mustStart(t, sup, roleSpec(t, "sleep"))
	if err := sup.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("Close left a child")
	}
	if _, err := sup.Start(context.Background(), roleSpec(t, "sleep")); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	if err := sup.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("ETCD_NAME", "surprise")
	sup := newTestSupervisor(t, Options{Mark: Mark{Cluster: "env", Root: "/r", Owner: Identity{PID: 1, Start: 2, Boot: "b"}}})
	p := mustStart(t, sup, roleSpec(t, "sleep"))
	data, err := os.ReadFile("/proc/" + strings.Split(p.Identity().String(), ":")[0] + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "ETCD_NAME") {
		t.Error("the caller's environment leaked")
	}
	mark, ok := parseMark(strings.Split(string(data), "\x00"))
	if !ok || mark != (Mark{Cluster: "env", Root: "/r", Name: "sleep", Owner: Identity{PID: 1, Start: 2, Boot: "b"}}) {
		t.Errorf("mark = %+v, %v", mark, ok)
	}
}

func TestMarkNeedsAllVariables(t *testing.T) {
	if _, ok := parseMark([]string{EnvCluster + "=x"}); ok {
		t.Error("a lone RECKON_CLUSTER in somebody's shell counts as ours")
	}
}
