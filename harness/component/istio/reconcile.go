package istio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/process"
	"reckon.dev/reckon/harness/recording"
)

// serving are the replicas that were not taken away. Holds the lock.
func (p *Processes) serving() []*replica {
	return slices.DeleteFunc(slices.Clone(p.replicas), func(r *replica) bool { return r.how != "" })
}

// reconcile starts and ends replicas, by the rules of a Deployment that never has
// fewer Ready ones than are wanted (syncRollingUpdate,
// pkg/controller/deployment/rolling.go, Kubernetes 1.37). Holds the lock.
func (p *Processes) reconcile() {
	if p.closed || p.err != nil {
		return
	}
	old, latest, ready := p.generations()
	room := p.spec.Replicas - len(latest) - p.awaited
	if len(old) > 0 {
		room = min(room, p.spec.Replicas+p.surge-len(old)-len(latest)-p.awaited)
	}
	for range room { // none if it is negative
		p.start()
	}
	p.shrink(latest)
	for _, r := range old {
		switch {
		case !r.ready:
			p.take("SIGTERM", r)
		case ready > p.spec.Replicas:
			p.take("SIGTERM", r)
			ready--
		}
	}
}

// generations sorts the serving replicas by whether they are of the latest spec,
// and counts the Ready ones of both kinds. Holds the lock.
func (p *Processes) generations() (old, latest []*replica, ready int) {
	for _, r := range p.serving() {
		if r.ready {
			ready++
		}
		if r.generation == p.generation {
			latest = append(latest, r)
		} else {
			old = append(old, r)
		}
	}
	return old, latest, ready
}

// shrink ends what is more than wanted of the latest spec: those first that are
// not there yet, then the youngest. Holds the lock.
func (p *Processes) shrink(latest []*replica) {
	surplus := len(latest) + p.awaited - p.spec.Replicas
	if surplus <= 0 {
		return
	}
	spared := min(surplus, p.awaited)
	p.awaited -= spared
	if n := min(surplus-spared, len(latest)); n > 0 {
		p.take("SIGTERM", latest[len(latest)-n:]...)
	}
}

// start starts a replica of the spec. Holds the lock.
func (p *Processes) start() {
	name := fmt.Sprintf("istiod-%d", p.next)
	got, err := p.cfg.Ports(3)
	if err != nil {
		p.fail(fmt.Errorf("ports of %s: %w", name, err))
		return
	}
	at := ports{http: got[0], xds: got[1], metrics: got[2]}
	r := &replica{name: name, address: loopback(at.xds), metrics: loopback(at.metrics), generation: p.generation}
	if err := p.launch(r, p.command(name, at)); err != nil {
		p.fail(err)
		return
	}
	p.next++
	ctx, cancel := context.WithCancel(p.ctx)
	r.unwatch = cancel
	p.replicas = append(p.replicas, r)
	p.event(r, recording.ReplicaStarted, p.cfg.Now())
	p.cfg.Began(ctx, name, incluster.Endpoint{URL: "http://" + r.metrics + "/metrics", HTTP: p.http}, r.process.PID())
	if r.group != nil {
		p.cfg.Limited(ctx, name, r.group.Stat)
	}
	p.tasks.Go(func() { p.probe(ctx, r, "http://"+loopback(at.http)+"/ready") })
	p.tasks.Go(func() { p.reap(r) })
}

// launch starts the process of a replica, inside of its limit.
func (p *Processes) launch(r *replica, spec process.Spec) (err error) {
	if r.group, err = confine(quota.Limit(p.spec.CPULimit), &spec); err != nil {
		return err
	}
	if r.process, err = p.cfg.Supervisor.Start(p.ctx, spec); err != nil {
		return errors.Join(err, r.release())
	}
	return nil
}

