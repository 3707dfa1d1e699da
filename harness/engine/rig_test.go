//go:build linux

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/toolchain"
)

// slots bounds how many clusters are up at a time, whatever -parallel says: a
// machine that is busy with eight control planes shows nothing but that.
var slots = make(chan struct{}, 2)

// runLimit ends a run that hangs.
const runLimit = 3 * time.Minute

// rig is an engine on the real programs, with a place of its own for clusters
// and results.
type rig struct {
	*engine.Engine
	t        *testing.T
	cell     plan.Cell
	parts    engine.Parts
	clusters string
	said     progress
}

// newRig skips where clusters are not wanted: the programs take minutes to build.
func newRig(t *testing.T, set ...string) *rig {
	t.Helper()
	return newRigOf(t, "rollback-window", append([]string{"replicas=2", "minPodsPerReplicaSet=1", "ramp=200ms", "quiet=1s"}, set...)...)
}

func newRigOf(t *testing.T, drill string, set ...string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("brings clusters up; not with -short")
	}
	if os.Getenv("RECKON_TEST_BINARIES") == "" {
		t.Skip("RECKON_TEST_BINARIES is not set: `make components` builds what this runs, `make test` sets it")
	}
	r := &rig{t: t, clusters: filepath.Join(t.TempDir(), "clusters")}
	r.Engine = &engine.Engine{
		Results: t.TempDir(), Builder: &toolchain.Builder{}, Clock: clock.RealClock{}, Reckon: "test", Progress: r.said.add,
		Provider: func(_ plan.Cell, parts engine.Parts) (cluster.Provider, error) {
			return engine.Embedded(r.clusters, parts)
		},
	}
	r.cell = cellOf(t, drill, set...)
	parts, err := r.Build(t.Context(), r.cell)
	if err != nil {
		t.Fatal(err)
	}
	r.parts = parts
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
	return r
}

func cellOf(t *testing.T, drill string, set ...string) plan.Cell {
	t.Helper()
	d, err := drills.Find(drill)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, plan.Overrides{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return p.Cells[0]
}

// run runs the cell once. Whatever became of it, nothing may be left.
func (r *rig) run(ctx context.Context) (*engine.Outcome, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	out, err := r.Run(ctx, r.cell, r.parts, 1)
	if err := r.Close(context.WithoutCancel(ctx)); err != nil {
		r.t.Error(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.t.Errorf("the run did not end within %s: %v", runLimit, err)
	}
	if out != nil && out.Cleanup != nil {
		r.t.Errorf("clean-up: %v", out.Cleanup)
	}
	r.nothingLeft()
	return out, err
}

// judged runs the cell once and wants a verdict.
func (r *rig) judged() *engine.Outcome {
	r.t.Helper()
	out, err := r.run(r.t.Context())
	if err != nil {
		r.t.Fatalf("no verdict: %v", err)
	}
	r.t.Logf("%s, %d facts, %.1f s: %s", out.Run.Verdict.Outcome, out.Run.Verdict.Facts, out.Run.Verdict.LastedSec, strings.Join(out.Run.Verdict.Reasons, "; "))
	return out
}

func (r *rig) nothingLeft() {
	r.t.Helper()
	strays, err := process.Marked(func(m process.Mark) bool { return m.Root == r.clusters })
	if err != nil || len(strays) > 0 {
		r.t.Errorf("processes left: %v, %v", strays, err)
	}
	entries, err := os.ReadDir(r.clusters)
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
		r.t.Errorf("directories left: %v, %v", entries, err)
	}
}

// progress remembers what was said, and calls back.
type progress struct {
	mu    sync.Mutex
	lines []string
	on    func(line string)
}

func (p *progress) add(line engine.Progress) {
	p.mu.Lock()
	p.lines = append(p.lines, line.Text)
	on := p.on
	p.mu.Unlock()
	if on != nil {
		on(line.Text)
	}
}

// kill kills a process of the run's host, as somebody else would.
func kill(name string) func(context.Context, cluster.Cluster) error {
	return func(_ context.Context, c cluster.Cluster) error {
		for _, p := range c.(cluster.Host).Supervisor().Running() {
			if p.Name() == name {
				return p.Signal(syscall.SIGKILL)
			}
		}
		return errors.New("no process " + name)
	}
}

// facts reads a whole recording.
func facts(t *testing.T, dir engine.RunDir) (recording.Header, []recording.Fact, recording.Trailer) {
	t.Helper()
	f, err := os.Open(dir.File(engine.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recording.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []recording.Fact
	for {
		fact, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header, out, *r.Trailer()
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fact)
	}
}

// rewritten makes a run directory with a recording of other facts.
func rewritten(t *testing.T, h recording.Header, facts []recording.Fact, end int64) engine.RunDir {
	t.Helper()
	dir := engine.RunDir(t.TempDir())
	f, err := os.Create(dir.File(engine.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := recording.NewWriter(f, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range facts {
		if err := w.Append(fact); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
