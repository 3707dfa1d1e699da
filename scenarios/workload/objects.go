package workload

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/decoder"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
)

// Name of the drill's objects, as in manifests/workload.
const Name = "drill"

// Versions of the workload's template, in the order in which drills apply them.
const (
	V1 = "v1"
	V2 = "v2"
	V3 = "v3"
)

// Deployment is the Deployment of these parameters at a version of its template.
func (p Deployment) Deployment(namespace, version string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	if err := read("workload/deployment.yaml", namespace, d); err != nil {
		return nil, err
	}
	d.Spec.Replicas = new(int32(p.Replicas))
	d.Spec.MinReadySeconds = int32(p.MinReadySeconds)
	d.Spec.ProgressDeadlineSeconds = new(int32(p.ProgressDeadlineSeconds))
	d.Spec.RevisionHistoryLimit = new(int32(p.RevisionHistoryLimit))
	d.Spec.Strategy = p.strategy()
	mark(&d.Spec.Template, version)
	linger(&d.Spec.Template, p.Linger.Std())
	return d, nil
}

func (p Deployment) strategy() appsv1.DeploymentStrategy {
	if p.Strategy == Recreate {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	surge, unavailable := IntOrString(p.MaxSurge), IntOrString(p.MaxUnavailable)
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
}

// IntOrString is the value as the API has it.
func IntOrString(v deployment.IntOrPercent) intstr.IntOrString { return intstr.Parse(v.String()) }

func read(file, namespace string, into client.Object) error {
	f, err := manifests.Files.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := decoder.Decode(f, into, decoder.MutateNamespace(namespace)); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

func mark(t *corev1.PodTemplateSpec, version string) { t.Labels[stage.VersionLabel] = version }

// linger makes pods of the template take their time to terminate. Their grace
// period must be longer than none, or the API server deletes them at once.
func linger(t *corev1.PodTemplateSpec, d time.Duration) {
	if d <= 0 {
		return
	}
	t.Annotations = map[string]string{cluster.LingerAnnotation: d.String()}
	t.Spec.TerminationGracePeriodSeconds = new(int64(d/time.Second) + 1)
}

// Budget is a PodDisruptionBudget over the drill's pods.
func Budget(namespace string, minAvailable intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &minAvailable,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": Name}},
		},
	}
}

// patch merges a body into the drill's object of that kind.
func patch(ctx context.Context, c client.Client, object client.Object, namespace, body string) error {
	object.SetNamespace(namespace)
	object.SetName(Name)
	if err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return fmt.Errorf("patching the %T: %w", object, err)
	}
	return nil
}
