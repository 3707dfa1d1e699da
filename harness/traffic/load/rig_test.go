package load

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
	"reckon.dev/reckon/harness/traffic/echo"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

const (
	testHost = "app.demo.svc.cluster.local"
	testPort = "8080"
)

// patience is how long requests wait in tests that are not about that: machines
// that run tests may be busy.
const patience = 15 * time.Second

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pod serves as a pod would; it returns where.
func pod(t testing.TB, cfg echo.Config) (grpcAt, httpAt string) {
	t.Helper()
	if cfg.OnTerm == "" {
		cfg.OnTerm = echo.Exit
	}
	grpcOn, httpOn := listen(t), listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := echo.New(cfg, io.Discard).Serve(ctx, grpcOn, httpOn); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		served.Wait()
	})
	return grpcOn.Addr().String(), httpOn.Addr().String()
}

// istiod is a control plane that a test can stop and start.
type istiod struct {
	*xdstest.Server
	t       testing.TB
	address string
}

func newIstiod(t testing.TB, maxAge time.Duration, state xdstest.State) *istiod {
	t.Helper()
	on := listen(t)
	i := &istiod{Server: xdstest.New(testHost, testPort, state), t: t, address: on.Addr().String()}
	i.Start(on, maxAge)
	t.Cleanup(i.Stop)
	return i
}

// again serves at the same address as before.
func (i *istiod) again() {
	i.t.Helper()
	on, err := net.Listen("tcp", i.address)
	if err != nil {
		i.t.Fatal(err)
	}
	i.Start(on, 0)
}

// split routes as the guard of drills does: all clusters are always known.
func split(stable, canary uint32, endpoints map[string][]string) xdstest.State {
	return xdstest.State{Endpoints: endpoints, Routes: []xdstest.Route{
		{Name: "keep", Never: true, Weights: map[string]uint32{"stable": 50, "canary": 50}},
		{Name: "primary", Weights: map[string]uint32{"stable": stable, "canary": canary}},
	}}
}

func (i *istiod) config(rate float64) Config {
	return Config{
		Client: GRPC, Transport: GRPC, Target: net.JoinHostPort(testHost, testPort), Rate: rate, Timeout: patience, MaxInFlight: 10_000,
		Bin: 100 * time.Millisecond, Istiod: i.address, Namespace: "demo", Pod: "load-0", IP: "127.0.0.1",
	}
}

func httpConfig(address string, rate float64) Config {
	return Config{
		Client: HTTP, Transport: HTTP, Target: "http://" + address + "/", Rate: rate, Timeout: patience, MaxInFlight: 10_000,
		Bin: 100 * time.Millisecond,
	}
}

// client is a load under way whose record a Tap reads.
type client struct {
	t    testing.TB
	base time.Time
	tap  *traffic.Tap
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	facts []recording.Fact
}

// begin returns when the first request is due.
func begin(t testing.TB, cfg Config) *client {
	t.Helper()
	c := &client{t: t, base: time.Now()}
	c.tap = traffic.NewTap(traffic.TapConfig{Client: cfg.Client, Base: c.base, Now: time.Now}, func(f recording.Fact) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.facts = append(c.facts, f)
	})
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	t.Cleanup(func() {
		cancel()
		c.done.Wait()
	})
	read, write := io.Pipe()
	c.done.Go(func() { _ = write.CloseWithError(Run(ctx, cfg, write)) })
	c.done.Go(func() {
		if err := c.tap.Read(read); err != nil {
			t.Error(err)
			_ = read.CloseWithError(err)
		}
	})
	select {
	case <-c.tap.Started():
	case <-time.After(20 * time.Second):
		t.Fatal("the client did not start")
	}
	return c
}

// end stops the client and returns what was recorded.
func (c *client) end() []recording.Fact {
	c.t.Helper()
	c.stop()
	return c.wait()
}

// wait returns what was recorded when the client has ended.
func (c *client) wait() []recording.Fact {
	c.t.Helper()
	c.done.Wait()
	if err := c.tap.Close(); err != nil {
		c.t.Error(err)
	}
	return c.recorded()
}

// recorded is what there is so far.
func (c *client) recorded() []recording.Fact {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts
}

// now is the time on the recording's clock.
func (c *client) now() time.Duration { return time.Since(c.base) }

// counts are sums over bins.
type counts struct {
	due      int64
	answers  map[string]int64 // by version
	failures map[recording.Cause]int64
	late     time.Duration
}

func (c counts) answered() (n int64) {
	for _, x := range c.answers {
		n += x
	}
	return n
}

func (c counts) failed() (n int64) {
	for _, x := range c.failures {
		n += x
	}
	return n
}

// sum adds up the bins that lie within an interval.
func sum(facts []recording.Fact, from, to time.Duration) counts {
	out := counts{answers: map[string]int64{}, failures: map[recording.Cause]int64{}}
	for _, f := range facts {
		b := f.Traffic
		if b == nil || b.FromNS < from.Nanoseconds() || b.ToNS > to.Nanoseconds() {
			continue
		}
		out.due += b.Due
		out.late = max(out.late, time.Duration(b.LateNS))
		for _, a := range b.Answers {
			out.answers[a.Version] += a.N
		}
		for _, x := range b.Failures {
			out.failures[x.Cause] += x.N
		}
	}
	return out
}

const always = time.Duration(math.MaxInt64)

// share fails the test if n of total is not what a share of p makes likely: five
// standard deviations, which chance exceeds once in two million times.
func share(t *testing.T, n, total int64, p float64) {
	t.Helper()
	sd := math.Sqrt(p * (1 - p) * float64(total))
	if math.Abs(float64(n)-p*float64(total)) > 5*sd {
		t.Errorf("%d of %d, want %.1f%% (standard deviation %.1f)", n, total, 100*p, sd)
	}
}

func noFailures(t *testing.T, facts []recording.Fact) {
	t.Helper()
	for _, f := range facts {
		if f.Traffic != nil {
			for _, x := range f.Traffic.Failures {
				t.Errorf("%+v", x)
			}
		}
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// hole accepts connections and answers nothing.
func hole(t testing.TB) string {
	t.Helper()
	on := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(on) }) // ended by Close
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	return on.Addr().String()
}
