// Package upgrademidflight is the scenario upgrade-mid-flight: the Argo Rollouts controller
// is replaced while an update is under way.
package upgrademidflight

import (
	"fmt"
	"slices"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"golang.org/x/mod/semver"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Params are the scenario's parameters.
type Params struct {
	From      string            `json:"from" doc:"version that the update begins under: a release, or directory@release"`
	To        string            `json:"to" doc:"version that takes its place; the same one is a restart"`
	When      string            `json:"when" enum:"paused,scaling,analysing,aborting,rolling-back" doc:"what the update is at: in a pause without end, with some pods of its step ready, in an analysis that takes the place of the first pause, aborted, or rolling back inside rollbackWindow with some pods ready"`
	At        string            `json:"at" enum:"rest,write" doc:"the first version ends when it is at rest there, or as soon as the weight that it writes next is seen, in the middle of its pass"`
	How       string            `json:"how" enum:"graceful,kill" doc:"how the first version ends: it is asked to (SIGTERM), or killed (SIGKILL)"`
	Meanwhile bool              `json:"meanwhile" doc:"what the update waits for comes while no controller runs; otherwise once the other version does"`
	Away      scenario.Duration `json:"away" doc:"how long no controller runs, at the least"`
	Election  bool              `json:"election" doc:"the other version is started beside the first one, as a rolling update of the controller does, and works once it has the lease of the leader"`
	canary.Params
	AbortDelay int `json:"abortScaleDownDelaySeconds" min:"-1" max:"60" doc:"how long an aborted canary is kept; -1 leaves it unset (30 s, and with dynamicStableScale none)"`
}

// Values of Params.When.
const (
	Paused      = "paused"
	Scaling     = "scaling"
	Analysing   = "analysing"
	Aborting    = "aborting"
	RollingBack = "rolling-back"
)

// Values of Params.At.
const (
	AtRest  = "rest"
	AtWrite = "write"
)

// Values of Params.How.
const (
	Graceful = "graceful"
	Kill     = "kill"
)

// Scenario is upgrade-mid-flight.
type Scenario struct{}

var (
	_ scenario.Scenario   = Scenario{}
	_ scenario.Upgrader   = Scenario{}
	_ scenario.Elector    = Scenario{}
	_ scenario.Exclusive  = Scenario{}
	_ scenario.GuardNames = Scenario{}
)

func (Scenario) Name() string { return "upgrade-mid-flight" }

func (Scenario) Summary() string {
	return "replace the controller by another version while a canary scales, pauses, is aborted or rolled back: who takes over what?"
}

// Needs: which pods are ready is the script's to say.
func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness, cluster.Mesh}
}

func (Scenario) Components(cluster.Capabilities) []string { return []string{scenario.ArgoRollouts} }

func (Scenario) Defaults() any {
	p := &Params{
		From: "v1.8.3", To: "v1.9.2", When: Paused, At: AtRest, How: Graceful, Meanwhile: true, Away: scenario.Duration(3 * time.Second),
		Params: canary.DefaultParams(), AbortDelay: 15,
	}
	p.Steps = rollback.Steps{rollback.SetWeight(30), canary.Pause(), rollback.SetWeight(60), rollback.SetWeight(100)}
	return p
}

// Releases are both versions, or one that is started anew.
func (Scenario) Releases(params any) map[string][]string {
	p := params.(*Params)
	return scenario.Succession(p.From, p.To)
}

func (Scenario) Elects(params any) bool { return params.(*Params).Election }

// Exclusive: the lease of the leader is outside of the Rollout's namespace.
func (Scenario) Exclusive(params any) bool { return params.(*Params).Election }

func (Scenario) Guards() map[string]string { return canary.GuardNames() }

// Check also refuses a flight that is not where the parameters say when the controller is
// replaced.
func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := scenario.CheckRelease("from", p.From); err != nil {
		return err
	}
	if err := scenario.CheckRelease("to", p.To); err != nil {
		return err
	}
	if err := p.Params.Check(); err != nil {
		return err
	}
	if p.Away.Std() < time.Second || p.Away.Std() > time.Minute {
		return scenario.Refuse("away", "expected 1s to 1m, got %s", p.Away)
	}
	return p.checkFlight()
}

