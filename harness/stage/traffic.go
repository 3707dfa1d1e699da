package stage

import (
	"context"
	"time"
)

// Names of the clients of the traffic, in recordings too.
const (
	// GRPC is a proxyless client, which istiod tells the routes.
	GRPC = "grpc"
	// HTTP is a client that makes a connection to a Service for each request.
	HTTP = "http"
)

// Load is a stream of requests to the workload at a constant rate, whatever
// becomes of them, none of them repeated.
type Load struct {
	Client string
	// Service and Port are where the requests go, in the run's namespace.
	Service string
	Port    int
	// Rate is requests a second.
	Rate int
	// Limit is how long an answer may take.
	Limit time.Duration
}

// Traffic sends requests to the workload from a pod, and records what became of
// each.
type Traffic interface {
	// Start returns once requests are being sent.
	Start(ctx context.Context, load Load) error
	// Stop returns once the last request has ended and is recorded.
	Stop(ctx context.Context) error
}
