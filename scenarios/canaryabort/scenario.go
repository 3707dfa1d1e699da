// Package canaryabort is the scenario canary-abort: an update is aborted, perhaps while
// pods are missing, and perhaps tried again.
package canaryabort

import (
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
)

// Params are the scenario's parameters.
type Params struct {
	canary.Params
	AbortDelay    int    `json:"abortScaleDownDelaySeconds" min:"-1" max:"600" doc:"how long the aborted canary is kept once v1 is whole; -1 leaves it unset (30 s, and with dynamicStableScale none), 0 is said to keep it for good"`
	StableMissing int    `json:"stableMissing" min:"0" max:"200" doc:"pods of v1 that are not ready when the abort comes; they become so afterwards"`
	CanaryMissing int    `json:"canaryMissing" min:"0" max:"200" doc:"pods of v2 that are not ready when the abort comes; those that still exist become so afterwards"`
	Retry         string `json:"retry" enum:"none,at-once,after" doc:"retry the update: never, right after the abort, or once the abort has settled"`
	Again         bool   `json:"again" doc:"abort once more when the retried update has come as far as before"`
}

// Values of Params.Retry.
const (
	RetryNone   = "none"
	RetryAtOnce = "at-once"
	RetryAfter  = "after"
)

// Scenario is canary-abort.
type Scenario struct{ canary.Base }

var _ scenario.Scenario = Scenario{}

var _ canary.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-abort" }

func (Scenario) Summary() string {
	return "abort a canary update, with pods missing or not, and retry it: who carries the traffic meanwhile?"
}

func (Scenario) Defaults() any {
	return &Params{Params: canary.DefaultParams(), AbortDelay: 5, Retry: RetryNone}
}

// leastAtOnce: a retry comes a second or two after the abort, and must come inside the delay.
const leastAtOnce = 10

// Check also refuses what leaves nothing to abort.
func (Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if p.Replicas < 1 {
		return scenario.Refuse("replicas", "expected at least 1: without pods there is nothing to abort")
	}
	if p.Retry == RetryAtOnce && p.AbortDelay > 0 && p.AbortDelay < leastAtOnce {
		return scenario.Refuse("abortScaleDownDelaySeconds", "%d s are too short to retry in, expected at least %d", p.AbortDelay, leastAtOnce)
	}
	if p.Again && p.Retry == RetryNone {
		return scenario.Refuse("again", "wants a retry, expected retry: at-once or after")
	}
	rules, _ := rollouts.RulesFor(versions[scenario.ArgoRollouts])
	course := canary.NewCourse(rules, p.spec())
	course.Update()
	at := course.Trace().Final()
	switch {
	case at.Stable == at.Current:
		return scenario.Refuse("steps", "%s never stops, so nothing is left to abort; expected a pause without end", p.Steps)
	case at.Available[canary.New] < at.Size[canary.New] || !at.Paused:
		return scenario.Refuse("steps", "with %s and %d replicas Argo Rollouts %s never gets to a pause", p.Steps, p.Replicas, versions[scenario.ArgoRollouts])
	case p.StableMissing > at.Available[canary.Old]:
		return scenario.Refuse("stableMissing", "%d is more than the %d pods that v1 has when the abort comes", p.StableMissing, at.Available[canary.Old])
	case p.CanaryMissing > at.Available[canary.New]:
		return scenario.Refuse("canaryMissing", "%d is more than the %d pods that v2 has when the abort comes", p.CanaryMissing, at.Available[canary.New])
	}
	return nil
}

func (p *Params) spec() rollouts.Spec {
	spec := p.Model()
	if p.AbortDelay >= 0 {
		spec.AbortScaleDownDelaySeconds = &p.AbortDelay
	}
	return spec
}

// Rollout is the one under drill.
func (p *Params) Rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		if p.AbortDelay >= 0 {
			spec.Strategy.Canary.AbortScaleDownDelaySeconds = new(int32(p.AbortDelay))
		}
	}}
}

// Steps of the course, which claims name as windows.
const (
	stepLoseV1  = "v1 loses pods"
	stepLoseV2  = "v2 loses pods"
	stepAbort   = "abort"
	stepRetry   = "retry"
	stepBackV1  = "v1 becomes ready again"
	stepBackV2  = "v2 becomes ready again"
	stepDelay   = "abort delay"
	stepAgain   = "abort again"
	stepFollow  = "v1 becomes ready after the retry"
	stepRegrow  = "v2 becomes ready once more"
	stepReagain = "v1 becomes ready once more"
	stepDelayed = "abort delay again"
)

// Course plays the parameters on the rules.
func (p *Params) Course(rules rollouts.Rules) *canary.Course {
	c := canary.NewCourse(rules, p.spec())
	c.Update()
	if p.StableMissing > 0 {
		c.Lose(stepLoseV1, canary.Old, p.StableMissing)
	}
	if p.CanaryMissing > 0 {
		c.Lose(stepLoseV2, canary.New, p.CanaryMissing)
	}
	c.Command(stepAbort, rollouts.TurnAbort)
	if p.Retry == RetryAtOnce {
		c.Command(stepRetry, rollouts.TurnRetry)
	}
	p.settle(c, stepBackV1, stepBackV2, stepDelay)
	if p.Retry == RetryAfter {
		c.Command(stepRetry, rollouts.TurnRetry)
		p.settle(c, stepFollow, stepRegrow, "")
	}
	if p.Again {
		c.Command(stepAgain, rollouts.TurnAbort)
		p.settle(c, stepReagain, "", stepDelayed)
	}
	return c
}

// settle lets missing pods come back, v1's first, and the abort's delay pass.
func (p *Params) settle(c *canary.Course, v1, v2, delay string) {
	if v1 != "" && c.Machine.Missing(canary.Old) {
		c.Grow(v1, canary.Old)
	}
	if v2 != "" && c.Machine.Missing(canary.New) {
		c.Grow(v2, canary.New)
	}
	if delay != "" {
		c.Delay(delay)
	}
}
