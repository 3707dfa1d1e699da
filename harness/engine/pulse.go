package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
)

// sentSeries counts every answer that istiod sends, asked for or not
// (pilot/pkg/xds/monitoring.go, pilot_xds_pushes, istio 1.31).
const sentSeries = "pilot_xds_pushes"

// pulse is since when each replica of istiod has sent nothing, as far as its metrics
// were looked at.
type pulse struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	replicas map[string]*silence
	changed  chan struct{}
}

// silence is a time for which a replica has sent nothing: from the look that first
// did not show anything new to the latest one.
type silence struct{ from, to time.Time }

func newPulse(c clock.PassiveClock) *pulse {
	return &pulse{clock: c, replicas: map[string]*silence{}, changed: make(chan struct{})}
}

// watch is a sampler of a replica's metrics that is looked at too, until ctx ends.
func (p *pulse) watch(ctx context.Context, replica string, s record.Sampler) record.Sampler {
	context.AfterFunc(ctx, func() { p.forget(replica) })
	sample := s.Sample
	s.Sample = func(of context.Context) ([]recording.Sample, error) {
		begun := p.clock.Now()
		out, err := sample(of)
		if err == nil && ctx.Err() == nil {
			p.look(replica, begun, slices.ContainsFunc(out, func(s recording.Sample) bool { return s.Series == sentSeries }))
		}
		return out, err
	}
	return s
}

func (p *pulse) look(replica string, at time.Time, sent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.replicas[replica]
	if s == nil || sent {
		s = &silence{from: at}
		p.replicas[replica] = s
	}
	s.to = at
	p.wake()
}

func (p *pulse) forget(replica string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.replicas, replica)
	p.wake()
}

// wake wakes those who wait. Holds the lock.
func (p *pulse) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// quiet says whether every replica has sent nothing for so long since then, and there
// is one at all. What it returns beside is closed when that may have changed.
func (p *pulse) quiet(since time.Time, long time.Duration) (bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.replicas {
		from := s.from
		if from.Before(since) {
			from = since
		}
		if s.to.Sub(from) < long {
			return false, p.changed
		}
	}
	return len(p.replicas) > 0, p.changed
}

// AwaitQuiet waits until no replica has sent anything for so long from now on.
func (p *pulse) AwaitQuiet(ctx context.Context, long, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, stage.ErrNotReached)
	defer cancel()
	since := p.clock.Now()
	for {
		quiet, changed := p.quiet(since, long)
		if quiet {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, stage.ErrNotReached) {
				return err
			}
			return fmt.Errorf("%s in which no istiod sends anything: %w within %s", long, stage.ErrNotReached, limit)
		}
	}
}
