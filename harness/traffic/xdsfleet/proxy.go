package xdsfleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"reckon.dev/reckon/harness/recording"
)

// proxy is one sidecar.
type proxy struct {
	cfg     *Config
	journal *journal
	pick    Picker
	number  int
	random  *rand.Rand
	pauses  pauses
	// rest is after how long it ends its first connection itself, 0 for never.
	rest time.Duration
	// config is what it has, and keeps from one stream to the next.
	config config

	mu   sync.Mutex // the end of a stream and the GOAWAY are noticed by two goroutines
	conn connection
}

// connection is the one that a proxy has now.
type connection struct {
	of      *stream
	sinceNS int64 // 0 if it has none
	replica string
	asked   bool // to leave
	told    bool // of that
}

// Why a proxy ends a connection itself.
var (
	errRest  = errors.New("the rest of its life is over")
	errAsked = errors.New("it was asked to leave")
)

func (p *proxy) name() string { return fmt.Sprintf("proxy-%05d", p.number) }

// node is what it tells istiod that it is: the four parts of an id, and the metadata
// without which istiod takes no sidecar (pilot/pkg/model/context.go).
func (p *proxy) node() (*core.Node, error) {
	n := p.number + 1
	ip := netip.AddrFrom4([4]byte{10, 128 | byte(n>>16), byte(n >> 8), byte(n)}).String()
	name := p.name() + "." + p.cfg.Namespace
	metadata, err := structpb.NewStruct(map[string]any{
		"NAMESPACE": p.cfg.Namespace, "CLUSTER_ID": "Kubernetes", "ISTIO_VERSION": p.cfg.Cohort,
		"INSTANCE_IPS": ip, "MESH_ID": "cluster.local", "SERVICE_ACCOUNT": "default",
	})
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("sidecar~%s~%s~%s.svc.cluster.local", ip, name, p.cfg.Namespace)
	return &core.Node{Id: id, Cluster: name, Metadata: metadata}, nil
}

// run keeps a connection until ctx ends.
func (p *proxy) run(ctx context.Context) {
	p.tell(recording.Begun, "", nil)
	for ctx.Err() == nil {
		p.attempt(ctx)
		sleep(ctx, p.pauses.next(p.random))
	}
	p.tell(recording.Left, "", nil)
}

// attempt makes a connection, if it can, and returns when it has ended.
func (p *proxy) attempt(ctx context.Context) {
	name, addr, ok := p.pick.Pick(p.random)
	if !ok {
		p.tell(recording.Rejected, "", status.Error(codes.Unavailable, "no replica is ready"))
		return
	}
	ours, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &stream{proxy: p, end: end, picked: name}
	p.mu.Lock()
	p.conn.of = s
	p.mu.Unlock()
	err := s.run(ours, addr)
	switch cause := context.Cause(ours); {
	case ctx.Err() != nil: // it leaves
	case errors.Is(cause, errRest), errors.Is(cause, errAsked):
		p.tell(recording.Closed, name, cause)
	case s.worked:
		p.tell(recording.Closed, name, err)
	default:
		p.tell(recording.Rejected, name, err)
	}
}

// tell adds an event to the record. picked is the replica that was chosen, for a
// connection that never got an answer.
func (p *proxy) tell(event recording.ConnectionEvent, picked string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := recording.Connection{Event: event, Proxy: p.name(), Replica: p.conn.replica}
	if event == recording.Rejected {
		e.Replica = picked
	}
	if err != nil {
		e.Text = cut(err.Error())
		if s, ok := status.FromError(err); ok {
			e.Code, e.Text = s.Code().String(), cut(s.Message())
		}
	}
	p.journal.add(e, p.conn.sinceNS)
	p.conn = connection{}
}

// connected takes the first answer of a stream.
func (p *proxy) connected(replica string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.replica = replica
	p.conn.sinceNS = p.journal.add(recording.Connection{Event: recording.Connected, Proxy: p.name(), Replica: replica}, 0)
	p.goingAway()
}

// askedToLeave takes a GOAWAY to a stream. Where that comes before the first answer
// it is told of after it, and where the stream has ended it is none.
func (p *proxy) askedToLeave(of *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn.of != of {
		return
	}
	p.conn.asked = true
	p.goingAway()
}

func (p *proxy) goingAway() {
	if !p.conn.asked || p.conn.told || p.conn.sinceNS == 0 {
		return
	}
	p.conn.told = true
	p.journal.add(recording.Connection{Event: recording.GoAway, Proxy: p.name(), Replica: p.conn.replica}, p.conn.sinceNS)
}

// cut bounds an error's text, so that lines stay short.
func cut(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// sleep returns after a time, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// dial connects as pilot-agent does, with 5 s for it.
func (p *proxy) dial(ctx context.Context, addr string, goAway func()) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, goAway: goAway}, nil
}
