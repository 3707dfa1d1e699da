package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/toolchain"
	"reckon.dev/reckon/harness/toolchain/image"
)

const helloRef = "localhost/reckon/hello:v1"

// realConfig skips where real clusters are not wanted: they take half a minute each.
func realConfig(t *testing.T) (Config, engine) {
	t.Helper()
	if os.Getenv("RECKON_TEST_KIND") == "" {
		t.Skip("RECKON_TEST_KIND is not set: `make test-kind` sets it")
	}
	e, err := findEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &toolchain.Builder{}
	req := toolchain.Request{Component: "kind-node"}
	root := filepath.Join(t.TempDir(), "clusters")
	t.Cleanup(func() { nothingLeft(t, e, root) })
	return Config{
		Root: root, Progress: func(s string) { t.Log(time.Now().Format("05.000"), s) },
		NodeImage: NodeImage{Want: "build", Build: func(ctx context.Context) (Archive, error) {
			a, err := b.Build(ctx, req)
			if err != nil {
				return Archive{}, err
			}
			return Archive{Ref: a.Images[0].Ref, ID: a.Images[0].ID, Path: a.Images[0].Path}, nil
		}},
	}, e
}

// nothingLeft looks for containers, networks and directories of a root.
func nothingLeft(t *testing.T, e engine, root string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	nodes, err := e.marked(ctx, func(mark string) bool { return strings.HasPrefix(mark, root) })
	if err != nil || len(nodes) > 0 {
		t.Errorf("left: nodes %v, error %v", nodes, err)
	}
	networks, err := e.run(ctx, "network", "ls", "--quiet", "--filter", "label="+networkLabel+"="+root)
	if err != nil || networks != "" {
		t.Errorf("left: networks %q, error %v", networks, err)
	}
	probes, err := e.run(ctx, "ps", "--all", "--quiet", "--filter", "label="+probeLabel+"="+root)
	if err != nil || probes != "" {
		t.Errorf("left: probes %q, error %v", probes, err)
	}
	if states, err := readStates(root); err != nil || len(states) > 0 {
		t.Errorf("left: clusters %v, error %v", states, err)
	}
}

// volumes are the names of all volumes of the engine.
func volumes(t *testing.T, e engine) string {
	t.Helper()
	out, err := e.run(t.Context(), "volume", "ls", "--quiet")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Two nodes: the workload is on the worker, DNS on the control plane's node or on
// either, so that its readiness takes routes between nodes, kube-proxy and DNS.
func TestAWorkloadOfAnImageOfOursRunsAndNothingIsLeft(t *testing.T) {
	cfg, e := realConfig(t)
	before := volumes(t, e)
	cfg.Options = cluster.Options{Nodes: 2, Labels: map[string]string{"run": t.Name()}}
	began := time.Now()
	c, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Down(t.Context())
	t.Logf("up after %s", time.Since(began))
	if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
	for _, key := range []string{"version/kube-apiserver", "version/kubelet", "version/kind", "digest/node", "cgroup"} {
		if c.Facts()[key] == "" {
			t.Errorf("no fact %s in %v", key, c.Facts())
		}
	}
	began = time.Now()
	if err := c.LoadImages(t.Context(), helloImage(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("image loaded after %s", time.Since(began))
	began = time.Now()
	deployHello(t, c.client)
	t.Logf("available after %s", time.Since(began))
	answer, err := c.client.CoreV1().Services("default").ProxyGet("http", "hello", "80", "/", nil).DoRaw(t.Context())
	if err != nil || !strings.HasPrefix(string(answer), "hello from hello-") {
		t.Errorf("answer %q, %v", answer, err)
	}
	list, err := List(t.Context(), cfg.Root)
	if err != nil || len(list) != 1 || list[0].Running != 2 || list[0].Phase != phaseReady {
		t.Errorf("list %+v, %v", list, err)
	}
	began = time.Now()
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("down after %s", time.Since(began))
	if after := volumes(t, e); after != before {
		t.Errorf("volumes before:\n%s\nafter:\n%s", before, after)
	}
	if c.Err() != nil {
		t.Errorf("taken down, it has the error %v", c.Err())
	}
}

// helloImage compiles a program and puts it on an empty file system.
func helloImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "hello"), "./testdata/hello")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tree := image.NewTree()
	if err := tree.File("hello", 0o755, filepath.Join(dir, "hello")); err != nil {
		t.Fatal(err)
	}
	layer, err := tree.Layer(filepath.Join(dir, "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.New(v1.Config{Entrypoint: []string{"/hello"}, User: "65532"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "hello.tar")
	if err := image.WriteOCI(archive, helloRef, img); err != nil {
		t.Fatal(err)
	}
	return archive
}

// deployHello makes a Deployment and a Service, and waits until it is available.
func deployHello(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	labels := map[string]string{"app": "hello"}
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}},
		PeriodSeconds: 1, TimeoutSeconds: 5,
	}
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers:      []corev1.Container{{Name: "hello", Image: helloRef, ImagePullPolicy: corev1.PullNever, ReadinessProbe: probe}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var last appsv1.DeploymentStatus
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "hello", metav1.GetOptions{})
		if err == nil {
			last = d.Status
		}
		return last.AvailableReplicas == 2, nil
	})
	if err != nil {
		t.Fatalf("%v: %+v%s", err, last, podStates(t, client))
	}
}

