package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// sampled runs one sampler, in the bubble's time, for so long.
func sampled(t *testing.T, s Sampler, d time.Duration) facts {
	t.Helper()
	file := &buffer{}
	w, err := recording.NewWriter(file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Writer: w, Base: time.Now(), Samplers: []Sampler{s}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := r.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	return readFacts(t, file.bytes())
}

func TestSamplesComeOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0.0
		got := sampled(t, Sampler{Name: "n", Interval: time.Second, Sample: func(context.Context) ([]recording.Sample, error) {
			time.Sleep(300 * time.Millisecond) // must not shift the schedule
			n++
			return []recording.Sample{{Series: "n", Value: n}}, nil
		}}, 3500*time.Millisecond)
		var at []time.Duration
		for _, f := range got {
			at = append(at, f.At())
		}
		want := []time.Duration{300 * time.Millisecond, 1600 * time.Millisecond, 2600 * time.Millisecond, 3600 * time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("samples at %v, want %v", at, want)
		}
	})
}

func TestALateTickIsRecordedAndMissedOnesAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		got := sampled(t, Sampler{Name: "slow", Interval: time.Second, Sample: func(context.Context) ([]recording.Sample, error) {
			if n++; n == 2 {
				time.Sleep(3500 * time.Millisecond)
			}
			return []recording.Sample{{Series: "n", Value: float64(n)}}, nil
		}}, 6100*time.Millisecond)
		late := got.of(func(f recording.Fact) bool { return f.Late != nil })
		if len(late) != 1 || late[0].Late.Sampler != "slow" || time.Duration(late[0].Late.ByNS) != 2500*time.Millisecond {
			t.Fatalf("late: %+v", late)
		}
		// 0 and 1 s, then 2 s late at 4.5 s, then 5 and 6 s.
		if samples := len(got) - 1; samples != 5 {
			t.Errorf("%d samples, want 5", samples)
		}
	})
}

func TestAFailedSampleIsALineOfTheSamplersLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		got := sampled(t, Sampler{Name: "s", Interval: time.Second, Sample: func(context.Context) ([]recording.Sample, error) {
			if n++; n == 2 {
				return nil, errors.New("connection refused")
			}
			return nil, nil
		}}, 3100*time.Millisecond)
		if len(got) != 1 || got[0].Log == nil || *got[0].Log != (recording.Log{Component: "sampler/s", Line: "connection refused"}) {
			t.Errorf("facts %+v", got)
		}
	})
}

func TestASamplerThatNeverSucceedsKeepsTheScriptFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := recording.NewWriter(&buffer{}, recording.Header{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(Config{Writer: w, Base: time.Now(), Samplers: []Sampler{{
			Name: "dead", Interval: time.Second,
			Sample: func(context.Context) ([]recording.Sample, error) { return nil, errors.New("refused") },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "sampler dead: not ready within 30s (last: refused)") {
			t.Errorf("Start: %v", err)
		}
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

const metricsPage = `# HELP app_total Things.
# TYPE app_total counter
app_total{kind="a"} %d
app_total{kind="b"} 7
# TYPE app_depth gauge
app_depth NaN
# TYPE app_seconds histogram
app_seconds_bucket{le="1"} 2
app_seconds_bucket{le="+Inf"} 3
app_seconds_sum 4.5
app_seconds_count 3
# TYPE go_goroutines gauge
go_goroutines 12
`

func TestMetricsAreSampledInFullOnceAndThenByChange(t *testing.T) {
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, metricsPage, n.Add(1))
	}))
	defer srv.Close()
	s := Metrics("app", time.Second, Page{URL: srv.URL, HTTP: srv.Client(), Prefixes: []string{"app_"}})
	first, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"app_seconds_sum map[] 4.5", "app_seconds_count map[] 3", "app_total map[kind:a] 1", "app_total map[kind:b] 7"}
	if got := describeSamples(first); !slices.Equal(got, want) {
		t.Errorf("first: %q, want %q", got, want)
	}
	second, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := describeSamples(second); !slices.Equal(got, []string{"app_total map[kind:a] 2"}) {
		t.Errorf("second: %q", got)
	}
}

func TestBucketsAndLabelsOfAPageAreSampledWhereTheyAreWanted(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, metricsPage, 1) }))
	defer srv.Close()
	got, err := Metrics("app", time.Second, Page{
		URL: srv.URL, HTTP: srv.Client(), Prefixes: []string{"app_seconds", "app_total"}, Buckets: []string{"app_seconds"}, Labels: map[string]string{"replica": "a"},
	}).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"app_seconds_sum map[replica:a] 4.5", "app_seconds_count map[replica:a] 3",
		"app_seconds_bucket map[le:1 replica:a] 2", "app_seconds_bucket map[le:+Inf replica:a] 3",
		"app_total map[kind:a replica:a] 1", "app_total map[kind:b replica:a] 7",
	}
	if got := describeSamples(got); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestOnlyMetricsWithTheLabelsAreSampled(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, metricsPage, 1) }))
	defer srv.Close()
	got, err := Metrics("app", time.Second, Page{URL: srv.URL, HTTP: srv.Client(), Only: map[string]string{"kind": "b"}}).Sample(t.Context())
	if want := []string{"app_total map[kind:b] 7"}; err != nil || !slices.Equal(describeSamples(got), want) {
		t.Errorf("got %q, %v, want %q", describeSamples(got), err, want)
	}
}

func TestWhatComesDuringARunIsSampledUntilItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &buffer{}
		w, err := recording.NewWriter(file, recording.Header{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(Config{Writer: w, Base: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ctx, gone := context.WithCancel(t.Context())
		n := 0
		go r.Sample(ctx, Sampler{Name: "late comer", Interval: time.Second, Sample: func(context.Context) ([]recording.Sample, error) {
			if n++; n < 3 {
				return nil, errors.New("not there yet")
			}
			return []recording.Sample{{Series: "n", Value: float64(n)}}, nil
		}})
		time.Sleep(4500 * time.Millisecond)
		gone()
		time.Sleep(time.Minute)
		if err := r.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(0); err != nil {
			t.Fatal(err)
		}
		got := readFacts(t, file.bytes())
		if len(got) == 0 || got[0].At() < time.Minute || got[len(got)-1].At() > 65*time.Second {
			t.Errorf("facts %+v", got)
		}
		for _, f := range got {
			if f.Sample == nil {
				t.Errorf("not a sample: %+v", f)
			}
		}
	})
}

func describeSamples(samples []recording.Sample) (out []string) {
	for _, s := range samples {
		out = append(out, fmt.Sprint(s.Series, " ", s.Labels, " ", s.Value))
	}
	return out
}

func TestAPageThatIsNoMetricsIsAnError(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"malformed": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "app_total{ 1\n") },
		"refused":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	} {
		srv := httptest.NewServer(handler)
		if _, err := Metrics("app", time.Second, Page{URL: srv.URL}).Sample(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		srv.Close()
	}
}
