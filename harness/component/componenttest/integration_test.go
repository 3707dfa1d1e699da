package componenttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"helm.sh/helm/v4/pkg/release/common"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/toolchain"
	"reckon.dev/reckon/harness/toolchain/image"
)

const (
	older = "v1.8.2"
	newer = "v1.9.2"
)

// TestComponentsInACluster uses one cluster for all that needs one.
func TestComponentsInACluster(t *testing.T) {
	began := time.Now()
	c := Cluster(t)
	lap := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) }
	lap("cluster up")
	istiod := Load(t, c, toolchain.Request{Component: "istiod"}, istio.User)
	before := Load(t, c, toolchain.Request{Component: "argo-rollouts", Version: older}, argorollouts.User)
	lap("two images loaded")
	mesh, err := istio.Install(t.Context(), istio.Config{REST: c.RESTConfig(), Assets: istiod.Artifact.Assets, Image: istiod.Ref, Progress: progress(t)})
	if err != nil {
		t.Fatal(err)
	}
	lap("Istio installed")
	if err := argorollouts.Install(t.Context(), c.RESTConfig(), before.Artifact.Assets, argorollouts.WithoutIstio()); err != nil {
		t.Fatal(err)
	}
	config := argorollouts.DeployConfig{
		REST: c.RESTConfig(), Namespace: "drill-controller", Watch: "drill", Image: before.Ref, Assets: before.Artifact.Assets, Version: older,
	}
	controller, err := argorollouts.Deploy(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer controller.Release()
	lap("Argo Rollouts leads")

	t.Run("istiod is as it was asked for", func(t *testing.T) { istiodAsAsked(t, mesh) })
	t.Run("a canary goes through with its VirtualService", func(t *testing.T) { canary(t, controller) })
	t.Run("logs are whole", func(t *testing.T) { logs(t, c, controller) })
	t.Run("errors say why", func(t *testing.T) { errorsSayWhy(t, config) })
	t.Run("istiod is upgraded in place", func(t *testing.T) { upgrade(t, mesh, istiod) })
	t.Run("the controller is replaced in place", func(t *testing.T) { replace(t, c, controller) })
	t.Run("nothing is left", func(t *testing.T) {
		if err := mesh.Uninstall(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pods, err := mesh.Pods(t.Context()); err != nil || len(pods) > 0 {
			t.Errorf("pods %v, %v", pods, err)
		}
	})
}

func get(t *testing.T, e incluster.Endpoint) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := e.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", e.URL, resp.Status, err)
	}
	return string(text)
}

func istiodAsAsked(t *testing.T, mesh *istio.Istio) {
	pods, err := mesh.Pods(t.Context())
	if err != nil || len(pods) != 1 {
		t.Fatalf("pods %v, %v", pods, err)
	}
	if text := get(t, mesh.Metrics(pods[0].Name)); !strings.Contains(text, "istio_build{") {
		t.Errorf("metrics %.200s", text)
	}
	// Releases as `helm list` reads them.
	secrets, err := mesh.Client.Kube.CoreV1().Secrets(mesh.Namespace()).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range secrets.Items {
		if s.Labels["status"] == string(common.StatusDeployed) {
			names = append(names, s.Labels["name"])
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"istio-base", "istiod"}) {
		t.Errorf("releases %v", names)
	}
}

const workload = `
apiVersion: v1
kind: Service
metadata: {name: stable, namespace: drill}
spec: {selector: {app: demo}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: canary, namespace: drill}
spec: {selector: {app: demo}, ports: [{name: http, port: 80}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: demo, namespace: drill}
spec:
  hosts: [stable]
  http:
  - name: primary
    route:
    - {destination: {host: stable}, weight: 100}
    - {destination: {host: canary}, weight: 0}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: demo, namespace: drill}
spec:
  replicas: 2
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}, annotations: {version: "1"}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", imagePullPolicy: Never}]
  strategy:
    canary:
      stableService: stable
      canaryService: canary
      trafficRouting: {istio: {virtualService: {name: demo, routes: [primary]}}}
      steps: [{setWeight: 20}, {pause: {duration: 2s}}, {setWeight: 60}, {pause: {duration: 2s}}]
`

