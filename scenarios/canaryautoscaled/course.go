package canaryautoscaled

import (
	"fmt"

	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/canary"
)

// stepLoad is the step in which the load changes and the autoscaler answers.
const stepLoad = "the load changes"

// perPod is what a pod is to carry, in thousandths as the controller computes; in
// manifests/rollback/autoscaler.yaml it is 1.
const perPod = 1000

// external is a load in percent of what one pod is to carry.
func external(percent int) autoscaler.External {
	return autoscaler.External{Total: int64(percent) * perPod / 100, Target: perPod}
}

// autoscaler is that of the parameters when it first looks.
func (p *Params) autoscaler() autoscaler.Autoscaler {
	return autoscaler.New(autoscaler.Bounds{Min: p.MinReplicas, Max: p.MaxReplicas}, autoscaler.Usage{}, p.Replicas)
}

// A course is one in which an autoscaler has its say: whenever the Rollout is at rest it
// looks, and what it changes is a leg of its own.
type course struct {
	*canary.Course
	autoscaler autoscaler.Autoscaler
	load       autoscaler.External
	// unclear says why the course would depend on when the autoscaler looks.
	unclear string
}

// Course plays the parameters on the rules.
func (p *Params) Course(rules rollouts.Rules) *canary.Course { return p.play(rules).Course }

func (p *Params) play(rules rollouts.Rules) *course {
	c := &course{Course: canary.NewCourse(rules, p.Model()), autoscaler: p.autoscaler().SyncExternal(external(p.Load), p.Replicas), load: external(p.Load)}
	c.turn("update to v2", rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.New})
	if p.When != WhenScaling {
		c.grow("v2 becomes ready", canary.New)
	}
	if p.When == WhenFinishing {
		c.promote(func() bool { return c.pauses() > 0 })
	}
	c.change(external(p.NewLoad))
	c.grow("v2 becomes ready under the new load", canary.New)
	if p.When == WhenPaused {
		c.past()
		c.grow("v2 becomes ready after the pause", canary.New)
	}
	c.share()
	c.grow("v1 becomes ready", canary.Old)
	c.grow("v2 becomes ready after v1", canary.New)
	c.promote(func() bool { return true })
	return c
}

// turn makes a move, and lets the autoscaler look once it is over.
func (c *course) turn(name string, leg rollouts.Leg) {
	c.Do(name, leg)
	c.look()
}

// grow lets the pods of a version become ready, if any is missing.
func (c *course) grow(name, version string) {
	if c.Machine.Missing(version) {
		c.growTo(name, version, 0)
	}
}

// share lets pods of v1 become ready until one is missing of those that the rest of the
// traffic needs (rollout/trafficrouting.go:138, v1.8.2), and then that one.
func (c *course) share() {
	rules := rollouts.RulesForGroup(rollouts.Group110)
	at := rollouts.View{Spec: c.Machine.Spec(), Status: c.Machine.Status()}
	needs := rules.StableNeeds(at.Spec, at.CurrentSetWeight())
	for n := max(1, needs-1); n <= needs; n++ {
		if rs, _ := c.Machine.ReplicaSet(canary.Old); rs.Available < n && n < rs.Size {
			c.growTo(fmt.Sprintf("%d pods of v1 are ready", n), canary.Old, n)
		}
	}
}

// growTo lets pods become ready up to a number, 0 for all. That takes longer than the
// autoscaler waits, so it must want nothing meanwhile.
func (c *course) growTo(name, version string, most int) {
	c.Do(name, rollouts.Leg{Turn: rollouts.TurnGrow, Version: version, N: most})
	for _, r := range c.Legs[len(c.Legs)-1].Trace.Rows {
		if n := c.autoscaler.SyncExternal(c.load, pods(r)).Current; n != c.autoscaler.Current && c.unclear == "" {
			c.unclear = fmt.Sprintf("while %s there are %d pods, at which the autoscaler makes %d of %d replicas: the rest would depend on when it looks", name, pods(r), n, c.autoscaler.Current)
		}
	}
	c.look()
}

// look is what the autoscaler makes of the Rollout at rest.
func (c *course) look() {
	for {
		before := c.autoscaler.Current
		c.autoscaler = c.autoscaler.SyncExternal(c.load, pods(c.Trace().Final()))
		if c.autoscaler.Current == before {
			return
		}
		c.scale(fmt.Sprintf("the autoscaler scales to %d", c.autoscaler.Current))
	}
}

// change is another load and the first answer to it.
func (c *course) change(load autoscaler.External) {
	c.load = load
	c.autoscaler = c.autoscaler.SyncExternal(load, pods(c.Trace().Final()))
	c.scale(stepLoad)
	c.look()
}

// scale writes the size of the autoscaler into the Rollout.
func (c *course) scale(name string) {
	c.Do(name, rollouts.Leg{Turn: rollouts.TurnScale, N: c.autoscaler.Current})
}

// promote promotes pauses as long as the Rollout is in one, and lets v2 become ready
// after each of which more says so.
func (c *course) promote(more func() bool) {
	for c.past() && more() {
		c.grow(fmt.Sprintf("v2 becomes ready after step %d", c.Machine.Status().Index), canary.New)
	}
}

// past promotes a Rollout past its pause, if it is in one.
func (c *course) past() bool {
	s := c.Machine.Status()
	if !s.Paused {
		return false
	}
	c.turn(fmt.Sprintf("promote past step %d", s.Index+1), rollouts.Leg{Turn: rollouts.TurnPromote})
	return true
}

// pauses is how many pauses are left.
func (c *course) pauses() int {
	n := 0
	for i, step := range c.Machine.Spec().Steps {
		if i >= c.Machine.Status().Index && step.Pause != nil {
			n++
		}
	}
	return n
}

// pods are those of all versions together: what the status of the Rollout's scale says.
func pods(r rollouts.Row) int {
	n := 0
	for _, size := range r.Size {
		n += size
	}
	return n
}

// commanded says whether a leg begins with something that is done to the Rollout.
func commanded(leg canary.Leg) bool {
	return leg.Leg.Turn == rollouts.TurnUpdate || leg.Leg.Turn == rollouts.TurnPromote
}
