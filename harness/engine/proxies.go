package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
)

const (
	// admissionLimit is how long the proxies may take until each was admitted once,
	// and beginLimit how much later than it should the last may begin.
	admissionLimit = 5 * time.Minute
	beginLimit     = time.Minute
	// orderLimit is how long a fleet may take to read what it is told.
	orderLimit = 2 * time.Second
)

// proxies are the fleet of a run: a process, or pods.
type proxies struct {
	run *run
	rec *record.Recorder
	// ctx is that of the run; fail ends it.
	ctx    context.Context
	fail   context.CancelCauseFunc
	census *census
	fleet  fleet
	spec   *stage.Fleet // nil while there are none
	total  int          // that were ever told to begin
}

// fleet is where proxies run.
type fleet interface {
	// start starts the program with arguments, and a witness that reads it.
	start(ctx context.Context, args []string, w *witness) (*witness, error)
	// grow lets more proxies begin, numbered from total on.
	grow(ctx context.Context, total, more int, over time.Duration) error
	// end ends all that was started, and returns when its record is complete.
	end(ctx context.Context) error
	// kill ends it at once.
	kill(ctx context.Context)
}

func (r *run) newProxies(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) *proxies {
	return &proxies{run: r, rec: rec, ctx: ctx, fail: fail, census: newCensus()}
}

// witness reads a fleet.
func (p *proxies) witness(client string) *witness {
	w := p.run.newWitness(p.ctx, p.fail, client, func(f recording.Fact) {
		p.rec.Observe(f)
		p.census.see(f)
	})
	w.part, w.who = "proxies", "the fleet of proxies"
	return w
}

// fleetName is the fleet's in its record, and the version that its proxies say they have.
const fleetName = "fleet"

// Connect starts the fleet and waits until each proxy was admitted.
func (p *proxies) Connect(ctx context.Context, of stage.Fleet) error {
	if p.spec != nil {
		return errors.New("proxies are connected already")
	}
	args := []string{
		"fleet", "-client=" + fleetName, "-cohort=" + fleetName, "-proxies=" + strconv.Itoa(of.Proxies),
		"-together=" + strconv.FormatBool(of.Together), "-close-on-goaway=" + strconv.FormatBool(of.CloseOnGoAway),
	}
	if of.Over > 0 {
		args = append(args, "-over="+of.Over.String())
	}
	if !of.Together {
		args = append(args, "-age="+of.ConnectionAge.String(), "-grace="+of.Grace.String())
	}
	w, err := p.fleet.start(ctx, args, p.witness(fleetName))
	if err != nil {
		return err
	}
	p.spec, p.total = &of, of.Proxies
	ctx, cancel := context.WithTimeoutCause(ctx, admissionLimit, fmt.Errorf("not every one of %d proxies was admitted within %s", of.Proxies, admissionLimit))
	defer cancel()
	return w.await(ctx, p.census.reached(p.total, p.total))
}

// Grow adds proxies and returns when the last has begun.
func (p *proxies) Grow(ctx context.Context, more int, over time.Duration) error {
	if p.spec == nil {
		return errors.New("no proxies are connected that could become more")
	}
	if more < 1 {
		return fmt.Errorf("growth by %d proxies, expected 1 or more", more)
	}
	if err := p.fleet.grow(ctx, p.total, more, over); err != nil {
		return err
	}
	p.total += more
	ctx, cancel := context.WithTimeoutCause(ctx, over+beginLimit, fmt.Errorf("not every one of %d more proxies began within %s", more, over+beginLimit))
	defer cancel()
	select {
	case <-p.census.reached(p.total, 0):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitConnected waits until every proxy is connected to one of the replicas.
func (p *proxies) awaitConnected(ctx context.Context, to []string, limit time.Duration) error {
	if p.spec == nil {
		return errors.New("no proxies are connected")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, stage.ErrNotReached)
	defer cancel()
	select {
	case <-p.census.reconnected(p.total, to):
		return nil
	case <-ctx.Done():
		if err := context.Cause(ctx); !errors.Is(err, stage.ErrNotReached) {
			return err
		}
		return fmt.Errorf("%d proxies connected to %s: %w within %s", p.total, strings.Join(to, ", "), stage.ErrNotReached, limit)
	}
}

// Disconnect ends the fleet and waits until its record is complete.
func (p *proxies) Disconnect(ctx context.Context) error {
	if p.spec == nil {
		return errors.New("no proxies are connected")
	}
	p.spec = nil
	return p.fleet.end(ctx)
}

// abandon ends a fleet that the script left, at once.
func (p *proxies) abandon(ctx context.Context) {
	if p.spec != nil {
		p.fleet.kill(ctx)
	}
}

// fleetProcess is a fleet beside a cluster, which is told which replicas are Ready.
type fleetProcess struct {
	host   cluster.Host
	binary string
	fail   context.CancelCauseFunc

	mu      sync.Mutex
	ready   []istio.Endpoint
	orders  *os.File // nil while there is no fleet
	process *process.Process
	witness *witness
}

// setReady is told of the replicas that new connections may choose.
func (f *fleetProcess) setReady(all []istio.Endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = all
	if f.orders == nil {
		return
	}
	if err := f.tell(f.readiness()); err != nil {
		f.fail(&partFault{"proxies", err})
	}
}

// readiness is the order that says who is Ready (see package xdsfleet).
func (f *fleetProcess) readiness() map[string]any {
	ready := []string{}
	for _, e := range f.ready {
		ready = append(ready, e.Name+"="+e.Address)
	}
	return map[string]any{"ready": ready}
}

// tell writes an order. Holds the lock.
func (f *fleetProcess) tell(order map[string]any) error {
	line, err := json.Marshal(order)
	if err != nil {
		return err
	}
	if err := f.orders.SetWriteDeadline(time.Now().Add(orderLimit)); err != nil { // of the kernel's clock, which no test replaces
		return err
	}
	if _, err := f.orders.Write(append(line, '\n')); err != nil && f.process.Running() { // else its end is told by its witness
		return fmt.Errorf("the fleet of proxies does not read what it is told: %w", err)
	}
	return nil
}

func (f *fleetProcess) start(ctx context.Context, args []string, w *witness) (*witness, error) {
	stdin, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	lines, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, orders.Close())
	}
	defer stdout.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process, err = f.host.Supervisor().Start(ctx, process.Spec{
		Name: "proxies", Path: f.binary, Args: args, LogPath: filepath.Join(f.host.LogDir(), "proxies.log"), Stdin: stdin, Stdout: stdout,
	})
	if err != nil {
		return nil, errors.Join(err, orders.Close(), lines.Close())
	}
	w.why = f.ended
	f.orders, f.witness = orders, w
	go w.read(lines)
	return w, f.tell(f.readiness())
}

