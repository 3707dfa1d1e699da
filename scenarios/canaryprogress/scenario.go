// Package canaryprogress is the scenario canary-progress: not all pods of an update become
// ready. When does it go on all the same, when is it given up, and who is told?
package canaryprogress

import (
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	canary.Params
	Deadline      int    `json:"progressDeadlineSeconds" min:"6" max:"600" doc:"how long an update may go without progress"`
	DeadlineAbort bool   `json:"progressDeadlineAbort" doc:"abort the update then"`
	Ready         int    `json:"ready" min:"0" max:"200" doc:"pods of v2 that become ready; the others do so after everything else"`
	Threshold     string `json:"threshold" enum:"none,pods,percent" doc:"the unit of replicaProgressThreshold, which v1.9 and later know; none leaves it unset"`
	Enough        int    `json:"enough" min:"0" max:"200" doc:"the value of replicaProgressThreshold: pods, or percent of those wanted"`
}

// Values of Params.Threshold.
const (
	ThresholdNone    = "none"
	ThresholdPods    = "pods"
	ThresholdPercent = "percent"
)

// abortDelay is abortScaleDownDelaySeconds of the Rollout.
const abortDelay = 5

// Scenario is canary-progress.
type Scenario struct{ canary.Base }

var _ scenario.Scenario = Scenario{}

var _ canary.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-progress" }

func (Scenario) Summary() string {
	return "not all pods of a canary update become ready: replicaProgressThreshold and the progress deadline"
}

func (Scenario) Defaults() any {
	return &Params{Params: canary.DefaultParams(), Deadline: 8, Ready: 3, Threshold: ThresholdNone}
}

// Check also refuses a number of ready pods that the update never has.
func (Scenario) Check(params any, versions map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if p.Threshold == ThresholdPercent && p.Enough > 100 {
		return scenario.Refuse("enough", "%d %% is more than all pods", p.Enough)
	}
	if p.Ready > p.Replicas {
		return scenario.Refuse("ready", "%d is more than the %d replicas", p.Ready, p.Replicas)
	}
	rules, _ := rollouts.RulesFor(versions[scenario.ArgoRollouts])
	c := canary.NewCourse(rules, p.spec())
	c.Do(stepUpdate, rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.New})
	if rs, _ := c.Machine.ReplicaSet(canary.New); p.Ready > rs.Size {
		return scenario.Refuse("ready", "%d is more than the %d pods that v2 has in its first step", p.Ready, rs.Size)
	}
	return nil
}

func (p *Params) spec() rollouts.Spec {
	spec := p.Model()
	spec.AbortScaleDownDelaySeconds = new(abortDelay)
	spec.ProgressDeadlineSeconds, spec.ProgressDeadlineAbort = p.Deadline, p.DeadlineAbort
	if p.Threshold != ThresholdNone {
		spec.Threshold = &rollouts.Threshold{Type: rollouts.ThresholdType(p.Threshold), Value: p.Enough}
	}
	return spec
}

// Rollout is the one under drill.
func (p *Params) Rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		spec.ProgressDeadlineSeconds, spec.ProgressDeadlineAbort = new(int32(p.Deadline)), p.DeadlineAbort
		spec.Strategy.Canary.AbortScaleDownDelaySeconds = new(int32(abortDelay))
		unit := map[string]v1alpha1.ProgressType{ThresholdPods: v1alpha1.ProgressTypePods, ThresholdPercent: v1alpha1.ProgressTypePercentage}[p.Threshold]
		if unit != "" {
			spec.Strategy.Canary.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: unit, Value: int32(p.Enough)}
		}
	}}
}

// Steps of the course, which claims name as windows.
const (
	stepUpdate   = "update to v2"
	stepSome     = "some pods of v2 become ready"
	stepPromote  = "promote past the pause"
	stepDeadline = "progress deadline"
	stepDelay    = "abort delay"
	stepOthers   = "the others become ready"
)

// Course plays the parameters on the rules.
func (p *Params) Course(rules rollouts.Rules) *canary.Course {
	c := canary.NewCourse(rules, p.spec())
	c.Do(stepUpdate, rollouts.Leg{Turn: rollouts.TurnUpdate, Version: canary.New})
	if p.Ready > 0 {
		c.GrowTo(stepSome, canary.New, p.Ready)
	}
	if c.Machine.Status().Paused {
		c.Command(stepPromote, rollouts.TurnPromote)
	}
	if seconds, ok := c.Machine.NextTimeout(); ok {
		c.Do(stepDeadline, rollouts.Leg{Turn: rollouts.TurnElapse, N: seconds})
	}
	if c.Machine.Status().Abort {
		c.Delay(stepDelay)
	} else {
		c.Grow(stepOthers, canary.New)
	}
	return c
}

// late is how much later than the deadline the controller may look: it asks to be woken a
// second after it, and the retry limiter may add to that.
const late = 10 * time.Second

// Claims: the phases in order, when the deadline is seen, and who is told of an abort.
func (p *Params) Claims(k canary.Key) []judge.Claim {
	trace := k.Course.Trace()
	told := trace.Count(rollouts.EventAborted)
	out := []judge.Claim{{
		ID: "abort-events", Sentence: "how often the controller logs RolloutAborted",
		Basis: k.Basis(rollouts.RuleDeadlineAbort, rollouts.RuleBranchC),
		Check: judge.Count{Of: rollback.Aborted, Min: told, Max: told, Witness: rollback.Logged, Window: k.Course.Drilled()},
	}}
	leg, ok := k.Course.Leg(stepDeadline)
	if !ok || leg.Trace.Final().Phase != rollouts.PhaseDegraded {
		return append(out, judge.Claim{
			ID: "never-degraded", Sentence: "the phase is never Degraded", Basis: k.Basis(rollouts.RuleTimedOut, rollouts.RuleProgressing, rollouts.RulePhase),
			Check: judge.Always{Cond: judge.Cond{Series: rollback.Phase, Op: judge.NotEqual, Value: series.Text(rollouts.PhaseDegraded)}, Window: k.Course.Drilled()},
		})
	}
	wait := time.Duration(p.Deadline) * time.Second
	return append(out, judge.Claim{
		ID: "deadline", Sentence: fmt.Sprintf("the phase is Degraded %s after the last progress", wait), Basis: k.Basis(rollouts.RuleTimedOut, rollouts.RuleProgressing, rollouts.RulePhase),
		Check: judge.Within{
			From: judge.Cond{Series: rollback.Available(canary.New), Op: judge.GreaterEqual, Value: series.Number(float64(leg.Trace.Start.Available[canary.New]))},
			To:   judge.Cond{Series: rollback.Phase, Op: judge.Equal, Value: series.Text(rollouts.PhaseDegraded)},
			Min:  wait - time.Second, Max: wait + late, Window: series.Window{From: stepUpdate, To: stepDeadline},
		},
	})
}
