package canary

import (
	"maps"
	"slices"
	"time"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
)

// Steps of the script around a course, which claims name as windows.
const (
	StepDeploy = "deploy v1"
	StepQuiet  = "quiet"
)

// A Leg is a named move of a course, and what the model does then. The name is that of
// the script's step, so no two legs of a course share one.
type Leg struct {
	Name  string
	Leg   rollouts.Leg
	Trace rollouts.Trace
}

// Idle says that the move changes nothing that a watch would show.
func (l Leg) Idle() bool {
	a, b := l.Trace.Start, l.Trace.Final()
	return maps.Equal(a.Size, b.Size) && maps.Equal(a.Available, b.Available) && a.Weight == b.Weight && a.Index == b.Index &&
		a.Abort == b.Abort && a.Paused == b.Paused && a.Phase == b.Phase && a.Stable == b.Stable && a.Current == b.Current &&
		a.CanaryService == b.CanaryService && a.StableService == b.StableService && a.Subsets == b.Subsets
}

// Window is the time of the leg.
func (l Leg) Window() series.Window { return series.Window{From: l.Name, To: l.Name} }

// A Course is the moves of a run, and the Rollout as the model has it after them.
type Course struct {
	Machine *rollouts.Machine
	// Start is the state in which v1 is stable and nothing has happened yet.
	Start rollouts.Row
	Legs  []Leg
}

// NewCourse brings v1 up.
func NewCourse(rules rollouts.Rules, spec rollouts.Spec) *Course {
	m := rollouts.NewMachine(rules, spec)
	m.Play(rollouts.Leg{Turn: rollouts.TurnUpdate, Version: Old})
	m.Play(rollouts.Leg{Turn: rollouts.TurnGrow, Version: Old})
	m.Elapse(2) // births of ReplicaSets are compared by whole seconds
	m.Settle(1)
	m.ResetTrace()
	return &Course{Machine: m, Start: m.Trace().Start}
}

// Do makes a move.
func (c *Course) Do(name string, move rollouts.Leg) {
	c.Legs = append(c.Legs, Leg{Name: name, Leg: move, Trace: c.Machine.Play(move)})
}

// Update applies v2 and lets its pods become ready.
func (c *Course) Update() {
	c.Do("update to v2", rollouts.Leg{Turn: rollouts.TurnUpdate, Version: New})
	c.Grow("v2 becomes ready", New)
}

// Grow lets the pods of a version become ready, if any is missing or a timed pause waits.
func (c *Course) Grow(name, version string) {
	c.Do(name, rollouts.Leg{Turn: rollouts.TurnGrow, Version: version})
}

// GrowTo lets pods of a version become ready until so many are.
func (c *Course) GrowTo(name, version string, pods int) {
	c.Do(name, rollouts.Leg{Turn: rollouts.TurnGrow, Version: version, N: pods})
}

// Lose takes some of the version's available pods away.
func (c *Course) Lose(name, version string, pods int) {
	rs, _ := c.Machine.ReplicaSet(version)
	c.Do(name, rollouts.Leg{Turn: rollouts.TurnHold, Version: version, N: max(0, rs.Available-pods)})
}

// Delay waits for the next scale-down deadline, if there is one.
func (c *Course) Delay(name string) {
	if seconds, ok := c.Machine.NextDeadline(); ok {
		c.Do(name, rollouts.Leg{Turn: rollouts.TurnElapse, N: seconds})
	}
}

// Command sends a command of the kubectl plugin.
func (c *Course) Command(name string, act rollouts.Turn) { c.Do(name, rollouts.Leg{Turn: act}) }

// Leg finds a leg by its name.
func (c *Course) Leg(name string) (Leg, bool) {
	i := slices.IndexFunc(c.Legs, func(l Leg) bool { return l.Name == name })
	if i < 0 {
		return Leg{}, false
	}
	return c.Legs[i], true
}

// Drilled is the part of the run that claims speak of.
func (c *Course) Drilled() series.Window { return series.Window{From: c.Legs[0].Name, To: StepQuiet} }

// Trace is the whole course: what a watch sees of it.
func (c *Course) Trace() rollouts.Trace {
	out := rollouts.Trace{Rules: c.Machine.Rules(), Spec: c.Machine.Spec(), Start: c.Start}
	for _, leg := range c.Legs {
		out.Rows = append(out.Rows, leg.Trace.Rows...)
	}
	return out
}

// Restless says that the controller does not come to rest after some leg. Then nobody
// can say how often it writes.
func (c *Course) Restless() bool {
	return slices.ContainsFunc(c.Legs, func(l Leg) bool { return l.Trace.Restless() })
}

// Expected is how long the script of a course takes when all goes as predicted: a second
// of rest after each move, and what pods, pauses and delays take.
func Expected(p Params, c *Course) time.Duration {
	const setUp = 10 * time.Second
	d := setUp + p.Quiet.Std()
	for _, leg := range c.Legs {
		d += rest + rest/2 + time.Duration(leg.Trace.Final().At-leg.Trace.Start.At)*time.Second
		if leg.Leg.Turn == rollouts.TurnGrow {
			d += time.Duration(leg.grown()) * p.Ramp.Std()
		}
	}
	return d
}

// grown is how many pods become ready in the leg.
func (l Leg) grown() int {
	n, last := 0, l.Trace.Start.Available[l.Leg.Version]
	for _, r := range l.Trace.Rows {
		n, last = n+max(0, r.Available[l.Leg.Version]-last), r.Available[l.Leg.Version]
	}
	return n
}