func podStates(t *testing.T, client kubernetes.Interface) string {
	list, err := client.CoreV1().Pods("").List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range list.Items {
		fmt.Fprintf(&b, "\n%s on %s: %s", p.Name, p.Spec.NodeName, p.Status.Phase)
		for _, s := range p.Status.ContainerStatuses {
			fmt.Fprintf(&b, " ready %t %+v", s.Ready, s.State)
		}
	}
	return b.String()
}

// Each heading of kind's, and of ours after it, is a phase; the fixture's clean-up
// looks for what is left.
func TestAnInterruptInAnyPhaseLeavesNothing(t *testing.T) {
	for _, phase := range []string{"Preparing nodes", "Writing configuration", "Starting control-plane", "Connecting nodes", "Waiting for nodes"} {
		t.Run(phase, func(t *testing.T) {
			cfg, e := realConfig(t)
			before := volumes(t, e)
			why := errors.New("the user pressed ctrl-c")
			ctx, cancel := context.WithCancelCause(t.Context())
			var once sync.Once
			cfg.Progress = func(s string) {
				if strings.HasPrefix(s, phase) {
					once.Do(func() { time.AfterFunc(300*time.Millisecond, func() { cancel(why) }) })
				}
			}
			began := time.Now()
			c, err := Up(ctx, cfg)
			if err == nil {
				_ = c.Down(t.Context())
				t.Skip("it was up before the interrupt came")
			}
			if !errors.Is(err, why) {
				t.Errorf("error %v, want the cause of the interrupt", err)
			}
			t.Logf("ended after %s", time.Since(began))
			if after := volumes(t, e); after != before {
				t.Errorf("volumes before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestClustersSideBySide(t *testing.T) {
	cfg, e := realConfig(t)
	clusters := make([]*Cluster, 2)
	var wg sync.WaitGroup
	for i := range clusters {
		wg.Go(func() {
			var err error
			if clusters[i], err = Up(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, c := range clusters {
		if c == nil {
			continue
		}
		if err := c.Down(t.Context()); err != nil {
			t.Error(err)
		}
		// The first to go must leave the other what both share.
		if other := clusters[1]; i == 0 && other != nil {
			if _, err := other.client.Discovery().ServerVersion(); err != nil {
				t.Error(err)
			}
			if _, err := e.run(t.Context(), "network", "inspect", networkName(cfg.Root)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAClusterThatDoesNotComeUpLeavesItsLogsOnly(t *testing.T) {
	cfg, e := realConfig(t)
	cfg.Name = randomName()
	progress := cfg.Progress
	cfg.Progress = func(s string) {
		progress(s)
		if strings.HasPrefix(s, "Starting control-plane") {
			// Its API server will never answer.
			_, err := e.run(t.Context(), "exec", cfg.Name+"-control-plane", "rm", "/usr/bin/kubelet")
			if err != nil {
				t.Error(err)
			}
		}
	}
	c, err := Up(t.Context(), cfg)
	if err == nil {
		t.Error(c.Down(t.Context()))
		t.Fatal("it came up")
	}
	t.Log(err)
	logs, globErr := filepath.Glob(filepath.Join(logDir(cfg.Root, cfg.Name), "*", "journal.log"))
	if globErr != nil || len(logs) != 1 || !strings.Contains(err.Error(), logDir(cfg.Root, cfg.Name)) {
		t.Errorf("logs %v, error %v", logs, err)
	}
}

func TestANodeThatEndsIsTheEndOfTheCluster(t *testing.T) {
	cfg, e := realConfig(t)
	c, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Down(t.Context())
	if _, err := e.run(t.Context(), "kill", c.Name()+"-control-plane"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody noticed")
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "control-plane ended by itself") {
		t.Errorf("error %v", err)
	}
}
