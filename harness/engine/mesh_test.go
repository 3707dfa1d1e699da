//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/toolchain"
)

// meshScenario plays a script with istiod and proxies, and predicts nothing.
type meshScenario struct {
	play func(ctx context.Context, st *stage.Stage) error
}

var _ scenario.Scenario = meshScenario{}

func (meshScenario) Name() string    { return "mesh" }
func (meshScenario) Summary() string { return "istiod's replicas and proxies in a test's hands" }
func (meshScenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedMesh}
}
func (meshScenario) Components(cluster.Capabilities) []string             { return []string{scenario.Istiod} }
func (meshScenario) Defaults() any                                        { return &struct{}{} }
func (meshScenario) Check(any, map[string]string) error                   { return nil }
func (meshScenario) Predict(scenario.Input) (p judge.Prediction, _ error) { return p, nil }
func (meshScenario) Expected(any) time.Duration                           { return time.Minute }
func (m meshScenario) Script(ctx context.Context, _ any, st *stage.Stage) error {
	return m.play(ctx, st)
}

// meshRun is one run of a script, without a verdict.
type meshRun struct {
	*run
	t        *testing.T
	clusters string
	facts    []recording.Fact
}

func newMeshRun(t *testing.T, provider string, play func(ctx context.Context, st *stage.Stage) error) *meshRun {
	t.Helper()
	m := &meshRun{t: t, clusters: filepath.Join(t.TempDir(), "clusters")}
	cell := plan.Cell{Name: "mesh", Drill: "mesh", Scenario: "mesh", Params: []byte("{}"), Provider: provider, Versions: map[string]string{}, Repeat: 1}
	for _, c := range toolchain.Catalogue() {
		if c.Name == scenario.Kubernetes || c.Name == scenario.Istiod {
			cell.Versions[c.Name] = c.Default
		}
	}
	e := &Engine{Results: t.TempDir(), Builder: &toolchain.Builder{}, Clock: clock.RealClock{}, Reckon: "test", Progress: func(p Progress) { t.Log(p.Text) }}
	e.Provider = func(_ plan.Cell, parts Parts) (cluster.Provider, error) {
		if provider == cluster.Kind {
			return Kind(m.clusters, e.Builder, "", "build", func(step string) { t.Log(step) }), nil
		}
		return Embedded(m.clusters, parts)
	}
	parts, err := e.Build(t.Context(), cell)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := NewRunDir(e.Results, RunPlan{Repetition: 1, Cell: cell}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m.run = &run{engine: e, cell: cell, parts: parts, scenario: meshScenario{play}, params: &struct{}{}, dir: dir, repetition: 1, on: cluster.Offered(provider)}
	m.site = m.newSite()
	return m
}

// record plays the script and reads the recording. Nothing of the run may be left.
func (m *meshRun) record(ctx context.Context) error {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	err := m.play(ctx)
	strays, listErr := process.Marked(func(mark process.Mark) bool { return mark.Root == m.clusters })
	if listErr != nil || len(strays) > 0 {
		m.t.Errorf("processes left: %v, %v", strays, listErr)
	}
	f, openErr := os.Open(m.dir.File(RecordingFile))
	if openErr != nil {
		m.t.Fatal(errors.Join(err, openErr))
	}
	defer f.Close()
	r, openErr := recording.NewReader(f)
	if openErr != nil {
		m.t.Fatal(errors.Join(err, openErr))
	}
	defer r.Close()
	for {
		fact, readErr := r.Next()
		if errors.Is(readErr, io.EOF) {
			return err
		}
		if readErr != nil {
			m.t.Fatal(errors.Join(err, readErr))
		}
		m.facts = append(m.facts, fact)
	}
}

// lives are the events of each replica, in the order of their times.
func (m *meshRun) lives() map[string][]string {
	out := map[string][]string{}
	for _, f := range m.facts {
		if f.Replica != nil {
			out[f.Replica.Name] = append(out[f.Replica.Name], strings.TrimSpace(string(f.Replica.Event)+" "+f.Replica.How))
			m.t.Logf("%8.3f s %s %s %s", time.Duration(f.Replica.AtNS).Seconds(), f.Replica.Name, f.Replica.Event, f.Replica.How)
		}
	}
	return out
}

// peak is the highest sum over the replicas of a series' last values, and the number
// of replicas that have any.
func (m *meshRun) peak(series string) (peak float64, replicas int) {
	last, names := map[string]float64{}, map[string]bool{}
	for _, f := range m.facts {
		switch {
		case f.Sample != nil && f.Sample.Series == series:
			names[f.Sample.Labels["replica"]] = true
			last[f.Sample.Labels["replica"]+fmt.Sprint(f.Sample.Labels)] = f.Sample.Value
		case f.Replica != nil && f.Replica.Event == recording.ReplicaGone:
			for key := range last {
				if strings.HasPrefix(key, f.Replica.Name+"map[") {
					delete(last, key)
				}
			}
		}
		sum := 0.0
		for _, v := range last {
			sum += v
		}
		peak = max(peak, sum)
	}
	return peak, len(names)
}

func needsBinaries(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("brings clusters up; not with -short")
	}
	if os.Getenv("RECKON_TEST_BINARIES") == "" {
		t.Skip("RECKON_TEST_BINARIES is not set: `make components` builds what this runs, `make test` sets it")
	}
}

