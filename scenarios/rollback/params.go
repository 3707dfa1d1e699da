// Package rollback holds what the rollback scenarios share: a canary Rollout
// behind Istio that goes from version v1 to v2 and back to v1, its parameters,
// its objects, the acts of the script and the series that are read from it.
package rollback

import (
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// Params are the parameters that the rollback scenarios share.
type Params struct {
	Replicas             int               `json:"replicas" min:"0" max:"500" doc:"replicas of the Rollout"`
	MinPodsPerReplicaSet int               `json:"minPodsPerReplicaSet" min:"0" max:"500" doc:"least pods of a ReplicaSet that has any; 0 leaves it unset"`
	Steps                Steps             `json:"steps" doc:"canary steps as in a Rollout (setWeight, pause, setCanaryScale), or short: [5, pause, 100], where pause is one second; a pause without end is promoted by the script"`
	Routing              string            `json:"routing" enum:"services,subsets" doc:"what Istio tells the versions apart by: two Services, or two subsets of a DestinationRule"`
	RollbackWindow       int               `json:"rollbackWindow" min:"0" max:"100" doc:"rollbackWindow.revisions; 0 leaves rollbackWindow unset, so a rollback walks the steps"`
	ScaleDownDelay       int               `json:"scaleDownDelaySeconds" min:"1" max:"600" doc:"how long the old ReplicaSet is kept after a promotion"`
	DynamicStableScale   bool              `json:"dynamicStableScale" doc:"scale the stable ReplicaSet with its share of the traffic"`
	OldReplicaSet        string            `json:"oldReplicaSet" enum:"gone,running" doc:"roll back after the old ReplicaSet went to 0, or while it still runs inside scaleDownDelaySeconds"`
	Ramp                 scenario.Duration `json:"ramp" doc:"one more pod of the old version becomes ready each"`
	Quiet                scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
	scenario.Requests
}

// The versions of the workload: v1, then v2, then v1 again.
const (
	Old = "v1"
	New = "v2"
)

// Values of Params.OldReplicaSet.
const (
	OldGone    = "gone"
	OldRunning = "running"
)

// DefaultParams is the incident that the scenario is named for: twenty pods,
// two at the least, five percent, a pause, everything.
func DefaultParams() Params {
	return Params{
		Replicas: 20, MinPodsPerReplicaSet: 2, Routing: string(rollouts.RoutingServices), RollbackWindow: 3,
		Steps:          Steps{SetWeight(5), PauseFor(time.Second), SetWeight(100)},
		ScaleDownDelay: 1, OldReplicaSet: OldGone,
		Ramp: scenario.Duration(time.Second), Quiet: scenario.Duration(10 * time.Second),
		// Each pod takes 60 requests a second: with ten pods three times its share,
		// with the twenty of the incident six times. Twelve at a time, so that a node
		// that holds a pod up for a moment makes it refuse none.
		Requests: scenario.Requests{Rate: 200, Concurrency: 12, Work: scenario.Duration(200 * time.Millisecond)},
	}
}

// Sends says whether requests are sent on such a cluster: without pods nobody
// would answer any, and a client does not begin before somebody can.
func (p Params) Sends(on cluster.Capabilities) bool { return p.Replicas > 0 && p.Requests.Sends(on) }

// MostPods is both versions at full size.
func (p Params) MostPods() int { return 2 * p.Replicas }

// app is the program in real pods. Those that start together become ready one
// by one, as the script makes simulated ones.
func (p Params) app() stage.App {
	return stage.App{
		ReadyEvery: p.Ramp.Std(), ReadySlots: max(p.Replicas, 1), Concurrency: p.Concurrency, Work: p.Work.Std(),
		HashLabel: v1alpha1.DefaultRolloutUniqueLabelKey,
	}
}

// host is the Service that requests are sent to.
func (p Params) host() string {
	if rollouts.Routing(p.Routing) == rollouts.RoutingServices {
		return StableService
	}
	return Name
}

// Needs of the rollback scenarios: pods that take their time to become ready.
func Needs() cluster.Capabilities { return cluster.Capabilities{cluster.StartupTime, cluster.Mesh} }

// Components of the rollback scenarios: where requests can be sent, istiod tells
// the client the weights.
func Components(on cluster.Capabilities) []string {
	if on.Has(cluster.Traffic) {
		return []string{scenario.ArgoRollouts, scenario.Istiod}
	}
	return []string{scenario.ArgoRollouts}
}

// Check refuses what the controller would refuse, and what leaves the scenario
// without an end, before anything starts.
func (p Params) Check(version string) error {
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if err := p.Steps.Check(); err != nil {
		return err
	}
	if p.Ramp < scenario.Duration(200*time.Millisecond) || p.Ramp > scenario.Duration(time.Hour) {
		return scenario.Refuse("ramp", "expected 200ms, which a controller on a busy machine still follows, to 1h, got %s", p.Ramp)
	}
	if err := p.Requests.Check(); err != nil {
		return err
	}
	if p.Quiet > scenario.Duration(24*time.Hour) {
		return scenario.Refuse("quiet", "expected at most 24h, got %s", p.Quiet)
	}
	if p.Quiet < scenario.Duration(time.Second) {
		return scenario.Refuse("quiet", "%s is too short to show that nothing follows, expected at least 1s", p.Quiet)
	}
	rules, _ := rollouts.RulesFor(version)
	if p.MinPodsPerReplicaSet > p.Replicas && p.Replicas > 0 && !rules.MinPodsCappedToReplicas {
		return scenario.Refuse("minPodsPerReplicaSet", "%d is more than the %d replicas: Argo Rollouts %s never calls such a Rollout healthy (v1.10 and later do), so the set-up could not end",
			p.MinPodsPerReplicaSet, p.Replicas, version)
	}
	if p.OldReplicaSet == OldRunning && p.ScaleDownDelay < 30 {
		return scenario.Refuse("scaleDownDelaySeconds", "%d is too short for oldReplicaSet: running, expected at least 30", p.ScaleDownDelay)
	}
	if p.OldReplicaSet == OldRunning && p.DynamicStableScale {
		return scenario.Refuse("oldReplicaSet", "running does not go with dynamicStableScale, which keeps no old ReplicaSet")
	}
	if trace := p.Play(rules, rollouts.RollbackOptions{}); trace.Invalid != "" {
		return scenario.Refuse("steps", "the set-up cannot end on Argo Rollouts %s: %s", version, trace.Invalid)
	}
	return nil
}

// Spec is the part of the Rollout that the model reads.
func (p Params) Spec() rollouts.Spec {
	return rollouts.Spec{
		Replicas: p.Replicas, MinPods: p.MinPodsPerReplicaSet, Routing: rollouts.Routing(p.Routing),
		WindowRevisions: p.RollbackWindow, ScaleDownDelaySeconds: p.ScaleDownDelay, DynamicStableScale: p.DynamicStableScale,
		Steps: p.Steps.Model(),
	}
}

// Expected is how long a script over these parameters takes: the set-up, the
// ramp, the steps' pauses where they are walked, the end and the quiet period.
func (p Params) Expected() time.Duration {
	const setUp, end = 8 * time.Second, 3 * time.Second
	d := setUp + end + time.Duration(p.Replicas)*p.Ramp.Std() + p.Quiet.Std() + time.Duration(p.ScaleDownDelay)*time.Second
	if p.RollbackWindow == 0 {
		d += p.Steps.Pauses()
	}
	return d
}
