package echo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestEnvironments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, env string
		want      Config
	}{
		{"the least", "", Config{Pod: "app-1", Version: "v1", OnTerm: Drain}},
		{"all", "TEMPLATE_HASH=abc READY_DELAY=2s FAIL_SHARE=0.25 CONCURRENCY=4 WORK=20ms ON_TERM=linger LINGER=3s",
			Config{Pod: "app-1", Version: "v1", Hash: "abc", ReadyAfter: 2 * time.Second, FailShare: 0.25, Concurrency: 4, Work: 20 * time.Millisecond, OnTerm: Linger, Linger: 3 * time.Second}},
		{"ready one after the other", "READY_DELAY=1s READY_EVERY=500ms READY_SLOTS=10 POD_IP=10.1.1.7", // 263 % 10 = 3
			Config{Pod: "app-1", Version: "v1", OnTerm: Drain, ReadyAfter: 3 * time.Second}},
	} {
		if got, err := FromEnv(environment(tt.env)); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

func TestWrongEnvironmentsAreOneClearLine(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"POD_NAME= VERSION=": "POD_NAME is not set; VERSION is not set",
		"READY_DELAY=2":      `READY_DELAY is "2", want a duration such as 1.5s`,
		"WORK=-1s":           `WORK is "-1s", want a duration`,
		"FAIL_SHARE=20%":     `FAIL_SHARE is "20%", want a number from 0 to 1`,
		"FAIL_SHARE=NaN":     `FAIL_SHARE is "NaN"`,
		"CONCURRENCY=-1":     `CONCURRENCY is "-1", want a whole number from 0`,
		"ON_TERM=stay":       `ON_TERM is "stay", want drain, exit or linger`,
		"ON_TERM=linger":     "LINGER is not set, ON_TERM=linger needs it",
		"LINGER=1s":          "LINGER is of no use without ON_TERM=linger",
		"READY_EVERY=1s":     `READY_SLOTS is "", want a whole number from 1 to 65536; POD_IP is "", want an IP address`,
		"READY_SLOTS=3":      "READY_SLOTS is of no use without READY_EVERY",
		"READY_EVERY=1s READY_SLOTS=0 POD_IP=10.0.0.1": `READY_SLOTS is "0"`,
	} {
		if _, err := FromEnv(environment(env)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", env, err, want)
		}
	}
}

