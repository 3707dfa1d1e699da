package record

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/measure"
	"reckon.dev/reckon/harness/recording"
)

const writers = 16

// realServer is the API server of a cluster of its own.
func realServer(tb testing.TB) *rest.Config {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts real processes; not with -short")
	}
	dir := os.Getenv("RECKON_TEST_BINARIES")
	if dir == "" {
		tb.Skip("RECKON_TEST_BINARIES is not set: it names a directory that holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok")
	}
	c, err := embedded.Up(tb.Context(), embedded.Config{Root: tb.TempDir(), Binaries: embedded.BinariesIn(dir)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	cfg := c.RESTConfig()
	cfg.QPS = -1
	return cfg
}

// TestCutWatchesLoseNothing writes to a real API server while the recorder's
// connection is cut twice a second.
func TestCutWatchesLoseNothing(t *testing.T) {
	cfg := realServer(t)
	cutter := &cutter{}
	cut := rest.CopyConfig(cfg)
	cut.Dial = cutter.dial
	const period = 4 * time.Second
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); cutter.run(stop, period) }()
	got := recordWrites(t, cfg, cut, period)
	close(stop)
	<-done
	if len(got.facts.gaps()) == 0 {
		t.Error("no gap was recorded")
	}
	for _, gap := range got.facts.gaps() {
		if !gap.Lossless {
			t.Errorf("gap %+v", gap)
		}
	}
}

// BenchmarkRealServer records config maps while they are written as fast as a
// real API server takes them. No version that a write returned may be missing.
func BenchmarkRealServer(b *testing.B) {
	cfg := realServer(b)
	const period = 10 * time.Second
	var rate, heap measure.Numbers
	for b.Loop() {
		got := recordWrites(b, cfg, cfg, period)
		if gaps := got.facts.gaps(); len(gaps) > 0 {
			b.Fatalf("gaps: %+v", gaps)
		}
		rate = append(rate, float64(got.writes)/period.Seconds())
		heap = append(heap, got.heapMB)
	}
	measure.HideTime(b)
	rate.Report(b, "writes/s")
	heap.Report(b, "heap_MB") // with the clients that write
}

type recordedWrites struct {
	facts  facts
	writes int
	heapMB float64
}

// recordWrites writes for a time through one configuration while recording
// through another, and checks that no version is missing.
func recordWrites(tb testing.TB, write, record *rest.Config, period time.Duration) recordedWrites {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	namespace := newNamespace(ctx, tb, write)
	name := filepath.Join(tb.TempDir(), "recording.jsonl.zst")
	file, err := os.Create(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	base := time.Now()
	w, err := recording.NewWriter(file, recording.Header{Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	grown := measure.Heap()
	r, err := New(Config{Writer: w, REST: record, Base: base, Resources: []Resource{{GVR: configMaps, Namespace: namespace}}})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Stop(context.Background()) }()
	if err := r.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	versions, err := writeConfigMaps(ctx, write, namespace, period)
	if err = errors.Join(err, r.Sync(ctx), r.Stop(ctx), w.Close(int64(r.Now()))); err != nil {
		tb.Fatal(err)
	}
	out := recordedWrites{writes: len(versions), heapMB: grown()}
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	out.facts = readFacts(tb, text)
	tb.Logf("%d writes in %s, %d facts, %d gaps, %d bytes of recording", out.writes, period, len(out.facts), len(out.facts.gaps()), len(text))
	if missing := missingVersions(out.facts, versions); missing > 0 || out.writes == 0 {
		tb.Fatalf("%d of %d versions that writes returned are not in the recording", missing, out.writes)
	}
	return out
}

func missingVersions(got facts, written map[uint64]bool) int {
	recorded := map[uint64]bool{}
	for _, f := range got {
		if f.Object != nil {
			recorded[f.Object.RV] = true
		}
	}
	missing := 0
	for v := range written {
		if !recorded[v] {
			missing++
		}
	}
	return missing
}

// cutter breaks the connections that it made.
type cutter struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// run cuts twice a second until it is stopped, and for a period at most: the
// recorder must be able to catch up at the end.
func (c *cutter) run(stop <-chan struct{}, period time.Duration) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range int(2 * period / time.Second) {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
		c.mu.Lock()
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.conns = nil
		c.mu.Unlock()
	}
}

// writeConfigMaps creates, updates and deletes config maps from several
// goroutines and returns the versions that the server gave.
func writeConfigMaps(ctx context.Context, cfg *rest.Config, namespace string, period time.Duration) (map[uint64]bool, error) {
	var mu sync.Mutex
	versions := map[uint64]bool{}
	note := func(o *unstructured.Unstructured) error {
		v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
		mu.Lock()
		defer mu.Unlock()
		versions[v] = true
		return err
	}
	end := time.Now().Add(period)
	group, ctx := errgroup.WithContext(ctx)
	for i := range writers {
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		maps := client.Resource(configMaps).Namespace(namespace)
		group.Go(func() error {
			for n := 0; time.Now().Before(end); n++ {
				if err := writeOne(ctx, maps, fmt.Sprintf("w%d-%d", i, n%50), n, note); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return versions, err
}

func writeOne(ctx context.Context, maps dynamic.ResourceInterface, name string, n int, note func(*unstructured.Unstructured) error) error {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name},
		"data":     map[string]any{"n": strconv.Itoa(n), "managedFields": "stays"},
	}}
	if n%500 == 499 {
		return maps.Delete(ctx, name, metav1.DeleteOptions{})
	}
	got, err := maps.Update(ctx, o, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		got, err = maps.Create(ctx, o, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	return note(got)
}

func newNamespace(ctx context.Context, t testing.TB, cfg *rest.Config) string {
	t.Helper()
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	o, err := namespaces.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "reckon-record-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o.GetName()
}
