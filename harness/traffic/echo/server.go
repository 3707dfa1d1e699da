// Package echo is the server of the workload under test: it answers gRPC and
// HTTP by naming its pod, version and template hash. How fast, how much and how
// reliably, when it is ready and how it ends is in its environment (Config).
package echo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"reckon.dev/reckon/harness/recording"
)

type cause = recording.Cause

// Server serves both protocols until it is told to end.
type Server struct {
	cfg   Config
	out   io.Writer
	slots chan struct{} // nil: as many at once as come
	ready atomic.Bool
	mu    sync.Mutex // of out
}

// New logs to out: one line each at the start, when it is ready, when it is told
// to end and when it ends.
func New(cfg Config, out io.Writer) *Server {
	s := &Server{cfg: cfg, out: out}
	if cfg.Concurrency > 0 {
		s.slots = make(chan struct{}, cfg.Concurrency)
	}
	return s
}

// Serve serves gRPC and HTTP on the listeners, which it closes, until ctx ends
// and what Config.OnTerm wants has been done. Requests are served from the
// start; being ready is only what /readyz says.
func (s *Server) Serve(ctx context.Context, grpcOn, httpOn net.Listener) error {
	s.log("start grpc=%s http=%s ready-after=%v on-term=%s", grpcOn.Addr(), httpOn.Addr(), s.cfg.ReadyAfter, s.cfg.OnTerm)
	rpc := grpc.NewServer()
	rpc.RegisterService(description(), s)
	web := &http.Server{Handler: s.mux()}

	failed := make(chan error, 2)
	go func() { failed <- rpc.Serve(grpcOn) }()
	go func() { failed <- web.Serve(httpOn) }()
	becomeReady := time.AfterFunc(s.cfg.ReadyAfter, func() {
		s.ready.Store(true)
		s.log("ready")
	})

	var err error
	running := 2
	select {
	case err = <-failed:
		running--
	case <-ctx.Done():
		s.log("SIGTERM on-term=%s", s.cfg.OnTerm)
		if s.cfg.OnTerm == Linger {
			time.Sleep(s.cfg.Linger)
		}
	}
	becomeReady.Stop()
	s.ready.Store(false)
	stop := drain
	if s.cfg.OnTerm == Exit || err != nil {
		stop = cut
	}
	stop(rpc, web)
	for range running {
		<-failed
	}
	s.log("exit")
	return err
}

// drain closes the listeners and waits for the requests in flight.
func drain(rpc *grpc.Server, web *http.Server) {
	var both sync.WaitGroup
	both.Go(rpc.GracefulStop)
	both.Go(func() { _ = web.Shutdown(context.Background()) }) // without a deadline it cannot fail
	both.Wait()
}

// cut closes listeners and connections, as the end of a process does.
func cut(rpc *grpc.Server, web *http.Server) {
	_ = web.Close() // the listener is closed either way
	rpc.Stop()
}

// work is what a request costs. It returns a refusal, or the error of ctx.
func (s *Server) work(ctx context.Context) error {
	if s.slots != nil {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			return refusal{recording.Overloaded, codes.ResourceExhausted, http.StatusServiceUnavailable}
		}
	}
	if s.cfg.Work > 0 {
		timer := time.NewTimer(s.cfg.Work)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.cfg.FailShare > 0 && rand.Float64() < s.cfg.FailShare {
		return refusal{recording.Injected, codes.Internal, http.StatusInternalServerError}
	}
	return nil
}

func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/", s.echo)
	return mux
}

// echo serves one HTTP request.
func (s *Server) echo(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set(PodKey, s.cfg.Pod)
	h.Set(VersionKey, s.cfg.Version)
	h.Set(HashKey, s.cfg.Hash)
	err := s.work(r.Context())
	if refused, ok := errors.AsType[refusal](err); ok {
		h.Set(CauseKey, string(refused.cause))
		http.Error(w, refused.Error(), refused.status)
		return
	}
	if err != nil {
		return // the client has gone
	}
	fmt.Fprintf(w, "%s %s %s\n", s.cfg.Pod, s.cfg.Version, s.cfg.Hash)
}

// log writes one line with the time.
func (s *Server) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s echo pod=%s version=%s %s\n",
		time.Now().UTC().Format(time.RFC3339Nano), s.cfg.Pod, s.cfg.Version, fmt.Sprintf(format, args...))
}