// environment is POD_NAME and VERSION and what is given.
func environment(text string) func(string) string {
	vars := map[string]string{"POD_NAME": "app-1", "VERSION": "v1"}
	for _, kv := range strings.Fields(text) {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	return func(name string) string { return vars[name] }
}

func TestConsecutiveAddressesHaveConsecutiveSlots(t *testing.T) {
	t.Parallel()
	ip := netip.MustParseAddr("10.244.0.254")
	for _, want := range []int{14, 15, 0, 1, 2} { // 254 % 16, over the edge of an octet
		if got := slot(ip, 16); got != want {
			t.Errorf("%s: slot %d, want %d", ip, got, want)
		}
		ip = ip.Next()
	}
}

// rig is a server under way.
type rig struct {
	t              *testing.T
	server         *Server
	conn           *grpc.ClientConn
	grpcAt, httpAt string
	stop           context.CancelFunc
	done           sync.WaitGroup
	log            bytes.Buffer // to be read after done
}

func start(t *testing.T, cfg Config) *rig {
	t.Helper()
	cfg.Pod, cfg.Version, cfg.Hash = "app-1", "v1", "abc"
	r := &rig{t: t}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	grpcOn, httpOn := listen(), listen()
	r.grpcAt, r.httpAt = grpcOn.Addr().String(), httpOn.Addr().String()
	r.server = New(cfg, &r.log)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.done.Go(func() {
		if err := r.server.Serve(ctx, grpcOn, httpOn); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(r.grpcAt, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	r.conn = conn
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		r.done.Wait()
	})
	return r
}

// call returns the code and the trailer of one RPC.
func (r *rig) call() (codes.Code, metadata.MD) {
	var trailer metadata.MD
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := r.conn.Invoke(ctx, Method, new(emptypb.Empty), new(emptypb.Empty), grpc.Trailer(&trailer))
	return status.Code(err), trailer
}

// get returns the status and the header of one HTTP request on a connection of its own; 0 is none.
func (r *rig) get(path string) (int, http.Header) {
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Get("http://" + r.httpAt + path)
	if err != nil {
		return 0, nil
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func TestEveryAnswerNamesItsPod(t *testing.T) {
	t.Parallel()
	r := start(t, Config{OnTerm: Drain})
	code, trailer := r.call()
	status, header := r.get("/any/path")
	if code != codes.OK || status != http.StatusOK {
		t.Fatalf("gRPC %v, HTTP %d", code, status)
	}
	for key, want := range map[string]string{PodKey: "app-1", VersionKey: "v1", HashKey: "abc", CauseKey: ""} {
		if got := strings.Join(trailer.Get(key), ","); got != want {
			t.Errorf("gRPC: %s is %q, want %q", key, got, want)
		}
		if got := header.Get(key); got != want {
			t.Errorf("HTTP: %s is %q, want %q", key, got, want)
		}
	}
}

func TestFailuresNameTheirCauseAndVersion(t *testing.T) {
	t.Parallel()
	r := start(t, Config{OnTerm: Drain, FailShare: 1})
	code, trailer := r.call()
	status, header := r.get("/")
	if code != codes.Internal || status != http.StatusInternalServerError || header.Get(CauseKey) != "injected" || header.Get(VersionKey) != "v1" {
		t.Errorf("gRPC %v, HTTP %d %v", code, status, header)
	}
	if trailer.Get(CauseKey)[0] != "injected" || trailer.Get(VersionKey)[0] != "v1" {
		t.Errorf("trailer %v", trailer)
	}
}

func TestRequestsBeyondTheConcurrencyAreRefusedOverBothProtocols(t *testing.T) {
	t.Parallel()
	r := start(t, Config{OnTerm: Exit, Concurrency: 1, Work: time.Minute})
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		r.get("/")
	}()
	for deadline := time.Now().Add(10 * time.Second); len(r.server.slots) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first request has not arrived after 10 s")
		}
	}
	code, _ := r.call()
	status, header := r.get("/")
	if code != codes.ResourceExhausted || status != http.StatusServiceUnavailable || header.Get(CauseKey) != "overloaded" {
		t.Errorf("gRPC %v, HTTP %d %v", code, status, header)
	}
	if status, _ := r.get("/healthz"); status != http.StatusOK {
		t.Errorf("busy is not unhealthy: %d", status)
	}
	r.stop()
	<-busy
}

func TestReadinessComesAfterItsDelay(t *testing.T) {
	t.Parallel()
	r := start(t, Config{OnTerm: Drain, ReadyAfter: 200 * time.Millisecond})
	began := time.Now()
	first, _ := r.get("/readyz")
	healthy, _ := r.get("/healthz")
	if early := time.Since(began) < 150*time.Millisecond; early && (first != http.StatusServiceUnavailable || healthy != http.StatusOK) {
		t.Errorf("at once: ready %d, healthy %d", first, healthy)
	}
	for status := first; status != http.StatusOK; status, _ = r.get("/readyz") {
		if time.Since(began) > 10*time.Second {
			t.Fatal("not ready after 10 s")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(began); took < 190*time.Millisecond {
		t.Errorf("ready after %v", took)
	}
	if code, _ := r.call(); code != codes.OK {
		t.Errorf("gRPC %v", code)
	}
}

func TestTheLogTellsTheLifeOfAServer(t *testing.T) {
	t.Parallel()
	r := start(t, Config{OnTerm: Drain})
	for status := 0; status != http.StatusOK; status, _ = r.get("/readyz") {
	}
	r.stop()
	r.done.Wait()
	lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for i, want := range []string{"start grpc=", "ready", "SIGTERM on-term=drain", "exit"} {
		when, rest, _ := strings.Cut(lines[i], " ")
		if _, err := time.Parse(time.RFC3339Nano, when); err != nil || !strings.HasPrefix(rest, "echo pod=app-1 version=v1 "+want) {
			t.Errorf("line %d: %s, want %s", i, lines[i], want)
		}
	}
}

func TestAListenerThatFailsEndsTheServer(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	if err := New(Config{OnTerm: Drain}, io.Discard).Serve(t.Context(), open, closed); err == nil {
		t.Error("no error")
	}
	if conn, err := net.Dial("tcp", open.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("the other listener is still open")
	}
}

// Not parallel: it counts goroutines.
func TestNothingIsLeftOfAServer(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, how := range []OnTerm{Drain, Exit} {
		t.Run(string(how), func(t *testing.T) {
			r := start(t, Config{OnTerm: how, ReadyAfter: time.Hour})
			r.call()
			r.get("/")
		})
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
		}
	}
}