const (
	istiodReplicas = 3
	manyProxies    = 30
	moreProxies    = 10
)

// loseOne takes a replica away from proxies, and lets more of them come.
func loseOne(how stage.Eviction) func(ctx context.Context, st *stage.Stage) error {
	return func(ctx context.Context, st *stage.Stage) error {
		mesh := st.ControlPlane
		if err := mesh.Deploy(ctx, stage.Istiod{Replicas: istiodReplicas, ConnectionAge: 30 * time.Second, RequestLimit: 100}); err != nil {
			return err
		}
		if err := mesh.Connect(ctx, stage.Fleet{Proxies: manyProxies, ConnectionAge: 30 * time.Second, Grace: 11 * time.Second}); err != nil {
			return err
		}
		if err := st.Pass(ctx, 2*time.Second); err != nil { // some scrapes
			return err
		}
		first := mesh.Replicas()[0]
		if refused, err := mesh.Evict(ctx, []string{first}, how); err != nil || len(refused) > 0 {
			return fmt.Errorf("refused %v: %w", refused, err)
		}
		if err := mesh.AwaitReady(ctx, istiodReplicas, time.Minute); err != nil {
			return err
		}
		if err := mesh.Grow(ctx, moreProxies, time.Second); err != nil {
			return err
		}
		if err := st.Pass(ctx, 3*time.Second); err != nil { // for the last ones, and for scrapes
			return err
		}
		if slices.Contains(mesh.Replicas(), first) || len(mesh.Replicas()) != istiodReplicas {
			return fmt.Errorf("replicas %v after %s was evicted", mesh.Replicas(), first)
		}
		return mesh.Disconnect(ctx)
	}
}

// wantConnections wants every proxy connected in the end, each to a replica that
// was there, and those of the lost one (empty: of any) again somewhere else.
func (m *meshRun) wantConnections(lives map[string][]string, lost string) {
	connected, again := map[string]string{}, 0
	for _, f := range m.facts {
		if f.Fault != nil {
			m.t.Errorf("a fault: %+v", f.Fault)
		}
		if c := f.Connection; c != nil && c.Event == recording.Connected {
			if lives[c.Replica] == nil {
				m.t.Errorf("%s is connected to %q, which is no replica", c.Proxy, c.Replica)
			}
			if before, ok := connected[c.Proxy]; ok && (lost == "" || before == lost) {
				again++
			}
			connected[c.Proxy] = c.Replica
		}
	}
	if len(connected) != manyProxies+moreProxies || again == 0 {
		m.t.Errorf("%d proxies were connected, %d of them again", len(connected), again)
	}
	for proxy, replica := range connected {
		if replica == lost && lost != "" {
			m.t.Errorf("%s stayed with %s, which is gone", proxy, lost)
		}
	}
}

func (m *meshRun) wantSamples() {
	peak, replicas := m.peak("pilot_xds")
	if peak < manyProxies || replicas < istiodReplicas+1 {
		m.t.Errorf("pilot_xds reached %v in %d replicas", peak, replicas)
	}
	for _, series := range []string{"pilot_xds_pushes", "pilot_xds_push_time_bucket", "process_resident_memory_bytes", "go_sched_gomaxprocs_threads"} {
		if sum, n := m.peak(series); sum == 0 || n < istiodReplicas {
			m.t.Errorf("%s reached %v in %d replicas", series, sum, n)
		}
	}
	rss := map[string]float64{}
	for _, f := range m.facts {
		if f.Sample != nil && f.Sample.Series == "process_resident_memory_bytes" {
			rss[f.Sample.Labels["replica"]] = f.Sample.Value / 1e6
		}
	}
	m.t.Logf("resident at last, in MB: %v", rss)
}

