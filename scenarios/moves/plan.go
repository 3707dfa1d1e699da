// Package moves holds what scenarios of Argo Rollouts share that are a list of moves:
// the script makes each of them when the controller is where the model says that it
// comes to rest after the one before, and the claims are the model's trace.
package moves

import (
	"fmt"
	"slices"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// A Plan is what a scenario makes of its parameters.
type Plan struct {
	Spec rollouts.Spec
	// Steps are the canary's at the beginning, as a Rollout has them.
	Steps []v1alpha1.CanaryStep
	// Manifests are the paths of what is there before the Rollout, below manifests; none:
	// the usual Services and routes.
	Manifests []string
	// SetUp leads to where the drill begins, Drill is what claims speak of.
	SetUp, Drill []rollouts.Move
	// Versions are those that the moves deploy, in the order of their first deployment.
	Versions []string
	// AtPause is the move of the drill after which the managed route is looked at, where
	// there is one.
	AtPause int
	// Quiet is how long nothing may change at the end.
	Quiet time.Duration
}

// V1, V2 and V3 are versions of the workload.
const (
	V1 = "v1"
	V2 = "v2"
	V3 = "v3"
)

// Steps of the script beside those of the moves.
const (
	StepSetUp = "set-up"
	StepRest  = "come to rest"
	StepQuiet = "quiet"
)

// Deploy is the move that applies a version's template.
func Deploy(version string) rollouts.Move {
	return rollouts.Move{Act: rollouts.ActDeploy, Version: version}
}

// Ready is the move that lets so many pods of a version be ready.
func Ready(version string, pods int) rollouts.Move {
	return rollouts.Move{Act: rollouts.ActReady, Version: version, Count: pods}
}

// Elapse is the move that lets some seconds pass.
func Elapse(seconds int) rollouts.Move {
	return rollouts.Move{Act: rollouts.ActElapse, Count: seconds}
}

// Do is a move that needs no more than its name.
func Do(act rollouts.Act) rollouts.Move { return rollouts.Move{Act: act} }

// OneByOne are moves that let the pods of a version become ready one after the other, up
// to a number, the first being after from.
func OneByOne(version string, from, to int) []rollouts.Move {
	var out []rollouts.Move
	for n := from + 1; n <= to; n++ {
		out = append(out, Ready(version, n))
	}
	return out
}

// apart is how long births of ReplicaSets must be apart to be told from each other, in
// seconds: creation timestamps have whole ones.
const apart = 2

// First are the moves that bring the first version up.
func First(replicas int) []rollouts.Move {
	return []rollouts.Move{Deploy(V1), Ready(V1, replicas), Elapse(apart)}
}

// Play plays the plan on the rules of a version.
func (p Plan) Play(rules rollouts.Rules) rollouts.Play {
	return rollouts.Moves(rules, p.Spec, p.SetUp, p.Drill)
}

// step names the step of the script in which a move of the drill is made.
func (p Plan) step(i int) string { return fmt.Sprintf("%d: %s", i+1, p.Drill[i]) }

// Drilled is the part of the run that claims speak of.
func (p Plan) Drilled() series.Window { return series.Window{From: p.step(0), To: StepQuiet} }

// number of a version, as series have it: 1 for v1; 0 for none and for one that the plan
// does not know.
func (p Plan) number(version string) int { return slices.Index(p.Versions, version) + 1 }

// blueGreen says which strategy it is.
func (p Plan) blueGreen() bool { return p.Spec.BlueGreen != nil }

// header says whether a step makes or removes a managed route.
func (p Plan) header() bool {
	return slices.ContainsFunc(p.Spec.Steps, func(s rollouts.Step) bool { return s.Header != "" })
}

// Expected is how long the script takes: each move some passes and half a second in
// which the Rollout is at rest, and the times that have to pass.
func (p Plan) Expected() time.Duration {
	const setUp, move, end = 4 * time.Second, 900 * time.Millisecond, 3 * time.Second
	d := setUp + end + p.Quiet
	for _, mv := range slices.Concat(p.SetUp, p.Drill) {
		d += move
		if mv.Act == rollouts.ActElapse {
			d += time.Duration(mv.Count) * time.Second
		}
	}
	return d
}

// Check refuses a plan whose set-up does not end with every pod where it belongs, or that
// leaves the controller no rest, on a version; and a quiet period that shows nothing.
func (p Plan) Check(version string, quiet scenario.Duration) error {
	if quiet < scenario.Duration(5*time.Second) || quiet > scenario.Duration(time.Hour) {
		return scenario.Refuse("quiet", "expected 5s, which show that nothing follows, to 1h, got %s", quiet)
	}
	rules, _ := rollouts.RulesFor(version)
	play := p.Play(rules)
	if play.Restless != "" {
		return scenario.Refuse("course", "by the model, Argo Rollouts %s does not come to rest after: %s", version, play.Restless)
	}
	last := p.lastDeployed()
	if row := play.SetUp[len(play.SetUp)-1].Row; row.Stable != last || row.Current != last {
		return scenario.Refuse("course", "the set-up does not end on Argo Rollouts %s: %s is not promoted", version, last)
	}
	return nil
}

// lastDeployed is the version that the set-up deploys last.
func (p Plan) lastDeployed() string {
	last := ""
	for _, mv := range p.SetUp {
		if mv.Act == rollouts.ActDeploy {
			last = mv.Version
		}
	}
	return last
}
