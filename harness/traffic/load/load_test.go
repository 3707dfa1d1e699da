package load

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic/echo"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

func TestEveryHTTPRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, keepAlive := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep-alive %t", keepAlive), func(t *testing.T) {
			t.Parallel()
			_, at := pod(t, echo.Config{Pod: "app-1", Version: "v1", Hash: "abc", FailShare: 0.3})
			cfg := httpConfig(at, 400)
			cfg.KeepAlive, cfg.Duration = keepAlive, 1050*time.Millisecond
			facts := begin(t, cfg).wait()
			got := sum(facts, 0, always)
			if got.due != 420 || got.answered()+got.failed() != got.due || got.failures[recording.Injected] != got.failed() {
				t.Errorf("%+v, want 420 requests, of which the server failed some: %v", got, texts(facts))
			}
			share(t, got.failed(), got.due, 0.3)
			last := facts[len(facts)-1].Traffic
			if last == nil || last.Seq != 10 || last.ToNS-last.FromNS != (50*time.Millisecond).Nanoseconds() {
				t.Errorf("last fact %+v, want bin 10 of the last 50 ms", last)
			}
			for _, f := range facts {
				for _, a := range f.Traffic.Answers {
					if a != (recording.Answer{Version: "v1", Hash: "abc", Pod: "app-1", N: a.N}) {
						t.Errorf("answer %+v", a)
					}
				}
			}
		})
	}
}

// texts are those of failures, for messages.
func texts(facts []recording.Fact) (out []string) {
	for _, f := range facts {
		if f.Traffic != nil {
			for _, x := range f.Traffic.Failures {
				out = append(out, fmt.Sprint(x.N, " ", x.Cause, ": ", x.Text))
			}
		}
	}
	return out
}

func TestProxylessRequestsFollowTheWeights(t *testing.T) {
	t.Parallel()
	stable, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	canary, _ := pod(t, echo.Config{Pod: "app-2", Version: "v2"})
	endpoints := map[string][]string{"stable": {stable}, "canary": {canary}}
	i := newIstiod(t, 0, split(80, 20, endpoints))
	c := begin(t, i.config(300))
	eventually(t, "500 requests", func() bool { return sum(c.recorded(), 0, always).due >= 500 })
	flip := c.now()
	i.Set(split(0, 100, endpoints))
	var moved time.Duration
	eventually(t, "a bin of the new version alone", func() bool {
		moved = firstBinOf(c.recorded(), flip, "v2")
		return moved > 0
	})
	time.Sleep(300 * time.Millisecond)
	facts := c.end()

	noFailures(t, facts)
	before := sum(facts, 0, flip-500*time.Millisecond) // a busy machine may have requests wait
	share(t, before.answers["v2"], before.due, 0.2)
	if after := sum(facts, moved, always); after.answers["v2"] != after.due {
		t.Errorf("after the change arrived: %+v", after)
	}
	want := []string{"keep canary 50", "keep stable 50", "primary canary 20", "primary stable 80", "primary canary 100", "primary stable 0"}
	got := samples(facts)
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("delivered %v, want %v", got, want)
	}
}

// firstBinOf is the first bin from an instant on that one version answered alone.
func firstBinOf(facts []recording.Fact, from time.Duration, version string) time.Duration {
	for _, f := range facts {
		b := f.Traffic
		if b != nil && b.FromNS >= from.Nanoseconds() && len(b.Answers) == 1 && b.Answers[0].Version == version {
			return time.Duration(b.FromNS)
		}
	}
	return 0
}

// samples lists delivered weights in order.
func samples(facts []recording.Fact) (out []string) {
	for _, f := range facts {
		if s := f.Sample; s != nil {
			out = append(out, fmt.Sprint(s.Labels["route"], " ", s.Labels["target"], " ", s.Value))
		}
	}
	return out
}

func TestAStreamThatIstiodClosesForItsAgeIsALosslessGap(t *testing.T) {
	t.Parallel()
	stable, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	i := newIstiod(t, 400*time.Millisecond, split(100, 0, map[string][]string{"stable": {stable}}))
	c := begin(t, i.config(100))
	eventually(t, "six streams", func() bool { return i.Streams() >= 6 }) // of the channel and of the watcher
	time.Sleep(200 * time.Millisecond)
	facts := c.end()
	noFailures(t, facts)
	gaps := 0
	for _, f := range facts {
		if g := f.Gap; g != nil {
			gaps++
			// A busy machine may take longer, and the last may not be over.
			soon := g.ToNS-g.FromNS < time.Second.Nanoseconds() && strings.Contains(g.Reason, "back after")
			if g.Resource != recording.Delivered || g.Lossless != soon || g.ToNS <= g.FromNS || !strings.Contains(g.Reason, "max_age") {
				t.Errorf("gap %+v", g)
			}
		}
	}
	if gaps == 0 {
		t.Error("no gap")
	}
	if got := samples(facts); len(got) != 3 {
		t.Errorf("weights that did not change were written again: %v", got)
	}
}

func TestWithoutIstiodRequestsGoOnAndTheGapIsLossy(t *testing.T) {
	t.Parallel()
	stable, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	canary, _ := pod(t, echo.Config{Pod: "app-2", Version: "v2"})
	endpoints := map[string][]string{"stable": {stable}, "canary": {canary}}
	i := newIstiod(t, 0, split(100, 0, endpoints))
	c := begin(t, i.config(200))
	down := c.now()
	i.Stop()
	time.Sleep(400 * time.Millisecond)
	i.Set(split(0, 100, endpoints))
	up := c.now()
	i.again()
	eventually(t, "the new weights", func() bool { return len(samples(c.recorded())) == 5 })
	facts := c.end()
	noFailures(t, facts)
	if during := sum(facts, down, up); during.answers["v1"] != during.due || during.due == 0 {
		t.Errorf("while istiod was away: %+v", during)
	}
	for _, f := range facts {
		if g := f.Gap; g != nil {
			if g.Lossless || g.FromNS < down.Nanoseconds() || g.ToNS < up.Nanoseconds() {
				t.Errorf("gap %+v, want a lossy one from %v to after %v", g, down, up)
			}
			return
		}
	}
	t.Error("no gap")
}

