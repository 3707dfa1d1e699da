//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The test binary runs itself as the child. What to play is in this variable.
const envRole = "RECKON_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "sleep":
		sleep()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		sleep()
	case "lines":
		for i := range 40 {
			fmt.Printf("line %d\n", i)
		}
		fmt.Print("last words without a newline")
		os.Exit(3)
	case "parent":
		playParent()
	case "grandchild":
		// Starts a child in its own group that nobody supervises.
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{envRole + "=sleep"}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		sleep()
	}
}

// sleep never returns. An empty select is no way to: without cgo the runtime finds
// that nothing can wake the program, and ends it.
func sleep() {
	for {
		time.Sleep(time.Hour)
	}
}

// playParent supervises a child, says its id and waits to be killed.
func playParent() {
	sup := NewSupervisor(Options{Mark: Mark{Cluster: "pdeathsig"}})
	p, err := sup.Start(context.Background(), Spec{
		Name: "child", Path: os.Args[0], Env: []string{envRole + "=sleep"},
		LogPath:  filepath.Join(os.Getenv("RECKON_TEST_DIR"), "child.log"),
		Detached: os.Getenv("RECKON_TEST_DETACHED") != "",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Identity())
	sleep()
}

func roleSpec(t *testing.T, role string) Spec {
	t.Helper()
	return Spec{Name: role, Path: os.Args[0], Env: []string{envRole + "=" + role}, LogPath: filepath.Join(t.TempDir(), role+".log")}
}

func newTestSupervisor(t *testing.T, opts Options) *Supervisor {
	t.Helper()
	sup := NewSupervisor(opts)
	t.Cleanup(func() {
		if err := sup.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if err := sup.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sup
}

func mustStart(t *testing.T, sup *Supervisor, spec Spec) *Process {
	t.Helper()
	p, err := sup.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func waitDone(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatalf("%s did not end", p.Name())
	}
}

// eventually polls what cannot be waited for: a process that is not our child.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 10s: %s", what)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