func TestIstiodAsProcessesLosesAReplica(t *testing.T) {
	needsBinaries(t)
	for by, events := range map[string][]string{
		"SIGKILL": {"started", "ready", "unready SIGKILL", "gone SIGKILL"},
		"SIGSTOP": {"started", "ready", "unready SIGSTOP", "gone SIGSTOP"},
	} {
		t.Run(by, func(t *testing.T) {
			m := newMeshRun(t, cluster.Embedded, loseOne(stage.Eviction{By: by, ReplacedAfter: time.Second}))
			if err := m.record(t.Context()); err != nil {
				t.Fatal(err)
			}
			lives := m.lives()
			if !slices.Equal(lives["istiod-0"], events) {
				t.Errorf("istiod-0: %v, want %v", lives["istiod-0"], events)
			}
			if want := []string{"started", "ready", "unready end of run", "gone end of run"}; !slices.Equal(lives["istiod-3"], want) || len(lives) != istiodReplicas+1 {
				t.Errorf("istiod-3: %v of %v, want %v", lives["istiod-3"], lives, want)
			}
			m.wantSamples()
			if by == "SIGKILL" { // stopped ones keep their connections until keepalives miss them
				m.wantConnections(lives, "istiod-0")
			}
		})
	}
}

// measureTwo has the memory of an istiod measured, and that of another, which takes over
// all of its proxies.
func measureTwo(ctx context.Context, st *stage.Stage) error {
	mesh := st.ControlPlane
	settle := func() error { return mesh.AwaitQuiet(ctx, 2*time.Second, time.Minute) }
	if err := mesh.Deploy(ctx, stage.Istiod{Replicas: 1, RequestLimit: 100, MemoryLimit: 1 << 30}); err != nil {
		return err
	}
	if err := mesh.Connect(ctx, stage.Fleet{Proxies: manyProxies, Together: true, Over: time.Second}); err != nil {
		return err
	}
	if err := errors.Join(settle(), mesh.Collect(ctx, "istiod-0", "before"), mesh.Scale(ctx, 2)); err != nil {
		return err
	}
	if err := mesh.AwaitReady(ctx, 2, time.Minute); err != nil {
		return err
	}
	if _, err := mesh.Evict(ctx, []string{"istiod-0"}, stage.Eviction{By: "SIGKILL", ReplacedAfter: -1}); err != nil {
		return err
	}
	if err := mesh.AwaitConnected(ctx, time.Minute); err != nil {
		return err
	}
	return errors.Join(settle(), mesh.Collect(ctx, "istiod-1", "after"), mesh.Disconnect(ctx))
}

func TestTheMemoryOfIstiodIsMeasured(t *testing.T) {
	needsBinaries(t)
	m := newMeshRun(t, cluster.Embedded, measureTwo)
	if err := m.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, f := range m.facts {
		if s := f.Sample; s != nil && s.Series == recording.LiveHeap && s.Value > 1e6 {
			at[s.Labels["replica"]] = s.Labels["at"]
		}
	}
	if at["istiod-0"] != "before" || at["istiod-1"] != "after" {
		t.Errorf("live heaps of %v", at)
	}
	for _, series := range []string{recording.ResidentMemory, recording.PeakMemory, recording.AnonymousMemory} {
		if sum, replicas := m.peak(series); replicas != 2 || sum < 30e6 {
			t.Errorf("%s reached %g in %d replicas", series, sum, replicas)
		}
	}
	to := map[string]string{}
	for _, f := range m.facts {
		if s := f.Sample; s != nil && s.Series == "go_gc_gomemlimit_bytes" && s.Value != 1<<30/10*9 {
			t.Errorf("%s has a GOMEMLIMIT of %g", s.Labels["replica"], s.Value)
		}
		if c := f.Connection; c != nil && c.Event == recording.Connected {
			to[c.Proxy] = c.Replica
		}
	}
	for proxy, replica := range to {
		if replica != "istiod-1" {
			t.Errorf("%s is connected to %s in the end", proxy, replica)
		}
	}
	if len(to) != manyProxies {
		t.Errorf("%d proxies were connected", len(to))
	}
}

