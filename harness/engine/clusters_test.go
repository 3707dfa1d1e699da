package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

// fleet makes clusters of nothing and notes what becomes of them.
type estate struct {
	server *httptest.Server // the API server of all of them, which refuses everything

	mu     sync.Mutex
	events []string
	up     int
	most   int // at a time
	logs   int // times that they were collected
	// upErr fails each start; downErr the removals that are left to fail.
	upErr    error
	downErr  error
	downFail int
	starting chan struct{} // closed at the first start, after which it waits for the end of its context
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	f := &estate{server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))}
	t.Cleanup(f.server.Close)
	return f
}

func (f *estate) note(format string, args ...any) {
	f.events = append(f.events, fmt.Sprintf(format, args...))
}

// hollow is a cluster of nothing.
type hollow struct {
	cluster.Cluster
	fleet *estate
	name  string
	done  chan struct{}
}

// shipyard is the provider of one version's clusters.
type shipyard struct {
	cluster.Provider
	fleet   *estate
	version string
}

func (s *shipyard) Up(ctx context.Context, _ cluster.Options) (cluster.Cluster, error) {
	f := s.fleet
	if f.starting != nil {
		close(f.starting)
		<-ctx.Done()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.upErr != nil {
		return nil, f.upErr
	}
	f.up++
	f.most = max(f.most, f.up)
	f.note("up %s", s.version)
	return &hollow{fleet: f, name: s.version, done: make(chan struct{})}, nil
}

func (h *hollow) Name() string                                { return h.name }
func (h *hollow) Provider() string                            { return cluster.Embedded }
func (h *hollow) Fidelity() string                            { return "" }
func (h *hollow) Facts() cluster.Facts                        { return nil }
func (h *hollow) Kubeconfig() string                          { return "" }
func (h *hollow) RESTConfig() *rest.Config                    { return &rest.Config{Host: h.fleet.server.URL} }
func (h *hollow) Done() <-chan struct{}                       { return h.done }
func (h *hollow) Err() error                                  { return nil }
func (h *hollow) LoadImages(context.Context, ...string) error { return nil }
func (h *hollow) CollectLogs(context.Context, string) error {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.logs++
	return nil
}
func (h *hollow) Down(context.Context) error {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	if h.fleet.downFail > 0 {
		h.fleet.downFail--
		h.fleet.note("cannot remove %s", h.name)
		return h.fleet.downErr
	}
	h.fleet.up--
	h.fleet.note("down %s", h.name)
	return nil
}

func (f *estate) engine(t *testing.T) *Engine {
	t.Helper()
	return &Engine{
		Results: t.TempDir(), Clock: clock.RealClock{}, Progress: func(Progress) {},
		Provider: func(c plan.Cell, _ Parts) (cluster.Provider, error) {
			return &shipyard{fleet: f, version: c.Versions[scenario.Kubernetes]}, nil
		},
	}
}

// cellsOf are cells that share clusters, one for each version of Kubernetes.
func cellsOf(t *testing.T, drill string, o plan.Overrides, versions ...string) []plan.Cell {
	t.Helper()
	var out []plan.Cell
	for _, v := range versions {
		o.Kubernetes = v
		p, err := plan.New(drills.ForScenario(drill), o)
		if err != nil {
			t.Fatal(err)
		}
		c := p.Cells[0]
		if !c.SharesCluster {
			t.Fatalf("%s has a cluster of its own", c.Name)
		}
		c.Name += fmt.Sprintf("#%d", len(out))
		out = append(out, c)
	}
	return out
}

func TestAClusterGoesWithTheLastRunThatCanUseIt(t *testing.T) {
	t.Parallel()
	const v1, v2 = "v1.34.2", "v1.37.2"
	for name, c := range map[string]struct {
		announced bool
		versions  []string
		want      []string // before Close
		most      int
	}{
		"one version after the other":        {true, []string{v1, v1, v2, v2}, []string{"up " + v1, "down " + v1, "up " + v2, "down " + v2}, 1},
		"a later cell keeps it":              {true, []string{v1, v2, v1}, []string{"up " + v1, "up " + v2, "down " + v2, "down " + v1}, 2},
		"not announced, it makes way":        {false, []string{v1, v1, v2}, []string{"up " + v1, "down " + v1, "up " + v2}, 1},
		"not announced, the same stays":      {false, []string{v1, v1}, []string{"up " + v1}, 1},
		"one cell, whose repetitions use it": {true, []string{v1}, []string{"up " + v1, "down " + v1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newEstate(t)
			e := f.engine(t)
			cells := cellsOf(t, "rolling-update", plan.Overrides{Repeat: 2}, c.versions...)
			if c.announced {
				e.Expect(cells)
			}
			for _, cell := range cells {
				for n := range cell.Repeat {
					if _, err := e.Run(t.Context(), cell, nil, n+1); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !slices.Equal(f.events, c.want) || f.most != c.most {
				t.Errorf("%d at a time, %q\nwant %d, %q", f.most, f.events, c.most, c.want)
			}
			if err := e.Close(t.Context()); err != nil || f.up != 0 {
				t.Errorf("%d are left, %v", f.up, err)
			}
		})
	}
}

func TestRunsSideBySideKeepTheirCluster(t *testing.T) {
	t.Parallel()
	f := newEstate(t)
	e := f.engine(t)
	cells := cellsOf(t, "rolling-update", plan.Overrides{Repeat: 2}, "v1.34.2", "v1.34.2", "v1.37.2", "v1.37.2")
	e.Expect(cells)
	var runs sync.WaitGroup
	for _, cell := range cells {
		for n := range cell.Repeat {
			runs.Go(func() {
				if _, err := e.Run(t.Context(), cell, nil, n+1); err != nil {
					t.Error(err)
				}
			})
		}
	}
	runs.Wait()
	slices.Sort(f.events)
	if want := []string{"down v1.34.2", "down v1.37.2", "up v1.34.2", "up v1.37.2"}; !slices.Equal(f.events, want) {
		t.Errorf("%q, want each up and down once", f.events)
	}
}

func TestWhatATearDownLeftIsTold(t *testing.T) {
	t.Parallel()
	left := &cluster.LeftError{What: "cluster c", Err: errors.New("docker rm: no answer")}
	t.Run("when the start fails", func(t *testing.T) {
		t.Parallel()
		f := newEstate(t)
		f.upErr = errors.Join(errors.New("not ready"), left)
		out, err := f.engine(t).Run(t.Context(), cellsOf(t, "rolling-update", plan.Overrides{}, "v1.37.2")[0], nil, 1)
		if err != nil || out.Cleanup == nil || out.Run.Verdict.Outcome != judge.Invalid {
			t.Errorf("left %v, error %v, verdict %s", out.Cleanup, err, out.Run.Verdict.Outcome)
		}
	})
	t.Run("when the start is interrupted", func(t *testing.T) {
		t.Parallel()
		f := newEstate(t)
		f.upErr, f.starting = errors.Join(errors.New("not ready"), left), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-f.starting; cancel() }()
		out, err := f.engine(t).Run(ctx, cellsOf(t, "rolling-update", plan.Overrides{}, "v1.37.2")[0], nil, 1)
		if _, aborted := errors.AsType[*AbortError](err); !aborted || out.Cleanup == nil {
			t.Errorf("left %v, error %v; want both", out.Cleanup, err)
		}
	})
	t.Run("by Close alone, if a removal fails twice", func(t *testing.T) {
		t.Parallel()
		f := newEstate(t)
		f.downErr, f.downFail = errors.New("no answer"), 2
		e := f.engine(t)
		cells := cellsOf(t, "rolling-update", plan.Overrides{}, "v1.37.2")
		e.Expect(cells)
		if out, err := e.Run(t.Context(), cells[0], nil, 1); err != nil || out.Cleanup != nil {
			t.Errorf("left %v, error %v", out.Cleanup, err)
		}
		if err := e.Close(t.Context()); cluster.LeftOf(err) == nil || !strings.Contains(err.Error(), "left: cluster v1.37.2, to be removed with `reckon clean`: no answer") {
			t.Errorf("Close: %v", err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("Close again, when it can: %v", err)
		}
	})
}

// A namespace that does not go, for a finalizer of somebody's or else, costs the
// cluster, and nothing more if the cluster goes.
func TestAClusterThatCannotBeVacatedServesNoFurtherRun(t *testing.T) {
	t.Parallel()
	f := newEstate(t)
	e := f.engine(t)
	cells := cellsOf(t, "single-replica-restart", plan.Overrides{Provider: cluster.Kind, Repeat: 2}, "v1.37.2")
	e.Expect(cells)
	for n := range 2 {
		if out, err := e.Run(t.Context(), cells[0], nil, n+1); err != nil || out.Cleanup != nil {
			t.Errorf("left %v, error %v", out.Cleanup, err)
		}
	}
	if want := []string{"up v1.37.2", "down v1.37.2", "up v1.37.2", "down v1.37.2"}; !slices.Equal(f.events, want) || f.logs != 2 {
		t.Errorf("%q, want %q; logs of nodes %d times, want 2", f.events, want, f.logs)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedRunRemovesItsClusterWithoutEmptyingIt(t *testing.T) {
	t.Parallel()
	f := newEstate(t)
	e := f.engine(t)
	ctx, cancel := context.WithCancel(t.Context())
	var said []string
	e.Progress = func(p Progress) {
		said = append(said, p.Text)
		cancel() // at the first thing that is done
	}
	cells := cellsOf(t, "single-replica-restart", plan.Overrides{Provider: cluster.Kind, Repeat: 2}, "v1.37.2")
	e.Expect(cells)
	if _, err := e.Run(ctx, cells[0], nil, 1); err == nil {
		t.Error("it was interrupted, and says nothing")
	}
	if !slices.Contains(said, "removing the cluster") || f.up != 0 || f.logs != 0 {
		t.Errorf("%d are up, logs were collected %d times; said %q", f.up, f.logs, said)
	}
	for _, line := range said {
		if strings.Contains(line, "no further run") {
			t.Errorf("it was emptied all the same: %q", said)
		}
	}
}
