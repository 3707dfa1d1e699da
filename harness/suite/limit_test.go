//go:build linux

package suite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/suite"
	"reckon.dev/reckon/harness/toolchain"
)

// envRoot makes the test binary play a command with two cells, below the
// directory that it names: Ginkgo allows one suite in the life of a process.
const envRoot = "RECKON_TEST_SUITE_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(envRoot); root != "" {
		playSuite(root)
		return
	}
	os.Exit(m.Run())
}

// cell is a line of what the played command prints.
type cell struct {
	Name    string
	Aborted bool
	Outcome judge.Outcome
	Err     string
}

// A cell that takes longer than its limit ends with its tear-down, and takes no
// other cell along.
func TestLimitEndsACell(t *testing.T) {
	if testing.Short() {
		t.Skip("brings clusters up; not with -short")
	}
	if os.Getenv("RECKON_TEST_BINARIES") == "" {
		t.Skip("RECKON_TEST_BINARIES is not set: `make components` builds what this runs, `make test` sets it")
	}
	root := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envRoot+"="+root)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	got := map[string]cell{}
	for scanner := bufio.NewScanner(strings.NewReader(string(out))); scanner.Scan(); {
		var c cell
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatalf("standard output has more than results: %s", scanner.Text())
		}
		got[c.Name] = c
	}
	if c := got[slow]; !c.Aborted || c.Outcome != "" {
		t.Errorf("the cell that hangs: %+v", c)
	}
	if c := got[quick]; c.Aborted || c.Outcome != judge.Pass {
		t.Errorf("the cell beside it: %+v", c)
	}
	strays, err := process.Marked(func(m process.Mark) bool { return m.Root == filepath.Join(root, "clusters") })
	if err != nil || len(strays) > 0 {
		t.Errorf("processes left: %v, %v", strays, err)
	}
	if entries, err := os.ReadDir(filepath.Join(root, "clusters")); err != nil || len(entries) > 0 {
		t.Errorf("directories left: %v, %v", entries, err)
	}
}

const (
	slow  = "rollback-window[quiet=10m]"
	quick = "rollback-window[quiet=1s]"
)

func playSuite(root string) {
	if err := play(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(root string) error {
	d, err := drills.Find("rollback-window")
	if err != nil {
		return err
	}
	d.Spec.Scenarios[0].Matrix = map[string][]any{"quiet": {"10m", "1s"}}
	p, err := plan.New(d, plan.Overrides{Parallel: 2, Set: []string{"replicas=1", "minPodsPerReplicaSet=0", "ramp=200ms"}})
	if err != nil {
		return err
	}
	e := &engine.Engine{
		Results: root, Builder: &toolchain.Builder{}, Clock: clock.RealClock{}, Progress: func(p engine.Progress) { fmt.Fprintln(os.Stderr, p.Cell, p.Text) },
		Provider: func(_ plan.Cell, parts engine.Parts) (cluster.Provider, error) {
			return engine.Embedded(filepath.Join(root, "clusters"), parts)
		},
	}
	s := &suite.Suite{
		Plan: p,
		Limit: func(c plan.Cell) time.Duration {
			if c.Name == slow {
				return 5 * time.Second
			}
			return 5 * time.Minute
		},
		Run: func(ctx context.Context, c plan.Cell, repetition int) (*engine.Outcome, error) {
			parts, err := e.Build(ctx, c)
			if err != nil {
				return nil, err
			}
			return e.Run(ctx, c, parts, repetition)
		},
	}
	results, err := s.Execute(context.Background(), suite.Options{})
	if err != nil {
		return err
	}
	for _, r := range results {
		c := cell{Name: r.Cell.Name}
		if r.Err != nil {
			c.Err = r.Err.Error()
			_, c.Aborted = errors.AsType[*engine.AbortError](r.Err)
		} else {
			c.Outcome = r.Outcome.Run.Verdict.Outcome
		}
		if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
			return err
		}
	}
	return nil
}
