package xdstest

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// syncType is answered with the replica's name.
const syncType = "istio.io/debug/syncz"

// Mesh is what a replica delivers to sidecars: names of Services, for each of which
// there is a cluster with endpoints and a listener with a route. "BlackHoleCluster",
// which has no endpoints, is always there.
type Mesh []string

// Istiod is one replica of istiod as sidecars see it: delta ADS with names, versions
// and nonces, connections that are ended for their age, streams that are refused.
type Istiod struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	// Name is what the replica says it is, to those that ask.
	Name string
	// Refuse refuses new streams that it returns an error for.
	Refuse func() error

	mu       sync.Mutex
	mesh     Mesh
	version  int
	changed  chan struct{} // closed at the next change
	streams  int
	requests []*discovery.DeltaDiscoveryRequest

	grpc *grpc.Server
}

// NewIstiod serves a mesh once it is started.
func NewIstiod(name string, mesh Mesh) *Istiod {
	return &Istiod{Name: name, mesh: mesh, version: 1, changed: make(chan struct{})}
}

// Start serves on a listener until Stop. Connections older than age, give or take a
// tenth, are asked to leave, and cut off a grace and a second later; age 0 is never.
func (i *Istiod) Start(on net.Listener, age, grace time.Duration) {
	var opts []grpc.ServerOption
	if age > 0 {
		opts = append(opts, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age, MaxConnectionAgeGrace: grace}))
	}
	i.grpc = grpc.NewServer(opts...)
	discovery.RegisterAggregatedDiscoveryServiceServer(i.grpc, i)
	go func(server *grpc.Server) { _ = server.Serve(on) }(i.grpc) // ended by Stop
}

// Stop cuts all streams and closes the listener, as a process that is killed.
func (i *Istiod) Stop() { i.grpc.Stop() }

// Drain asks all to leave and serves them on until they have.
func (i *Istiod) Drain() { i.grpc.GracefulStop() }

// Push delivers another mesh.
func (i *Istiod) Push(mesh Mesh) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mesh = mesh
	i.version++
	close(i.changed)
	i.changed = make(chan struct{})
}

// Open is how many streams there are.
func (i *Istiod) Open() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.streams
}

// Requests are all that were received, in order.
func (i *Istiod) Requests() []*discovery.DeltaDiscoveryRequest {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.requests)
}

// sidecar is one stream.
type sidecar struct {
	*Istiod
	ads discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	// names are those that were asked for or delivered, by type.
	names map[string]map[string]bool
	nonce int
}

// DeltaAggregatedResources answers requests and, when the mesh changes, delivers
// what changed for it.
func (i *Istiod) DeltaAggregatedResources(ads discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if i.Refuse != nil {
		if err := i.Refuse(); err != nil {
			return err
		}
	}
	i.count(1)
	defer i.count(-1)
	s := &sidecar{Istiod: i, ads: ads, names: map[string]map[string]bool{}}
	requests := received(ads.Context(), ads.Recv)
	_, _, changed := i.current()
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if err := s.answer(r); err != nil {
				return err
			}
		case <-changed:
			_, _, changed = i.current()
			if err := s.push(); err != nil {
				return err
			}
		}
	}
}

func (i *Istiod) count(by int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.streams += by
}

func (i *Istiod) current() (Mesh, int, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mesh, i.version, i.changed
}