// ended is how the process ended.
func (f *fleetProcess) ended() error {
	<-f.process.Done()
	return f.process.Err()
}

func (f *fleetProcess) grow(_ context.Context, _, more int, over time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tell(map[string]any{"grow": more, "over": over.String()})
}

// hangUp: the fleet is told nothing any more.
func (f *fleetProcess) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.orders.Close()
	f.orders = nil
	close(f.witness.stopping)
}

func (f *fleetProcess) end(ctx context.Context) error {
	f.hangUp()
	_ = f.process.Ask(syscall.SIGTERM)
	err := f.witness.ended(ctx)
	return errors.Join(err, f.process.Stop(ctx, endTime))
}

func (f *fleetProcess) kill(ctx context.Context) {
	f.hangUp()
	_ = f.process.Kill(ctx)
	<-f.witness.done
}

// fleetPods are fleets in pods of the run's namespace, one more for each growth,
// for which kube-proxy chooses the replica: that of one node, where all of them are.
type fleetPods struct {
	proxies *proxies
	client  *incluster.Client
	image   string
	// follow records what kube-proxy says in its log.
	follow func(of incluster.Container)

	args []string
	pods []*podWitness
	node string
}

func (f *fleetPods) start(ctx context.Context, args []string, w *witness) (*witness, error) {
	f.args = append(args, "-istiod="+istio.XDSAddress(istio.Namespace), "-identify")
	w, err := f.startPod(ctx, fleetName, f.args, w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, scheduleLimit, fmt.Errorf("the pod of the proxies was not scheduled within %s", scheduleLimit))
	defer cancel()
	if f.node, err = f.client.NodeOf(ctx, f.pods[0].pod); err != nil {
		return nil, err
	}
	of, err := f.kubeProxy(ctx)
	if err != nil {
		return nil, err
	}
	f.follow(of)
	return w, nil
}

// scheduleLimit is far beyond what a scheduler takes on a busy machine.
const scheduleLimit = time.Minute

// kubeProxy is the container of the one that leads the proxies, under the names that
// kubeadm gives it (cmd/kubeadm/app/phases/addons/proxy/manifests.go:77, v1.37.2).
func (f *fleetPods) kubeProxy(ctx context.Context) (incluster.Container, error) {
	pods, err := f.client.Kube.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy", FieldSelector: "spec.nodeName=" + f.node})
	if err != nil {
		return incluster.Container{}, fmt.Errorf("finding kube-proxy: %w", err)
	}
	if n := len(pods.Items); n != 1 {
		return incluster.Container{}, fmt.Errorf("%d pods of kube-proxy on node %s, expected the one that leads the proxies to istiod", n, f.node)
	}
	return incluster.Container{Namespace: metav1.NamespaceSystem, Pod: pods.Items[0].Name, Name: "kube-proxy"}, nil
}

func (f *fleetPods) startPod(ctx context.Context, name string, args []string, w *witness) (*witness, error) {
	pod := f.proxies.run.clientPod("proxies-"+name, name, f.image, args)
	pod.Spec.NodeName = f.node // of the first, for those that come later
	p, err := startPod(ctx, f.client, pod, w)
	if err != nil {
		return nil, err
	}
	f.pods = append(f.pods, p)
	return w, nil
}

// grow starts another fleet, whose arguments come after those of the first. Those
// that join begin a whole life, as in the first.
func (f *fleetPods) grow(ctx context.Context, total, more int, over time.Duration) error {
	name := fleetName + "-" + strconv.Itoa(len(f.pods))
	args := append(f.args[:len(f.args):len(f.args)], "-client="+name, "-first="+strconv.Itoa(total), "-proxies="+strconv.Itoa(more), "-over="+over.String(), "-together=true")
	_, err := f.startPod(ctx, name, args, f.proxies.witness(name))
	return err
}

func (f *fleetPods) end(ctx context.Context) error {
	var errs []error
	for _, p := range f.pods {
		errs = append(errs, p.end(ctx))
	}
	return errors.Join(errs...)
}

// kill has nothing to do: pods end with their namespace or cluster.
func (f *fleetPods) kill(context.Context) {}
