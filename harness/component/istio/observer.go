package istio

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/cgroup"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/recording"
)

// Observer is told what becomes of istiod's replicas. Its functions are called one
// at a time, must be quick, and must not call back.
type Observer struct {
	// Now is the present since the base of the recording.
	Now func() time.Duration
	// Event is told of each event in the life of a replica.
	Event func(recording.Replica)
	// Ready is told which replicas new connections may choose, the oldest first, each
	// time that changes: of those that are taken away before they are.
	Ready func([]Endpoint)
	// Began is told of a replica that was started, of where its metrics are, and of its
	// process (0: it is none of this machine). The context ends when nothing can be read
	// there any more.
	Began func(ctx context.Context, replica string, metrics incluster.Endpoint, pid int)
	// Limited is told of a replica with a limit on CPU that was started as a process,
	// and of how to read what the kernel counts of it. The context is that of Began.
	Limited func(ctx context.Context, replica string, read func() (cgroup.Stat, error))
	// Sampled is told of what was measured of a replica because the script wanted it.
	Sampled func(recording.Sample)
	// Fail ends the run: a replica ended that nobody took away, or did not get Ready.
	Fail func(error)
}

// Endpoint is where a replica serves xDS without TLS.
type Endpoint struct{ Name, Address string }
