package eviction

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"reckon.dev/reckon/manifests/kwok"
	"reckon.dev/reckon/scenarios/workload"
)

// runLabel names the run that a node is for, as label and as taint.
const runLabel = "reckon.dev/run"

// runOf is the random end of a namespace's name: labels and taints may be 63
// characters long, as may the name itself.
func runOf(namespace string) string { return namespace[strings.LastIndexByte(namespace, '-')+1:] }

func nodeName(namespace, suffix string) string {
	return workload.Name + "-" + runOf(namespace) + suffix
}

// node is a simulated node for one run's pods only: runs share a cluster, and a
// drain of a node that others use would be theirs too.
func node(namespace, suffix string) (*corev1.Node, error) {
	text, err := kwok.Files.ReadFile("node.yaml")
	if err != nil {
		return nil, err
	}
	n := &corev1.Node{}
	if err := utilyaml.UnmarshalStrict(text, n); err != nil {
		return nil, fmt.Errorf("manifests/kwok/node.yaml: %w", err)
	}
	n.Name = nodeName(namespace, suffix)
	n.Labels[corev1.LabelHostname] = n.Name
	n.Labels[runLabel] = runOf(namespace)
	n.Spec.Taints = []corev1.Taint{{Key: runLabel, Value: runOf(namespace), Effect: corev1.TaintEffectNoSchedule}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.Name}}
	return n, nil
}

// deployment is the Deployment, on the run's own nodes for a drain.
func (p *Params) deployment(namespace string) (*appsv1.Deployment, error) {
	d, err := p.workload().Deployment(namespace, workload.V1)
	if err == nil && p.drains() {
		pod := &d.Spec.Template.Spec
		pod.NodeSelector = map[string]string{runLabel: runOf(namespace)}
		pod.Tolerations = []corev1.Toleration{{Key: runLabel, Operator: corev1.TolerationOpEqual, Value: runOf(namespace), Effect: corev1.TaintEffectNoSchedule}}
	}
	return d, err
}

// budget is the i-th budget.
func (p *Params) budget(namespace string, i int) *policyv1.PodDisruptionBudget {
	limit := workload.IntOrString(p.Limit)
	b := workload.Budget(namespace, limit)
	b.Name = budgetName(i)
	if p.Budget == MaxUnavailable {
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, new(intstr.Parse(limit.String()))
	}
	if p.Policy != Unset {
		b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.UnhealthyPodEvictionPolicyType(p.Policy))
	}
	return b
}
