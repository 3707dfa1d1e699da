// Package eviction is the scenario eviction: pods of a Deployment are evicted, one
// after the other or by a drain of their node, and a PodDisruptionBudget may say no.
package eviction

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// What the parameters may say.
const (
	MinAvailable   = "minAvailable"
	MaxUnavailable = "maxUnavailable"
	None           = "none"

	Unset = "unset"

	Evictions = "evictions"
	Drain     = "drain"
	Kubectl   = "kubectl"

	After = "after"
	Never = "never"
)

// Params are the scenario's parameters.
type Params struct {
	Replicas    int                     `json:"replicas" min:"1" max:"100" doc:"replicas of the Deployment"`
	Budget      string                  `json:"budget" enum:"minAvailable,maxUnavailable,none" doc:"which limit the PodDisruptionBudget has; none: there is no budget"`
	Limit       deployment.IntOrPercent `json:"limit" doc:"the limit, a number of pods or a percentage, which is rounded up for both"`
	Budgets     int                     `json:"budgets" min:"1" max:"2" doc:"how many such budgets select the pods"`
	Policy      string                  `json:"unhealthyPodEvictionPolicy" enum:"unset,IfHealthyBudget,AlwaysAllow" doc:"the budget's rule for pods that run and are not ready"`
	Unready     int                     `json:"unready" min:"0" max:"100" doc:"how many of the pods, the first by name, run and are not ready when evictions begin"`
	How         string                  `json:"how" enum:"evictions,drain,kubectl" doc:"evictions of one pod after the other, by name, a refused one again; a drain of the node that holds all pods, in rounds; or that drain by kubectl's own loop, which asks for all at once"`
	Evictions   int                     `json:"evictions" min:"1" max:"1000" doc:"how many evictions are asked for, if how is evictions"`
	Interval    scenario.Duration       `json:"interval" doc:"from the end of an eviction to the next one; in a drain, from a refusal to the next round, which is 5s in kubectl"`
	Patience    int                     `json:"patience" min:"1" max:"100" doc:"after how many rounds without success a drain gives up; kubectl goes on until its --timeout, which is set to match"`
	Replacement string                  `json:"replacement" enum:"after,never" doc:"whether new pods become ready"`
	Startup     scenario.Duration       `json:"startup" doc:"how long a new pod runs before it is ready"`
	Quiet       scenario.Duration       `json:"quiet" doc:"how long nothing may change after the end"`
}

// Scenario is eviction.
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "eviction" }

func (Scenario) Summary() string {
	return "evict pods or drain their node: what does a PodDisruptionBudget answer, and is there an instant without a ready pod?"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	return &Params{
		Replicas: 3, Budget: MinAvailable, Limit: deployment.Int(2), Budgets: 1, Policy: Unset,
		How: Evictions, Evictions: 3, Interval: scenario.Duration(500 * time.Millisecond), Patience: 3,
		Replacement: After, Startup: scenario.Duration(time.Second), Quiet: workload.Quiet,
	}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	if p.Limit.IsPercent() && p.Limit.Value() > 100 { // pkg/apis/policy/validation/validation.go:59 (v1.37.2)
		return scenario.Refuse("limit", "%s is more than all, expected 0%% to 100%%, or a number of pods", p.Limit)
	}
	if p.Unready > p.Replicas {
		return scenario.Refuse("unready", "%d of %d replicas cannot be unready", p.Unready, p.Replicas)
	}
	if p.Budget == None && p.Budgets > 1 {
		return scenario.Refuse("budgets", "with no budget there are not %d of them", p.Budgets)
	}
	if p.Budget == None && p.Policy != Unset {
		return scenario.Refuse("unhealthyPodEvictionPolicy", "it is a field of a budget, and there is none")
	}
	return p.workload().Check()
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	trace := p.play(newest)
	total := 8*time.Second + p.Quiet.Std() + time.Duration(len(trace.Rows))*500*time.Millisecond
	pauses := len(trace.Rows)
	if p.drains() && pauses > 0 {
		pauses = trace.Rows[pauses-1].Round
	}
	total += time.Duration(pauses) * p.Interval.Std()
	if p.How == Kubectl && trace.Forever {
		total += p.timeout()
	}
	if p.Replacement == After {
		total += time.Duration(granted(trace)) * p.Startup.Std()
	}
	return total
}

// drains says whether a node is drained.
func (p *Params) drains() bool { return p.How == Drain || p.How == Kubectl }

// workload is the Deployment under the budget, which no update touches.
func (p *Params) workload() workload.Deployment { return workload.DefaultDeployment(p.Replicas) }
