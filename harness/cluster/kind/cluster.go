package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	kindversion "sigs.k8s.io/kind/pkg/cmd/kind/version"

	"reckon.dev/reckon/harness/cluster"
)

var _ cluster.Cluster = (*Cluster)(nil)

// Cluster is a running cluster of containers.
type Cluster struct {
	cfg    Config
	engine engine
	image  resolved
	host   host
	lay    layout
	state  *state
	kind   *kindcluster.Provider
	rest   *rest.Config
	client kubernetes.Interface
	facts  cluster.Facts

	interrupted bool // kind was stopped in the middle of something
	stopWatch   context.CancelFunc

	mu   sync.Mutex
	err  error
	once sync.Once
	done chan struct{}
}

// Name is the name of the cluster.
func (c *Cluster) Name() string { return c.cfg.Name }

// Provider is "kind".
func (c *Cluster) Provider() string { return providerName }

// Fidelity is the line that every report prints.
func (c *Cluster) Fidelity() string { return fidelity }

// RESTConfig is a copy with the rights of an administrator.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

// Kubeconfig is the administrator's, mode 0600.
func (c *Cluster) Kubeconfig() string { return c.lay.kubeconfig() }

// Facts are written into every recording.
func (c *Cluster) Facts() cluster.Facts { return maps.Clone(c.facts) }

// Done is closed when the cluster is down or a node ended by itself.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err says which node ended.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail is called once with an error, or with none by Down.
func (c *Cluster) fail(err error) {
	c.once.Do(func() {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		close(c.done)
	})
}

// watch makes the end of a node the end of the cluster.
func (c *Cluster) watch() error {
	ctx, cancel := context.WithCancel(context.Background())
	c.stopWatch = cancel
	all, err := c.ownNodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		go func() {
			code, err := c.engine.run(ctx, "wait", n.ID)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				err = fmt.Errorf("it exited with status %s", code)
			}
			c.fail(fmt.Errorf("node %s ended by itself: %w", n.Name, err))
		}()
	}
	return nil
}

// ownNodes are the containers that carry this cluster's mark.
func (c *Cluster) ownNodes(ctx context.Context) ([]container, error) {
	return c.engine.marked(ctx, func(mark string) bool { return mark == c.lay.mark() })
}

func (c *Cluster) removeNodes(ctx context.Context) error {
	own, err := c.ownNodes(ctx)
	if err != nil {
		return err
	}
	return c.engine.remove(ctx, own)
}

// downTimeout bounds the removal. A context that ended must not keep a cluster
// alive, so Down does not use its caller's.
const downTimeout = time.Minute

// Down removes nodes and volumes, the network with the last cluster, and the
// directory. What cannot be removed keeps its directory, for Clean to find it.
func (c *Cluster) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	if c.stopWatch != nil {
		c.stopWatch()
	}
	c.fail(nil)
	_, err := removeCluster(ctx, c.engine, c.cfg.Root, c.cfg.Name, c.interrupted)
	return cluster.Left(fmt.Sprintf("kind cluster %s (its containers, network and %s)", c.cfg.Name, c.lay.dir), err)
}

// LoadImages puts images, as OCI archives, into the container runtime of every
// node, where pods find them without a registry.
func (c *Cluster) LoadImages(ctx context.Context, archives ...string) error {
	all, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range all {
		for _, archive := range archives {
			if err := loadImage(ctx, node.CommandContext, archive); err != nil {
				return fmt.Errorf("loading %s into node %s: %w", archive, node, err)
			}
		}
	}
	return nil
}

// CollectLogs writes everything that the nodes know of themselves into dir.
func (c *Cluster) CollectLogs(ctx context.Context, dir string) error {
	if c.kind == nil {
		return errors.New("the cluster has no nodes")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- c.kind.CollectLogs(c.cfg.Name, dir) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done(): // its commands end with the nodes
		return context.Cause(ctx)
	}
}

// collectFacts asks the cluster who it is.
func (c *Cluster) collectFacts(ctx context.Context) error {
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	c.facts = cluster.Facts{
		"provider": providerName, "fidelity": fidelity, "cluster": c.cfg.Name, "nodes": strconv.Itoa(c.cfg.Nodes),
		"podCIDR": podSubnet, "serviceCIDR": serviceSubnet, "cgroup": "v" + strconv.Itoa(c.host.cgroup),
		"version/kube-apiserver": version.GitVersion, "version/kind": kindversion.Version(),
		"version/" + c.engine.name: c.engine.version(ctx), "image/node": c.image.ref, "digest/node": c.image.id,
	}
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) > 0 {
		info := list.Items[0].Status.NodeInfo
		c.facts["version/kubelet"], c.facts["version/containerd"] = info.KubeletVersion, info.ContainerRuntimeVersion
		c.facts["version/kernel"] = info.KernelVersion
	}
	return nil
}
