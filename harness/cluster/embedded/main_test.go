//go:build linux

package embedded

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
)

// The test binary plays other processes. What to play is in this variable.
const envRole = "RECKON_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "ports":
		playPorts()
	case "up":
		playUp()
	}
}

// playPorts reserves ports, says which, and holds them until standard input
// ends.
func playPorts() {
	rs, err := reservePorts(len(portNames()))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for _, r := range rs {
		fmt.Print(r.port, " ")
	}
	fmt.Println()
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// playUp makes a cluster, says so, and waits to be killed; or, detached, goes.
func playUp() {
	detached := os.Getenv("RECKON_TEST_DETACHED") != ""
	fmt.Println("begin")
	c, err := Up(context.Background(), Config{
		Options:  cluster.Options{Name: os.Getenv("RECKON_TEST_NAME"), Detached: detached},
		Root:     os.Getenv("RECKON_TEST_ROOT"),
		Binaries: BinariesIn(os.Getenv(envBinaries)),
	})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("up", c.Name())
	if !detached {
		select {}
	}
}

// other is another process of the test binary.
type other struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startOther(t *testing.T, role string, env ...string) *other {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), envRole+"="+role), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &other{cmd: cmd, out: bufio.NewReader(out)}
	t.Cleanup(o.kill)
	return o
}

// kill is SIGKILL, what a test is about.
func (o *other) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

func (o *other) line(t *testing.T) string {
	t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// eventually polls what cannot be waited for: processes that are not ours.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 20s: %s", what)
}
