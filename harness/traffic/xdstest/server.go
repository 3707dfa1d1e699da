// Package xdstest is a control plane for tests of clients: it speaks state of
// the world xDS as istiod does to proxyless gRPC (names of resources, one
// listener, routes and clusters for a Service), from a state that the test sets.
package xdstest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	matcher "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	prefix       = "type.googleapis.com/envoy.config."
	listenerType = prefix + "listener.v3.Listener"
	routeType    = prefix + "route.v3.RouteConfiguration"
	clusterType  = prefix + "cluster.v3.Cluster"
	endpointType = prefix + "endpoint.v3.ClusterLoadAssignment"
)

// State is what the control plane delivers for one Service.
type State struct {
	Routes []Route
	// Endpoints are host:port by subset.
	Endpoints map[string][]string
}

// Route is one route; the first that matches counts.
type Route struct {
	Name string
	// Never: it has a match that no request has. It keeps the clusters known.
	Never bool
	// Weights by subset; "" is the Service itself.
	Weights map[string]uint32
}

// Server is the control plane.
type Server struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	host, port string

	mu      sync.Mutex
	state   State
	version int
	changed chan struct{} // closed at the next change
	grpc    *grpc.Server
	streams int
}

// New serves a Service, e.g. app.demo.svc.cluster.local and 8080.
func New(host, port string, state State) *Server {
	return &Server{host: host, port: port, state: state, version: 1, changed: make(chan struct{})}
}

// Set delivers another state.
func (s *Server) Set(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Start serves on a listener until Stop. Connections older than maxAge are
// closed as istiod closes them; 0 is never.
func (s *Server) Start(on net.Listener, maxAge time.Duration) {
	var opts []grpc.ServerOption
	if maxAge > 0 {
		opts = append(opts, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: maxAge, MaxConnectionAgeGrace: 50 * time.Millisecond}))
	}
	s.grpc = grpc.NewServer(opts...)
	discovery.RegisterAggregatedDiscoveryServiceServer(s.grpc, s)
	go func(server *grpc.Server) { _ = server.Serve(on) }(s.grpc) // ended by Stop
}

// Stop cuts all streams and closes the listener.
func (s *Server) Stop() { s.grpc.Stop() }

// Streams is how many streams there ever were.
func (s *Server) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

func (s *Server) current() (State, int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.version, s.changed
}

// received are the requests of a stream until it ends.
func received[T any](ctx context.Context, recv func() (T, error)) <-chan T {
	requests := make(chan T)
	go func() {
		defer close(requests)
		for {
			r, err := recv()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return requests
}

// StreamAggregatedResources answers what is asked for the first time or with
// other names, and everything that was asked for when the state changes.
func (s *Server) StreamAggregatedResources(ads discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	requests := received(ads.Context(), ads.Recv)
	asked := map[string][]string{}
	_, _, changed := s.current()
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			slices.Sort(r.ResourceNames)
			if r.ResponseNonce != "" && slices.Equal(asked[r.TypeUrl], r.ResourceNames) {
				continue
			}
			asked[r.TypeUrl] = r.ResourceNames
			if err := s.deliver(ads, r.TypeUrl, r.ResourceNames); err != nil {
				return err
			}
		case <-changed:
			_, _, changed = s.current()
			for _, t := range []string{clusterType, endpointType, listenerType, routeType} {
				if names := asked[t]; len(names) > 0 {
					if err := s.deliver(ads, t, names); err != nil {
						return err
					}
				}
			}
		}
	}
}

func (s *Server) deliver(ads discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer, typ string, names []string) error {
	state, version, _ := s.current()
	out := &discovery.DiscoveryResponse{TypeUrl: typ, VersionInfo: fmt.Sprint(version), Nonce: fmt.Sprint(version, "/", len(names), typ)}
	for _, name := range names {
		for _, m := range s.resource(state, typ, name) {
			x, err := anypb.New(m)
			if err != nil {
				return err
			}
			out.Resources = append(out.Resources, x)
		}
	}
	return ads.Send(out)
}

