package controlplane

import (
	"slices"
	"time"

	"reckon.dev/reckon/harness/model/mesh"
)

// worst are the worst values of the guards' series.
type worst struct {
	without float64 // percent of the proxies
	hottest float64 // a ratio
}

const (
	// worstRuns is how many runs of the model it is the median of.
	worstRuns = 51
	// glance is between two readings: what is over sooner is no worst value.
	glance = 100 * time.Millisecond
)

// worstOf plays the plan, and reads it from a time on until it only gets better: a
// reading after the last event. Errors are those of the plan.
func worstOf(plan mesh.Plan, from time.Duration) (worst, error) {
	plan.Readings = mesh.Every(glance, plan.Settled()+reading)
	s, err := mesh.NewSimulator(plan)
	if err != nil {
		return worst{}, err
	}
	var path mesh.Path
	without, hottest := make([]float64, worstRuns), make([]float64, worstRuns)
	for run := range worstRuns {
		s.Run(seed+uint64(run), &path)
		for _, r := range path.Readings {
			if all := r.Connected + r.Hanging + r.Waiting; r.At >= from && all > 0 {
				without[run] = max(without[run], 100*float64(r.Waiting)/float64(all))
				hottest[run] = max(hottest[run], r.MaxOverMean)
			}
		}
	}
	slices.Sort(without)
	slices.Sort(hottest)
	return worst{without[worstRuns/2], hottest[worstRuns/2]}, nil
}