// take takes replicas away: out of the sight of new connections first, all of
// them, and then by a signal. Holds the lock.
func (p *Processes) take(how string, doomed ...*replica) {
	if len(doomed) == 0 {
		return
	}
	at := p.cfg.Now()
	for _, r := range doomed {
		r.how = how
		if r.ready {
			r.ready = false
			p.event(r, recording.ReplicaUnready, at)
		}
	}
	p.publish()
	for _, r := range doomed {
		if sig, ok := signals[how]; ok {
			_ = r.process.Ask(sig) // it may have ended by itself: that is noticed in reap
		}
		switch how {
		case "SIGSTOP":
			r.unwatch()
		case "SIGTERM":
			p.tasks.Go(func() { p.insist(r) })
		}
	}
}

// insist kills a replica that does not end when it is told to.
func (p *Processes) insist(r *replica) {
	select {
	case <-r.process.Done():
	case <-p.ctx.Done():
	case <-p.cfg.Clock.After(terminationGrace):
		_ = r.process.Ask(syscall.SIGKILL)
	}
}

// reap sees a replica to its end.
func (p *Processes) reap(r *replica) {
	<-r.process.Done()
	at := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	r.unwatch()
	p.replicas = slices.DeleteFunc(p.replicas, func(other *replica) bool { return other == r })
	if r.ready {
		r.ready = false
		p.event(r, recording.ReplicaUnready, at)
	}
	p.event(r, recording.ReplicaGone, at)
	if err := r.process.Err(); r.how == "" && err != nil { // none: it ended with its cluster
		p.fail(err)
	}
	_ = r.release() // what stays is swept when the next group is made
	p.publish()
	p.reconcile()
}

// probe looks at a replica's readiness until ctx ends. Without a look there is no
// way to know: istiod says it over HTTP only.
func (p *Processes) probe(ctx context.Context, r *replica, url string) {
	tick := p.cfg.Clock.NewTicker(probeInterval)
	defer tick.Stop()
	limit := p.cfg.Clock.NewTimer(readyLimit)
	defer limit.Stop()
	overdue, failures := limit.C(), 0
	for {
		ready := p.isReady(ctx, url)
		at := p.cfg.Now()
		if failures++; ready {
			overdue, failures = nil, 0
		}
		if ready || failures >= failureThreshold {
			p.see(ctx, r, ready, at)
		}
		select {
		case <-tick.C():
		case <-overdue:
			p.mu.Lock()
			p.fail(fmt.Errorf("%s was not Ready within %s; its log ends:\n%s", r.name, readyLimit, strings.Join(r.process.Tail(failureLines), "\n")))
			p.mu.Unlock()
			return
		case <-ctx.Done():
			return
		}
	}
}

func (p *Processes) isReady(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the connection is used again
	return resp.StatusCode == http.StatusOK
}

// see takes in what a look at a replica showed.
func (p *Processes) see(ctx context.Context, r *replica, ready bool, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || r.how != "" || r.ready == ready {
		return
	}
	r.ready = ready
	what := recording.ReplicaUnready
	if ready {
		what = recording.ReplicaReady
	}
	p.event(r, what, at)
	p.publish()
	p.reconcile()
}

func (p *Processes) event(r *replica, what recording.ReplicaEvent, at time.Duration) {
	p.cfg.Event(recording.Replica{Name: r.name, Event: what, AtNS: int64(at), How: r.how})
}

// publish tells who connects, and who waits. Holds the lock.
func (p *Processes) publish() {
	var ready []Endpoint
	for _, r := range p.replicas {
		if r.ready {
			ready = append(ready, Endpoint{r.name, r.address})
		}
	}
	p.cfg.Ready(ready)
	p.wake()
}

// wake wakes those who wait for a change. Holds the lock.
func (p *Processes) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// fail ends the run, once. Holds the lock.
func (p *Processes) fail(err error) {
	if p.closed || p.err != nil {
		return
	}
	p.err = err
	p.cfg.Fail(err)
	p.wake()
}