func (s *sidecar) answer(r *discovery.DeltaDiscoveryRequest) error {
	s.mu.Lock()
	first := s.nonce == 0 && len(s.names) == 0
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if first && r.Node == nil {
		return status.Error(codes.InvalidArgument, "missing node information")
	}
	if r.TypeUrl == syncType {
		s.names[syncType] = nil
		return s.send(r.TypeUrl, nil, nil)
	}
	if r.ResponseNonce != "" {
		if len(r.ResourceNamesSubscribe)+len(r.ResourceNamesUnsubscribe) > 0 {
			return status.Error(codes.Internal, "an acknowledgement that changes the subscription")
		}
		return nil
	}
	known := s.names[r.TypeUrl]
	if known == nil {
		known = map[string]bool{}
		s.names[r.TypeUrl] = known
		for name := range r.InitialResourceVersions {
			known[name] = true
		}
	}
	for _, name := range r.ResourceNamesUnsubscribe {
		delete(known, name)
	}
	names := r.ResourceNamesSubscribe
	if wildcard(r.TypeUrl) {
		return s.all(r.TypeUrl)
	}
	for _, name := range names {
		known[name] = true
	}
	if len(names) == 0 {
		return nil
	}
	return s.send(r.TypeUrl, names, nil)
}

func wildcard(typ string) bool { return typ == clusterType || typ == listenerType }

// all delivers all resources of a type, and takes back those that are no more.
func (s *sidecar) all(typ string) error {
	mesh, _, _ := s.current()
	names := mesh.names(typ)
	var removed []string
	for name := range s.names[typ] {
		if !slices.Contains(names, name) {
			removed = append(removed, name)
		}
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	s.names[typ] = known
	return s.send(typ, names, removed)
}

func (s *sidecar) push() error {
	for _, typ := range []string{clusterType, endpointType, listenerType, routeType} {
		if s.names[typ] == nil {
			continue
		}
		if wildcard(typ) {
			if err := s.all(typ); err != nil {
				return err
			}
		} else if err := s.send(typ, sorted(s.names[typ]), nil); err != nil {
			return err
		}
	}
	return nil
}

func sorted(names map[string]bool) []string {
	var out []string
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (s *sidecar) send(typ string, names, removed []string) error {
	_, version, _ := s.current()
	s.nonce++
	out := &discovery.DeltaDiscoveryResponse{TypeUrl: typ, Nonce: fmt.Sprint(version, "/", s.nonce), SystemVersionInfo: fmt.Sprint(version), RemovedResources: removed}
	if typ == syncType { // as istiod, which says who it is to nobody else
		id, err := json.Marshal(map[string]any{"Component": "istiod", "ID": s.Name, "Info": map[string]string{"version": "1.31"}})
		if err != nil {
			return err
		}
		out.ControlPlane = &core.ControlPlane{Identifier: string(id)}
	}
	for _, name := range names {
		out.Resources = append(out.Resources, &discovery.Resource{Name: name, Version: fmt.Sprint(version), Resource: must(sidecarResource(typ, name))})
	}
	return s.ads.Send(out)
}

// names are those of the resources of a type that is delivered whole.
func (m Mesh) names(typ string) []string {
	var out []string
	for _, service := range m {
		if typ == clusterType {
			out = append(out, "outbound|80||"+service)
		} else {
			out = append(out, service+"_80")
		}
	}
	if typ == clusterType {
		out = append(out, "BlackHoleCluster")
	}
	return out
}

func sidecarResource(typ, name string) proto.Message {
	switch typ {
	case clusterType:
		if !strings.HasPrefix(name, "outbound|") {
			return &cluster.Cluster{Name: name, ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC}}
		}
		return &cluster.Cluster{
			Name: name, ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
			EdsClusterConfig: &cluster.Cluster_EdsClusterConfig{EdsConfig: ads(), ServiceName: name},
		}
	case endpointType:
		return &endpoint.ClusterLoadAssignment{ClusterName: name}
	case listenerType:
		manager := &hcm.HttpConnectionManager{RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{ConfigSource: ads(), RouteConfigName: name}}}
		filter := &listener.Filter{Name: "http", ConfigType: &listener.Filter_TypedConfig{TypedConfig: must(manager)}}
		return &listener.Listener{Name: name, FilterChains: []*listener.FilterChain{{Filters: []*listener.Filter{filter}}}}
	}
	return &route.RouteConfiguration{Name: name}
}