var (
	rollouts        = v1alpha1.RolloutGVR
	virtualServices = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}
)

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := incluster.ReadManifests(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// canary takes a Rollout from one version to another and writes down the weights
// on the way.
func canary(t *testing.T, controller *argorollouts.Deployed) {
	client := controller.Client
	if err := client.Apply(t.Context(), objects(t, workload)...); err != nil {
		t.Fatal(err)
	}
	awaitHealthy(t, client, 1)
	weights, err := client.Dynamic.Resource(virtualServices).Namespace("drill").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []int64)
	go func() {
		var all []int64
		for e := range weights.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok { // else the watch broke: it was stopped
				all = append(all, canaryWeight(t, o))
			}
		}
		seen <- slices.Compact(all)
	}()
	update(t, client, "2")
	awaitHealthy(t, client, 2)
	time.Sleep(time.Second) // the last event may be on its way
	weights.Stop()
	if got := <-seen; !slices.Equal(got, []int64{0, 20, 60, 100, 0}) {
		t.Errorf("canary weights %v", got)
	}
}

// canaryWeight is the weight of the route to the canary, -1 if there is none.
func canaryWeight(t *testing.T, o *unstructured.Unstructured) int64 {
	routes, _, err := unstructured.NestedSlice(o.Object, "spec", "http")
	if err != nil {
		t.Error(err)
		return -1
	}
	for _, d := range routes[0].(map[string]any)["route"].([]any) {
		d := d.(map[string]any)
		if host, _, _ := unstructured.NestedString(d, "destination", "host"); host == "canary" {
			weight, _, _ := unstructured.NestedInt64(d, "weight")
			return weight
		}
	}
	return -1
}

