package argorollouts

import (
	"fmt"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reckon.dev/reckon/harness/component/incluster"
)

// User is the number of the image's user. The Deployment insists on one that is
// not root; this is upstream's (Dockerfile, v1.8.2).
const User = "999"

// Container is the name of the controller's container.
const Container = "argo-rollouts"

// MetricsPort and HealthPort are the container's
// (controller/controller.go, DefaultMetricsPort and DefaultHealthzPort, v1.8.2).
const (
	MetricsPort = 8090
	HealthPort  = 8080
)

// deployment is the name of the Deployment in every version's manifests.
const deployment = "argo-rollouts"

// manifests are the objects of the version's own namespaced install
// (manifests/namespace-install.yaml), made ours. The controller looks after
// the namespace it is in, or after another one, which then needs its rights too.
func (c DeployConfig) manifests() ([]*unstructured.Unstructured, error) {
	file := filepath.Join(c.Assets, "manifests", "namespace-install.yaml")
	objects, err := incluster.ReadManifests(file)
	if err != nil {
		return nil, fmt.Errorf("no manifests of Argo Rollouts %s, rebuild the component: %w", c.Version, err)
	}
	var out []*unstructured.Unstructured
	found := false
	for _, o := range objects {
		switch o.GetKind() {
		case "ClusterRole":
			// For the cluster's users. They are shared, and no controller needs them.
			continue
		case "Deployment":
			found = true
			err = patch(o, c.patchDeployment)
		case "RoleBinding":
			err = patch(o, c.patchBinding)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", file, o.GetKind(), o.GetName(), err)
		}
		o.SetNamespace(c.Namespace)
		out = append(out, o)
		if kind := o.GetKind(); c.watches() != c.Namespace && (kind == "Role" || kind == "RoleBinding") {
			there := o.DeepCopy()
			there.SetNamespace(c.watches())
			out = append(out, there)
		}
	}
	if !found {
		return nil, fmt.Errorf("%s has no Deployment", file)
	}
	return out, nil
}

// patch changes an object as its own type.
func patch[T any](o *unstructured.Unstructured, change func(*T) error) error {
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
		return err
	}
	if err := change(&typed); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return err
	}
	delete(content, "status") // is not ours to apply
	o.Object = content
	return nil
}

// patchDeployment puts in our image, which is in the nodes already, and our
// arguments.
func (c DeployConfig) patchDeployment(d *appsv1.Deployment) error {
	containers := d.Spec.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(x corev1.Container) bool { return x.Name == Container })
	if i < 0 {
		return fmt.Errorf("no container %s", Container)
	}
	container := &containers[i]
	container.Image, container.ImagePullPolicy = c.Image, corev1.PullNever
	container.Args = append(container.Args, c.podArgs()...)
	// Upstream's first look comes ten seconds after the start. Nothing but this
	// program's waiting depends on it, and 1.9 and later have no such probe.
	if p := container.ReadinessProbe; p != nil && !c.UpstreamProbes {
		p.InitialDelaySeconds, p.PeriodSeconds = 0, 1
	}
	return nil
}

// podArgs come after those of the manifests, which make the controller keep to
// one namespace.
func (c DeployConfig) podArgs() []string {
	args := slices.Clone(commonArgs)
	if c.watches() != c.Namespace {
		args = append(args, "--namespace", c.watches())
	}
	return append(args, c.Args...)
}

// patchBinding names the namespace of the service account, which `kubectl apply
// -n` would leave to the reader to add.
func (c DeployConfig) patchBinding(b *rbacv1.RoleBinding) error {
	for i := range b.Subjects {
		if b.Subjects[i].Kind == rbacv1.ServiceAccountKind {
			b.Subjects[i].Namespace = c.Namespace
		}
	}
	return nil
}
