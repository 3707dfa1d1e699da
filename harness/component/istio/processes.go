package istio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/cgroup"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/stage"
)

const (
	// probeInterval is between two looks at a replica's readiness: more often than a
	// kubelet looks, since when it got Ready is what predictions start from.
	probeInterval = 100 * time.Millisecond
	// probeTimeout is how long it may take to answer, the chart's, and failureThreshold
	// how often in a row it may fail while it is Ready, the kubelet's.
	probeTimeout     = 5 * time.Second
	failureThreshold = 3
	// readyLimit is how long a replica may take to get Ready: a second when the
	// machine is idle, ten when twenty start at once on two cores.
	readyLimit = 90 * time.Second
	// terminationGrace is how long a replica that was told to end may take, as pods may.
	terminationGrace = 30 * time.Second
	// failureLines is how much of its log an error about a replica has.
	failureLines = 10
)

// EndOfRun is how replicas went that were there until the end.
const EndOfRun = "end of run"

// signals are the ways of taking a process away. SIGTERM cuts connections too: the
// process ends in tenths of a second, since nobody waits for the graceful stop of
// its servers (WaitUntilCompletion, pilot/pkg/bootstrap/server.go:540, 1.31).
var signals = map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL, "SIGSTOP": syscall.SIGSTOP}

// ProcessConfig says how istiod runs as processes of this machine.
type ProcessConfig struct {
	Supervisor *process.Supervisor
	// Ports keeps so many free ports of loopback.
	Ports func(n int) ([]int, error)
	// Dir is where the replicas' logs go, each with the name of its replica.
	Dir        string
	Kubeconfig string
	// Binary is the pilot-discovery of a version; empty: of the run's own.
	Binary func(ctx context.Context, version string) (string, error)
	Clock  clock.WithTicker
	Observer
}

// Processes are replicas of istiod as processes beside a cluster, kept at the
// number that is wanted as a Deployment would. The first ones are istiod-0 and on;
// no name is used twice.
type Processes struct {
	cfg   ProcessConfig
	ctx   context.Context // of what watches replicas; ends with Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
	http  *http.Client

	mu         sync.Mutex
	closed     bool
	spec       stage.Istiod
	binary     string
	generation int // of the spec
	surge      int // while replicas of earlier generations are there
	next       int
	replicas   []*replica // those that have not ended, the oldest first
	awaited    int        // that will be started in place of others, after a delay
	changed    chan struct{}
	err        error
}

// replica is a process that has not ended.
type replica struct {
	name       string
	address    string
	metrics    string // HOST:PORT
	generation int
	process    *process.Process
	unwatch    context.CancelFunc
	group      *cgroup.Group // nil: it has no limit
	ready      bool
	how        string // it was taken away; empty: it was not
}

// confine gives a process that is not started yet its limit, if the spec has one.
func confine(limit quota.Limit, spec *process.Spec) (*cgroup.Group, error) {
	if limit == 0 {
		return nil, nil
	}
	group, err := cgroup.New(spec.Name, limit.Quota(), quota.Period)
	if err != nil {
		return nil, fmt.Errorf("a CPU limit of %s for %s: %w", limit, spec.Name, err)
	}
	spec.Within = group.Start
	return group, nil
}

// release removes the group of a replica whose process has ended.
func (r *replica) release() error {
	if r.group == nil {
		return nil
	}
	return r.group.Remove()
}

// NewProcesses makes none yet. Close must be called.
func NewProcesses(cfg ProcessConfig) *Processes {
	ctx, stop := context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return &Processes{
		cfg: cfg, ctx: ctx, stop: stop, http: &http.Client{Transport: transport, Timeout: probeTimeout}, changed: make(chan struct{}),
	}
}

// Deploy starts the replicas and returns once all are Ready.
func (p *Processes) Deploy(ctx context.Context, spec stage.Istiod) error {
	if err := p.writeMesh(); err != nil {
		return err
	}
	p.mu.Lock()
	there := p.generation > 0
	p.mu.Unlock()
	if there {
		return errors.New("istiod is there already: it is scaled or restarted")
	}
	if err := p.adopt(ctx, spec, 0); err != nil {
		return err
	}
	return p.await(ctx, spec.Replicas)
}

