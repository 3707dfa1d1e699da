package record

import (
	"context"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// minSampleTime is what a sample may take at least, however short its interval.
const minSampleTime = 5 * time.Second

// Sampler measures something again and again.
//
// Ticks are scheduled at whole intervals from the first sample on. One that
// comes more than an interval late is recorded as late, by how much, and the
// ticks missed meanwhile are left out. A sample that fails is recorded as a
// line of the log of "sampler/<name>": a component that restarts cannot be
// asked, and that does not make the run invalid.
type Sampler struct {
	Name     string
	Interval time.Duration
	Sample   func(ctx context.Context) ([]recording.Sample, error)
}

// sample runs a sampler until ctx ends. It reports the first success, or the
// last error when there was none before startCtx ended.
func (r *Recorder) sample(ctx, startCtx context.Context, s Sampler, ready func(error)) {
	if err := r.firstSample(startCtx, s); err != nil {
		ready(fmt.Errorf("sampler %s: %w", s.Name, err))
		return
	}
	next := r.clock.Now()
	ready(nil)
	for {
		next = next.Add(s.Interval)
		if !r.sleepUntil(ctx, next) {
			return
		}
		if late := r.clock.Now().Sub(next); late > s.Interval {
			r.emit(recording.Fact{Late: &recording.Late{Sampler: s.Name, ByNS: int64(late)}})
			next = next.Add(late / s.Interval * s.Interval)
		}
		if err := r.sampleOnce(ctx, s); err != nil && ctx.Err() == nil {
			r.LogLine("sampler/" + s.Name)(err.Error())
		}
	}
}

func (r *Recorder) firstSample(ctx context.Context, s Sampler) error {
	if s.Interval <= 0 {
		return fmt.Errorf("interval %s is not positive", s.Interval)
	}
	for {
		err := r.sampleOnce(ctx, s)
		if err == nil {
			return nil
		}
		if !r.sleepUntil(ctx, r.clock.Now().Add(min(s.Interval, maxBackoff))) {
			return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
		}
	}
}

func (r *Recorder) sampleOnce(ctx context.Context, s Sampler) error {
	ctx, cancel := context.WithTimeout(ctx, max(s.Interval, minSampleTime))
	defer cancel()
	samples, err := s.Sample(ctx)
	if err != nil {
		return err
	}
	facts := make([]recording.Fact, len(samples))
	for i := range samples {
		facts[i] = recording.Fact{Sample: &samples[i]}
	}
	r.emit(facts...)
	return nil
}

// sleepUntil returns false when ctx ended first.
func (r *Recorder) sleepUntil(ctx context.Context, at time.Time) bool {
	timer := r.clock.NewTimer(at.Sub(r.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
