package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
)

// StatefulSet are the parameters of a StatefulSet.
type StatefulSet struct {
	Replicas       int               `json:"replicas" min:"0" max:"50" doc:"replicas of the StatefulSet"`
	Partition      int               `json:"partition" min:"0" max:"1000" doc:"updateStrategy.rollingUpdate.partition: ordinals below it stay"`
	Policy         string            `json:"policy" enum:"OrderedReady,Parallel" doc:"podManagementPolicy"`
	MaxUnavailable share.Share       `json:"maxUnavailable" doc:"pods that an update may have down at once, a number or a percentage, which is rounded down, to at least 1; 0 leaves it unset"`
	Linger         scenario.Duration `json:"linger" doc:"how long a pod takes to terminate"`
}

// DefaultStatefulSet has the API's own defaults.
func DefaultStatefulSet(replicas int) StatefulSet {
	return StatefulSet{Replicas: replicas, Policy: string(statefulset.OrderedReady)}
}

// Spec is the StatefulSet as the model has it.
func (p StatefulSet) Spec() statefulset.Spec {
	return statefulset.Spec{
		Replicas: p.Replicas, Policy: statefulset.Policy(p.Policy), Partition: p.Partition, MaxUnavailable: p.MaxUnavailable,
	}
}

// PodName is the name of the pod at an ordinal.
func PodName(ordinal int) string { return fmt.Sprintf("%s-%d", Name, ordinal) }

// revisionHistoryLimit is the API's default.
const revisionHistoryLimit = 10

// StatefulSet is the StatefulSet of these parameters at a version of its template.
func (p StatefulSet) StatefulSet(namespace, version string) (*appsv1.StatefulSet, error) {
	set := &appsv1.StatefulSet{}
	if err := read("workload/statefulset.yaml", namespace, set); err != nil {
		return nil, err
	}
	rolling := &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(p.Partition))}
	if p.MaxUnavailable.Value > 0 {
		rolling.MaxUnavailable = new(intstr.Parse(p.MaxUnavailable.String()))
	}
	set.Spec.Replicas = new(int32(p.Replicas))
	set.Spec.PodManagementPolicy = appsv1.PodManagementPolicyType(p.Policy)
	set.Spec.RevisionHistoryLimit = new(int32(revisionHistoryLimit))
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: rolling}
	mark(&set.Spec.Template, version)
	linger(&set.Spec.Template, p.Linger.Std())
	return set, nil
}