// resource returns the resource of a name, if there is one.
func (s *Server) resource(state State, typ, name string) []proto.Message {
	switch typ {
	case listenerType:
		if name == s.host+":"+s.port {
			return []proto.Message{s.listener(name)}
		}
	case routeType:
		if name == s.cluster("") {
			return []proto.Message{s.routes(state)}
		}
	case clusterType:
		return []proto.Message{&cluster.Cluster{
			Name: name, ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
			EdsClusterConfig: &cluster.Cluster_EdsClusterConfig{EdsConfig: ads(), ServiceName: name},
		}}
	case endpointType:
		return []proto.Message{s.endpoints(state, name)}
	}
	return nil
}

func (s *Server) cluster(subset string) string {
	return fmt.Sprintf("outbound|%s|%s|%s", s.port, subset, s.host)
}

func ads() *core.ConfigSource {
	return &core.ConfigSource{ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}}, ResourceApiVersion: core.ApiVersion_V3}
}

func (s *Server) listener(name string) *listener.Listener {
	last := &hcm.HttpFilter{Name: "router", ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: must(&router.Router{})}}
	manager := &hcm.HttpConnectionManager{
		RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{ConfigSource: ads(), RouteConfigName: s.cluster("")}},
		HttpFilters:    []*hcm.HttpFilter{last},
	}
	return &listener.Listener{Name: name, ApiListener: &listener.ApiListener{ApiListener: must(manager)}}
}

func (s *Server) routes(state State) *route.RouteConfiguration {
	v := &route.VirtualHost{Name: s.host, Domains: []string{s.host, s.host + ":" + s.port}}
	for _, r := range state.Routes {
		match := &route.RouteMatch{PathSpecifier: &route.RouteMatch_Prefix{Prefix: "/"}}
		if r.Never {
			exact := &matcher.StringMatcher{MatchPattern: &matcher.StringMatcher_Exact{Exact: "never"}}
			match.Headers = []*route.HeaderMatcher{{Name: "x-keep-clusters", HeaderMatchSpecifier: &route.HeaderMatcher_StringMatch{StringMatch: exact}}}
		}
		weighted := &route.WeightedCluster{}
		for subset, weight := range r.Weights {
			if weight > 0 { // as istiod
				weighted.Clusters = append(weighted.Clusters, &route.WeightedCluster_ClusterWeight{
					Name: s.cluster(subset), Weight: wrapperspb.UInt32(weight),
				})
			}
		}
		slices.SortFunc(weighted.Clusters, func(a, b *route.WeightedCluster_ClusterWeight) int { return cmp.Compare(a.Name, b.Name) })
		v.Routes = append(v.Routes, &route.Route{Name: r.Name, Match: match, Action: &route.Route_Route{Route: &route.RouteAction{
			ClusterSpecifier: &route.RouteAction_WeightedClusters{WeightedClusters: weighted},
		}}})
	}
	return &route.RouteConfiguration{Name: s.cluster(""), VirtualHosts: []*route.VirtualHost{v}}
}

func (s *Server) endpoints(state State, name string) *endpoint.ClusterLoadAssignment {
	var list []*endpoint.LbEndpoint
	for subset, addresses := range state.Endpoints {
		if s.cluster(subset) != name {
			continue
		}
		for _, a := range addresses {
			at := netip.MustParseAddrPort(a)
			list = append(list, &endpoint.LbEndpoint{HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{
				Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
					Address: at.Addr().String(), PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(at.Port())},
				}}},
			}}})
		}
	}
	out := &endpoint.ClusterLoadAssignment{ClusterName: name}
	if len(list) > 0 {
		out.Endpoints = []*endpoint.LocalityLbEndpoints{{
			Locality: &core.Locality{Region: "here"}, LoadBalancingWeight: wrapperspb.UInt32(1), LbEndpoints: list,
		}}
	}
	return out
}

func must(m proto.Message) *anypb.Any {
	x, err := anypb.New(m)
	if err != nil {
		panic(err) // a message of a known type always marshals
	}
	return x
}
