package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reckon.dev/reckon/harness/recording"
)

// rig is a recorder of the fake API server with its recording in memory.
type rig struct {
	*Recorder
	t    *testing.T
	ctx  context.Context
	api  *fakeAPI
	file *buffer
	w    *recording.Writer
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	g := &rig{t: t, ctx: ctx, api: newFakeAPI(t), file: &buffer{}}
	cfg := Config{REST: g.api.config(), Resources: []Resource{{GVR: configMaps, Namespace: "drill"}}, Base: time.Now()}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if cfg.Writer == nil {
		if cfg.Writer, err = recording.NewWriter(g.file, recording.Header{Base: cfg.Base}); err != nil {
			t.Fatal(err)
		}
	}
	g.w = cfg.Writer
	if g.Recorder, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop(context.Background()) })
	return g
}

func startedRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	g := newRig(t, change...)
	if err := g.Start(g.ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

// finish syncs, stops and reads the recording back.
func (g *rig) finish() facts {
	g.t.Helper()
	if err := g.Sync(g.ctx); err != nil {
		g.t.Fatal(err)
	}
	return g.close()
}

func (g *rig) close() facts {
	g.t.Helper()
	if err := g.Stop(g.ctx); err != nil {
		g.t.Fatal(err)
	}
	if err := g.w.Close(int64(g.Now())); err != nil {
		g.t.Fatal(err)
	}
	return readFacts(g.t, g.file.bytes())
}

type facts []recording.Fact

func readFacts(t testing.TB, file []byte) facts {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out facts
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out); n > 0 && out[n-1].T > f.T {
			t.Fatalf("fact %d at %d follows one at %d", n, f.T, out[n-1].T)
		}
		out = append(out, f)
	}
}

// versions are the versions of the recorded changes of that kind, in order.
func (f facts) versions(changes ...recording.Change) (out []int) {
	for _, fact := range f {
		for _, c := range changes {
			if fact.Object != nil && fact.Object.Change == c {
				out = append(out, int(fact.Object.RV))
			}
		}
	}
	return out
}

func (f facts) gaps() (out []recording.Gap) {
	for _, fact := range f {
		if fact.Gap != nil {
			out = append(out, *fact.Gap)
		}
	}
	return out
}

func (f facts) of(pick func(recording.Fact) bool) (out facts) {
	for _, fact := range f {
		if pick(fact) {
			out = append(out, fact)
		}
	}
	return out
}

// onlyGap fails the test unless there is exactly one gap.
func (f facts) onlyGap(t *testing.T) recording.Gap {
	t.Helper()
	if len(f.gaps()) != 1 {
		t.Fatalf("gaps: %+v, want one", f.gaps())
	}
	return f.gaps()[0]
}

// eventually waits for a state of the fake that nothing announces.
func eventually(ctx context.Context, t testing.TB, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("what the test waits for did not happen")
		}
	}
}

// buffer is a file in memory that fills up after limit bytes, if that is set.
type buffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	limit int
}

var errFull = errors.New("no space left on device")

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.buf.Len()+len(p) > b.limit {
		return 0, errFull
	}
	return b.buf.Write(p)
}

func (b *buffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

func gvr(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}
