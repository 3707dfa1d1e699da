package mesh

import (
	"fmt"
	"time"
)

// Rules are what a proxy of the Service wrote, as kube-proxy does: the replicas among
// which connections choose until the next rules are in force. They may name replicas that
// have left, and miss some that are Ready. None refuses every connection.
type Rules struct {
	Since    Span // drawn uniformly
	Replicas []int
}

// A Span is between which times something happened.
type Span struct{ From, To time.Duration }

// DialTimeout is after how long pilot-agent takes a replica that does not answer for one
// that cannot be reached (RuleDial).
const DialTimeout = 5 * time.Second

// validateRules wants rules since 0, in order, and of replicas that have been Ready.
func (p Plan) validateRules() error {
	readyAt := make([]time.Duration, p.Replicas)
	for _, e := range p.sorted() {
		if e.Kind == ReplicaReady {
			readyAt = append(readyAt, e.At)
		}
	}
	var before Span
	for i, r := range p.Rules {
		if i == 0 && r.Since != before {
			return fmt.Errorf("the first rules are in force since %v: must be since 0", r.Since.From)
		}
		if i == 0 && len(r.Replicas) == 0 && p.Connections > 0 {
			return fmt.Errorf("%d connections at 0, and the rules name no replica", p.Connections)
		}
		if r.Since.To < r.Since.From || r.Since.From < before.To {
			return fmt.Errorf("rules are in force since between %v and %v: must be in order, and not before those before them", r.Since.From, r.Since.To)
		}
		before = r.Since
		for _, replica := range r.Replicas {
			if replica < 0 || replica >= len(readyAt) || r.Since.From < readyAt[replica] {
				return fmt.Errorf("rules since %v name replica %d, which has not been Ready by then", r.Since.From, replica)
			}
		}
	}
	return nil
}

// departed is a replica that left, to which rules may still lead. Times are of the run.
type departed struct {
	left      bool
	cut, over float64 // between these its connections end
	silent    float64 // since when nothing answers there
}

// refuses says whether nobody accepts any more.
func (d departed) refuses(t float64) bool { return d.left && t >= d.cut }

// between draws a time.
func (s *Simulator) between(from, to float64) float64 {
	if to <= from {
		return from
	}
	return from + s.uniform()*(to-from)
}

// drawRules draws since when the run's rules are in force.
func (s *Simulator) drawRules() {
	s.rulesAt = s.rulesAt[:0]
	for _, r := range s.plan.Rules {
		s.rulesAt = append(s.rulesAt, s.between(r.Since.From.Seconds(), r.Since.To.Seconds()))
	}
	s.rulesAt = append(s.rulesAt, never)
}

// enforce lets rules lead from now on.
func (s *Simulator) enforce(r Rules) {
	s.led = s.led[:0]
	for _, replica := range r.Replicas {
		s.led = append(s.led, int32(replica))
	}
}

// depart notes what becomes of a replica that rules may still lead to.
func (s *Simulator) depart(replica int32, how Departure, t float64) {
	d := departed{left: true, cut: t + how.From.Seconds(), over: t + how.To.Seconds()}
	d.silent = max(d.cut, s.between(t+how.Stops.From.Seconds(), t+how.Stops.To.Seconds()))
	s.gone[replica] = d
}

// inVain is an attempt at a replica that does not accept any more: when it fails, or what
// follows if it has.
func (s *Simulator) inVain(i int32, d departed, t float64) float64 {
	if t < d.silent {
		return s.backOff(i, t)
	}
	return s.fail(i, t+DialTimeout.Seconds())
}

// fail lets an attempt fail at a time that is told.
func (s *Simulator) fail(i int32, t float64) float64 {
	s.state[i] = fails
	return t
}

// keepWaiting is a connection that waits for its admission by a replica that leaves: it is
// admitted yet, or cut before.
func (s *Simulator) keepWaiting(i int32, d departed) {
	if !d.refuses(s.starts[i]) {
		return
	}
	s.stamp[i]++
	s.queue.push(entry{s.fail(i, d.cut), i, s.stamp[i]})
}
