package stage

import (
	"context"
	"time"
)

// ControlPlane is istiod in as many replicas as a script wants, with the proxies
// that connect to it. Where pods are simulated its replicas are processes beside
// the cluster, and proxies choose evenly among those that are Ready; where pods
// are real they are the chart's Deployment, and kube-proxy chooses. What becomes
// of each replica and of each connection is recorded.
type ControlPlane interface {
	Replicas
	Proxies
	// AwaitConnected waits until every proxy is connected to a replica that was not
	// taken away. After the limit it returns ErrNotReached.
	AwaitConnected(ctx context.Context, limit time.Duration) error
	// AwaitQuiet waits until no replica has sent any configuration for so long, as its
	// metrics say once a second. After the limit it returns ErrNotReached.
	AwaitQuiet(ctx context.Context, quiet, limit time.Duration) error
}

// Replicas are istiod's.
type Replicas interface {
	// Deploy starts istiod and returns once every replica is Ready. An istiod that
	// does not get Ready is an error with the end of its log.
	Deploy(ctx context.Context, spec Istiod) error
	// Replicas names those that are there, the oldest first.
	Replicas() []string
	// Evict takes replicas away, all at once, by name. What a budget refuses stays:
	// its names are returned. It does not wait for replacements.
	Evict(ctx context.Context, replicas []string, how Eviction) (refused []string, err error)
	// Scale changes the number of replicas and does not wait for them.
	Scale(ctx context.Context, replicas int) error
	// Restart replaces every replica by one of the spec, as a Deployment rolls:
	// at most maxSurge more than the spec's replicas at once. It does not wait.
	Restart(ctx context.Context, spec Istiod, maxSurge int) error
	// AwaitReady waits until exactly so many replicas are there and all are Ready.
	// After the limit it returns ErrNotReached.
	AwaitReady(ctx context.Context, replicas int, limit time.Duration) error
	// Collect lets a replica collect its garbage, and records what its heap holds then
	// (recording.LiveHeap) under the name of an occasion. Only processes can be asked.
	Collect(ctx context.Context, replica, at string) error
}

// Proxies are a fleet of those that connect to istiod.
type Proxies interface {
	// Connect starts the proxies, and returns once each has been admitted.
	Connect(ctx context.Context, fleet Fleet) error
	// Grow adds proxies, evenly over a time, and returns when the last has begun.
	Grow(ctx context.Context, proxies int, over time.Duration) error
	// Disconnect ends the proxies and returns when their record is complete.
	Disconnect(ctx context.Context) error
}

// Istiod is how istiod is run.
type Istiod struct {
	// Version of the component; empty: the cell's.
	Version  string
	Replicas int
	// ConnectionAge is keepaliveMaxServerConnectionAge.
	ConnectionAge time.Duration
	// RequestLimit is PILOT_MAX_REQUESTS_PER_SECOND, new streams a second and
	// replica; 0: istiod's own, 15 + 5 for each of GOMAXPROCS.
	RequestLimit float64
	// CPUs is GOMAXPROCS; 0: 1, which the chart sets for a limit of up to one core.
	// Pods have a limit of so many cores, processes none. A CPULimit takes its place.
	CPUs int
	// CPULimit is limits.cpu in thousandths of a core, which the kernel enforces, and
	// rounded up it is GOMAXPROCS; 0: see CPUs.
	CPULimit int
	// OwnProcs: nobody sets GOMAXPROCS, and Go's runtime chooses one. Of processes
	// only, for the chart always sets it.
	OwnProcs bool
	// MemoryLimit is a limit in bytes; 0: none. A pod is killed beyond it. A process is
	// only told of it, as istiod tells itself: GOMEMLIMIT is nine tenths of it.
	MemoryLimit int64
	// Args are further arguments.
	Args []string
}

// Eviction says how replicas are taken away.
type Eviction struct {
	// By is "SIGTERM", "SIGKILL" or "SIGSTOP" for processes, "eviction" (the
	// Eviction API), "delete" or "force" (no grace period) for pods.
	By string
	// ReplacedAfter is how long after it was taken away a process is started in its
	// place; negative: never. Pods are replaced by their Deployment, at once.
	ReplacedAfter time.Duration
}

// Fleet are proxies that keep one connection each.
type Fleet struct {
	Proxies int
	// Together: all connections begin now, and so end in waves. Otherwise they
	// start in equilibrium: each first one ends after the rest of a life that
	// began before.
	Together bool
	// ConnectionAge and Grace are what the lives of connections are drawn from, for
	// the equilibrium.
	ConnectionAge, Grace time.Duration
	// CloseOnGoAway: proxies leave when they are asked to. Otherwise they wait until
	// they are cut off, as pilot-agent does.
	CloseOnGoAway bool
	// Over is how long it takes until all have begun, evenly; 0: they begin at once.
	Over time.Duration
}
