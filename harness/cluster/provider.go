// Package cluster says what Reckon asks of a Kubernetes cluster, whoever makes
// it. Providers live in the packages below.
package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/process"
)

// ErrNotFound is returned for a cluster that a provider does not know.
var ErrNotFound = errors.New("no such cluster")

// ReadinessGate is the pod condition that decides over a pod's readiness where
// readiness is scripted. A pod template names it in spec.readinessGates.
const ReadinessGate = "reckon.dev/ready"

// LingerAnnotation is, on providers with simulated pods, how long a pod
// terminates after its deletion ("5s"); without it it is gone at once.
const LingerAnnotation = "reckon.dev/linger"

// Options are what a caller may ask for. A provider ignores what cannot mean
// anything to it, and refuses what it cannot do.
type Options struct {
	// Name has to be unique among the provider's clusters. Empty: a random one.
	Name string
	// Nodes is the number of nodes. 0: the provider's default.
	Nodes int
	// Detached: the cluster outlives this program.
	Detached bool
	// Labels are recorded with the cluster, e.g. the run that it is for.
	Labels map[string]string
}

// Provider makes clusters.
type Provider interface {
	// Name is how drills call the provider.
	Name() string
	// Fidelity is the line that every report prints.
	Fidelity() string
	// Offers lists what scenarios may need and find here.
	Offers() Capabilities
	// Up makes a cluster and returns when it is ready for work. If it fails, or
	// the context ends, nothing is left; where that cannot be kept, there is a
	// LeftError in the error.
	Up(ctx context.Context, opts Options) (Cluster, error)
	// List returns the clusters there are, whoever made them.
	List(ctx context.Context) ([]Summary, error)
	// Down removes a cluster by name. Removing what is not there is fine.
	Down(ctx context.Context, name string) error
	// Clean removes what crashes left. With all it removes every cluster of the
	// provider, running ones too.
	Clean(ctx context.Context, all bool) ([]Removed, error)
}

// Preparer is a provider that can see to it ahead of Up that there is what its
// clusters are made of, or say that it cannot be had.
type Preparer interface {
	Prepare(ctx context.Context) error
}

// Cluster is a running cluster.
type Cluster interface {
	Name() string
	// Provider is the name of the provider.
	Provider() string
	// Fidelity is the provider's line.
	Fidelity() string
	// RESTConfig is a copy, with the rights of an administrator.
	RESTConfig() *rest.Config
	// Kubeconfig is a file for other programs. Mode 0600.
	Kubeconfig() string
	// Facts are written into every recording.
	Facts() Facts
	// Done is closed when the cluster is down, or when a part of it ended by
	// itself: then Err says which, and a run on it is invalid.
	Done() <-chan struct{}
	Err() error
	// Down removes the cluster. It may be called more than once. The error is a
	// LeftError.
	Down(ctx context.Context) error
}

// Parts of the control plane that a ComponentRestarter can restart.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// ComponentRestarter is a cluster that can take a part of its control plane away
// at once, as a crash does, and bring it back at the same address. While a part
// is away on purpose the cluster has not failed.
type ComponentRestarter interface {
	StopComponent(ctx context.Context, component string) error
	StartComponent(ctx context.Context, component string) error
	RestartComponent(ctx context.Context, component string) error
}

// Host is a cluster on whose behalf programs run on this machine: controllers
// under test are started with its supervisor and die with the cluster.
type Host interface {
	Supervisor() *process.Supervisor
	LogDir() string
	// ReservePorts keeps n free loopback ports for such programs.
	ReservePorts(n int) ([]int, error)
}

// ImageLoader is a cluster with real pods: programs run in it as images.
type ImageLoader interface {
	// LoadImages puts OCI archives into every node, where pods find them without
	// a registry.
	LoadImages(ctx context.Context, archives ...string) error
}

// LogCollector is a cluster that can write down what its nodes know of themselves.
type LogCollector interface {
	CollectLogs(ctx context.Context, dir string) error
}

// Facts describe a cluster: provider, versions, digests, sizes. Keys are stable.
type Facts map[string]string

// Sorted returns the keys in order.
func (f Facts) Sorted() []string { return slices.Sorted(maps.Keys(f)) }

// Summary is a line of a list of clusters.
type Summary struct {
	Name       string            `json:"name"`
	Provider   string            `json:"provider"`
	Phase      string            `json:"phase"`
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	Created    time.Time         `json:"created"`
	Detached   bool              `json:"detached"`
	OwnerAlive bool              `json:"ownerAlive"`
	Running    int               `json:"running"`
	Processes  int               `json:"processes"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// Removed is one thing that Clean removed.
type Removed struct {
	Cluster string `json:"cluster"`
	Kind    string `json:"kind"` // "process", "directory", "container", "network" or "image"
	What    string `json:"what"`
}