// Restart replaces every replica by one of the spec: so many more are started as
// may be, and when they are Ready as many of the old ones are told to end, so that
// no fewer are Ready than are wanted.
func (p *Processes) Restart(ctx context.Context, spec stage.Istiod, maxSurge int) error {
	if maxSurge < 1 {
		return fmt.Errorf("a surge of %d, expected 1 or more: no replica ends before another is Ready", maxSurge)
	}
	return p.adopt(ctx, spec, maxSurge)
}

// adopt makes a spec the one that is wanted.
func (p *Processes) adopt(ctx context.Context, spec stage.Istiod, surge int) error {
	if err := checkSpec(spec); err != nil {
		return err
	}
	binary, err := p.cfg.Binary(ctx, spec.Version)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec, p.binary, p.surge = spec, binary, surge
	p.generation++
	p.reconcile()
	return p.err
}

// Scale changes the number of replicas. The youngest go, told to end.
func (p *Processes) Scale(_ context.Context, replicas int) error {
	if replicas < 0 {
		return fmt.Errorf("%d replicas of istiod, expected 0 or more", replicas)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec.Replicas = replicas
	p.reconcile()
	return p.err
}

// Replicas names those that were not taken away, the oldest first.
func (p *Processes) Replicas() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, r := range p.serving() {
		out = append(out, r.name)
	}
	return out
}

// Evict takes processes away by a signal. Those that are stopped by SIGSTOP keep
// their connections until Close. Nothing is refused.
func (p *Processes) Evict(_ context.Context, names []string, how stage.Eviction) ([]string, error) {
	if signals[how.By] == 0 {
		return nil, fmt.Errorf("processes are not evicted by %q, expected SIGTERM, SIGKILL or SIGSTOP", how.By)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	doomed, err := p.find(names)
	if err != nil {
		return nil, err
	}
	if how.ReplacedAfter < 0 {
		p.spec.Replicas -= len(doomed)
	} else {
		p.awaited += len(doomed)
	}
	p.take(how.By, doomed...)
	for range doomed {
		if how.ReplacedAfter >= 0 {
			p.tasks.Go(func() { p.replaceAfter(how.ReplacedAfter) })
		}
	}
	return nil, nil
}

// find returns the replicas of those names. Holds the lock.
func (p *Processes) find(names []string) ([]*replica, error) {
	var out []*replica
	serving := p.serving()
	for _, name := range names {
		i := slices.IndexFunc(serving, func(r *replica) bool { return r.name == name })
		if i < 0 || slices.Contains(out, serving[i]) {
			return nil, fmt.Errorf("no replica %q of istiod is there (once): there are %s", name, namesOf(serving))
		}
		out = append(out, serving[i])
	}
	return out, nil
}

func namesOf(replicas []*replica) string {
	names := make([]string, len(replicas))
	for i, r := range replicas {
		names[i] = r.name
	}
	return strings.Join(names, ", ")
}

// replaceAfter starts one replica after a delay, if it is still wanted then.
func (p *Processes) replaceAfter(d time.Duration) {
	select {
	case <-p.cfg.Clock.After(d):
	case <-p.ctx.Done():
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited > 0 {
		p.awaited--
		p.reconcile()
	}
}

// AwaitReady waits until exactly so many replicas are there and all are Ready.
func (p *Processes) AwaitReady(ctx context.Context, replicas int, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, stage.ErrNotReached)
	defer cancel()
	err := p.await(ctx, replicas)
	if errors.Is(err, stage.ErrNotReached) {
		return fmt.Errorf("%d replicas of istiod, all Ready: %w within %s", replicas, err, limit)
	}
	return err
}

// await has no limit but that of each replica.
func (p *Processes) await(ctx context.Context, replicas int) error {
	for {
		p.mu.Lock()
		serving, changed, err := p.serving(), p.changed, p.err
		reached := len(serving) == replicas && !slices.ContainsFunc(serving, func(r *replica) bool { return !r.ready })
		p.mu.Unlock()
		if reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close kills what is left, stopped ones too, and returns when it is gone.
func (p *Processes) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	left := slices.Clone(p.replicas)
	p.take(EndOfRun, p.serving()...)
	p.mu.Unlock()
	p.stop()
	var errs []error
	for _, r := range left {
		errs = append(errs, r.process.Kill(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p.tasks.Wait()
	return nil
}
