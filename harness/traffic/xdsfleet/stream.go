package xdsfleet

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Settings of pilot-agent's connections (istio's pkg/istio-agent/xds_proxy.go and
// pkg/keepalive/options.go). istiod refuses clients that ask for a sign of life more
// often than every 15 s.
const (
	dialTimeout      = 5 * time.Second
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	// readBuffer and writeBuffer are small: what waits in them is there thousands of
	// times, and all but a few connections are silent.
	readBuffer  = 4 << 10
	writeBuffer = 4 << 10
)

// config is what a proxy has, by type.
type config map[string]held

// stream is one stream of a proxy, on a connection of its own.
type stream struct {
	*proxy
	// end ends it from this side.
	end    context.CancelCauseFunc
	picked string // the replica, where it is known before it answers
	worked bool   // there was an answer

	ads grpc.ClientStream
	// asked is true of the types that were asked for on this stream.
	asked map[string]bool
}

// run returns when the stream has ended, and why.
func (s *stream) run(ctx context.Context, addr string) error {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return s.dial(ctx, addr, s.goAway) }),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: dialTimeout}),
		grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	both := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	s.ads, err = conn.NewStream(ctx, both, discovery.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName,
		grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(1<<31-1))
	if err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	for {
		if err := s.receive(); err != nil {
			return err
		}
	}
}

// begin asks for all that the proxy knows to ask for: at first for clusters alone,
// later for everything it had, in the same order.
func (s *stream) begin() error {
	node, err := s.node()
	if err != nil {
		return err
	}
	s.asked = map[string]bool{}
	first := &discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: syncType} // only the first has the node
	if s.cfg.Identify {
		if err := s.send(first); err != nil {
			return err
		}
		first = &discovery.DeltaDiscoveryRequest{}
	}
	s.subscribe(first, clusterType, nil)
	if err := s.send(first); err != nil {
		return err
	}
	if len(s.config[clusterType]) == 0 {
		return nil
	}
	return s.askOnce(endpointType, listenerType, routeType)
}

// subscribe makes a request the first one for a type.
func (s *stream) subscribe(r *discovery.DeltaDiscoveryRequest, typ string, names []string) {
	r.TypeUrl, r.ResourceNamesSubscribe, r.InitialResourceVersions = typ, names, s.config[typ].versions()
	s.asked[typ] = true
}

// askOnce asks for types that were not asked for on this stream. Of endpoints and
// routes the names must be known.
func (s *stream) askOnce(types ...string) error {
	for _, typ := range types {
		names, wildcard := s.wanted(typ)
		if s.asked[typ] || !wildcard && len(names) == 0 {
			continue
		}
		r := &discovery.DeltaDiscoveryRequest{}
		s.subscribe(r, typ, names)
		if err := s.send(r); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the names that a proxy asks for, unless it asks for all.
func (s *stream) wanted(typ string) (names []string, all bool) {
	switch typ {
	case endpointType:
		return s.config[clusterType].refs(), false
	case routeType:
		return s.config[listenerType].refs(), false
	}
	return nil, true
}

// send returns why the stream ended, if it has: of that a Send says nothing.
func (s *stream) send(r *discovery.DeltaDiscoveryRequest) error {
	err := s.ads.SendMsg(r)
	if !errors.Is(err, io.EOF) {
		return err
	}
	for {
		if err := s.ads.RecvMsg(new(answer)); err != nil {
			return err
		}
	}
}

// receive waits for an answer, takes it and acknowledges it.
func (s *stream) receive() error {
	var a answer
	if err := s.ads.RecvMsg(&a); err != nil {
		return err
	}
	if !s.worked {
		s.begins(&a)
	}
	if a.typ == syncType {
		return nil
	}
	if err := s.send(&discovery.DeltaDiscoveryRequest{TypeUrl: a.typ, ResponseNonce: a.nonce}); err != nil {
		return err
	}
	return s.take(&a)
}

// begins: the first answer is there, so istiod has admitted the stream.
func (s *stream) begins(a *answer) {
	s.worked = true
	s.pauses.reset()
	replica := s.picked
	if a.replica != "" {
		replica = a.replica
	}
	s.connected(replica)
	if s.rest > 0 {
		time.AfterFunc(s.rest, func() { s.end(errRest) })
		s.rest = 0
	}
}

// take keeps what an answer says and asks for what follows from it: endpoints of
// clusters, then listeners, then their routes.
func (s *stream) take(a *answer) error {
	before, _ := s.wanted(follows(a.typ))
	s.config[a.typ] = s.config[a.typ].with(a)
	next := follows(a.typ)
	if next != "" && s.asked[next] {
		if err := s.change(next, before); err != nil {
			return err
		}
	}
	switch a.typ {
	case clusterType:
		if names, _ := s.wanted(endpointType); len(names) == 0 {
			return s.askOnce(listenerType)
		}
		return s.askOnce(endpointType)
	case endpointType:
		return s.askOnce(listenerType)
	case listenerType:
		return s.askOnce(routeType)
	}
	return nil
}

// follows is the type whose names come from resources of a type.
func follows(typ string) string {
	switch typ {
	case clusterType:
		return endpointType
	case listenerType:
		return routeType
	}
	return ""
}

// change asks for the names that are new, and no more for those that are not there.
func (s *stream) change(typ string, before []string) error {
	now, _ := s.wanted(typ)
	r := &discovery.DeltaDiscoveryRequest{
		TypeUrl: typ, ResourceNamesSubscribe: difference(now, before), ResourceNamesUnsubscribe: difference(before, now),
	}
	if len(r.ResourceNamesSubscribe) == 0 && len(r.ResourceNamesUnsubscribe) == 0 {
		return nil
	}
	if gone := r.ResourceNamesUnsubscribe; len(gone) > 0 {
		s.config[typ] = s.config[typ].with(&answer{removed: gone})
	}
	return s.send(r)
}

// goAway is called when the server asks the proxy to leave.
func (s *stream) goAway() {
	s.askedToLeave(s)
	if s.cfg.CloseOnGoAway {
		s.end(errAsked)
	}
}
