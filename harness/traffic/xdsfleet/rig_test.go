package xdsfleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

// patience is how long a test waits for what should be there at once.
const patience = 20 * time.Second

// rig is a fleet under test with the record that it writes.
type rig struct {
	t       testing.TB
	tap     *traffic.Tap
	control *io.PipeWriter
	stop    context.CancelFunc
	done    chan struct{}
	err     error // after done

	mu     sync.Mutex
	facts  []recording.Fact
	change chan struct{} // closed at the next fact
}

func startFleet(t testing.TB, cfg Config, control ...string) *rig {
	t.Helper()
	if cfg.Client == "" {
		cfg.Client = "fleet"
	}
	cfg.Cohort, cfg.Namespace = "cohort-1", "mesh"
	r := &rig{t: t, done: make(chan struct{}), change: make(chan struct{})}
	r.tap = traffic.NewTap(traffic.TapConfig{Client: cfg.Client, Base: time.Now(), Now: time.Now, Delay: patience}, r.take)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	orders, told := io.Pipe()
	r.control = told
	out, lines := io.Pipe()
	var both sync.WaitGroup
	both.Go(func() {
		r.err = Run(ctx, cfg, orders, lines)
		_ = lines.Close()
	})
	both.Go(func() {
		if err := r.tap.Read(out); err != nil {
			t.Error(err)
			out.CloseWithError(err)
		}
	})
	go func() {
		both.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		r.stop()
		_ = told.Close()
		<-r.done
	})
	for _, line := range control {
		r.order(line)
	}
	return r
}

func (r *rig) order(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.control, line+"\n"); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) take(f recording.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts = append(r.facts, f)
	close(r.change)
	r.change = make(chan struct{})
}

// events are those so far, of one kind or all.
func (r *rig) events(kinds ...recording.ConnectionEvent) []recording.Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return eventsIn(r.facts, kinds)
}

func eventsIn(facts []recording.Fact, kinds []recording.ConnectionEvent) []recording.Connection {
	var out []recording.Connection
	for _, f := range facts {
		if f.Connection == nil {
			continue
		}
		for _, kind := range kinds {
			if f.Connection.Event == kind {
				out = append(out, *f.Connection)
			}
		}
		if len(kinds) == 0 {
			out = append(out, *f.Connection)
		}
	}
	return out
}

// await waits until there are so many events of a kind, and returns them.
func (r *rig) await(n int, kind recording.ConnectionEvent) []recording.Connection {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		got, change := eventsIn(r.facts, []recording.ConnectionEvent{kind}), r.change
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-change:
		case <-late:
			r.t.Fatalf("%d events %s, want %d", len(got), kind, n)
		}
	}
}

// end ends the fleet and returns what its record counts.
func (r *rig) end() traffic.FleetTotals {
	r.t.Helper()
	r.stop()
	<-r.done
	if r.err != nil {
		r.t.Error(r.err)
	}
	if err := r.tap.Close(); err != nil {
		r.t.Error(err)
	}
	return r.tap.Fleet()
}

// replicas starts istiods and returns the order that says they are ready.
func replicas(t testing.TB, n int, age, grace time.Duration, mesh ...string) ([]*xdstest.Istiod, string) {
	t.Helper()
	var all []*xdstest.Istiod
	var list []string
	for i := range n {
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		x := xdstest.NewIstiod(fmt.Sprintf("istiod-%d", i), mesh)
		x.Start(on, age, grace)
		t.Cleanup(x.Stop)
		all = append(all, x)
		list = append(list, fmt.Sprintf("%q", fmt.Sprintf("istiod-%d=%s", i, on.Addr())))
	}
	return all, `{"ready":[` + strings.Join(list, ",") + `]}`
}
