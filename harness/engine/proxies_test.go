//go:build linux

package engine

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

// fakeHost is a cluster beside which there is nothing else.
type fakeHost struct {
	sup *process.Supervisor
	dir string
}

func (h fakeHost) Supervisor() *process.Supervisor { return h.sup }
func (h fakeHost) LogDir() string                  { return h.dir }
func (fakeHost) ReservePorts(int) ([]int, error)   { return nil, errors.New("none") }

// fleetRig is a fleet whose program is this test's, and two istiods that are played.
type fleetRig struct {
	*proxies
	t     *testing.T
	fleet *fleetProcess
	a, b  *xdstest.Istiod
	at    []istio.Endpoint // of a and b

	mu     sync.Mutex
	failed error
}

func newFleetRig(t *testing.T) *fleetRig {
	t.Helper()
	g := &fleetRig{t: t, a: xdstest.NewIstiod("a", xdstest.Mesh{"x"}), b: xdstest.NewIstiod("b", xdstest.Mesh{"x"})}
	for _, i := range []*xdstest.Istiod{g.a, g.b} {
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		i.Start(on, time.Hour, time.Second)
		t.Cleanup(i.Stop)
		g.at = append(g.at, istio.Endpoint{Name: []string{"a", "b"}[len(g.at)], Address: on.Addr().String()})
	}
	r := &run{engine: &Engine{Clock: clock.RealClock{}}, base: time.Now()}
	w, err := recording.NewWriter(&bytes.Buffer{}, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.New(record.Config{Writer: w, Base: r.base})
	if err != nil {
		t.Fatal(err)
	}
	sup := process.NewSupervisor(process.Options{})
	t.Cleanup(func() {
		if left := sup.Running(); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		if err := errors.Join(sup.Close(context.Background()), rec.Stop(context.Background())); err != nil {
			t.Error(err)
		}
	})
	g.proxies = r.newProxies(t.Context(), g.fail, rec)
	g.fleet = &fleetProcess{host: fakeHost{sup, t.TempDir()}, binary: os.Args[0], fail: g.fail}
	g.proxies.fleet = g.fleet
	return g
}

func (g *fleetRig) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = errors.Join(g.failed, err)
}

func (g *fleetRig) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

// awaits polls what nothing announces.
func (g *fleetRig) awaits(what string, is func() bool) {
	g.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("not in time: %s (a has %d streams, b %d, failure %v)", what, g.a.Open(), g.b.Open(), g.failure())
		}
	}
}

func TestProxiesFollowWhoIsReady(t *testing.T) {
	t.Parallel()
	g := newFleetRig(t)
	ctx := t.Context()
	g.fleet.setReady(g.at)
	if err := g.Connect(ctx, stage.Fleet{Proxies: 20, Together: true}); err != nil {
		t.Fatal(err)
	}
	if g.a.Open() == 0 || g.b.Open() == 0 || g.a.Open()+g.b.Open() != 20 {
		t.Errorf("a has %d streams, b %d", g.a.Open(), g.b.Open())
	}
	if err := g.Connect(ctx, stage.Fleet{Proxies: 1, Together: true}); err == nil {
		t.Error("connected twice")
	}
	g.fleet.setReady(g.at[1:])
	g.a.Stop()
	if err := g.awaitConnected(ctx, []string{"b"}, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	if g.b.Open() != 20 {
		t.Errorf("b has %d streams when all are connected to it", g.b.Open())
	}
	if err := g.awaitConnected(ctx, []string{"a"}, time.Millisecond); !errors.Is(err, stage.ErrNotReached) {
		t.Errorf("all are connected to a: %v", err)
	}
	if err := g.Grow(ctx, 5, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	g.awaits("five more are with b", func() bool { return g.b.Open() == 25 })
	if err := g.Disconnect(ctx); err != nil {
		t.Error(err)
	}
	if err := g.Disconnect(ctx); err == nil {
		t.Error("disconnected twice")
	}
	g.awaits("none is with b", func() bool { return g.b.Open() == 0 })
	if err := g.failure(); err != nil {
		t.Error(err)
	}
}

func TestAFleetThatDiesIsAFault(t *testing.T) {
	t.Parallel()
	g := newFleetRig(t)
	g.fleet.setReady(g.at)
	if err := g.Connect(t.Context(), stage.Fleet{Proxies: 3, Together: true}); err != nil {
		t.Fatal(err)
	}
	if err := g.fleet.process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.awaits("a failure", func() bool { return g.failure() != nil })
	for _, want := range []string{"proxies: the fleet of proxies ended by itself", "signal: killed"} {
		if err := g.failure(); !strings.Contains(err.Error(), want) {
			t.Errorf("failure %v, want %q", err, want)
		}
	}
	g.fleet.setReady(nil) // nobody reads it, and that is no other failure
	g.abandon(t.Context())
}

func TestAFleetThatCannotBeIsConnectsError(t *testing.T) {
	t.Parallel()
	g := newFleetRig(t)
	g.fleet.setReady(g.at)
	err := g.Connect(t.Context(), stage.Fleet{Proxies: 3}) // neither together nor an age
	if err == nil || !strings.Contains(err.Error(), "ended too early") || !strings.Contains(err.Error(), "-age is 0s") {
		t.Errorf("error %v", err)
	}
	g.abandon(t.Context())
}

// A fleet that the script left goes with its run.
func TestAFleetThatIsAbandonedEnds(t *testing.T) {
	t.Parallel()
	g := newFleetRig(t)
	g.fleet.setReady(g.at)
	if err := g.Connect(t.Context(), stage.Fleet{Proxies: 3, Together: true}); err != nil {
		t.Fatal(err)
	}
	g.abandon(t.Context())
	if g.fleet.process.Running() || g.failure() != nil {
		t.Errorf("running %t, failure %v", g.fleet.process.Running(), g.failure())
	}
}
