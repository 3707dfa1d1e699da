package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"reckon.dev/reckon/harness/cgroup"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// controlPlane is istiod's replicas, wherever they run, and the proxies.
type controlPlane struct {
	istiods
	*proxies
	*pulse
}

var _ stage.ControlPlane = (*controlPlane)(nil)

// istiods are the replicas: istio.Processes or istio.Deployment.
type istiods interface {
	stage.Replicas
	Close(ctx context.Context) error
}

// scripted says whether the script decides over istiod and its proxies.
func (r *run) scripted() bool {
	return slices.Contains(r.scenario.Needs(r.params), cluster.ScriptedMesh)
}

// AwaitConnected waits until every proxy is connected to a replica that was not taken
// away.
func (c *controlPlane) AwaitConnected(ctx context.Context, limit time.Duration) error {
	return c.awaitConnected(ctx, c.Replicas(), limit)
}

// close ends the proxies, if they are still there, and the replicas.
func (c *controlPlane) close(ctx context.Context) error {
	c.abandon(ctx)
	return c.istiods.Close(ctx)
}

// istiodMetrics are the prefixes of what is sampled of each replica: connections,
// pushes, and what they cost.
var istiodMetrics = []string{
	"pilot_xds", "pilot_proxy_convergence_time", "pilot_proxy_queue_time", "pilot_push_triggers", "pilot_services", "process_",
	"go_goroutines", "go_gc_gomemlimit_bytes", "go_memstats_heap_alloc_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_stack_inuse_bytes",
	"go_memstats_sys_bytes", "go_memstats_next_gc_bytes", "go_memstats_alloc_bytes_total", "go_sched_",
}

// istiodBuckets are histograms of which quantiles would be guesses: most of what
// they count is in their first bucket.
var istiodBuckets = []string{"pilot_xds_push_time", "pilot_proxy_convergence_time"}

// memoryInterval is short: memory that a burst takes may be given back a second later.
const memoryInterval = 250 * time.Millisecond

// observer records what becomes of replicas and samples each. Those that are Ready
// are told to ready.
func (r *run) observer(fail context.CancelCauseFunc, rec *record.Recorder, pulse *pulse, ready func([]istio.Endpoint)) istio.Observer {
	return istio.Observer{
		Now:   rec.Now,
		Event: func(e recording.Replica) { rec.Observe(recording.Fact{Replica: &e}) },
		Ready: ready,
		Began: func(ctx context.Context, replica string, metrics incluster.Endpoint, pid int) {
			labels := map[string]string{"replica": replica}
			go rec.Sample(ctx, pulse.watch(ctx, replica, record.Metrics(istio.Name+"/"+replica, sampleInterval, record.Page{
				URL: metrics.URL, HTTP: metrics.HTTP, Prefixes: istiodMetrics, Buckets: istiodBuckets, Labels: labels,
			})))
			if pid > 0 {
				go rec.Sample(ctx, record.Memory("memory/"+replica, memoryInterval, pid, labels))
			}
		},
		Limited: func(ctx context.Context, replica string, read func() (cgroup.Stat, error)) {
			machine(rec, runtime.NumCPU())
			go rec.Sample(ctx, limitSampler(replica, read))
		},
		Sampled: func(s recording.Sample) { rec.Observe(recording.Fact{Sample: &s}) },
		Fail:    func(err error) { fail(&partFault{istio.Name, err}) },
	}
}

// machine records how many CPUs there are.
func machine(rec *record.Recorder, cpus int) {
	rec.Observe(recording.Fact{Sample: &recording.Sample{Series: recording.MachineCPUs, Value: float64(cpus)}})
}

// limitInterval is the kernel's period: what is used in one shows.
const limitInterval = quota.Period

// limitSampler samples what the kernel counts of a process with a limit, by the names
// that kubelets have for it. The use is read last, so that it holds all that was used
// in the periods that are counted.
func limitSampler(replica string, read func() (cgroup.Stat, error)) record.Sampler {
	labels := map[string]string{recording.ContainerLabel: recording.IstiodContainer, "replica": replica}
	return record.Sampler{Name: "cgroup/" + replica, Interval: limitInterval, Sample: func(context.Context) ([]recording.Sample, error) {
		s, err := read()
		if err != nil {
			return nil, err
		}
		of := func(name string, value float64) recording.Sample {
			return recording.Sample{Series: name, Labels: labels, Value: value}
		}
		return []recording.Sample{
			of(recording.CPUPeriods, float64(s.Periods)), of(recording.CPUThrottled, float64(s.Throttled)),
			of(recording.CPULost, s.Lost.Seconds()), of(recording.CPUUse, s.Use.Seconds()),
		}, nil
	}}
}

// istiodPart is the part that istiod is at a version of the cell's: empty is the first.
func (r *run) istiodPart(version string) (string, error) {
	if version == "" {
		return scenario.Istiod, nil
	}
	part := partOf(r.cell, scenario.Istiod, version)
	if _, ok := r.parts[part]; !ok {
		return "", fmt.Errorf("istiod %s is no version of this run", version)
	}
	return part, nil
}

// census is what is known of which proxies have begun, were admitted, and are
// connected to which replica.
type census struct {
	mu              sync.Mutex
	begun, admitted map[string]bool
	connected       map[string]string
	waiting         []headcount
}

// headcount is somebody who waits for so many.
type headcount struct {
	begun, admitted int
	// connected is how many are connected to one of the replicas.
	connected int
	to        []string
	reached   chan struct{}
}

func newCensus() *census {
	return &census{begun: map[string]bool{}, admitted: map[string]bool{}, connected: map[string]string{}}
}

// see takes in what became of a connection.
func (c *census) see(f recording.Fact) {
	if f.Connection == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.Connection.Event {
	case recording.Begun:
		c.begun[f.Connection.Proxy] = true
	case recording.Connected:
		c.admitted[f.Connection.Proxy] = true
		c.connected[f.Connection.Proxy] = f.Connection.Replica
	case recording.Closed, recording.Left:
		delete(c.connected, f.Connection.Proxy)
	default:
		return
	}
	c.waiting = slices.DeleteFunc(c.waiting, c.tell)
}

// tell says whether a headcount is reached. Holds the lock.
func (c *census) tell(h headcount) bool {
	reached := len(c.begun) >= h.begun && len(c.admitted) >= h.admitted && (h.connected == 0 || c.at(h.to) >= h.connected)
	if reached {
		close(h.reached)
	}
	return reached
}

// at counts those that are connected to one of the replicas. Holds the lock.
func (c *census) at(replicas []string) int {
	n := 0
	for _, replica := range c.connected {
		if slices.Contains(replicas, replica) {
			n++
		}
	}
	return n
}

// reached is closed once so many have begun and so many were ever admitted.
func (c *census) reached(begun, admitted int) <-chan struct{} {
	return c.await(headcount{begun: begun, admitted: admitted})
}

// reconnected is closed once so many are connected to one of the replicas.
func (c *census) reconnected(proxies int, to []string) <-chan struct{} {
	return c.await(headcount{connected: proxies, to: to})
}

func (c *census) await(h headcount) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.reached = make(chan struct{})
	if !c.tell(h) {
		c.waiting = append(c.waiting, h)
	}
	return h.reached
}
