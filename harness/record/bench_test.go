package record

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/measure"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

var (
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	replicaSets     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	virtualServices = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}
)

// BenchmarkRecorder measures facts a second from the bytes of watches to the
// compressed file, all in this process: a third each of replica sets, pods
// (trimmed) and virtual services, 500 objects of each.
func BenchmarkRecorder(b *testing.B) {
	const events = 200_000
	var wall, cpu, heap, size measure.Numbers
	for b.Loop() {
		transport := newCannedTransport(events)
		var file counter
		grown, used := measure.Heap(), measure.CPU()
		took := recordCanned(b, transport, &file)
		cpu = append(cpu, events/(measure.CPU()-used).Seconds())
		wall = append(wall, events/took.Seconds())
		heap = append(heap, grown())
		size = append(size, float64(file.n.Load())/events)
	}
	measure.HideTime(b)
	wall.Report(b, "facts/s")
	cpu.Report(b, "facts/cpu-s")
	heap.Report(b, "heap_MB")
	size.Report(b, "file_B/fact")
}

// recordCanned records all events of the transport.
func recordCanned(b *testing.B, transport *cannedTransport, file io.Writer) time.Duration {
	b.Helper()
	base := time.Now()
	w, err := recording.NewWriter(file, recording.Header{Base: base})
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Config{
		Writer:    w,
		REST:      &rest.Config{Host: "http://canned", Transport: transport},
		Resources: []Resource{{GVR: replicaSets}, {GVR: pods}, {GVR: virtualServices}},
		Base:      base,
	})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	if err := r.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	transport.await()
	if err := r.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begin)
	if got := w.Facts(); got < transport.events {
		b.Fatalf("%d facts for %d events", got, transport.events)
	}
	return took
}