// checkFlight looks at the update when the controller is replaced.
func (p *Params) checkFlight() error {
	if p.Replicas < 2 {
		return scenario.Refuse("replicas", "expected at least 2: of fewer pods none is missing while another is there")
	}
	if p.AbortDelay == 0 {
		return scenario.Refuse("abortScaleDownDelaySeconds", "0 is never, so that nothing follows the abort; expected -1 or at least 1")
	}
	if err := p.checkWrite(); err != nil {
		return err
	}
	f := p.flight(p.rules())
	at := f.before.Final()
	switch {
	case p.When == RollingBack && p.DynamicStableScale:
		return scenario.Refuse("dynamicStableScale", "does not go with when: rolling-back here: v2 is scaled down before or after the next pod of v1 is seen")
	case p.When != RollingBack && at.Current == at.Stable:
		return scenario.Refuse("steps", "%s never stops, so the update is over when the controller is replaced; expected a pause without end", p.Steps)
	case p.When == Analysing && !f.analysing:
		return scenario.Refuse("steps", "with %s and %d replicas the update never gets to its analysis", p.Steps, p.Replicas)
	case p.When == Paused && !at.Paused:
		return scenario.Refuse("steps", "with %s and %d replicas the update never gets to a pause", p.Steps, p.Replicas)
	case (p.When == Scaling || p.When == RollingBack && p.At == AtRest) && (at.Available[f.moving] == 0 || at.Available[f.moving] == at.Size[f.moving]):
		return scenario.Refuse("steps", "with %s and %d replicas the first weight wants %d pods, of which there is none to wait for; expected one that wants at least 2", p.Steps, p.Replicas, at.Size[f.moving])
	case p.When == Aborting && p.At == AtRest && !at.Abort:
		return scenario.Refuse("steps", "%s: the abort does not last", p.Steps)
	}
	return nil
}

// checkWrite refuses what has no write of a weight to end in.
func (p *Params) checkWrite() error {
	switch {
	case p.At == AtRest:
		return nil
	case p.When == Paused || p.When == Analysing:
		return scenario.Refuse("at", "write does not go with when: %s, after which pods are made before a weight is written", p.When)
	case rollouts.Routing(p.Routing) == rollouts.RoutingNone:
		return scenario.Refuse("at", "write does not go with routing: none, where no weight is written")
	case p.When == Aborting && (p.DynamicStableScale || p.AbortDelay < 0 || p.Meanwhile):
		return scenario.Refuse("at", "write and when: aborting go with meanwhile: false, abortScaleDownDelaySeconds and without dynamicStableScale only: the delay begins under the other version")
	}
	return nil
}

// rules are those of both versions.
func (p *Params) rules() (from, to rollouts.Rules) {
	from, _ = rollouts.RulesFor(scenario.ModelVersion(p.From))
	to, _ = rollouts.RulesFor(scenario.ModelVersion(p.To))
	return from, to
}

// analysis is the step that is an analysis in the place of a pause, -1 if none is.
func (p *Params) analysis() int {
	if p.When != Analysing {
		return -1
	}
	return slices.IndexFunc(p.Steps, func(s rollback.Step) bool { return s.Pause != nil && s.Pause.Duration == nil })
}

// window is rollbackWindow.revisions of the Rollout that is rolled back.
const window = 3

func (p *Params) spec() rollouts.Spec {
	spec := p.Model()
	if p.AbortDelay >= 0 {
		spec.AbortScaleDownDelaySeconds = &p.AbortDelay
	}
	if p.When == RollingBack {
		spec.WindowRevisions = window
	}
	if i := p.analysis(); i >= 0 {
		spec.Steps[i] = rollouts.AnalysisStep()
	}
	return spec
}

// rollout is the one under drill.
func (p *Params) rollout() canary.Rollout {
	return canary.Rollout{Params: p.Params, Spec: p.spec(), Shape: func(spec *v1alpha1.RolloutSpec) {
		if p.AbortDelay >= 0 {
			spec.Strategy.Canary.AbortScaleDownDelaySeconds = new(int32(p.AbortDelay))
		}
		if p.When == RollingBack {
			spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: window}
		}
		if i := p.analysis(); i >= 0 {
			spec.Strategy.Canary.Steps[i] = v1alpha1.CanaryStep{Analysis: &v1alpha1.RolloutAnalysis{
				Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: rollback.Name}},
			}}
		}
	}}
}

// Expected is that of the course, and what the change takes.
func (Scenario) Expected(params any) time.Duration {
	const change, setUpLeg = 10 * time.Second, 3 * time.Second
	p := params.(*Params)
	f := p.flight(p.rules())
	d := change + p.Away.Std()
	if p.Election {
		d += leaseDuration + retryMost
	}
	return d + canary.Expected(p.Params, f.course) + time.Duration(len(f.setUp.Legs))*setUpLeg
}

// newer says whether version a is a later release than b.
func newer(a, b string) bool {
	return semver.Compare(scenario.ModelVersion(a), scenario.ModelVersion(b)) > 0
}

// Steps of the script beside those of the course.
const (
	stepSetUp = "promote v2"
	stepAway  = "no controller"
	stepQuiet = canary.StepQuiet
)

func (p *Params) stepCRDs() string { return "CRDs of " + p.To }
func (p *Params) stepEnd() string {
	return fmt.Sprintf("%s %s", map[string]string{Graceful: "stop", Kill: "kill"}[p.How], p.From)
}

// stepTakes is the step in which the other version takes over.
func (p *Params) stepTakes() string {
	if p.Election {
		return p.To + " leads"
	}
	return p.stepStart()
}

func (p *Params) stepStart() string { return "start " + p.To }
