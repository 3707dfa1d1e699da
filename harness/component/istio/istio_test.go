package istio

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	release "helm.sh/helm/v4/pkg/release/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/component/incluster"
)

// sources are the module's, of every version that this machine has.
func sources(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "istio.io", "istio@*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("no sources of Istio here")
	}
	return dirs
}

// rendered are the objects that a configuration comes to, without a cluster.
func rendered(t *testing.T, assets string, c Config) []*unstructured.Unstructured {
	t.Helper()
	all, err := loadCharts(assets)
	if err != nil {
		t.Fatal(err)
	}
	a := action.NewInstall(action.NewConfiguration())
	a.ReleaseName, a.Namespace, a.DryRunStrategy = releaseIstiod, Namespace, action.DryRunClient
	r, err := a.Run(all.istiod, c.complete().values())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rendered.yaml")
	if err := os.WriteFile(file, []byte(r.(*release.Release).Manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	objects, err := incluster.ReadManifests(file)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTheChartsMakeOfOurValuesWhatIsMeant(t *testing.T) {
	t.Parallel()
	for _, dir := range sources(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			objects := rendered(t, dir, Config{
				Image: "localhost/reckon/istiod:x", Replicas: 3, ConnectionAge: time.Minute, Args: []string{"--shutdownDuration=1s"},
				Env:       map[string]string{"PILOT_MAX_REQUESTS_PER_SECOND": "1000", "INJECT_ENABLED": "true"},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}},
				Values:    map[string]any{"global": map[string]any{"logging": map[string]any{"level": "default:warn"}}},
			})
			kinds := map[string]int{}
			var d appsv1.Deployment
			for _, o := range objects {
				kinds[o.GetKind()]++
				if o.GetKind() == "Deployment" {
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
						t.Fatal(err)
					}
				}
				if mesh, ok, _ := unstructured.NestedString(o.Object, "data", "mesh"); ok && !strings.Contains(mesh, `ingressControllerMode: "OFF"`) {
					t.Errorf("mesh configuration %s", mesh)
				}
			}
			for _, none := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "HorizontalPodAutoscaler", "Telemetry", "EnvoyFilter"} {
				if kinds[none] > 0 {
					t.Errorf("%d of %s", kinds[none], none)
				}
			}
			if kinds["PodDisruptionBudget"] != 1 || kinds["Service"] != 1 {
				t.Errorf("kinds %v", kinds)
			}
			checkIstiod(t, &d)
		})
	}
}

func checkIstiod(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	if d.Name != deployment || d.Spec.Replicas == nil || *d.Spec.Replicas != 3 || d.Spec.Template.Labels["app"] != "istiod" {
		t.Errorf("deployment %s, replicas %v, labels %v", d.Name, d.Spec.Replicas, d.Spec.Template.Labels)
	}
	c := d.Spec.Template.Spec.Containers[0]
	if c.Name != "discovery" || c.Image != "localhost/reckon/istiod:x" || c.ImagePullPolicy != corev1.PullNever {
		t.Errorf("container %s, image %s, pulled %s", c.Name, c.Image, c.ImagePullPolicy)
	}
	args := strings.Join(c.Args, " ")
	for _, want := range []string{"--keepaliveMaxServerConnectionAge 1m0s", "--shutdownDuration=1s", "--log_output_level=default:warn"} {
		if !strings.Contains(args, want) {
			t.Errorf("args %s, want %s", args, want)
		}
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if env["PILOT_MAX_REQUESTS_PER_SECOND"] != "1000" || env["INJECT_ENABLED"] != "true" || env["PILOT_ENABLE_GATEWAY_API"] != "false" {
		t.Errorf("env %v", env)
	}
	if got := c.Resources.Limits.Cpu().String() + " " + c.Resources.Requests.Cpu().String() + " " + c.Resources.Requests.Memory().String(); got != "600m 10m 64Mi" {
		t.Errorf("resources %s", got)
	}
}

func TestUpstreamsOwnPaceIsKeptUnlessAsked(t *testing.T) {
	t.Parallel()
	for _, dir := range sources(t)[:1] {
		for _, o := range rendered(t, dir, Config{Image: "localhost/reckon/istiod:x"}) {
			if o.GetKind() == "PodDisruptionBudget" {
				t.Error("a budget for one replica keeps its node from being drained") // as the chart has it
			}
			if o.GetKind() != "Deployment" {
				continue
			}
			raw, _ := o.MarshalJSON()
			if !strings.Contains(string(raw), `"30m"`) {
				t.Errorf("connection age: %s", raw)
			}
		}
	}
}

func TestValuesAreMergedAndOursAreNotChanged(t *testing.T) {
	t.Parallel()
	base := map[string]any{"a": map[string]any{"b": 1, "c": 2}, "d": []any{1}}
	over := map[string]any{"a": map[string]any{"b": 3}, "d": []any{2}, "e": nil}
	got := merge(base, over)
	a := got["a"].(map[string]any)
	if a["b"] != 3 || a["c"] != 2 || got["d"].([]any)[0] != 2 {
		t.Errorf("%v", got)
	}
	if base["a"].(map[string]any)["b"] != 1 {
		t.Error("merging changed what it merged")
	}
}

func TestAssetsWithoutChartsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := Install(t.Context(), Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, Assets: t.TempDir(), Image: "a/b:c"})
	if err == nil || !strings.Contains(err.Error(), "rebuild the component") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// The API server that hangs is one that never answers.
func TestACancelledContextEndsWhatHelmHasUnderWay(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hang); server.Close() })
	why := errors.New("the user pressed ctrl-c")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	began := time.Now()
	_, err := Install(ctx, Config{REST: &rest.Config{Host: server.URL}, Assets: sources(t)[0], Image: "a/b:c"})
	if !errors.Is(err, why) || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