func TestARefusingServerCountsAsOverloadedByItsVersion(t *testing.T) {
	t.Parallel()
	cfg := echo.Config{Pod: "app-1", Version: "v1", Concurrency: 1, Work: 50 * time.Millisecond}
	grpcAt, httpAt := pod(t, cfg)
	i := newIstiod(t, 0, split(100, 0, map[string][]string{"stable": {grpcAt}}))
	for _, load := range []Config{i.config(100), httpConfig(httpAt, 100)} {
		load.Duration = 600 * time.Millisecond
		facts := begin(t, load).wait()
		got := sum(facts, 0, always)
		// One at a time and 50 ms each: some 12 of 60.
		if got.due != 60 || got.answered() < 3 || got.answered() > 13 || got.failures[recording.Overloaded] != got.due-got.answered() {
			t.Errorf("%s: %+v", load.Client, got)
		}
		for _, f := range facts {
			if f.Traffic != nil && len(f.Traffic.Failures) > 0 && f.Traffic.Failures[0].Version != "v1" {
				t.Errorf("%s: %+v, want the version that refused", load.Client, f.Traffic.Failures[0])
			}
		}
	}
}

func TestAServerThatHangsDoesNotStallTheSchedule(t *testing.T) {
	t.Parallel()
	at := hole(t)
	for _, tt := range []struct {
		name        string
		maxInFlight int
		want        map[recording.Cause]int64
	}{
		{"room for all", 1000, map[recording.Cause]int64{recording.TimedOut: 160}},
		// 40 are sent and hang until after the end.
		{"room for 40", 40, map[recording.Cause]int64{recording.TimedOut: 40, recording.ClientLimit: 120}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := httpConfig(at, 200)
			cfg.Duration, cfg.MaxInFlight, cfg.Timeout = 800*time.Millisecond, tt.maxInFlight, time.Second
			began := time.Now()
			got := sum(begin(t, cfg).wait(), 0, always)
			for cause, n := range tt.want {
				if got.failures[cause] != n {
					t.Errorf("%+v, want %v", got, tt.want)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("sent up to %v late, took %v", got.late, took)
			}
		})
	}
}

func TestAVersionWithoutEndpointsFailsItsShareAndNothingElse(t *testing.T) {
	t.Parallel()
	stable, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	i := newIstiod(t, 0, split(80, 20, map[string][]string{"stable": {stable}}))
	cfg := i.config(500)
	cfg.Duration = time.Second
	got := sum(begin(t, cfg).wait(), 0, always)
	share(t, got.failures[recording.NoEndpoint], got.due, 0.2)
	if got.failed() != got.failures[recording.NoEndpoint] {
		t.Errorf("%+v", got)
	}
}

func TestANewPodThatDoesNotListenIsRefused(t *testing.T) {
	t.Parallel()
	nobody := listen(t)
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	stable, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	i := newIstiod(t, 0, split(50, 50, map[string][]string{"stable": {stable}, "canary": {nobody.Addr().String()}}))
	cfg := i.config(400)
	cfg.Duration = time.Second
	got := sum(begin(t, cfg).wait(), 0, always)
	share(t, got.failures[recording.Refused], got.due, 0.5)
}

func TestServicesInPlaceOfSubsetsAreNamedByTheirHost(t *testing.T) {
	t.Parallel()
	server, _ := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	i := newIstiod(t, 0, xdstest.State{
		Endpoints: map[string][]string{"": {server}},
		Routes:    []xdstest.Route{{Name: "default", Weights: map[string]uint32{"": 7}}},
	})
	cfg := i.config(50)
	cfg.Duration = 100 * time.Millisecond
	if got := samples(begin(t, cfg).wait()); fmt.Sprint(got) != "[default app 100]" {
		t.Errorf("delivered %v", got)
	}
}

func TestAClientThatNeverGetsRoutesSaysSo(t *testing.T) {
	t.Parallel()
	nobody := listen(t)
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	i := &istiod{address: nobody.Addr().String()}
	for want, cfg := range map[string]Config{
		"delivered no routes to " + testHost: i.config(10),
		"does not answer":                    httpConfig(nobody.Addr().String(), 10),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		var out bytes.Buffer
		err := Run(ctx, cfg, &out)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%v, %q; want an error with %q", err, out.String(), want)
		}
	}
}

// failing is an output that is gone.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("nobody reads") }

func TestAClientWhoseRecordIsNotReadEnds(t *testing.T) {
	t.Parallel()
	_, at := pod(t, echo.Config{Pod: "app-1", Version: "v1"})
	if err := Run(t.Context(), httpConfig(at, 100), failing{}); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("error %v", err)
	}
}

// Not parallel: it counts goroutines.
func TestNothingIsLeftOfAClient(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("load", func(t *testing.T) {
		grpcAt, httpAt := pod(t, echo.Config{Pod: "app-1", Version: "v1", OnTerm: echo.Drain})
		i := newIstiod(t, 0, split(100, 0, map[string][]string{"stable": {grpcAt}}))
		for _, cfg := range []Config{i.config(100), httpConfig(httpAt, 100)} {
			cfg.Duration, cfg.KeepAlive = 200*time.Millisecond, true
			begin(t, cfg).wait()
		}
	})
	eventually(t, "no goroutines left", func() bool { return runtime.NumGoroutine() <= before })
}
