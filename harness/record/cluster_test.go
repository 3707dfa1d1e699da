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
	"k8s.io/client-go/tools/clientcmd"

	"reckon.dev/reckon/harness/recording"
)

// kubeconfigVariable names the kubeconfig of a cluster that these tests may
// write to, in a namespace of their own.
const kubeconfigVariable = "RECKON_TEST_KUBECONFIG"

const (
	writers   = 16
	writeTime = 10 * time.Second
)

// TestEveryWriteToARealServerIsRecorded writes config maps as fast as the
// server takes them and then looks for every version that a write returned:
// with the recorder's connection left alone, and with it cut twice a second.
func TestEveryWriteToARealServerIsRecorded(t *testing.T) {
	path := os.Getenv(kubeconfigVariable)
	if path == "" {
		t.Skip(kubeconfigVariable + " is not set")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	t.Run("undisturbed", func(t *testing.T) {
		if got := recordWrites(t, cfg, cfg); len(got.gaps()) > 0 {
			t.Errorf("gaps: %+v", got.gaps())
		}
	})
	t.Run("cut", func(t *testing.T) {
		cutter := &cutter{}
		cut := rest.CopyConfig(cfg)
		cut.Dial = cutter.dial
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { defer close(done); cutter.run(stop) }()
		got := recordWrites(t, cfg, cut)
		close(stop)
		<-done
		for _, gap := range got.gaps() {
			if !gap.Lossless {
				t.Errorf("gap %+v", gap)
			}
		}
		t.Logf("%d gaps", len(got.gaps()))
	})
}

// recordWrites writes through one configuration while recording through
// another, checks that no version is missing and returns the recording.
func recordWrites(t *testing.T, write, record *rest.Config) facts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	namespace := newNamespace(ctx, t, write)
	name := filepath.Join(t.TempDir(), "recording.jsonl.zst")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	base := time.Now()
	w, err := recording.NewWriter(file, recording.Header{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Writer: w, REST: record, Base: base, Resources: []Resource{{GVR: configMaps, Namespace: namespace}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Stop(context.Background()) }()
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	heap := watchHeap()
	versions, err := writeConfigMaps(ctx, write, namespace)
	if err = errors.Join(err, r.Sync(ctx), r.Stop(ctx), w.Close(int64(r.Now()))); err != nil {
		t.Fatal(err)
	}
	peak := heap()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got := readFacts(t, text)
	t.Logf("%d writes in %s: %.0f/s, %d facts, peak heap %d MiB with the clients, %d bytes of recording",
		len(versions), writeTime, float64(len(versions))/writeTime.Seconds(), len(got), peak>>20, len(text))
	checkVersions(t, got, versions)
	return got
}

func checkVersions(t *testing.T, got facts, want map[uint64]bool) {
	t.Helper()
	if len(want) == 0 {
		t.Error("nothing was written")
	}
	for _, f := range got {
		if f.Object != nil {
			delete(want, f.Object.RV)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d versions that writes returned are not in the recording", len(want))
	}
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

// run cuts twice a second until it is stopped, or has done so often enough for
// one test: the recorder must be able to catch up at the end.
func (c *cutter) run(stop <-chan struct{}) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range int(2 * writeTime / time.Second) {
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
func writeConfigMaps(ctx context.Context, cfg *rest.Config, namespace string) (map[uint64]bool, error) {
	var mu sync.Mutex
	versions := map[uint64]bool{}
	note := func(o *unstructured.Unstructured) error {
		v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
		mu.Lock()
		defer mu.Unlock()
		versions[v] = true
		return err
	}
	end := time.Now().Add(writeTime)
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

// newNamespace makes a namespace that lasts as long as the test.
func newNamespace(ctx context.Context, t *testing.T, cfg *rest.Config) string {
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
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return o.GetName()
}
