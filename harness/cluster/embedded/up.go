package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"reckon.dev/reckon/harness/process"
)

// Up makes a cluster and returns when pods can be created, scheduled and run.
// If that fails, or the context ends, nothing is left, or a cluster.LeftError
// says what.
func Up(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	c, err := create(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", cfg.Name, err), c.Down(ctx))
	}
	return c, nil
}

// create makes what a cluster is before its first process.
func create(cfg Config) (_ *Cluster, err error) {
	owner, err := process.Self()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return nil, explain(err)
	}
	if err := checkSpace(cfg.Root, freeBytes); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, lay: layout{clusterDir(cfg.Root, cfg.Name)}, parts: map[string]*process.Process{}, done: make(chan struct{})}
	if err := c.reserve(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, r := range c.reservations {
				r.release()
			}
		}
	}()
	c.plan = blueprint{name: cfg.Name, lay: c.lay, ports: map[string]int{}, bins: cfg.Binaries.byComponent()}
	for name, r := range c.reservations {
		c.plan.ports[name] = r.port
	}
	c.state = &state{
		Name: cfg.Name, Phase: phaseCreating, Created: cfg.Clock.Now().UTC(), Owner: owner, Detached: cfg.Detached,
		Nodes: cfg.Nodes, Server: c.plan.url(portAPIServer), Kubeconfig: c.lay.kubeconfig(), Ports: c.plan.ports, Labels: cfg.Labels,
	}
	if c.creds, err = newCredentials(cfg.Name, cfg.Clock.Now()); err != nil {
		return nil, err
	}
	if err := c.install(); err != nil {
		return nil, err
	}
	c.sup = process.NewSupervisor(process.Options{Mark: process.Mark{Cluster: cfg.Name, Root: cfg.Root, Owner: owner}})
	return c, nil
}

func (c *Cluster) reserve() error {
	names := portNames()
	rs, err := reservePorts(len(names))
	if err != nil {
		return err
	}
	c.reservations = map[string]*reservation{}
	for i, name := range names {
		c.reservations[name] = rs[i]
	}
	return nil
}

// install fills a scratch directory and gives it the cluster's name in one
// step: a name is taken or it is not, and Clean never meets half a cluster.
func (c *Cluster) install() (err error) {
	dir, err := os.MkdirTemp(c.cfg.Root, scratchPattern(fmt.Sprintf("new-%d", os.Getpid())))
	if err != nil {
		return explain(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	scratch := layout{dir}
	if err := c.state.write(scratch); err != nil {
		return err
	}
	if err := scratch.makeDirs(); err != nil {
		return err
	}
	if err := c.creds.write(scratch, c.cfg.Name, c.plan.url(portAPIServer)); err != nil {
		return err
	}
	if err := c.writeConfigs(scratch); err != nil {
		return err
	}
	// Fails on a directory that is there and not empty, as a cluster's is.
	if err := os.Rename(dir, c.lay.dir); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("there is a cluster %s in %s already", c.cfg.Name, c.cfg.Root)
		}
		return explain(err)
	}
	return nil
}

func (c *Cluster) writeConfigs(l layout) error {
	kwok, err := kwokConfig()
	if err != nil {
		return err
	}
	if err := writeFile(l.config("kwok.yaml"), kwok); err != nil {
		return err
	}
	return writeFile(l.config("scheduler.yaml"), c.plan.schedulerConfig())
}

// readyTimeout is far beyond what a start takes on a busy machine. It only
// keeps a start that hangs from hanging forever.
const readyTimeout = 2 * time.Minute

// boot starts the components and waits until they do their work.
func (c *Cluster) boot(ctx context.Context) error {
	ctx, stop := c.unlessFailed(ctx)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready within %s", readyTimeout))
	defer cancel()
	var err error
	if c.probe, err = newProbes(c); err != nil {
		return err
	}
	c.cfg.Progress("starting etcd and kube-apiserver")
	if err := c.bootStore(ctx); err != nil {
		return c.reason(ctx, err)
	}
	c.cfg.Progress("starting kube-controller-manager, kube-scheduler and kwok")
	if err := c.bootRest(ctx); err != nil {
		return c.reason(ctx, err)
	}
	return c.markReady(ctx)
}

// reason prefers the cause of an ended context: "kube-apiserver ended by itself"
// says more than "context canceled".
func (c *Cluster) reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// bootStore starts both at once: the API server needs longer to come to the
// point where it wants etcd than etcd needs to be there. It returns when the
// API server serves, which is well before it is ready.
func (c *Cluster) bootStore(ctx context.Context) error {
	for _, component := range []string{etcdName, apiServerName} {
		if err := c.start(ctx, component); err != nil {
			return err
		}
	}
	return c.probe.await(ctx, portAPIServer, "/version")
}

// bootRest does side by side what does not wait for each other. The API server
// is not ready for at least a second after it serves: that long it sleeps
// before it makes the bootstrap roles (Kubernetes v1.37.2,
// pkg/registry/rbac/rest/storage_rbac.go, wait.Poll). An administrator needs no
// roles, and neither does kwok, which has its own.
func (c *Cluster) bootRest(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.bootControllers(ctx, group) })
	group.Go(func() error { return c.bootSimulation(ctx) })
	group.Go(func() error { return c.collectFacts(ctx) })
	return group.Wait()
}

// bootControllers starts them only when the API server is ready: before, the
// controller manager sleeps a second between two looks at its health, and the
// scheduler has no rights.
func (c *Cluster) bootControllers(ctx context.Context, group *errgroup.Group) error {
	if err := c.probe.apiServerReady(ctx); err != nil {
		return err
	}
	for _, component := range []string{controllerManagerName, schedulerName} {
		if err := c.start(ctx, component); err != nil {
			return err
		}
	}
	group.Go(func() error { return c.probe.healthy(ctx, portControllerManager) })
	group.Go(func() error { return c.probe.healthy(ctx, portScheduler) })
	return c.probe.defaultServiceAccount(ctx)
}

// bootSimulation makes the nodes and waits until pods can be scheduled on them,
// which takes kwok and the controller manager.
func (c *Cluster) bootSimulation(ctx context.Context) error {
	if err := c.prepareSimulation(ctx); err != nil {
		return err
	}
	if err := c.start(ctx, kwokName); err != nil {
		return err
	}
	return c.probe.nodesReady(ctx, c.cfg.Nodes)
}

func (c *Cluster) markReady(ctx context.Context) error {
	c.mu.Lock()
	c.state.Phase = phaseReady
	c.state.Versions, c.state.Digests = withPrefix(c.facts, "version/"), withPrefix(c.facts, "digest/")
	err := c.state.write(c.lay)
	c.mu.Unlock()
	if err != nil || !c.cfg.Detached {
		return err
	}
	return c.release(ctx)
}
