// Package canaryrouting is the scenario canary-routing: what else than one listed route
// the weights of a canary have to do with.
package canaryrouting

import (
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/moves"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	moves.Canary
	Routes          string            `json:"routes" enum:"listed,omitted" doc:"whether the Rollout lists its route, or omits it: the VirtualService then has one route only, with a name"`
	VirtualServices int               `json:"virtualServices" min:"1" max:"2" doc:"how many VirtualServices the Rollout names"`
	Header          string            `json:"header" enum:"none,first,scaled,removed" doc:"a managed route by setHeaderRoute: none; as the first step; after a setCanaryScale of one pod, with a pause behind it; and removed again by a step after that pause"`
	Course          string            `json:"course" enum:"promoted,third,edited,canary-lost,degraded" doc:"what happens at the first pause: promotions; v3 comes; somebody edits the VirtualService's weight; no pod of v2 is available for a moment. Or v2 begins while a pod of v1 is missing"`
	Weight          int               `json:"weight" min:"0" max:"100" doc:"what course: edited writes"`
	Quiet           scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Values of Params.Course.
const (
	Promoted   = "promoted"
	Third      = "third"
	Edited     = "edited"
	CanaryLost = "canary-lost"
	Degraded   = "degraded"
)

// Values of Params.Header.
const (
	None    = "none"
	First   = "first"
	Scaled  = "scaled"
	Removed = "removed"
)

// Omitted is a value of Params.Routes.
const Omitted = "omitted"

// Scenario is canary-routing.
type Scenario struct{ moves.CanaryBase }

var _ scenario.Scenario = Scenario{}

var _ moves.Drill = (*Params)(nil)

func (Scenario) Name() string { return "canary-routing" }

func (Scenario) Summary() string {
	return "one named route, two VirtualServices, a managed route, an edit by somebody else: does a canary's weight arrive?"
}

func (Scenario) Defaults() any {
	c := moves.DefaultCanary()
	c.Replicas = 4
	return &Params{Canary: c, Routes: "listed", VirtualServices: 1, Header: None, Course: Promoted, Weight: 90, Quiet: scenario.Duration(10 * time.Second)}
}

// Check refuses what the script's objects do not show, and edits that change nothing.
func (Scenario) Check(params any, versions map[string]string) error {
	p, version := params.(*Params), versions[scenario.ArgoRollouts]
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Canary.Check(version); err != nil {
		return err
	}
	switch {
	case p.Routing != string(rollouts.RoutingServices):
		return scenario.Refuse("routing", "this scenario knows %s only", rollouts.RoutingServices)
	case p.DynamicStableScale:
		return scenario.Refuse("dynamicStableScale", "this scenario is about routes")
	case p.Routes == Omitted && p.VirtualServices > 1:
		return scenario.Refuse("virtualServices", "go with routes: listed only")
	case p.Course == Edited && p.Header != None:
		return scenario.Refuse("header", "goes with other courses than %s", Edited)
	case p.Course == Edited && (p.Routes == Omitted || p.Weight == *p.Steps[0].SetWeight):
		return scenario.Refuse("weight", "course %s needs a listed route and another weight than the first step's", Edited)
	}
	return p.Plan().Check(version, p.Quiet)
}

// steps are those of the Rollout, as the model and as a Rollout have them, and how many
// of them are pauses before the first weight. A setCanaryScale holds until the next, so
// one for the first weight follows that of one pod, and then one that lets it go.
func (p *Params) steps() (model []rollouts.Step, api []v1alpha1.CanaryStep, pauses int) {
	add := func(steps ...rollback.Step) {
		model = append(model, rollback.Steps(steps).Model()...)
		api = append(api, rollback.Steps(steps).API()...)
	}
	header := func(match bool) {
		api = append(api, moves.SetHeader(match))
		step := rollouts.Step{Header: rollouts.HeaderSet}
		if !match {
			step.Header = rollouts.HeaderRemoved
		}
		model = append(model, step)
	}
	switch p.Header {
	case None:
		add(p.Steps...)
		return model, api, 0
	case First:
		header(true)
		add(p.Steps...)
		return model, api, 0
	}
	one := 1
	add(rollback.Step{SetCanaryScale: &rollback.CanaryScale{Replicas: &one}})
	header(true)
	add(moves.Forever())
	if p.Header == Removed {
		header(false)
	}
	add(rollback.Step{SetCanaryScale: &rollback.CanaryScale{Weight: p.Steps[0].SetWeight}}, p.Steps[0],
		rollback.Step{SetCanaryScale: &rollback.CanaryScale{MatchTrafficWeight: true}})
	add(p.Steps[1:]...)
	return model, api, 1
}

// Plan is the moves of the course.
func (p *Params) Plan() moves.Plan {
	model, api, pauses := p.steps()
	out := moves.Plan{Spec: p.Spec(), SetUp: moves.First(p.Replicas), Versions: []string{moves.V1, moves.V2}, Quiet: p.Quiet.Std()}
	out.Spec.Steps, out.Steps = model, api
	out.Spec.RoutesOmitted, out.Spec.SecondService = p.Routes == Omitted, p.VirtualServices > 1
	out.Manifests = p.manifests()
	promotions := moves.Promotions(p.Steps)
	for range pauses {
		promotions = append(promotions, moves.Do(rollouts.ActPromote))
	}
	switch p.Course {
	case Promoted:
		out.Drill = p.toPause(moves.V2)
	case Third:
		out.Versions = append(out.Versions, moves.V3)
		out.Drill = moves.Join(p.toPause(moves.V2), p.toPause(moves.V3))
	case Edited:
		out.Drill = append(p.toPause(moves.V2), rollouts.Move{Act: rollouts.ActWeight, Count: p.Weight})
	case CanaryLost:
		out.Drill = append(p.toPause(moves.V2), moves.Ready(moves.V2, 0), moves.Ready(moves.V2, p.Replicas))
	case Degraded:
		out.Drill = moves.Join([]rollouts.Move{moves.Ready(moves.V1, p.Replicas-1)}, p.toPause(moves.V2), []rollouts.Move{moves.Ready(moves.V1, p.Replicas)})
	}
	out.AtPause = len(out.Drill) - 1
	out.Drill = moves.Join(out.Drill, promotions, p.Gone())
	return out
}

// toPause deploys a version, lets its first pods become ready one by one, and those that
// come later as they come.
func (p *Params) toPause(version string) []rollouts.Move {
	first := p.First(p.Steps)
	if p.Header == Scaled || p.Header == Removed {
		first = 1
	}
	out := append([]rollouts.Move{moves.Deploy(version)}, moves.OneByOne(version, 0, first)...)
	return append(out, moves.Ready(version, p.Replicas))
}

// manifests are the Services and VirtualServices.
func (p *Params) manifests() []string {
	switch {
	case p.Routes == Omitted:
		return []string{"routing/one-route.yaml"}
	case p.VirtualServices > 1:
		return []string{"rollback/services.yaml", "routing/second.yaml"}
	}
	return []string{"rollback/services.yaml"}
}
