package moves

import (
	"slices"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/rollback"
)

// Canary are the parameters that scenarios of a canary share.
type Canary struct {
	Replicas             int            `json:"replicas" min:"1" max:"50" doc:"replicas of the Rollout"`
	MinPodsPerReplicaSet int            `json:"minPodsPerReplicaSet" min:"0" max:"50" doc:"least pods of a ReplicaSet that has any; 0 leaves it unset"`
	Steps                rollback.Steps `json:"steps" doc:"canary steps: setWeight, first of all, and pauses without an end, which the script promotes; short: [50, pause forever, 100]"`
	Routing              string         `json:"routing" enum:"services,subsets" doc:"what Istio tells the versions apart by: two Services, or two subsets of a DestinationRule"`
	DynamicStableScale   bool           `json:"dynamicStableScale" doc:"scale the stable ReplicaSet with its share of the traffic"`
	ScaleDownDelay       int            `json:"scaleDownDelaySeconds" min:"1" max:"600" doc:"how long the old ReplicaSet is kept after a promotion"`
}

// DefaultCanary is ten pods and a pause at half of the traffic.
func DefaultCanary() Canary {
	return Canary{
		Replicas: 10, Routing: string(rollouts.RoutingServices), ScaleDownDelay: 2,
		Steps: rollback.Steps{rollback.SetWeight(50), Forever(), rollback.SetWeight(100)},
	}
}

// Forever is a pause without an end.
func Forever() rollback.Step { return rollback.Step{Pause: &rollback.Pause{}} }

// Spec is the Rollout as the model knows it.
func (c Canary) Spec() rollouts.Spec {
	return rollouts.Spec{
		Replicas: c.Replicas, MinPods: c.MinPodsPerReplicaSet, Steps: c.Steps.Model(), Routing: rollouts.Routing(c.Routing),
		ScaleDownDelaySeconds: c.ScaleDownDelay, DynamicStableScale: c.DynamicStableScale,
	}
}

// Check refuses what the controller would refuse, and steps of which the script does not
// know when they end.
func (c Canary) Check(version string) error {
	if c.DynamicStableScale && c.MinPodsPerReplicaSet > 0 {
		return scenario.Refuse("minPodsPerReplicaSet", "does not go with dynamicStableScale here: the order in which both ReplicaSets are sized would decide")
	}
	rules, _ := rollouts.RulesFor(version)
	if c.MinPodsPerReplicaSet > c.Replicas && !rules.MinPodsCappedToReplicas {
		return scenario.Refuse("minPodsPerReplicaSet", "%d is more than the %d replicas: Argo Rollouts %s never calls such a Rollout healthy (v1.10 and later do)", c.MinPodsPerReplicaSet, c.Replicas, version)
	}
	return CheckSteps("steps", c.Steps)
}

// CheckSteps refuses steps that do not begin with a weight above 0 and a pause without an
// end, where the script interferes, and others than setWeight and such pauses.
func CheckSteps(field string, steps rollback.Steps) error {
	if err := steps.Check(); err != nil {
		return err
	}
	if len(steps) < 2 || steps[0].SetWeight == nil || *steps[0].SetWeight == 0 || steps[1].Pause == nil {
		return scenario.Refuse(field, "%s: expected a weight above 0 and a pause first, such as [50, pause forever, 100]", steps)
	}
	for _, step := range steps {
		if step.SetCanaryScale != nil || step.Pause != nil && step.Pause.Duration != nil {
			return scenario.Refuse(field, "%s: expected weights and pauses without an end only", steps)
		}
	}
	return nil
}

// First is how many pods the canary has at the first weight of the steps.
func (c Canary) First(steps rollback.Steps) int {
	n := rollouts.ShareOf(c.Replicas, *steps[0].SetWeight, 100)
	return min(max(n, c.MinPodsPerReplicaSet), c.Replicas)
}

// ToPause deploys a version, lets the pods of its first weight become ready one by one,
// and those that come later as they come.
func (c Canary) ToPause(version string) []rollouts.Move {
	out := append([]rollouts.Move{Deploy(version)}, OneByOne(version, 0, c.First(c.Steps))...)
	return append(out, Ready(version, c.Replicas))
}

// Promotions are as many promotions as the steps have pauses.
func Promotions(steps rollback.Steps) []rollouts.Move {
	var out []rollouts.Move
	for _, step := range steps {
		if step.Pause != nil {
			out = append(out, Do(rollouts.ActPromote))
		}
	}
	return out
}

// Gone lets the delay pass after which an old ReplicaSet has no pods.
func (c Canary) Gone() []rollouts.Move { return []rollouts.Move{Elapse(c.ScaleDownDelay)} }

// Join puts moves after one another.
func Join(parts ...[]rollouts.Move) []rollouts.Move { return slices.Concat(parts...) }
