package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/process"
)

var (
	_ cluster.Cluster            = (*Cluster)(nil)
	_ cluster.ComponentRestarter = (*Cluster)(nil)
	_ cluster.Host               = (*Cluster)(nil)
)

// Cluster is a running cluster of processes.
type Cluster struct {
	cfg   Config
	lay   layout
	plan  blueprint
	creds *credentials
	probe *probes
	sup   *process.Supervisor

	mu           sync.Mutex
	state        *state
	parts        map[string]*process.Process
	reservations map[string]*reservation
	down         bool
	err          error
	facts        cluster.Facts

	failOnce sync.Once
	done     chan struct{}
}

// Name is the name of the cluster.
func (c *Cluster) Name() string { return c.cfg.Name }

// Provider is "embedded".
func (c *Cluster) Provider() string { return providerName }

// Fidelity is the line that every report prints.
func (c *Cluster) Fidelity() string { return fidelity }

// RESTConfig is a copy with the rights of an administrator.
func (c *Cluster) RESTConfig() *rest.Config { return c.creds.restConfig(c.plan.url(portAPIServer)) }

// Kubeconfig is the administrator's, mode 0600.
func (c *Cluster) Kubeconfig() string { return c.lay.kubeconfig() }

// Dir is the directory of the cluster.
func (c *Cluster) Dir() string { return c.lay.dir }

// LogDir is where the logs are. Copy what has to outlive the cluster.
func (c *Cluster) LogDir() string { return c.lay.logs() }

// Supervisor starts programs that belong to this cluster, e.g. controllers
// under test: they die with it, and Clean finds them.
func (c *Cluster) Supervisor() *process.Supervisor { return c.sup }

// Processes are the cluster's own processes by name.
func (c *Cluster) Processes() map[string]*process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.parts)
}

// Facts describe the cluster.
func (c *Cluster) Facts() cluster.Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.facts)
}

// Done is closed when the cluster is down or one of its own processes ended by
// itself.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err says which process ended, with the end of its log.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail is called once with an error, or with none by Down.
func (c *Cluster) fail(err error) {
	c.failOnce.Do(func() {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		close(c.done)
	})
}

// start starts a component and records it.
func (c *Cluster) start(ctx context.Context, component string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return fmt.Errorf("cluster %s is down", c.cfg.Name)
	}
	spec := c.plan.spec(component)
	spec.Detached = c.cfg.Detached
	for _, port := range portsOf(component) {
		spec.Files = append(spec.Files, c.reservations[port].file)
	}
	p, err := c.sup.Start(ctx, spec)
	if err != nil {
		return explain(err)
	}
	c.parts[component] = p
	c.state.record(p)
	go c.watch(p)
	return c.state.write(c.lay)
}

// record notes a process, in the place of an earlier one of that name.
func (s *state) record(p *process.Process) {
	entry := processState{Name: p.Name(), Identity: p.Identity(), Path: p.Path(), Log: p.LogPath()}
	for i := range s.Processes {
		if s.Processes[i].Name == p.Name() {
			s.Processes[i] = entry
			return
		}
	}
	s.Processes = append(s.Processes, entry)
}

// watch makes the end of a component the end of the cluster.
func (c *Cluster) watch(p *process.Process) {
	<-p.Done()
	if err := p.Err(); err != nil {
		c.fail(err)
	}
}

// restartable says for each part that can be restarted when it is back.
var restartable = map[string]func(*probes, context.Context) error{
	apiServerName: (*probes).apiServerReady,
	// Its caches fill only afterwards: nothing shows from outside when.
	controllerManagerName: func(p *probes, ctx context.Context) error { return p.healthy(ctx, portControllerManager) },
}

// part is the process of a part that can be restarted.
func (c *Cluster) part(component string) (*process.Process, error) {
	if restartable[component] == nil {
		return nil, fmt.Errorf("cluster %s: %q cannot be restarted, only %s", c.cfg.Name, component, strings.Join(slices.Sorted(maps.Keys(restartable)), " and "))
	}
	if p := c.Processes()[component]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("cluster %s has no %s", c.cfg.Name, component)
}

// StopComponent takes a part away at once, as a crash does. Its port stays
// reserved. There is no gentle way: asked with SIGTERM the API server stays for
// as long as any client keeps a request open, and the outage would begin at no
// particular moment.
func (c *Cluster) StopComponent(ctx context.Context, component string) error {
	p, err := c.part(component)
	if err != nil {
		return err
	}
	return p.Kill(ctx)
}

// StartComponent brings it back on the same port and returns when it is ready.
func (c *Cluster) StartComponent(ctx context.Context, component string) error {
	p, err := c.part(component)
	if err != nil {
		return err
	}
	if p.Running() {
		return fmt.Errorf("cluster %s: %s is running", c.cfg.Name, component)
	}
	if err := c.start(ctx, component); err != nil {
		return err
	}
	ctx, cancel := c.unlessFailed(ctx)
	defer cancel()
	return restartable[component](c.probe, ctx)
}

// RestartComponent stops and starts it.
func (c *Cluster) RestartComponent(ctx context.Context, component string) error {
	if err := c.StopComponent(ctx, component); err != nil {
		return err
	}
	return c.StartComponent(ctx, component)
}

// unlessFailed ends a context when the cluster fails, with the reason as cause.
func (c *Cluster) unlessFailed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-c.done:
			cancel(c.Err())
		case <-stop:
		}
	}()
	var once sync.Once
	return ctx, func() {
		once.Do(func() { close(stop) })
		cancel(nil)
	}
}

// downTimeout bounds the wait for killed processes to be gone. A context that
// ended must not keep a cluster alive, so Down does not use its caller's.
const downTimeout = 10 * time.Second

// Down kills everything, frees the ports and removes the directory. The data is
// thrown away, so there is nothing to be gentle about.
func (c *Cluster) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	c.mu.Lock()
	c.down = true
	c.mu.Unlock()
	c.fail(nil)
	err := errors.Join(c.sup.Kill(ctx), c.sup.Close(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.reservations {
		r.release()
	}
	if c.probe != nil {
		c.probe.close()
	}
	if err != nil {
		// Something would not die: leave the directory for Clean to find it.
		return c.left(err)
	}
	return c.left(removeTree(c.lay.dir))
}

// left says of a failed removal what is there still.
func (c *Cluster) left(err error) error {
	return cluster.Left(fmt.Sprintf("cluster %s (its processes, and %s)", c.cfg.Name, c.lay.dir), err)
}

// release lets a detached cluster live on after this program.
func (c *Cluster) release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.reservations {
		r.release()
	}
	c.probe.close()
	return c.sup.Close(ctx)
}
