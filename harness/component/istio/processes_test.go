//go:build linux

package istio

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cgroup"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
)

// The test binary plays pilot-discovery when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "discovery" {
		os.Exit(playDiscovery(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// playDiscovery is Ready at once, ends a little after it is told to, and plays
// what the further arguments of a spec say.
func playDiscovery(args []string) int {
	f := flag.NewFlagSet("discovery", flag.ContinueOnError)
	at, metrics := f.String("httpAddr", "", ""), f.String("monitoringAddr", "", "")
	for _, ignored := range []string{"kubeconfig", "meshConfig", "namespace", "grpcAddr", "secureGRPCAddr", "httpsAddr", "ctrlz_port", "keepaliveMaxServerConnectionAge"} {
		f.String(ignored, "", "")
	}
	play := f.String("play", "", "")
	if err := f.Parse(args); err != nil {
		return 2
	}
	fmt.Println("this is", os.Getenv("POD_NAME"))
	switch *play {
	case "die":
		fmt.Println("panic: no idea")
		return 3
	case "never":
		select {}
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		time.Sleep(50 * time.Millisecond)
		os.Exit(0)
	}()
	debug, err := net.Listen("tcp", *metrics)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() { fmt.Println(http.Serve(debug, http.HandlerFunc(pprof.Index))) }()
	fmt.Println(http.ListenAndServe(*at, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	return 1
}

// rig is replicas that are played, and all that was said of them.
type rig struct {
	*Processes
	t   *testing.T
	sup *process.Supervisor

	mu      sync.Mutex
	samples []recording.Sample
	events  []recording.Replica
	ready   []string
	failed  chan error
}

func newRig(t *testing.T, change ...func(*ProcessConfig)) *rig {
	t.Helper()
	r := &rig{t: t, sup: process.NewSupervisor(process.Options{}), failed: make(chan error, 1)}
	base := time.Now()
	cfg := ProcessConfig{
		Supervisor: r.sup, Ports: freePorts, Dir: t.TempDir(), Kubeconfig: "none", Clock: clock.RealClock{},
		Binary: func(context.Context, string) (string, error) { return os.Args[0], nil },
		Observer: Observer{
			Now: func() time.Duration { return time.Since(base) }, Event: r.event, Ready: r.setReady,
			Sampled: r.sampled, Began: func(context.Context, string, incluster.Endpoint, int) {},
			Limited: func(context.Context, string, func() (cgroup.Stat, error)) {}, Fail: func(err error) { r.failed <- err },
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	r.Processes = NewProcesses(cfg)
	t.Cleanup(r.end)
	return r
}

// end wants every process gone, however it is, and each event in its place.
func (r *rig) end() {
	if err := r.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
	if left := r.sup.Running(); len(left) > 0 {
		r.t.Errorf("processes left: %v", left)
	}
	if err := r.sup.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	state := map[string]recording.ReplicaEvent{}
	for _, e := range r.events {
		before := state[e.Name]
		if e.Event == recording.ReplicaStarted && before != "" || e.Event != recording.ReplicaStarted && before == "" || before == recording.ReplicaGone || before == e.Event {
			r.t.Errorf("%s is %s after it was %q: %+v", e.Name, e.Event, before, r.events)
		}
		state[e.Name] = e.Event
	}
	for name, last := range state {
		if last != recording.ReplicaGone {
			r.t.Errorf("%s is %s in the end", name, last)
		}
	}
	if len(r.ready) > 0 {
		r.t.Errorf("Ready in the end: %v", r.ready)
	}
}

func (r *rig) event(e recording.Replica) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *rig) sampled(s recording.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
}

func (r *rig) setReady(all []Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = nil
	for _, e := range all {
		r.ready = append(r.ready, e.Name)
	}
}

func (r *rig) choices() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ready)
}

// of are the events of a replica, those that were brought about with their means.
func (r *rig) of(name string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Name == name {
			out = append(out, strings.TrimSpace(string(e.Event)+" "+e.How))
		}
	}
	return out
}

func (r *rig) deploy(replicas int) {
	r.t.Helper()
	if err := r.Deploy(r.t.Context(), stage.Istiod{Replicas: replicas}); err != nil {
		r.t.Fatal(err)
	}
}

// limit is far beyond what a busy machine takes.
const limit = 2 * time.Minute

// settle waits until the replicas are these, all Ready.
func (r *rig) settle(want ...string) {
	r.t.Helper()
	if err := r.AwaitReady(r.t.Context(), len(want), limit); err != nil {
		r.t.Fatal(err)
	}
	if got := r.Replicas(); !slices.Equal(got, want) {
		r.t.Fatalf("replicas %v, want %v", got, want)
	}
	if got := r.choices(); !slices.Equal(got, want) {
		r.t.Fatalf("Ready %v, want %v", got, want)
	}
}

// sees waits until all that is told of a replica is this.
func (r *rig) sees(name string, want ...string) {
	r.t.Helper()
	for end := time.Now().Add(limit); !slices.Equal(r.of(name), want); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: %v, want %v", name, r.of(name), want)
		}
	}
}

