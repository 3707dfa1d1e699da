package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"reckon.dev/reckon/harness/process"
)

// ErrNameTaken: there is a cluster of that name, ours or not.
var ErrNameTaken = errors.New("the name is taken")

// Up makes a cluster and returns when pods can be created, scheduled and run. If
// that fails, or the context ends, nothing is left but logs, or a
// cluster.LeftError says what.
func Up(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	e, err := findEngine(ctx)
	if err != nil {
		return nil, err
	}
	image, err := cfg.NodeImage.resolve(ctx, e, cfg.Progress)
	if err != nil {
		return nil, err
	}
	h, err := preflight(ctx, e, cfg, image.ref)
	if err != nil {
		return nil, err
	}
	c, err := create(ctx, cfg, e, image, h)
	if err != nil {
		return nil, err
	}
	if err := c.boot(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else {
			err = c.withLogs(ctx, err)
		}
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", cfg.Name, err), c.Down(ctx))
	}
	return c, nil
}

// preflight refuses what cannot come up, and tells of what may trouble it.
func preflight(ctx context.Context, e engine, cfg Config, image string) (host, error) {
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return host{}, err
	}
	h, err := e.probe(ctx, cfg.Root, image)
	if err != nil {
		return host{}, err
	}
	for _, f := range h.findings(cfg.Nodes) {
		if f.Fatal {
			return host{}, fmt.Errorf("%w: %s", ErrUnfit, f.What)
		}
		if !f.OK {
			cfg.Progress("only " + f.What)
		}
	}
	return h, nil
}

// create claims the name. Nothing runs yet.
func create(ctx context.Context, cfg Config, e engine, image resolved, h host) (*Cluster, error) {
	owner, err := process.Self()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, engine: e, image: image, host: h, lay: layoutOf(cfg.Root, cfg.Name), done: make(chan struct{}),
		state: &state{
			Name: cfg.Name, Phase: phaseCreating, Created: cfg.Clock.Now().UTC(), Owner: owner, Detached: cfg.Detached,
			Nodes: cfg.Nodes, Image: image.ref, Kubeconfig: layoutOf(cfg.Root, cfg.Name).kubeconfig(), Labels: cfg.Labels,
		},
	}
	if err := c.state.claim(cfg.Root); err != nil {
		return nil, explain(err)
	}
	all, err := e.nodes(ctx)
	for _, n := range all {
		if n.Cluster == cfg.Name {
			err = fmt.Errorf("%w: %s has a kind cluster %s that this one is not (%s)", ErrNameTaken, e.name, cfg.Name, n.Name)
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.lay.dir))
	}
	return c, nil
}

// readyTimeout is far beyond what a start takes on a busy machine.
const readyTimeout = 6 * time.Minute

func (c *Cluster) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready within %s", readyTimeout))
	defer cancel()
	log := &logger{progress: c.cfg.Progress}
	c.kind = c.engine.provider(log)
	if err := c.makeNodes(ctx); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	all, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	c.cfg.Progress("Connecting nodes")
	if err := setUpNetwork(ctx, c.client, all); err != nil {
		return err
	}
	c.cfg.Progress("Waiting for nodes, DNS and the service account")
	if err := awaitReady(ctx, c.client, c.cfg.Nodes); err != nil {
		return err
	}
	if err := c.collectFacts(ctx); err != nil {
		return err
	}
	c.state.Phase, c.state.Server = phaseReady, c.rest.Host
	if err := c.state.write(c.lay); err != nil {
		return err
	}
	if !c.cfg.Detached {
		return c.watch()
	}
	return nil
}

// makeNodes lets kind make the nodes. Its call cannot be cancelled: when the
// context ends, the nodes are removed under it until it gives up.
func (c *Cluster) makeNodes(ctx context.Context) error {
	release, err := c.engine.useNetwork(ctx, c.cfg.Root)
	if err != nil {
		return err
	}
	defer release()
	result := make(chan error, 1)
	go func() {
		result <- c.kind.Create(c.cfg.Name,
			kindcluster.CreateWithV1Alpha4Config(clusterConfig(c.cfg, c.host, c.image.ref)),
			kindcluster.CreateWithRetain(true), // logs are collected first, and only ours is removed
			kindcluster.CreateWithKubeconfigPath(c.lay.kubeconfig()),
			kindcluster.CreateWithDisplayUsage(false), kindcluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err := <-result:
		// One of its commands may have been killed by the interrupt that we are
		// about to hear of: what it asked the engine for may still appear.
		c.interrupted = err != nil
		return describe(err)
	case <-ctx.Done():
	}
	c.interrupted = true
	giveUp, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	for {
		// A failure shows when it is done for good, in Down.
		_ = c.removeNodes(giveUp)
		select {
		case <-result:
			return context.Cause(ctx)
		case <-giveUp.Done(): // the engine hangs, and kind with it
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// describe adds what a failed command of kind printed last.
func describe(err error) error {
	run := kindexec.RunErrorForError(err)
	if run == nil {
		return err
	}
	return explain(&commandError{err: err, output: string(run.Output)})
}

// commandError is a failed command on a node, with all of its output.
type commandError struct {
	err    error
	output string
}

func (e *commandError) Unwrap() error { return e.err }

// frame is a line of a stack trace: a function or a place, without a blank in it.
var frame = regexp.MustCompile(`^\s*\S+(\.go:\d+|\.\S+)$`)

// debugLine is klog's, not of a warning or an error.
var debugLine = regexp.MustCompile(`^I\d{4} `)

// Error leaves out what kubeadm prints for those who debug it.
func (e *commandError) Error() string {
	var said []string
	for line := range strings.Lines(e.output) {
		if line = strings.TrimSpace(line); line != "" && !frame.MatchString(line) && !debugLine.MatchString(line) {
			said = append(said, line)
		}
	}
	return fmt.Sprintf("%v:\n%s", e.err, strings.Join(said[max(0, len(said)-10):], "\n"))
}

// connect reads the kubeconfig that kind wrote.
func (c *Cluster) connect() error {
	if err := os.Chmod(c.lay.kubeconfig(), 0o600); err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.lay.kubeconfig())
	if err != nil {
		return err
	}
	c.rest = cfg
	c.client, err = kubernetes.NewForConfig(cfg)
	return err
}

// nodes are kind's handles, all of them ours. Its call takes no context: one that
// ends leaves it behind.
func (c *Cluster) nodes(ctx context.Context) ([]nodes.Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit("ps"), fmt.Errorf("listing the nodes: %w within %s", errNoAnswer, limit("ps")))
	defer cancel()
	var all []nodes.Node
	result := make(chan error, 1)
	go func() {
		var err error
		all, err = c.kind.ListInternalNodes(c.cfg.Name)
		result <- err
	}()
	select {
	case err := <-result:
		return all, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// logsTimeout bounds the collection of logs of a cluster that is going away.
const logsTimeout = 30 * time.Second

// withLogs collects logs of a cluster that did not come up and says where they are.
func (c *Cluster) withLogs(ctx context.Context, err error) error {
	dir := logDir(c.cfg.Root, c.cfg.Name)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logsTimeout)
	defer cancel()
	logErr := c.CollectLogs(ctx, dir)
	if failed, ok := errors.AsType[*commandError](err); ok {
		logErr = errors.Join(logErr, os.WriteFile(filepath.Join(dir, "failed-command.log"), []byte(failed.output), 0o644))
	}
	if logErr != nil {
		return errors.Join(err, fmt.Errorf("logs (in %s as far as they go): %w", dir, logErr))
	}
	return fmt.Errorf("%w; logs are in %s", err, dir)
}
