//go:build linux

package engine_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"reckon.dev/reckon/harness/traffic/xdsfleet"
)

// TestMain plays a fleet of proxies when it is started as one. It also looks, when all runs are over, for what they left in this
// process: goroutines and open files.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fleet" {
		os.Exit(playFleet(os.Args[2:]))
	}
	klog.SetLogger(logr.Discard())
	before := openFiles()
	code := m.Run()
	if left := settle(before); left != "" && code == 0 {
		fmt.Println("left in the process after all runs:\n" + left)
		code = 1
	}
	os.Exit(code)
}

// playFleet is what reckon-traffic does.
func playFleet(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var orders io.Reader = os.Stdin
	if filepath.Base(os.Args[0]) == stickyFleet {
		orders = sticky(orders)
	}
	cfg, err := xdsfleet.Parse(args, os.Stderr)
	if err == nil {
		err = xdsfleet.Run(ctx, cfg, orders, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// settle waits until nothing is left, and returns what is after its patience:
// connections to a killed server take a moment to be closed.
func settle(files int) string {
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		left := goroutinesOfRuns()
		if n := openFiles(); n > files {
			left = append(left, fmt.Sprintf("%d open files, %d before", n, files))
		}
		if len(left) == 0 || time.Now().After(end) {
			return strings.Join(left, "\n\n")
		}
	}
}

func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err) // Linux without /proc runs none of this
	}
	return len(entries)
}

// goroutinesOfRuns are the stacks of our goroutines and of clients' but the caller's.
func goroutinesOfRuns() []string {
	buf := make([]byte, 16<<20)
	var out []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		ours := strings.Contains(stack, "reckon.dev/") || strings.Contains(stack, "k8s.io/") || strings.Contains(stack, "net/http")
		if ours && !strings.Contains(stack, "engine_test.TestMain") {
			out = append(out, stack)
		}
	}
	return out
}
