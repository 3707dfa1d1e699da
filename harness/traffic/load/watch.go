package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/structpb"

	"reckon.dev/reckon/harness/traffic"
)

const routeType = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

const (
	// istiod refuses clients that ask for a sign of life more often than every 15 s.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	// Pauses between attempts to reach istiod. The first is short enough for a
	// stream that was closed for its age to be back within a second.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// routes are weights in percent, by route and target. A target that left its
// route stays, with weight 0.
type routes map[string]map[string]float64

// watcher has a stream of its own from istiod and tells which weights it
// delivers. The channel that sends requests has another one: that the watcher
// got a weight is no proof that requests follow it.
type watcher struct {
	cfg   Config
	emit  func(traffic.Line)
	first chan struct{} // closed when there are weights

	known routes // nil before the first answer
}

func newWatcher(cfg Config, emit func(traffic.Line)) *watcher {
	return &watcher{cfg: cfg, emit: emit, first: make(chan struct{})}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	pause := firstRetry
	for ctx.Err() == nil {
		worked, err := w.stream(ctx)
		if worked {
			pause = firstRetry
			if ctx.Err() == nil {
				text := cut(err.Error())
				w.emit(traffic.Line{Stream: &traffic.Stream{AtNS: time.Now().UnixNano(), Reason: text, Planned: strings.Contains(text, "max_age")}})
			}
		}
		// Half of it at random, so that clients do not return all at once.
		_ = sleep(ctx, pause/2+rand.N(pause/2))
		pause = min(2*pause, lastRetry)
	}
}

// stream makes a connection and reads answers until it ends. worked says that
// there was one.
func (w *watcher) stream(ctx context.Context) (worked bool, err error) {
	conn, err := grpc.NewClient("passthrough:///"+w.cfg.Istiod, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	ads, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return false, err
	}
	ask, err := w.request()
	if err != nil {
		return false, err
	}
	for {
		if err := ads.Send(ask); err != nil && !worked {
			return worked, err // else what Recv says is better
		}
		answer, err := ads.Recv()
		if err != nil {
			return worked, err
		}
		w.answer(answer, time.Now(), !worked)
		worked = true
		ask = &discovery.DiscoveryRequest{
			TypeUrl: routeType, ResourceNames: ask.ResourceNames, VersionInfo: answer.VersionInfo, ResponseNonce: answer.Nonce,
		}
	}
}

// request asks for the routes to the target alone.
func (w *watcher) request() (*discovery.DiscoveryRequest, error) {
	id, about := w.cfg.node()
	fields := map[string]any{}
	for k, v := range about {
		fields[k] = v
	}
	metadata, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(w.cfg.Target)
	if err != nil {
		return nil, err
	}
	return &discovery.DiscoveryRequest{
		Node:    &core.Node{Id: id, Metadata: metadata},
		TypeUrl: routeType, ResourceNames: []string{fmt.Sprintf("outbound|%s||%s", port, host)},
	}, nil
}

// answer emits what is new in an answer. An answer without routes leaves all as
// it was, as it does for grpc.
func (w *watcher) answer(a *discovery.DiscoveryResponse, at time.Time, begins bool) {
	got, err := w.decode(a)
	var changed routes
	if err == nil {
		changed = w.learn(got)
	}
	if begins {
		w.emit(traffic.Line{Stream: &traffic.Stream{AtNS: at.UnixNano(), Up: true, Same: err == nil && len(changed) == 0}})
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		w.emit(traffic.Line{Weights: &traffic.Weights{AtNS: at.UnixNano(), Route: name, Percent: changed[name]}})
	}
}

// learn remembers weights and returns those of the routes that changed.
func (w *watcher) learn(got routes) routes {
	began := w.known == nil
	changed := routes{}
	for name, old := range w.known {
		if got[name] == nil {
			got[name] = map[string]float64{}
		}
		for target := range old {
			if _, ok := got[name][target]; !ok {
				got[name][target] = 0
			}
		}
	}
	for name, percent := range got {
		if !maps.Equal(percent, w.known[name]) {
			changed[name] = percent
		}
	}
	w.known = got
	if began {
		close(w.first)
	}
	return changed
}

// errNoRoutes: an answer that does not have the target's routes.
var errNoRoutes = errors.New("no routes to the target")

// decode reads the weights of all routes to the target.
func (w *watcher) decode(a *discovery.DiscoveryResponse) (routes, error) {
	host, _, err := net.SplitHostPort(w.cfg.Target)
	if err != nil {
		return nil, err
	}
	out := routes{}
	for _, x := range a.Resources {
		var config route.RouteConfiguration
		if err := x.UnmarshalTo(&config); err != nil {
			return nil, err
		}
		for _, v := range config.VirtualHosts {
			if serves(v, host) {
				out.add(v.Routes)
			}
		}
	}
	if len(out) == 0 {
		return nil, errNoRoutes
	}
	return out, nil
}

// serves says whether a virtual host is that of a host, with or without a port.
func serves(v *route.VirtualHost, host string) bool {
	for _, d := range v.Domains {
		if name, _, _ := strings.Cut(d, ":"); d == "*" || name == host {
			return true
		}
	}
	return false
}

// add takes the weights of routes that lead to clusters. Of routes with the same
// name the first counts, as it is the first that is tried.
func (r routes) add(list []*route.Route) {
	for _, x := range list {
		if percent := weights(x.GetRoute()); len(percent) > 0 && r[x.Name] == nil {
			r[x.Name] = percent
		}
	}
}

// weights are the shares of an action's targets, in percent.
func weights(action *route.RouteAction) map[string]float64 {
	out := map[string]float64{}
	if name := target(action.GetCluster()); name != "" {
		out[name] = 100
	}
	var sum float64
	for _, c := range action.GetWeightedClusters().GetClusters() {
		sum += float64(c.Weight.GetValue())
	}
	for _, c := range action.GetWeightedClusters().GetClusters() {
		if name := target(c.Name); name != "" && sum > 0 {
			out[name] += 100 * float64(c.Weight.GetValue()) / sum
		}
	}
	return out
}
