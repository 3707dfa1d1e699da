package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// schedule sends request k at start + k/rate, whatever became of the others: an
// open loop. A request that cannot be sent in time is sent at once.
type schedule struct {
	cfg   Config
	start time.Time
	bins  *bins
	// send sends one request and waits for its answer until the context ends.
	send func(context.Context) outcome

	slots   chan struct{} // one for each request in flight
	flights sync.WaitGroup
}

// run sends until ctx ends or the duration is over, and returns when all
// requests have ended. What ctx holds is passed on to the requests, but they
// end by their own time limit.
func (s *schedule) run(ctx context.Context) {
	s.slots = make(chan struct{}, s.cfg.MaxInFlight)
	requests := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var k int64
	for at := time.Duration(0); ; {
		stopped := false
		select {
		case <-timer.C:
		case <-ctx.Done():
			stopped = true
		}
		at = time.Since(s.start)
		if s.cfg.Duration > 0 && at >= s.cfg.Duration {
			at, stopped = s.cfg.Duration, true
		}
		for ; s.due(k) < at; k++ {
			s.launch(requests, s.due(k))
		}
		if stopped {
			s.bins.stop(at)
			s.flights.Wait()
			return
		}
		s.bins.passed(at)
		timer.Reset(s.wake(k, at) - time.Since(s.start))
	}
}

// due is when a request is due, since the start.
func (s *schedule) due(k int64) time.Duration {
	return time.Duration(float64(k) * float64(time.Second) / s.cfg.Rate)
}

// wake is when there is something to do next: a request is due, a bin is over
// or the end is reached. One nanosecond more, since due and over are what lies
// before now.
func (s *schedule) wake(k int64, at time.Duration) time.Duration {
	next := min(s.due(k), at-at%s.cfg.Bin+s.cfg.Bin)
	if s.cfg.Duration > 0 {
		next = min(next, s.cfg.Duration)
	}
	return next + 1
}

// launch sends one request, unless too many are in flight.
func (s *schedule) launch(ctx context.Context, due time.Duration) {
	late := time.Since(s.start) - due
	bin := s.bins.due(due, late)
	select {
	case s.slots <- struct{}{}:
	default:
		s.bins.end(bin, outcome{failure: recording.Failure{
			Cause: recording.ClientLimit, Text: fmt.Sprintf("%d requests are in flight", s.cfg.MaxInFlight),
		}}, 0)
		return
	}
	s.flights.Go(func() {
		defer func() { <-s.slots }()
		ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		o := s.send(ctx)
		s.bins.end(bin, o, time.Since(s.start)-due)
	})
}
