package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"reckon.dev/reckon/harness/cgroup"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/toolchain"
)

// controlPlane is istiod's replicas, wherever they run, and the proxies.
type controlPlane struct {
	istiods
	*proxies
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

// observer records what becomes of replicas and samples each. Those that are Ready
// are told to ready.
func (r *run) observer(fail context.CancelCauseFunc, rec *record.Recorder, ready func([]istio.Endpoint)) istio.Observer {
	return istio.Observer{
		Now:   rec.Now,
		Event: func(e recording.Replica) { rec.Observe(recording.Fact{Replica: &e}) },
		Ready: ready,
		Began: func(ctx context.Context, replica string, metrics incluster.Endpoint) {
			go rec.Sample(ctx, record.Metrics(istio.Name+"/"+replica, sampleInterval, record.Page{
				URL: metrics.URL, HTTP: metrics.HTTP, Prefixes: istiodMetrics, Buckets: istiodBuckets, Labels: map[string]string{"replica": replica},
			}))
		},
		Limited: func(ctx context.Context, replica string, read func() (cgroup.Stat, error)) {
			machine(rec, runtime.NumCPU())
			go rec.Sample(ctx, limitSampler(replica, read))
		},
		Fail: func(err error) { fail(&partFault{istio.Name, err}) },
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

// istiodOf finds istiod at a version: empty is the cell's. Another one must have
// been built, which takes longer than any script waits.
func (r *run) istiodOf(ctx context.Context, version string) (toolchain.Artifact, error) {
	if version == "" || version == r.cell.Versions[scenario.Istiod] {
		return r.parts[scenario.Istiod], nil
	}
	dir, v := plan.SplitVersion(version)
	req := toolchain.Request{Component: scenario.Istiod, Version: v, Dir: dir}
	if !r.engine.Builder.Cached(ctx, req) {
		return toolchain.Artifact{}, fmt.Errorf("istiod %s is not built: reckon build %s@%s", version, scenario.Istiod, version)
	}
	return r.engine.Builder.Build(ctx, req)
}

// census is what is known of which proxies have begun and were admitted.
type census struct {
	mu              sync.Mutex
	begun, admitted map[string]bool
	waiting         []headcount
}

// headcount is somebody who waits for so many.
type headcount struct {
	begun, admitted int
	reached         chan struct{}
}

func newCensus() *census { return &census{begun: map[string]bool{}, admitted: map[string]bool{}} }

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
	default:
		return
	}
	c.waiting = slices.DeleteFunc(c.waiting, c.tell)
}

// tell says whether a headcount is reached. Holds the lock.
func (c *census) tell(h headcount) bool {
	reached := len(c.begun) >= h.begun && len(c.admitted) >= h.admitted
	if reached {
		close(h.reached)
	}
	return reached
}

// reached is closed once so many have begun and so many were ever admitted.
func (c *census) reached(begun, admitted int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := headcount{begun, admitted, make(chan struct{})}
	if !c.tell(h) {
		c.waiting = append(c.waiting, h)
	}
	return h.reached
}