func (r *rig) evict(how stage.Eviction, names ...string) {
	r.t.Helper()
	if refused, err := r.Evict(r.t.Context(), names, how); err != nil || len(refused) > 0 {
		r.t.Fatalf("refused %v, %v", refused, err)
	}
	for _, name := range names {
		if slices.Contains(r.choices(), name) {
			r.t.Errorf("%s can still be chosen", name)
		}
	}
}

// freePorts are not of those that the kernel gives to connections and to tests
// that ask it for any.
func freePorts(n int) ([]int, error) {
	const first, last = 12000, 32000
	var out []int
	for len(out) < n {
		port := first + rand.IntN(last-first)
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			out = append(out, port)
			if err := l.Close(); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func TestReplicasAreReadyWhenDeployReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(3)
	r.settle("istiod-0", "istiod-1", "istiod-2")
	r.sees("istiod-1", "started", "ready")
	text, err := os.ReadFile(filepath.Join(r.cfg.Dir, "istiod-1.log"))
	if err != nil || string(text) != "this is istiod-1\n" {
		t.Errorf("its log: %q, %v", text, err)
	}
}

func TestEvictedReplicasAreReplaced(t *testing.T) {
	for by, events := range map[string][]string{
		"SIGKILL": {"started", "ready", "unready SIGKILL", "gone SIGKILL"},
		"SIGTERM": {"started", "ready", "unready SIGTERM", "gone SIGTERM"},
		"SIGSTOP": {"started", "ready", "unready SIGSTOP"},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.deploy(3)
			r.evict(stage.Eviction{By: by, ReplacedAfter: 50 * time.Millisecond}, "istiod-0", "istiod-2")
			r.settle("istiod-1", "istiod-3", "istiod-4")
			r.sees("istiod-0", events...)
			r.sees("istiod-2", events...)
		})
	}
}

func TestEvictedReplicasStayAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(2)
	r.evict(stage.Eviction{By: "SIGKILL", ReplacedAfter: -1}, "istiod-0")
	r.sees("istiod-0", "started", "ready", "unready SIGKILL", "gone SIGKILL")
	r.settle("istiod-1")
	if err := r.AwaitReady(t.Context(), 2, 300*time.Millisecond); !errors.Is(err, stage.ErrNotReached) || !strings.Contains(err.Error(), "2 replicas of istiod") {
		t.Errorf("error %v", err)
	}
}

func TestReplicasAreScaled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(1)
	if err := r.Scale(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	r.settle("istiod-0", "istiod-1", "istiod-2")
	if err := r.Scale(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.settle("istiod-0")
	r.sees("istiod-2", "started", "ready", "unready SIGTERM", "gone SIGTERM")
}

func TestAReplicaThatIsAwaitedIsScaledAwayFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(3)
	r.evict(stage.Eviction{By: "SIGKILL", ReplacedAfter: 100 * time.Millisecond}, "istiod-0")
	if err := r.Scale(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	r.settle("istiod-1", "istiod-2")
	time.Sleep(200 * time.Millisecond) // a replacement would have been started by now
	r.settle("istiod-1", "istiod-2")
}

// What a restart may never do, whatever the surge: fewer Ready than are wanted, or
// more at once than the surge allows.
func TestARestartKeepsToItsSurge(t *testing.T) {
	for name, c := range map[string]struct{ replicas, surge int }{"one at a time": {3, 1}, "all at once": {3, 3}, "more than there are": {2, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.deploy(c.replicas)
			if err := r.Restart(t.Context(), stage.Istiod{Replicas: c.replicas}, c.surge); err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range c.replicas {
				r.sees(fmt.Sprint("istiod-", i), "started", "ready", "unready SIGTERM", "gone SIGTERM")
				want = append(want, fmt.Sprint("istiod-", c.replicas+i))
			}
			r.settle(want...)
			r.mu.Lock()
			defer r.mu.Unlock()
			there, ready := 0, 0
			for i, e := range r.events {
				switch e.Event {
				case recording.ReplicaStarted:
					there++
				case recording.ReplicaReady:
					ready++
				case recording.ReplicaUnready:
					there-- // it is told to end, and a Deployment does not count it any more
					ready--
				}
				if there > c.replicas+c.surge || i >= 2*c.replicas && ready < c.replicas {
					t.Fatalf("%d there, %d Ready after %+v", there, ready, r.events[:i+1])
				}
			}
		})
	}
}

func TestAReplicaThatEndsByItselfFailsTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(2)
	for _, p := range r.sup.Running() {
		if p.Name() == "istiod-1" {
			if err := p.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := <-r.failed
	if !strings.Contains(err.Error(), "istiod-1") || !strings.Contains(err.Error(), "ended by itself: signal: killed") || !strings.Contains(err.Error(), "this is istiod-1") {
		t.Errorf("error %v", err)
	}
	r.sees("istiod-1", "started", "ready", "unready", "gone")
	if again := r.AwaitReady(t.Context(), 1, limit); !errors.Is(again, err) {
		t.Errorf("and then: %v", again)
	}
}

func TestAReplicaThatDiesBeforeItIsReadyIsDeploysError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	err := r.Deploy(t.Context(), stage.Istiod{Replicas: 1, Args: []string{"--play=die"}})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "panic: no idea") || !errors.Is(<-r.failed, err) {
		t.Errorf("error %v", err)
	}
}

// hurried is a clock on which limits are over once a replica has said something.
type hurried struct {
	clock.RealClock
	log string
}

func (h *hurried) NewTimer(time.Duration) clock.Timer {
	t := over(make(chan time.Time, 1))
	go func() {
		for {
			if text, err := os.ReadFile(h.log); err == nil && strings.HasSuffix(string(text), "\n") {
				t <- time.Now()
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	return t
}

// over is a timer that is over when it is told.
type over chan time.Time

func (o over) C() <-chan time.Time    { return o }
func (over) Stop() bool               { return false }
func (over) Reset(time.Duration) bool { return false }

func TestAReplicaThatIsNeverReadyIsDeploysErrorWithItsLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *ProcessConfig) { c.Clock = &hurried{log: filepath.Join(c.Dir, "istiod-0.log")} })
	err := r.Deploy(t.Context(), stage.Istiod{Replicas: 1, Args: []string{"--play=never"}})
	if err == nil || !strings.Contains(err.Error(), "istiod-0 was not Ready within") || !strings.Contains(err.Error(), "this is istiod-0") {
		t.Errorf("error %v", err)
	}
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(2)
	ctx, now := t.Context(), stage.Eviction{By: "SIGKILL"}
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"a second deployment":      {func() error { return r.Deploy(ctx, stage.Istiod{Replicas: 1}) }, "there already"},
		"no replicas":              {func() error { return r.Restart(ctx, stage.Istiod{}, 1) }, "0 replicas"},
		"a restart without surge":  {func() error { return r.Restart(ctx, stage.Istiod{Replicas: 1}, 0) }, "surge of 0"},
		"a negative scale":         {func() error { return r.Scale(ctx, -1) }, "-1 replicas"},
		"a limit that is none":     {func() error { return r.Restart(ctx, stage.Istiod{Replicas: 1, RequestLimit: -1}, 1) }, "request limit"},
		"less memory than none":    {func() error { return r.Restart(ctx, stage.Istiod{Replicas: 1, MemoryLimit: -1}, 1) }, "memory limit -1"},
		"the heap of none":         {func() error { return r.Collect(ctx, "istiod-7", "now") }, "istiod-0, istiod-1"},
		"less CPU than none":       {func() error { return r.Restart(ctx, stage.Istiod{Replicas: 1, CPULimit: -1}, 1) }, "CPU limit of -1"},
		"a way for pods":           {func() error { _, err := r.Evict(ctx, nil, stage.Eviction{By: "eviction"}); return err }, "SIGSTOP"},
		"one that is not there":    {func() error { _, err := r.Evict(ctx, []string{"istiod-7"}, now); return err }, "istiod-0, istiod-1"},
		"the same one named twice": {func() error { _, err := r.Evict(ctx, []string{"istiod-0", "istiod-0"}, now); return err }, `"istiod-0"`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
	r.settle("istiod-0", "istiod-1")
}

func TestTheLiveHeapIsWhatACollectionLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(1)
	if err := r.Collect(t.Context(), "istiod-0", "idle"); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) != 1 {
		t.Fatalf("samples %+v, want one", r.samples)
	}
	s := r.samples[0]
	if s.Series != recording.LiveHeap || s.Labels["replica"] != "istiod-0" || s.Labels["at"] != "idle" || s.Value < 1e4 || s.Value > 1e9 {
		t.Errorf("%+v", s)
	}
}

