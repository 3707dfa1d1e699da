package upgrademidflight

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/canary"
)

// A flight is the course of an update over the change of the controller.
type flight struct {
	// setUp brings up what is stable when the course begins.
	setUp, course *canary.Course
	// before is the course up to the change.
	before rollouts.Trace
	// analysing: the update is in its analysis then.
	analysing bool
	// cause is what the change of the version does to the update.
	cause rollouts.Cause
	// moving is the version whose pods become ready when the controller is replaced.
	moving string
}

// flight plays the parameters: up to the change on the rules of one version, from then on
// on those of the other.
func (p *Params) flight(from, to rollouts.Rules) flight {
	f := flight{setUp: p.setUp(from), moving: canary.New}
	f.course = &canary.Course{Machine: f.setUp.Machine, Start: f.setUp.Trace().Final()}
	last, next := p.begin(&f)
	f.before, f.analysing = f.course.Trace(), f.course.Machine.Analysing()
	f.cause = p.cause(from.Group, to.Group)
	if p.Election {
		f.course.Do(p.stepStart(), rollouts.Leg{})
	}
	if last.Turn == rollouts.TurnNone {
		f.alone(p.stepEnd(), last)
	} else {
		f.cut(p.stepEnd(), last)
	}
	if p.Meanwhile {
		f.alone(stepAway, next)
	} else {
		f.alone(stepAway, rollouts.Leg{})
	}
	f.course.Machine.Replace(to)
	if f.cause.Effect == rollouts.Restarted {
		f.course.Machine.ForgetSteps()
	}
	f.course.Do(p.stepTakes(), rollouts.Leg{})
	if !p.Meanwhile && next.Turn != rollouts.TurnNone {
		f.watched(next)
	}
	f.finish()
	return f
}

// cut is a leg in whose last pass the controller ends. It gets no further: what it would
// do again and again it does not.
func (f *flight) cut(name string, leg rollouts.Leg) {
	f.course.Do(name, leg)
	trace := &f.course.Legs[len(f.course.Legs)-1].Trace
	if trace.Restless() {
		last := &trace.Rows[len(trace.Rows)-1]
		last.Events = slices.DeleteFunc(slices.Clone(last.Events), func(e string) bool { return strings.HasPrefix(e, rollouts.EventSwitch) })
	}
}

// watched is what the update waits for, with a controller that sees it come.
func (f *flight) watched(next rollouts.Leg) {
	name := nameOf(next)
	switch {
	case next.Turn == rollouts.TurnHold: // it sees the pods one by one
		next.Turn = rollouts.TurnGrow
	case next.Turn == rollouts.TurnPassAnalysis && !f.course.Machine.Analysing():
		return // the update has begun again, and is not there yet
	}
	f.course.Do(name, next)
}

// setUp is v1, and where the Rollout is rolled back v2 after it.
func (p *Params) setUp(from rollouts.Rules) *canary.Course {
	c := canary.NewCourse(from, p.spec())
	if p.When == RollingBack {
		c.Update()
		if c.Machine.Status().Stable != canary.New {
			c.Command("promote v2", rollouts.TurnPromoteFull)
		}
		if c.Machine.Missing(canary.New) {
			c.Grow("all of v2 becomes ready", canary.New)
		}
		c.Do("births apart", rollouts.Leg{Turn: rollouts.TurnElapse, N: apart})
	}
	return c
}

// apart is how long the births of ReplicaSets must be apart to be told from each other, in
// seconds: creation timestamps have whole ones.
const apart = 2

// begin brings the update to where the controller is replaced. It returns the move that
// the controller still answers while it ends, if any, and what the update then waits for.
func (p *Params) begin(f *flight) (last, next rollouts.Leg) {
	c, writes := f.course, p.At == AtWrite
	switch p.When {
	case Scaling:
		c.Do("update to v2", rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.New})
		rest := f.half("some of v2 becomes ready", canary.New)
		if writes { // a promotion would skip a step that is done, and not yet known to be
			return rest, next
		}
		return last, rest
	case RollingBack:
		f.moving = canary.Old
		c.Do("roll back to v1", rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.Old})
		if writes {
			return hold(canary.Old, 1), hold(canary.Old, p.Replicas)
		}
		return last, f.half("some of v1 becomes ready", canary.Old)
	case Aborting:
		c.Update()
		abort := rollouts.Leg{Turn: rollouts.TurnAbort}
		if writes {
			return abort, rollouts.Leg{Turn: rollouts.TurnElapse, N: p.AbortDelay}
		}
		c.Do("abort", abort)
		if c.Machine.Missing(canary.Old) {
			f.moving = canary.Old
			return last, f.half("some of v1 becomes ready", canary.Old)
		}
		seconds, _ := c.Machine.NextDeadline()
		return last, rollouts.Leg{Turn: rollouts.TurnElapse, N: seconds}
	}
	c.Update()
	if p.When == Analysing {
		return last, rollouts.Leg{Turn: rollouts.TurnPassAnalysis}
	}
	return last, rollouts.Leg{Turn: rollouts.TurnPromote}
}

// hold is the leg on which so many pods of a version are ready.
func hold(version string, pods int) rollouts.Leg {
	return rollouts.Leg{Turn: rollouts.TurnHold, Version: version, N: pods}
}

// cause is what the change does to a Rollout in the middle of an update, by the model of
// scenario upgrade-noop.
func (p *Params) cause(from, to rollouts.Group) rollouts.Cause {
	m := rollouts.Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: p.When == Analysing}
	_, cause := rollouts.NewLife(m, from).Change(to)
	return cause
}

// half lets half of a version's missing pods become ready, and returns the leg of the rest.
func (f *flight) half(name, version string) rollouts.Leg {
	rs, _ := f.course.Machine.ReplicaSet(version)
	f.course.GrowTo(name, version, rs.Available+(rs.Size-rs.Available)/2)
	rs, _ = f.course.Machine.ReplicaSet(version)
	return hold(version, rs.Size)
}

// alone is a leg on which no controller runs.
func (f *flight) alone(name string, leg rollouts.Leg) {
	f.course.Legs = append(f.course.Legs, canary.Leg{Name: name, Leg: leg, Trace: f.course.Machine.Alone(leg)})
}

// nameOf names the leg of what the update waits for.
func nameOf(leg rollouts.Leg) string {
	switch leg.Turn {
	case rollouts.TurnHold:
		return "the rest of " + leg.Version + " becomes ready"
	case rollouts.TurnElapse:
		return "abort delay"
	}
	return string(leg.Turn)
}

// mostPauses bounds the legs of a course that does not get anywhere.
const mostPauses = 20

// finish lets pods become ready, promotes pauses and lets delays pass until nothing more
// is to come.
func (f *flight) finish() {
	c := f.course
	for n := range mostPauses {
		suffix := ""
		if n > 0 {
			suffix = fmt.Sprintf(", %d", n+1)
		}
		_, delayed := c.Machine.NextDeadline()
		switch s := c.Machine.Status(); {
		case c.Machine.Missing(canary.Old):
			c.Grow("v1 becomes whole"+suffix, canary.Old)
		case c.Machine.Missing(canary.New):
			c.Grow("v2 becomes whole"+suffix, canary.New)
		case s.Abort && delayed:
			c.Delay("abort delay" + suffix)
		case c.Machine.Analysing():
			c.Do("analysis passes"+suffix, rollouts.Leg{Turn: rollouts.TurnPassAnalysis})
		case s.Paused:
			c.Command("promote the pause"+suffix, rollouts.TurnPromote)
		default:
			return
		}
	}
}
