package record

import (
	"context"

	"reckon.dev/reckon/harness/recording"
)

// AddSampler adds a sampler before Start: what is sampled may need a log that
// the recorder takes already, as a controller under test does.
func (r *Recorder) AddSampler(s Sampler) { r.cfg.Samplers = append(r.cfg.Samplers, s) }

// Observe records what somebody else measured, as received now: a client of the
// traffic, say, whose facts carry their own times.
func (r *Recorder) Observe(f recording.Fact) { r.emit(f) }

// Sample runs a sampler until ctx ends, or the recorder stops: of what comes and
// goes while a script plays, such as a replica of istiod. Until its first success
// its errors are not recorded.
func (r *Recorder) Sample(ctx context.Context, s Sampler) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.sample(ctx, ctx, s, func(error) {})
}
