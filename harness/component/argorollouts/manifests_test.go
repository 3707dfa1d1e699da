package argorollouts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// modules are the sources of every version that this machine has.
func modules(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "github.com", "argoproj", "argo-rollouts@*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("no sources of Argo Rollouts here")
	}
	found := map[string]string{}
	for _, dir := range dirs {
		_, version, _ := strings.Cut(filepath.Base(dir), "@")
		found[version] = dir
	}
	return found
}

func ofKind[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var out []T
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
			t.Fatal(err)
		}
		out = append(out, typed)
	}
	return out
}

func TestTheManifestsOfEveryVersionAreMadeOurs(t *testing.T) {
	t.Parallel()
	for version, dir := range modules(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			objects, err := DeployConfig{Namespace: "ctl", Image: "localhost/reckon/argo-rollouts:x", Assets: dir, Version: version, Args: []string{"--rollout-threads", "3"}}.manifests()
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				if o.GetNamespace() != "ctl" || strings.HasPrefix(o.GetKind(), "Cluster") {
					t.Errorf("%s %s in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
				}
			}
			d := ofKind[appsv1.Deployment](t, objects, "Deployment")
			if len(d) != 1 || d[0].Name != deployment || d[0].Spec.Selector.MatchLabels["app.kubernetes.io/name"] != deployment {
				t.Fatalf("deployments %+v", d)
			}
			checkContainer(t, d[0].Spec.Template.Spec.Containers)
			b := ofKind[rbacv1.RoleBinding](t, objects, "RoleBinding")
			if len(b) != 1 || b[0].Subjects[0].Namespace != "ctl" {
				t.Errorf("bindings %+v", b)
			}
			if r := ofKind[rbacv1.Role](t, objects, "Role"); len(r) != 1 || len(r[0].Rules) == 0 {
				t.Errorf("roles %+v", r)
			}
		})
	}
}

func checkContainer(t *testing.T, containers []corev1.Container) {
	t.Helper()
	if len(containers) != 1 {
		t.Fatalf("containers %+v", containers)
	}
	c := containers[0]
	if c.Name != Container || c.Image != "localhost/reckon/argo-rollouts:x" || c.ImagePullPolicy != corev1.PullNever {
		t.Errorf("container %s, image %s, pulled %s", c.Name, c.Image, c.ImagePullPolicy)
	}
	if got := strings.Join(c.Args, " "); got != "--namespaced --logformat json --loglevel info --qps 200 --burst 400 --rollout-threads 3" {
		t.Errorf("args %s", got)
	}
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["metrics"] != MetricsPort || ports["healthz"] != HealthPort {
		t.Errorf("ports %v", ports)
	}
	if p := c.ReadinessProbe; p != nil && (p.InitialDelaySeconds != 0 || p.PeriodSeconds != 1 || p.HTTPGet.Path != "/metrics") {
		t.Errorf("readiness %+v", p)
	}
	if c.LivenessProbe == nil || c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil {
		t.Error("what is upstream's was lost")
	}
}

func TestAControllerOfAnotherNamespaceHasItsRightsThere(t *testing.T) {
	t.Parallel()
	for version, dir := range modules(t) {
		objects, err := DeployConfig{Namespace: "ctl", Watch: "run", Image: "x", Assets: dir, UpstreamProbes: true}.manifests()
		if err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, o := range objects {
			if o.GetNamespace() == "run" {
				places = append(places, o.GetKind())
			}
		}
		if slices.Sort(places); !slices.Equal(places, []string{"Role", "RoleBinding"}) {
			t.Errorf("%s: in the watched namespace: %v", version, places)
		}
		for _, b := range ofKind[rbacv1.RoleBinding](t, objects, "RoleBinding") {
			if b.Subjects[0].Namespace != "ctl" {
				t.Errorf("%s: subject %+v", version, b.Subjects[0])
			}
		}
		c := ofKind[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.Containers[0]
		if got := strings.Join(c.Args[len(c.Args)-2:], " "); got != "--namespace run" {
			t.Errorf("%s: args %v", version, c.Args)
		}
		if p := c.ReadinessProbe; p != nil && p.InitialDelaySeconds != 10 {
			t.Errorf("%s: upstream's probe was changed: %+v", version, p)
		}
	}
}

func TestIstiosCRDsAreLeftOutIfIstioBringsThem(t *testing.T) {
	t.Parallel()
	for version, dir := range modules(t) {
		for _, istio := range []bool{true, false} {
			objects, err := crdsOf(dir, istio)
			if err != nil {
				t.Fatal(err)
			}
			var ours, theirs int
			for _, o := range objects {
				if strings.HasSuffix(o.GetName(), ".argoproj.io") {
					ours++
				} else {
					theirs++
				}
			}
			if ours != 5 || istio && theirs != 2 || !istio && theirs != 0 {
				t.Errorf("%s, with Istio's %t: %d and %d CRDs", version, istio, ours, theirs)
			}
		}
	}
}

func TestManifestsThatAreNotThereAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := DeployConfig{Namespace: "ctl", Assets: dir, Version: "v1.8.2"}.manifests()
	if err == nil || !strings.Contains(err.Error(), "v1.8.2") || !strings.Contains(err.Error(), "rebuild") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(dir, "manifests", "namespace-install.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"kind: Service\napiVersion: v1\nmetadata: {name: x}\n":                                                                  "no Deployment",
		"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: other}]}}}\n": "no container argo-rollouts",
		"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x}\nspec: {replicas: many}\n":                                  "Deployment x",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (DeployConfig{Namespace: "ctl", Assets: dir}).manifests(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestAProcessListensWhereItIsTold(t *testing.T) {
	t.Parallel()
	for version, flag := range map[string]string{"v1.7.2": "--metricsport", "v1.8.2": "--metricsport", "v1.9.2": "--metricsPort", "v1.10.1": "--metricsPort"} {
		args := Config{Version: version, Kubeconfig: "/k", HealthPort: 1, MetricsPort: 2}.args()
		if got := strings.Join(args, " "); !strings.Contains(got, flag+" 2 ") || !strings.Contains(got, "--leader-elect=false") || !strings.HasSuffix(got, "--qps 200 --burst 400") {
			t.Errorf("%s: %s", version, got)
		}
	}
}
