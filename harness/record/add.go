package record

import "reckon.dev/reckon/harness/recording"

// AddSampler adds a sampler before Start: what is sampled may need a log that
// the recorder takes already, as a controller under test does.
func (r *Recorder) AddSampler(s Sampler) { r.cfg.Samplers = append(r.cfg.Samplers, s) }

// Observe records what somebody else measured, as received now: a client of the
// traffic, say, whose facts carry their own times.
func (r *Recorder) Observe(f recording.Fact) { r.emit(f) }
