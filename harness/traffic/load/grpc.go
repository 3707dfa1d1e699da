package load

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic/echo"
)

// istioVersion is the version that the client pretends to have: istiod's metric
// pilot_xds has it as a label, and "-grpc" tells these clients from proxies.
const istioVersion = "1.31.0-grpc"

// node is who the client says it is. istiod wants four parts in the identity:
// type, address, pod.namespace and domain.
func (c Config) node() (id string, metadata map[string]string) {
	return fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local", c.IP, c.Pod, c.Namespace, c.Namespace),
		map[string]string{
			"GENERATOR": "grpc", "NAMESPACE": c.Namespace, "CLUSTER_ID": "Kubernetes",
			"ISTIO_VERSION": istioVersion, "INSTANCE_IPS": c.IP,
		}
}

// bootstrap is grpc's xDS configuration, in the form of its file.
func (c Config) bootstrap() ([]byte, error) {
	id, metadata := c.node()
	return json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri": c.Istiod, "channel_creds": []any{map[string]string{"type": "insecure"}}, "server_features": []string{"xds_v3"},
		}},
		"node": map[string]any{"id": id, "metadata": metadata},
	})
}

// grpcTransport sends RPCs over one channel that istiod routes.
type grpcTransport struct{ conn *grpc.ClientConn }

// newGRPC takes its configuration from cfg. grpc's own way is an environment
// variable that it reads before main runs.
func newGRPC(cfg Config) (*grpcTransport, error) {
	config, err := cfg.bootstrap()
	if err != nil {
		return nil, err
	}
	resolver, err := xds.NewXDSResolverWithConfigForTesting(config)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("xds:///"+cfg.Target,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver),
		grpc.WithDisableRetry(), grpc.WithDisableHealthCheck(), grpc.WithIdleTimeout(0))
	if err != nil {
		return nil, err
	}
	return &grpcTransport{conn}, nil
}

// ready waits until the channel has routes and a connection.
func (t *grpcTransport) ready(ctx context.Context) error {
	t.conn.Connect()
	for {
		state := t.conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if !t.conn.WaitForStateChange(ctx, state) {
			return fmt.Errorf("the channel to %s is %v: %w", t.conn.Target(), state, ctx.Err())
		}
	}
}

func (t *grpcTransport) send(ctx context.Context) outcome {
	var trailer metadata.MD
	err := t.conn.Invoke(ctx, echo.Method, new(emptypb.Empty), new(emptypb.Empty), grpc.Trailer(&trailer))
	get := func(key string) string {
		if v := trailer.Get(key); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	if err != nil {
		return outcome{failure: rpcFailure(err, get(echo.CauseKey), get(echo.VersionKey))}
	}
	return outcome{answer: recording.Answer{Version: get(echo.VersionKey), Hash: get(echo.HashKey), Pod: get(echo.PodKey)}}
}

func (t *grpcTransport) close() { _ = t.conn.Close() }
