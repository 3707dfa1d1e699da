package mesh

import "time"

// A Path is one simulated run.
type Path struct {
	Readings []Reading
	Connects int // streams made after 0, first ones of arrivals included
	Refusals int // by the request limit
	// Outages are how long each orphan was without a replica that serves it, in seconds, in
	// the order in which they ended. Orphans are connections whose replica left.
	Outages []float64
	// Unserved is how many orphans were still without one at the last reading.
	Unserved int

	lastOrphan float64
	even       int // index of the reading, -1 for none
}

// A Reading is a fleet at one time. Connected, Hanging and Waiting are all connections.
type Reading struct {
	At          time.Duration
	CoV         float64 // over the Ready replicas; 0 without connections
	MaxOverMean float64 // 0 without connections
	Ready       int     // replicas
	Connected   int     // connections on Ready replicas
	Hanging     int     // connections on replicas that left, not yet noticed
	Waiting     int     // connections between an end and an admission
	Connects    int     // streams made since the reading before, or since 0
}

// Even is when the fleet is even again: the first of EvenFor readings in a row, after the
// last event, of which each is at most EvenBelow of the final fleet. Not ok if that did
// not happen. Readings must be about a second apart for the number to mean what it says.
func (p *Path) Even() (at time.Duration, ok bool) {
	if p.even < 0 {
		return 0, false
	}
	return p.Readings[p.even].At, true
}

// LastOrphan is when the last orphan was served again. Not ok if there was none, or if
// some never were.
func (p *Path) LastOrphan() (at time.Duration, ok bool) {
	return duration(p.lastOrphan), len(p.Outages) > 0 && p.Unserved == 0
}

func (p *Path) findEven(settled time.Duration, limit float64) {
	p.even = FirstEven(len(p.Readings), func(i int) bool {
		r := &p.Readings[i]
		return r.At >= settled && r.Connected > 0 && r.CoV <= limit
	})
}

// FirstEven is the index of the first of EvenFor readings in a row, of n, that are
// even; -1 if there are none.
func FirstEven(n int, even func(i int) bool) int {
	row := 0
	for i := range n {
		if !even(i) {
			row = 0
			continue
		}
		if row++; row == EvenFor {
			return i - EvenFor + 1
		}
	}
	return -1
}
