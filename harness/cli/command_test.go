//go:build linux

package cli_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reckon.dev/reckon/harness/process"
)

// slots bounds how many commands with clusters run at a time.
var slots = make(chan struct{}, 2)

// patience ends what hangs. It judges nothing.
const patience = 3 * time.Minute

// place is where a command may leave something: clusters, results and
// temporary files of its own.
type place struct {
	t                        *testing.T
	reckon                   string
	clusters, results, temps string
}

// newPlace skips without the program.
func newPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() {
		t.Skip("brings clusters up; not with -short")
	}
	reckon := os.Getenv("RECKON")
	if reckon == "" {
		t.Skip("RECKON is not set: it names the program; `make test` builds it and sets it")
	}
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
	p := &place{t: t, reckon: reckon, clusters: filepath.Join(t.TempDir(), "clusters"), results: t.TempDir(), temps: t.TempDir()}
	t.Cleanup(func() {
		for _, stray := range p.processes() {
			_ = stray.Identity.Kill(t.Context())
		}
	})
	return p
}

// small is a run that is over soon.
func small(more ...string) []string {
	return append([]string{"rollback-window", "--set", "replicas=2", "--set", "minPodsPerReplicaSet=1", "--set", "ramp=200ms", "--set", "quiet=1s"}, more...)
}

// command is the program at work, the leader of a process group as under a shell.
type command struct {
	*place
	cmd    *exec.Cmd
	stdout strings.Builder
	pipe   io.Closer
	lines  chan string // of standard error

	mu     sync.Mutex
	stderr strings.Builder
}

func (p *place) start(args ...string) *command {
	p.t.Helper()
	c := &command{place: p, cmd: exec.Command(p.reckon, append(args, "--clusters", p.clusters)...), lines: make(chan string, 10000)}
	c.cmd.Env = append(os.Environ(), "TMPDIR="+p.temps)
	c.cmd.Stdout = &c.stdout
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := c.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	c.pipe = pipe
	go c.read(pipe)
	return c
}

func (p *place) run(args ...string) *command {
	p.t.Helper()
	return p.start(append([]string{"run", "--results", p.results}, args...)...)
}

func (c *command) read(pipe io.Reader) {
	defer close(c.lines)
	for scanner := bufio.NewScanner(pipe); scanner.Scan(); {
		c.mu.Lock()
		c.stderr.WriteString(scanner.Text() + "\n")
		c.mu.Unlock()
		c.lines <- scanner.Text()
	}
}

func (c *command) errors() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// await returns when standard error has a line with the text.
func (c *command) await(text string) {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("ended without %q:\n%s", text, c.errors())
			}
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			c.t.Fatalf("not within %s: %q\n%s", patience, text, c.errors())
		}
	}
}

// signal signals the whole group, as a terminal does.
func (c *command) signal(s syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(-c.cmd.Process.Pid, s); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit code, -1 for a signal.
func (c *command) ends() int {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-c.lines:
			if ok {
				continue
			}
			err := c.cmd.Wait()
			if exit, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
				c.t.Fatal(err)
			} else if isExit {
				return exit.ExitCode()
			}
			return 0
		case <-timeout:
			c.signal(syscall.SIGQUIT)
			c.t.Fatalf("did not end within %s:\n%s", patience, c.errors())
		}
	}
}

// exits wants an exit code.
func (c *command) exits(want int) {
	c.t.Helper()
	if got := c.ends(); got != want {
		c.t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, c.stdout.String(), c.errors())
	}
}

func (p *place) processes() []process.Stray {
	strays, err := process.Marked(func(m process.Mark) bool { return m.Root == p.clusters })
	if err != nil {
		p.t.Error(err)
	}
	return strays
}

// ports are those of the clusters that there are.
func (p *place) ports() map[string]int {
	out := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(p.clusters, "*", "cluster.json"))
	for _, file := range files {
		var state struct{ Ports map[string]int }
		raw, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(raw, &state) != nil {
			continue // on its way in or out
		}
		for name, port := range state.Ports {
			out[name] = port
		}
	}
	return out
}

// nothingLeft: no process, no directory, no temporary file, no port. The lock
// of a clean-up stays.
func (p *place) nothingLeft(ports map[string]int) {
	p.t.Helper()
	if strays := p.processes(); len(strays) > 0 {
		p.t.Errorf("processes left: %v", strays)
	}
	for _, dir := range []string{p.clusters, p.temps} {
		entries, err := os.ReadDir(dir)
		entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == ".lock" })
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
			p.t.Errorf("left in %s: %v, %v", dir, entries, err)
		}
	}
	// A dead process is gone from sight a moment before its sockets are.
	for name, port := range ports {
		eventually(p.t, "port of "+name+" is free", func() bool {
			listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			return err == nil && listener.Close() == nil
		})
	}
}

// runDirs are the runs below the results, without the link.
func (p *place) runDirs() []string {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.results, "runs"))
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(p.results, "runs", e.Name()))
		}
	}
	return out
}

// eventually polls what cannot be waited for.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}
