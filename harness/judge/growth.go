package judge

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Growth: by how much a counter, such as the reconciles of a controller, grows inside
// the window: from Min to Max, both included. Samplers keep only what changed, so a
// counter that stands still is told from one that nobody read by Alive, as in Quiet.
type Growth struct {
	Of         string
	Min, Max   float64 // Max may be Unbounded
	Alive      string
	MaxSilence time.Duration
	Window     series.Window
}

func (c Growth) Series() []string { return withWitness(c.Of, c.Alive) }

func (c Growth) Predicted() string {
	if c.Max >= Unbounded {
		return fmt.Sprintf("grows by at least %.6g", c.Min)
	}
	if c.Min <= 0 {
		return fmt.Sprintf("grows by at most %.6g", c.Max)
	}
	return fmt.Sprintf("grows by %.6g to %.6g", c.Min, c.Max)
}

func (c Growth) Eval(set *series.Set) (Finding, error) {
	s, in, less, err := view(set, c.Of, c.Window)
	if err != nil || less != nil {
		return deref(less), err
	}
	first, known := s.At(in.From)
	if !known {
		return inconclusive(0, "no sample of %s before the window", c.Of), nil
	}
	if c.Alive != "" {
		alive, err := set.Get(c.Alive)
		if err != nil {
			return Finding{}, err
		}
		if d := silence(alive, in); d > c.MaxSilence {
			return inconclusive(0, "%s gave no sign of life for %s, so what %s shows proves nothing", c.Alive, seconds(d), c.Of), nil
		}
	}
	last, _ := s.At(in.To)
	by := last.Value.Num - first.Value.Num
	f := Finding{Status: Held, Observed: fmt.Sprintf("grew by %.6g", by), Samples: len(s.Changes(in))}
	switch {
	case by < 0:
		return inconclusive(f.Samples, "%s fell, so it was reset inside the window", c.Of), nil
	case by < c.Min, by > c.Max:
		f.Status = Broken
		f.Why = fmt.Sprintf("%s went from %.6g to %.6g", c.Of, first.Value.Num, last.Value.Num)
		f = f.at(last)
	}
	return hidden(set, in, true, f, c.Of), nil
}
