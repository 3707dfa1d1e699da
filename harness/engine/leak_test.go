//go:build linux

package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// TestMain also looks, when all runs are over, for what they left in this
// process: goroutines and open files.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	before := openFiles()
	code := m.Run()
	if left := settle(before); left != "" && code == 0 {
		fmt.Println("left in the process after all runs:\n" + left)
		code = 1
	}
	os.Exit(code)
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