func TestAProfileWithoutItsNumbersIsNoHeap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		profile string
		want    float64
		err     string
	}{
		"as Go writes it": {"heap profile: 1: 2\n# runtime.MemStats\n# Alloc = 7\n# HeapAlloc = 4096\n# HeapIdle = 9\n", 4096, ""},
		"an empty one":    {"", 0, "without the line"},
		"no number":       {"# HeapAlloc = many\n", 0, "no number of bytes"},
	} {
		got, err := heapAlloc(strings.NewReader(c.profile))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %g, error %v", name, got, err)
		}
	}
}

// A replica with a limit is in a group of its own, and the group goes with it.
func TestALimitOnCPUIsEnforcedAndTold(t *testing.T) {
	t.Parallel()
	type told struct {
		replica string
		stat    cgroup.Stat
		err     error
	}
	limited := make(chan told, 2)
	r := newRig(t, func(c *ProcessConfig) {
		c.Limited = func(_ context.Context, replica string, read func() (cgroup.Stat, error)) {
			s, err := read()
			limited <- told{replica, s, err}
		}
	})
	err := r.Deploy(t.Context(), stage.Istiod{Replicas: 1, CPULimit: 600})
	if errors.Is(err, cgroup.ErrUnsupported) {
		<-r.failed
		if !strings.Contains(err.Error(), "a CPU limit of 600m for istiod-0") || !strings.Contains(err.Error(), "run as root") {
			t.Errorf("error %v", err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := <-limited; got.replica != "istiod-0" || got.err != nil {
		t.Errorf("told of %+v", got)
	}
	r.mu.Lock()
	events := len(r.events)
	r.mu.Unlock()
	if err := r.Close(t.Context()); err != nil || events != 2 {
		t.Errorf("%d events: %v", events, err)
	}
	if left, err := filepath.Glob("/sys/fs/cgroup/*/reckon-" + fmt.Sprint(os.Getpid()) + "-*"); err != nil || len(left) > 0 {
		t.Errorf("groups left: %q, %v", left, err)
	}
}

func TestTheCommandHasWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	p := NewProcesses(ProcessConfig{Dir: "/logs", Kubeconfig: "/kube"})
	defer p.Close(context.Background())
	at := ports{http: 1, xds: 2, metrics: 3}
	p.spec = stage.Istiod{ConnectionAge: time.Minute, RequestLimit: 2.5, CPUs: 2, MemoryLimit: 1000, Args: []string{"--shutdownDuration=1s"}}
	got := p.command("istiod-4", at)
	for _, want := range []string{"--httpAddr=127.0.0.1:1", "--grpcAddr=127.0.0.1:2", "--monitoringAddr=127.0.0.1:3", "--keepaliveMaxServerConnectionAge=1m0s", "--shutdownDuration=1s", "--meshConfig=/logs/istiod-mesh.yaml"} {
		if !slices.Contains(got.Args, want) {
			t.Errorf("no argument %s among %q", want, got.Args)
		}
	}
	for _, want := range []string{"POD_NAME=istiod-4", "GOMAXPROCS=2", "PILOT_MAX_REQUESTS_PER_SECOND=2.5", "GOMEMLIMIT=900"} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("no variable %s among %q", want, got.Env)
		}
	}
	p.spec = stage.Istiod{CPULimit: 1600}
	if got := p.command("istiod-4", at); !slices.Contains(got.Env, "GOMAXPROCS=2") {
		t.Errorf("a limit of 1600m: %q", got.Env)
	}
	p.spec.OwnProcs = true
	if got := p.command("istiod-4", at); strings.Contains(fmt.Sprint(got.Env), "GOMAXPROCS") {
		t.Errorf("left to Go's runtime: %q", got.Env)
	}
	p.spec = stage.Istiod{}
	if got := p.command("istiod-4", at); !slices.Contains(got.Env, "GOMAXPROCS=1") || strings.Contains(fmt.Sprint(got), "keepalive") || strings.Contains(fmt.Sprint(got), requestLimit) || strings.Contains(fmt.Sprint(got), "GOMEMLIMIT") {
		t.Errorf("istiod's own: %v", got)
	}
}
