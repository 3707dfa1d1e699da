package record

// AddSampler adds a sampler before Start: what is sampled may need a log that
// the recorder takes already, as a controller under test does.
func (r *Recorder) AddSampler(s Sampler) { r.cfg.Samplers = append(r.cfg.Samplers, s) }