// What a script leaves when it is interrupted must not be left.
func TestAnInterruptEndsIstiodAndTheProxies(t *testing.T) {
	needsBinaries(t)
	why := errors.New("ctrl-c")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := newMeshRun(t, cluster.Embedded, func(ctx context.Context, st *stage.Stage) error {
		if err := st.ControlPlane.Deploy(ctx, stage.Istiod{Replicas: 2}); err != nil {
			return err
		}
		if err := st.ControlPlane.Connect(ctx, stage.Fleet{Proxies: manyProxies, Together: true}); err != nil {
			return err
		}
		cancel(why)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err := m.record(ctx); !errors.Is(err, ErrInvalid) || !errors.Is(m.aborted, why) {
		t.Errorf("error %v, aborted %v", err, m.aborted)
	}
}

func TestAFleetThatEndsByItselfMakesTheRunInvalid(t *testing.T) {
	needsBinaries(t)
	var m *meshRun
	m = newMeshRun(t, cluster.Embedded, func(ctx context.Context, st *stage.Stage) error {
		if err := st.ControlPlane.Deploy(ctx, stage.Istiod{Replicas: 1}); err != nil {
			return err
		}
		if err := st.ControlPlane.Connect(ctx, stage.Fleet{Proxies: 3, Together: true}); err != nil {
			return err
		}
		for _, p := range m.cluster.(cluster.Host).Supervisor().Running() {
			if p.Name() == "proxies" {
				if err := p.Signal(9); err != nil {
					return err
				}
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err := m.record(t.Context()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "the fleet of proxies ended by itself") || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("error %v", err)
	}
}

// losePods evicts one and then all replicas, which the budget does not allow, rolls
// them, and lets more proxies come.
func losePods(ctx context.Context, st *stage.Stage) error {
	mesh, spec := st.ControlPlane, stage.Istiod{Replicas: istiodReplicas, ConnectionAge: 30 * time.Second, RequestLimit: 100}
	if err := mesh.Deploy(ctx, spec); err != nil {
		return err
	}
	if err := mesh.Connect(ctx, stage.Fleet{Proxies: manyProxies, ConnectionAge: 30 * time.Second, Grace: 11 * time.Second}); err != nil {
		return err
	}
	if err := st.Pass(ctx, 3*time.Second); err != nil { // some scrapes
		return err
	}
	byAPI := stage.Eviction{By: "eviction"}
	if refused, err := mesh.Evict(ctx, mesh.Replicas()[:1], byAPI); err != nil || len(refused) > 0 {
		return fmt.Errorf("one: refused %v: %w", refused, err)
	}
	if err := mesh.AwaitReady(ctx, istiodReplicas, time.Minute); err != nil {
		return err
	}
	if refused, err := mesh.Evict(ctx, mesh.Replicas(), byAPI); err != nil || len(refused) != 1 {
		return fmt.Errorf("all: refused %v, expected one: %w", refused, err)
	}
	if err := mesh.AwaitReady(ctx, istiodReplicas, time.Minute); err != nil {
		return err
	}
	before := mesh.Replicas()
	if err := mesh.Restart(ctx, spec, istiodReplicas); err != nil {
		return err
	}
	if err := mesh.AwaitReady(ctx, istiodReplicas, 2*time.Minute); err != nil {
		return err
	}
	if slices.ContainsFunc(mesh.Replicas(), func(name string) bool { return slices.Contains(before, name) }) {
		return fmt.Errorf("replicas %v after those of %v were restarted", mesh.Replicas(), before)
	}
	if err := mesh.Grow(ctx, moreProxies, time.Second); err != nil {
		return err
	}
	if err := st.Pass(ctx, 5*time.Second); err != nil { // for the last ones, and for scrapes
		return err
	}
	return mesh.Disconnect(ctx)
}

func TestIstiodAsPodsIsEvictedAndRolled(t *testing.T) {
	if os.Getenv("RECKON_TEST_KIND") == "" {
		t.Skip("RECKON_TEST_KIND is not set: `make test-kind` sets it")
	}
	m := newMeshRun(t, cluster.Kind, losePods)
	if err := m.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	evicted := 0
	lives := m.lives()
	for _, events := range lives {
		if slices.Contains(events, "unready eviction") {
			evicted++
		}
	}
	if evicted != 1+istiodReplicas-1 {
		t.Errorf("%d replicas were evicted: %v", evicted, lives)
	}
	m.wantConnections(lives, "")
	m.wantSamples()
	if periods, _ := m.peak("container_cpu_cfs_periods_total"); periods == 0 {
		t.Error("nothing is known of istiod's cgroups")
	}
}