func update(t *testing.T, client *incluster.Client, version string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"version":%q}}}}}`, version)
	_, err := client.Dynamic.Resource(rollouts).Namespace("drill").Patch(t.Context(), "demo", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitHealthy waits until the generation is rolled out.
func awaitHealthy(t *testing.T, client *incluster.Client, revision int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		o, err := client.Dynamic.Resource(rollouts).Namespace("drill").Get(ctx, "demo", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var ro v1alpha1.Rollout
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &ro); err != nil {
			t.Fatal(err)
		}
		if ro.Annotations["rollout.argoproj.io/revision"] == fmt.Sprint(revision) && ro.Status.Phase == v1alpha1.RolloutPhaseHealthy &&
			ro.Status.ObservedGeneration == fmt.Sprint(ro.Generation) && ro.Status.StableRS == ro.Status.CurrentPodHash {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("revision %d is not healthy: %+v", revision, ro.Status)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// logs follows a talker over a connection that breaks again and again, and the
// controller's own log.
func logs(t *testing.T, c *kind.Cluster, controller *argorollouts.Deployed) {
	if err := c.LoadImages(t.Context(), talker(t)); err != nil {
		t.Fatal(err)
	}
	const lines = 3000
	config := c.RESTConfig()
	breaker := &breaker{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { breaker.next = next; return breaker })
	client, err := incluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"ends-well": 0, "ends-badly": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := talk(t, client, name, lines, code)
			var got []string
			if err := client.FollowLog(t.Context(), incluster.Container{Namespace: "default", Pod: pod.Name, Name: "main"}, func(line string) { got = append(got, line) }); err != nil {
				t.Fatal(err)
			}
			if len(got) != lines+1 || got[lines] != "the last line has no end" {
				t.Fatalf("%d lines, the last one %q", len(got), got[len(got)-1])
			}
			for i, line := range got[:lines] {
				if line != fmt.Sprint("line ", i) {
					t.Fatalf("line %d is %q", i, line)
				}
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var got []string
	if err := controller.Client.FollowLog(ctx, controller.Log, func(line string) { got = append(got, line) }); err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || !strings.Contains(got[0], "Argo Rollouts starting") || !strings.HasPrefix(got[0], "{") {
		t.Errorf("%d lines of the controller: %q", len(got), got[:min(len(got), 2)])
	}
	t.Cleanup(func() {
		if breaker.count < 4 {
			t.Errorf("the connection broke %d times only", breaker.count)
		}
	})
}

func talk(t *testing.T, client *incluster.Client, name string, lines, code int) *corev1.Pod {
	t.Helper()
	pod, err := client.Kube.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "main", Image: talkerRef, ImagePullPolicy: corev1.PullNever, Args: []string{fmt.Sprint(lines), "2ms", fmt.Sprint(code)},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

const talkerRef = "localhost/reckon/talker:test"

func talker(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "talker"), "./testdata/talker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tree := image.NewTree()
	if err := tree.File("talker", 0o755, filepath.Join(dir, "talker")); err != nil {
		t.Fatal(err)
	}
	layer, err := tree.Layer(filepath.Join(dir, "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.New(v1.Config{Entrypoint: []string{"/talker"}, User: "65532"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "talker.tar")
	if err := image.WriteOCI(archive, talkerRef, img); err != nil {
		t.Fatal(err)
	}
	return archive
}

// breaker ends the stream of each log after a while, by turns as if it were the
// end and with an error.
type breaker struct {
	next  http.RoundTripper
	mu    sync.Mutex
	count int
}

func (b *breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil && strings.HasSuffix(req.URL.Path, "/log") && req.URL.Query().Get("follow") == "true" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.count++
		end := io.EOF
		if b.count%2 == 0 {
			end = io.ErrUnexpectedEOF
		}
		resp.Body = &broken{ReadCloser: resp.Body, left: 20011, end: end}
	}
	return resp, err
}

type broken struct {
	io.ReadCloser
	left int
	end  error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func errorsSayWhy(t *testing.T, config argorollouts.DeployConfig) {
	for _, c := range []struct {
		name   string
		change func(*argorollouts.DeployConfig)
		limit  time.Duration
		want   []string
	}{
		{"no image", func(d *argorollouts.DeployConfig) { d.Image = "localhost/no/such:image" }, time.Minute, []string{"ErrImageNeverPull", "localhost/no/such:image"}},
		{"no such flag", func(d *argorollouts.DeployConfig) { d.Args = []string{"--no-such-flag"} }, 15 * time.Second, []string{"unknown flag: --no-such-flag", "exit code 1", "15s is not enough"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := config
			d.Namespace, d.Watch = "broken", ""
			c.change(&d)
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.limit, errors.New(c.limit.String()+" is not enough"))
			defer cancel()
			_, err := argorollouts.Deploy(ctx, d)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			t.Log(err)
		})
	}
}

func upgrade(t *testing.T, mesh *istio.Istio, img Image) {
	err := mesh.Upgrade(t.Context(), istio.Config{Assets: img.Artifact.Assets, Image: img.Ref, Replicas: 2, ConnectionAge: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := mesh.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if len(pods) != 2 || !slices.Contains(pods[0].Spec.Containers[0].Args, "1m0s") {
		t.Errorf("%d pods, args %v", len(pods), pods[0].Spec.Containers[0].Args)
	}
	if _, err := mesh.Client.Kube.PolicyV1().PodDisruptionBudgets(mesh.Namespace()).Get(t.Context(), "istiod", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func replace(t *testing.T, c *kind.Cluster, controller *argorollouts.Deployed) {
	after := Load(t, c, toolchain.Request{Component: "argo-rollouts", Version: newer}, argorollouts.User)
	began := time.Now()
	next, err := controller.Replace(t.Context(), argorollouts.DeployConfig{Image: after.Ref, Assets: after.Artifact.Assets, Version: newer}, argorollouts.WithoutIstio())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s leads after %s", newer, time.Since(began))
	select {
	case <-controller.Done():
		if controller.Err() != nil {
			t.Errorf("the one that was replaced: %v", controller.Err())
		}
	default:
		t.Error("the one that was replaced is not done")
	}
	if next.Pod == controller.Pod || !strings.Contains(get(t, next.Metrics), `version="`+newer) {
		t.Errorf("pod %s after pod %s", next.Pod, controller.Pod)
	}
	if get(t, next.Health) != "ok" {
		t.Error("not healthy")
	}
	update(t, next.Client, "3")
	awaitHealthy(t, next.Client, 3)
	crash(t, next)
	if err := next.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Client.Kube.CoreV1().Pods(next.Log.Namespace).Get(t.Context(), next.Pod, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("pod %s: %v", next.Pod, err)
	}
}

// crash deletes the pod behind the back of who deployed it.
func crash(t *testing.T, controller *argorollouts.Deployed) {
	t.Helper()
	if err := controller.Client.Kube.CoreV1().Pods(controller.Log.Namespace).Delete(t.Context(), controller.Pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-controller.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody noticed")
	}
	if err := controller.Err(); err == nil || !strings.Contains(err.Error(), controller.Pod) {
		t.Errorf("error %v", err)
	} else {
		t.Log(err)
	}
}
