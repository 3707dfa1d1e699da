// Package statefulsetpartition is the scenario statefulset-partition: a
// StatefulSet is updated from the highest ordinal down to a partition, and then
// the partition is lowered. Or one of the new pods never becomes ready, and
// rolling the template back does not help it.
package statefulsetpartition

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/workload"
)

// None is for an ordinal or a partition that there is not.
const None = -1

// Params are the scenario's parameters.
type Params struct {
	workload.StatefulSet
	ThenPartition int               `json:"thenPartition" min:"-1" max:"1000" doc:"the partition after the first part of the update; -1 leaves it"`
	Stuck         int               `json:"stuck" min:"-1" max:"49" doc:"ordinal whose pod never becomes ready at v2, upon which the template is rolled back instead of the partition lowered; -1 is none"`
	Startup       scenario.Duration `json:"startup" doc:"how long a new pod runs before it is ready"`
	Quiet         scenario.Duration `json:"quiet" doc:"how long nothing may change after the end, and while the update is stuck after the rollback"`
}

// Scenario is statefulset-partition.
type Scenario struct{}

var _ scenario.Scenario = Scenario{}

func (Scenario) Name() string { return "statefulset-partition" }

func (Scenario) Summary() string {
	return "update a StatefulSet down to a partition, then lower it: which ordinals move, in which order, and what if one is stuck?"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	set := workload.DefaultStatefulSet(5)
	set.Partition = 2
	return &Params{
		StatefulSet: set, ThenPartition: 0, Stuck: None,
		Startup: scenario.Duration(500 * time.Millisecond), Quiet: workload.Quiet,
	}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.Stuck == None {
		return nil
	}
	if p.Stuck >= p.Replicas {
		return scenario.Refuse("stuck", "there is no ordinal %d among %d replicas", p.Stuck, p.Replicas)
	}
	if p.Stuck < p.Partition {
		return scenario.Refuse("stuck", "ordinal %d is below the partition %d and never gets to v2", p.Stuck, p.Partition)
	}
	return nil
}

// ordered says whether pods wait for those below them.
func (p *Params) ordered() bool { return p.Policy != string(statefulset.Parallel) }

// rest is how long nothing must move where pods start up meanwhile: no pod that
// is to become ready takes longer, with as much again for the machine.
func (p *Params) rest() time.Duration {
	return 2*(p.Startup.Std()+p.Linger.Std()) + time.Second
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	moved := max(0, p.Replicas-p.Partition)
	if p.ThenPartition != None {
		moved = max(moved, p.Replicas-p.ThenPartition)
	}
	total := 5*time.Second + time.Duration(p.Replicas)*300*time.Millisecond + p.Quiet.Std()
	if p.Stuck != None {
		total += p.Quiet.Std() + 4*p.rest()
		moved *= 2
	}
	return total + time.Duration(moved)*(p.Startup.Std()+p.Linger.Std()+300*time.Millisecond)
}
