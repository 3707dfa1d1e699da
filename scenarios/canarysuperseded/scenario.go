// Package canarysuperseded is the scenario canary-superseded: while a canary is paused at
// a step, a third version comes, or the first again, with a stable version that may be
// short of pods.
package canarysuperseded

import (
	"time"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/moves"
)

// Params are the scenario's parameters.
type Params struct {
	moves.Canary
	Course         string            `json:"course" enum:"third,third-then-second,third-then-first,back-to-first,back-to-older,degraded" doc:"what comes while v2 is paused: v3; v3, and after its promotion v2 or v1 again; or v1 again. Or v2 is promoted, and v1 comes again while v3 is paused. Or nothing, and v2 begins with the pods missing"`
	MissingPods    int               `json:"missingPods" min:"0" max:"50" doc:"pods of v1 that are not available when that comes; they are back when its own first pods are"`
	RollbackWindow int               `json:"rollbackWindow" min:"0" max:"100" doc:"rollbackWindow.revisions; 0 leaves rollbackWindow unset"`
	Quiet          scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Values of Params.Course.
const (
	Third           = "third"
	ThirdThenSecond = "third-then-second"
	ThirdThenFirst  = "third-then-first"
	BackToFirst     = "back-to-first"
	BackToOlder     = "back-to-older"
	Degraded        = "degraded"
)

// Scenario is canary-superseded.
type Scenario struct{ moves.CanaryBase }

var _ scenario.Scenario = Scenario{}

var _ moves.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-superseded" }

func (Scenario) Summary() string {
	return "a third version, or the first again, while a canary is paused: who gets its traffic meanwhile?"
}

func (Scenario) Defaults() any {
	return &Params{Canary: moves.DefaultCanary(), Course: Third, Quiet: scenario.Duration(10 * time.Second)}
}

// Check refuses courses that their parameters leave without a meaning.
func (Scenario) Check(params any, versions map[string]string) error {
	p, version := params.(*Params), versions[scenario.ArgoRollouts]
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Canary.Check(version); err != nil {
		return err
	}
	switch {
	case p.MissingPods > p.Replicas:
		return scenario.Refuse("missingPods", "%d is more than the %d replicas", p.MissingPods, p.Replicas)
	case p.MissingPods > 0 && p.Course == BackToOlder:
		return scenario.Refuse("missingPods", "course %s has no pods of v1 to miss", BackToOlder)
	case p.MissingPods == 0 && p.Course == Degraded:
		return scenario.Refuse("missingPods", "course %s needs some", Degraded)
	case p.MissingPods > 0 && p.DynamicStableScale:
		return scenario.Refuse("missingPods", "does not go with dynamicStableScale: the stable ReplicaSet changes its size meanwhile")
	}
	return p.Plan().Check(version, p.Quiet)
}

// apart lets creation timestamps differ, which have whole seconds.
const apart = 2

// Plan is the moves of the course.
func (p *Params) Plan() moves.Plan {
	out := moves.Plan{Spec: p.Spec(), Steps: p.Steps.API(), SetUp: moves.First(p.Replicas), Versions: []string{moves.V1, moves.V2}, Quiet: p.Quiet.Std()}
	out.Spec.WindowRevisions = p.RollbackWindow
	switch p.Course {
	case Degraded:
		out.Drill = moves.Join(p.missing(p.MissingPods), p.ToPause(moves.V2), p.missing(0), moves.Promotions(p.Steps))
	case BackToFirst:
		out.Drill = moves.Join(p.ToPause(moves.V2), p.missing(p.MissingPods), p.back(), p.missing(0))
	case BackToOlder:
		out.Versions = append(out.Versions, moves.V3)
		out.SetUp = moves.Join(out.SetUp, p.ToPause(moves.V2), moves.Promotions(p.Steps), p.Gone(), []rollouts.Move{moves.Elapse(apart)})
		out.Drill = moves.Join(p.ToPause(moves.V3), p.again(moves.V1))
	default:
		out.Versions = append(out.Versions, moves.V3)
		out.Drill = moves.Join(p.ToPause(moves.V2), []rollouts.Move{moves.Elapse(apart)}, p.missing(p.MissingPods),
			p.ToPause(moves.V3), p.missing(0), moves.Promotions(p.Steps))
	}
	out.Drill = append(out.Drill, p.Gone()...)
	if version, again := map[string]string{ThirdThenSecond: moves.V2, ThirdThenFirst: moves.V1}[p.Course]; again {
		out.Drill = moves.Join(out.Drill, p.again(version), p.Gone())
	}
	return out
}

// again are the moves that apply a version again whose pods are gone, and promote it.
func (p *Params) again(version string) []rollouts.Move {
	return moves.Join([]rollouts.Move{moves.Ready(version, 0), moves.Deploy(version)}, moves.OneByOne(version, 0, p.Replicas), moves.Promotions(p.Steps))
}

// back are the moves that apply the first version again. The pods that
// dynamicStableScale has taken from it become ready one by one.
func (p *Params) back() []rollouts.Move {
	out := []rollouts.Move{moves.Deploy(moves.V1)}
	if !p.DynamicStableScale {
		return out
	}
	left := rollouts.ShareOf(p.Replicas, 100-*p.Steps[0].SetWeight, 100)
	return moves.Join([]rollouts.Move{moves.Ready(moves.V1, left)}, out, moves.OneByOne(moves.V1, left, p.Replicas))
}

// missing takes pods of the first version away, or gives all of them back; nothing where
// the course has none missing.
func (p *Params) missing(pods int) []rollouts.Move {
	if p.MissingPods == 0 {
		return nil
	}
	return []rollouts.Move{moves.Ready(moves.V1, p.Replicas-pods)}
}
