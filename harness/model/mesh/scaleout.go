package mesh

import (
	"fmt"
	"math"
	"time"
)

// A ScaleOut is replicas that become Ready at 0 beside those that a fleet in equilibrium
// is connected to. Connections may join at the same time; they choose among all.
type ScaleOut struct {
	Connections int // before
	Joining     int
	From, To    int // Ready replicas before and after
	Lifetime    Lifetime
}

// Validate refuses what is no scale-out.
func (s ScaleOut) Validate() error {
	switch {
	case s.From < 1:
		return fmt.Errorf("a scale-out from %d replicas: at least one must be Ready before", s.From)
	case s.To < s.From:
		return fmt.Errorf("a scale-out from %d to %d replicas: the number must not fall", s.From, s.To)
	case s.Connections < 0 || s.Joining < 0:
		return fmt.Errorf("%d connections and %d joining: both must be 0 or more", s.Connections, s.Joining)
	}
	return s.Lifetime.Validate()
}

// Fleet is what there is in the end.
func (s ScaleOut) Fleet() Fleet { return Fleet{s.Connections + s.Joining, s.To, s.Lifetime} }

// Unmoved is the share of all connections that have not yet chosen among all replicas.
func (s ScaleOut) Unmoved(t time.Duration) float64 {
	all := s.Connections + s.Joining
	if all <= 0 {
		return 0
	}
	return s.Lifetime.Unmoved(t) * float64(s.Connections) / float64(all)
}

// CoV is sqrt(unmoved^2*(To-From)/From*(1-1/N) + floor^2) at t: the root of the mean square
// over runs, which is exact for clients that reconnect at once.
func (s ScaleOut) CoV(t time.Duration) float64 {
	return excess(s.Unmoved(t), float64(s.From), s.Fleet())
}

// excess is the CoV of a fleet of which a share sits on a few of its replicas only, and
// the rest on all: the counts are multinomial. 0 without connections.
func excess(unmoved, carriers float64, f Fleet) float64 {
	if f.Connections <= 0 {
		return 0
	}
	between := unmoved * concentration(f.Replicas, carriers)
	return math.Sqrt(between*between*(1-1/float64(f.Connections)) + f.Floor()*f.Floor())
}

// concentration is the CoV of connections that all sit evenly on some of k replicas.
func concentration(k int, carriers float64) float64 {
	if carriers <= 0 || float64(k) <= carriers {
		return 0
	}
	return math.Sqrt((float64(k) - carriers) / carriers)
}

// OldOverMean is what a replica that was there before is expected to have, in means of
// all.
func (s ScaleOut) OldOverMean(t time.Duration) float64 {
	unmoved := s.Unmoved(t)
	if s.From < 1 {
		return 0
	}
	return unmoved*float64(s.To)/float64(s.From) + 1 - unmoved
}

// NewMean is how many connections a new replica is expected to have.
func (s ScaleOut) NewMean(t time.Duration) float64 {
	if s.To < 1 {
		return 0
	}
	return (1 - s.Unmoved(t)) * float64(s.Connections+s.Joining) / float64(s.To)
}

// HardEnd is when the last connection from before has ended. An endless life has none:
// the fleet stays as uneven as it is.
func (s ScaleOut) HardEnd() (time.Duration, bool) {
	return s.Lifetime.Longest(), !s.Lifetime.Endless()
}

// EvenAt is when the expected CoV falls to what counts as even, by bisection. With an
// endless life that may be never.
func (s ScaleOut) EvenAt() (time.Duration, bool) {
	limit := s.Fleet().EvenBelow()
	if s.CoV(0) <= limit {
		return 0, true
	}
	end, ends := s.HardEnd()
	if !ends {
		return 0, false
	}
	from := time.Duration(0)
	for end-from > time.Millisecond {
		if middle := from + (end-from)/2; s.CoV(middle) > limit {
			from = middle
		} else {
			end = middle
		}
	}
	return end, true
}

// Plan is the scale-out for the simulator, with a proxy's gap and no request limit, read
// each second until a fifth of the longest life after the end, an hour if it is endless.
func (s ScaleOut) Plan() Plan {
	return Plan{
		Connections: s.Connections, Replicas: s.From, Lifetime: s.Lifetime, Start: Equilibrium, Gap: EnvoyGap,
		Events:   append(Ready(make([]time.Duration, max(0, s.To-s.From))...), Arrive(s.Joining, 0, 0)...),
		Readings: Every(time.Second, horizon(s.Lifetime)),
	}
}

// horizon is when everything has chosen anew, and some time after that.
func horizon(l Lifetime) time.Duration {
	if l.Endless() {
		return time.Hour
	}
	return l.Longest() + l.Longest()/5
}