// BenchmarkDecode compares the recorder's way from a watch line to a trimmed
// body with the usual one through maps, in turns.
func BenchmarkDecode(b *testing.B) {
	const rounds, lines = 9, 2000
	line := []byte(eventLine("MODIFIED", replicaSetBody(1, 1234)))
	w := &watch{res: Resource{Trim: TrimObject}, live: newLive()}
	repeat := func(decode func() error) float64 {
		begin := time.Now()
		for range lines {
			if err := decode(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(lines*len(line)) / 1e6 / time.Since(begin).Seconds()
	}
	var raw, maps, ratio measure.Numbers
	for b.Loop() {
		for i := range rounds {
			raw = append(raw, repeat(func() error { _, err := w.decode(line, 0); return err }))
			maps = append(maps, repeat(func() error { return throughMaps(line) }))
			ratio = append(ratio, raw[i]/maps[i])
		}
	}
	measure.HideTime(b)
	raw.Report(b, "MB/s")
	maps.Report(b, "unstructured_MB/s")
	ratio.Report(b, "times_unstructured")
}

func throughMaps(line []byte) error {
	var e struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(e.Object); err != nil {
		return err
	}
	u.SetManagedFields(nil)
	_, err := u.MarshalJSON()
	return err
}

// recordingOf writes n facts of the three kinds.
func recordingOf(b *testing.B, n int) []byte {
	b.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		o := recording.Object{Change: recording.Modified, Namespace: "drill", RV: uint64(i + 1)}
		var body string
		trim := TrimObject
		switch i % 3 {
		case 0:
			o.Resource, o.Name, body = "replicasets.apps", "demo", replicaSetBody(i%500, i)
		case 1:
			o.Resource, o.Name, body, trim = "pods", "demo", podBody(i%500, i), TrimPod
		case 2:
			o.Resource, o.Name, body = "virtualservices.networking.istio.io", "demo", virtualServiceBody(i%500, i)
		}
		if o.Body, err = trim(nil, []byte(body)); err != nil {
			b.Fatal(err)
		}
		if err := w.Append(recording.Fact{T: int64(i) * 1e6, Object: &o}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(int64(n) * 1e6); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// BenchmarkReader reads facts and does nothing with them.
func BenchmarkReader(b *testing.B) {
	benchmarkRead(b, func(r *recording.Reader) error {
		for {
			if _, err := r.Next(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}

// BenchmarkSeriesRead reads three series, so that every object is decoded.
func BenchmarkSeriesRead(b *testing.B) {
	defs := []series.Definition{
		{Name: "available", Object: &series.FromObject{Resource: "replicasets.apps", Value: func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.AvailableReplicas)), true
		}}},
		{Name: "weight", Object: &series.FromObject{Resource: "virtualservices.networking.istio.io", Value: func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Spec.HTTP[0].Route[1].Weight)), true
		}}},
		{Name: "phase", Object: &series.FromObject{Resource: "pods", Value: func(v *series.View) (series.Value, bool) {
			return series.Text(v.Status.Phase), true
		}}},
	}
	benchmarkRead(b, func(r *recording.Reader) error {
		_, err := series.Read(r, defs)
		return err
	})
}

// benchmarkRead measures uncompressed bytes a second, and a second of processor
// time, over a recording of some 60 MB.
func benchmarkRead(b *testing.B, read func(*recording.Reader) error) {
	const rounds, facts = 5, 45_000
	file := recordingOf(b, facts)
	var wall, cpu, heap measure.Numbers
	for b.Loop() {
		for range rounds {
			grown, used, begin := measure.Heap(), measure.CPU(), time.Now()
			r, err := recording.NewReader(bytes.NewReader(file))
			if err != nil {
				b.Fatal(err)
			}
			if err := read(r); err != nil {
				b.Fatal(err)
			}
			size := float64(r.Trailer().Bytes) / 1e6
			wall = append(wall, size/time.Since(begin).Seconds())
			cpu = append(cpu, size/(measure.CPU()-used).Seconds())
			heap = append(heap, grown())
			r.Close()
		}
	}
	measure.HideTime(b)
	wall.Report(b, "MB/s")
	cpu.Report(b, "MB/cpu-s")
	heap.Report(b, "heap_MB")
}

// cannedTransport answers lists with nothing and watches with n events.
type cannedTransport struct {
	events int64
	left   atomic.Int64
	open   atomic.Int64
	lines  map[string][]byte
	done   chan struct{}
}

func newCannedTransport(n int) *cannedTransport {
	t := &cannedTransport{events: int64(n), lines: map[string][]byte{}, done: make(chan struct{})}
	t.left.Store(int64(n))
	for suffix, body := range map[string]func(i, rv int) string{
		"replicasets": replicaSetBody, "pods": podBody, "virtualservices": virtualServiceBody,
	} {
		var all bytes.Buffer
		for i := range 500 {
			all.WriteString(eventLine("MODIFIED", body(i, 1000+i)))
		}
		t.lines[suffix] = all.Bytes()
	}
	t.open.Store(int64(len(t.lines)))
	return t
}

func (t *cannedTransport) await() { <-t.done }

func (t *cannedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := io.NopCloser(io.Reader(strings.NewReader(listBody(1))))
	if req.URL.Query().Get("watch") != "" {
		resource := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
		body = &cannedStream{t: t, ctx: req.Context(), all: t.lines[resource]}
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: req}, nil
}

// cannedStream repeats its lines, whole ones, until the transport has no more
// events to give; then it blocks like a quiet watch.
type cannedStream struct {
	t    *cannedTransport
	ctx  context.Context
	all  []byte
	at   int
	line []byte
}

func (s *cannedStream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.line) == 0 && !s.more() {
			break
		}
		c := copy(p[n:], s.line)
		s.line, n = s.line[c:], n+c
	}
	if n > 0 {
		return n, nil
	}
	if s.t.open.Add(-1) == 0 {
		close(s.t.done)
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s *cannedStream) more() bool {
	if s.t.left.Add(-1) < 0 {
		return false
	}
	end := s.at + bytes.IndexByte(s.all[s.at:], '\n') + 1
	s.line, s.at = s.all[s.at:end], end%len(s.all)
	return true
}

func (s *cannedStream) Close() error { return nil }

// counter counts what is written to it.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
