package mesh

import (
	"fmt"
	"math"
	"time"
)

// What a client adds to the age, from the server's GOAWAY to the end of its stream.
const (
	// WaitsForCut is a client that stays until the server cuts, as pilot-agent does:
	// istiod's grace of 10 s, for which it has no flag, and the second that grpc-go waits
	// before it closes the connection.
	WaitsForCut = 11 * time.Second
	// ClosesOnGoAway is a client that leaves as soon as it is told.
	ClosesOnGoAway = time.Duration(0)
)

// jitter is the share of the age by which grpc-go shortens or lengthens it at most.
const jitter = 0.1

// A Lifetime is how long a connection lives: Age*U(1-jitter, 1+jitter) + Grace, drawn once
// for each connection.
type Lifetime struct {
	Age   time.Duration // keepaliveMaxServerConnectionAge; 0 is for ever, as it is to grpc-go
	Grace time.Duration // WaitsForCut or ClosesOnGoAway
}

// Validate refuses negative durations, and an age under a second, in which nothing that
// the model leaves out is short.
func (l Lifetime) Validate() error {
	if l.Age < 0 || l.Grace < 0 || l.Age > 0 && l.Age < time.Second {
		return fmt.Errorf("connection age %v and grace %v: the age must be 0 (for ever) or at least 1s, the grace 0 or more", l.Age, l.Grace)
	}
	return nil
}

// Endless says that the server ends no connection.
func (l Lifetime) Endless() bool { return l.Age <= 0 }

// Mean is the mean life, 0 of an endless one.
func (l Lifetime) Mean() time.Duration { return l.at(1) }

// Shortest is the shortest life, 0 of an endless one.
func (l Lifetime) Shortest() time.Duration { return l.at(1 - jitter) }

// Longest is the longest life, 0 of an endless one.
func (l Lifetime) Longest() time.Duration { return l.at(1 + jitter) }

func (l Lifetime) at(share float64) time.Duration {
	if l.Endless() {
		return 0
	}
	return duration(share*l.Age.Seconds()) + l.Grace
}

// Life is the life of a connection given a number from 0 to 1, 0 of an endless one.
func (l Lifetime) Life(u float64) time.Duration { return l.at(1 - jitter + 2*jitter*u) }

// Residual is what is left of a connection that is met at a random time, given a number
// from 0 to 1: a long life is met more often. It is the inverse of 1-Unmoved, and 0 of an
// endless life.
func (l Lifetime) Residual(u float64) time.Duration {
	if l.Endless() {
		return 0
	}
	c := l.seconds()
	return duration(c.residual(u))
}

// Alive is the share of the connections made at 0 that are still there at t.
func (l Lifetime) Alive(t time.Duration) float64 {
	if l.Endless() || t <= l.Shortest() {
		return 1
	}
	if t >= l.Longest() {
		return 0
	}
	return (l.Longest() - t).Seconds() / (2 * jitter * l.Age.Seconds())
}

// Unmoved is the share of the connections of a fleet in equilibrium that have not ended
// since 0: 1-t/mean until the shortest life, then the rest of a parabola, 0 from the
// longest.
func (l Lifetime) Unmoved(t time.Duration) float64 {
	if l.Endless() || t <= 0 {
		return 1
	}
	if t >= l.Longest() {
		return 0
	}
	mean := l.Mean().Seconds()
	if t <= l.Shortest() {
		return 1 - t.Seconds()/mean
	}
	left := (l.Longest() - t).Seconds()
	return left * left / (4 * jitter * l.Age.Seconds() * mean)
}

// Harmonic is what is left, after one generation, of the amplitude of connections that
// were all made at once: the first harmonic of the jitter. 1 of an endless life, whose
// connections are never made again.
func (l Lifetime) Harmonic() float64 {
	if l.Endless() {
		return 1
	}
	x := 2 * jitter * math.Pi * l.Age.Seconds() / l.Mean().Seconds()
	return math.Sin(x) / x
}

// HalfLife is the time in which that amplitude halves. An endless life has none.
func (l Lifetime) HalfLife() (time.Duration, bool) {
	if l.Endless() {
		return 0, false
	}
	generations := math.Log(0.5) / math.Log(l.Harmonic())
	return duration(generations * l.Mean().Seconds()), true
}

// Wave is when the connections that were all made at 0 end for the n-th time; the first
// is n 1. From and to are 0 of an endless life.
func (l Lifetime) Wave(n int) (from, to time.Duration) {
	return time.Duration(n) * l.Shortest(), time.Duration(n) * l.Longest()
}

// seconds is a lifetime for the simulator's loop.
type seconds struct {
	shortest, width, longest, mean float64
	endless                        bool
}

func (l Lifetime) seconds() seconds {
	return seconds{
		shortest: l.Shortest().Seconds(),
		width:    2 * jitter * l.Age.Seconds(),
		longest:  l.Longest().Seconds(),
		mean:     l.Mean().Seconds(),
		endless:  l.Endless(),
	}
}

func (c seconds) life(u float64) float64 { return c.shortest + c.width*u }

func (c seconds) residual(u float64) float64 {
	if t := u * c.mean; t <= c.shortest {
		return t
	}
	return c.longest - math.Sqrt(max(0, 1-u)*2*c.width*c.mean)
}

func duration(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
