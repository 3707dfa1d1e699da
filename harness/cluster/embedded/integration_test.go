//go:build linux

package embedded

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/cluster"
)

const envBinaries = "RECKON_TEST_BINARIES"

// testConfig skips without binaries: building them takes minutes.
func testConfig(t *testing.T) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes; not with -short")
	}
	dir := os.Getenv(envBinaries)
	if dir == "" {
		t.Skipf("%s is not set: it names a directory that holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok", envBinaries)
	}
	return Config{Root: t.TempDir(), Binaries: BinariesIn(dir)}
}

// upTimeout is for a busy machine.
const upTimeout = 2 * time.Minute

// mustUp makes a cluster, shows how long that took, and removes it in the end.
func mustUp(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), upTimeout)
	defer cancel()
	begin := time.Now()
	c, err := Up(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cluster %s up after %s", c.Name(), time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() { mustDown(t, c) })
	return c
}

func mustDown(t *testing.T, c *Cluster) {
	t.Helper()
	begin := time.Now()
	if err := c.Down(context.Background()); err != nil {
		t.Error(err)
	}
	t.Logf("cluster %s down after %s", c.Name(), time.Since(begin).Round(time.Millisecond))
	assertEmpty(t, c.cfg.Root)
}

func clientOf(t *testing.T, c *Cluster) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// One cluster for everything that leaves it usable.
func TestCluster(t *testing.T) {
	c := mustUp(t, testConfig(t))
	t.Run("Facts", func(t *testing.T) { checkFacts(t, c) })
	t.Run("FilesArePrivate", func(t *testing.T) { checkFiles(t, c) })
	t.Run("ListensOnLoopbackOnly", func(t *testing.T) { checkListeners(t, c) })
	t.Run("EtcdWantsItsCertificates", func(t *testing.T) { checkEtcd(t, c) })
	t.Run("NobodyIsAnonymous", func(t *testing.T) { checkAnonymous(t, c) })
	t.Run("GateDecidesReadiness", func(t *testing.T) { checkGate(t, c) })
	t.Run("PodWithoutGateIsReady", func(t *testing.T) { checkUngated(t, c) })
	t.Run("APIServerRestart", func(t *testing.T) { checkRestart(t, c) })
	t.Run("ControllerManagerRestart", func(t *testing.T) { checkManagerRestart(t, c) })
	t.Run("RestartIsRefused", func(t *testing.T) { checkRefusedRestarts(t, c) })
	t.Run("ListensOnLoopbackOnlyAfterRestart", func(t *testing.T) { checkListeners(t, c) })
}

func checkFacts(t *testing.T, c *Cluster) {
	for _, key := range c.Facts().Sorted() {
		t.Logf("%s = %s", key, c.Facts()[key])
	}
	for _, component := range componentNames() {
		if !strings.HasPrefix(c.Facts()["digest/"+component], "sha256:") {
			t.Errorf("no digest of %s", component)
		}
	}
	for _, component := range []string{etcdName, apiServerName, controllerManagerName, schedulerName} {
		if !strings.HasPrefix(c.Facts()["version/"+component], "v") {
			t.Errorf("version of %s: %q", component, c.Facts()["version/"+component])
		}
	}
}

func checkFiles(t *testing.T, c *Cluster) {
	err := filepath.WalkDir(c.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
}

// checkListeners reads the kernel's tables, as ss does.
func checkListeners(t *testing.T, c *Cluster) {
	inodes := map[string]string{}
	for name, p := range c.Processes() {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
		if err != nil || len(fds) == 0 {
			t.Fatalf("no descriptors of %s: %v", name, err)
		}
		for _, fd := range fds {
			if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
				inodes[strings.Trim(target, "socket:[]")] = name
			}
		}
	}
	found := 0
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(data), "\n")[1:] {
			f := strings.Fields(line)
			const listening, unconnected = "0A", "07"
			if len(f) < 10 || inodes[f[9]] == "" || (f[3] != listening && f[3] != unconnected) {
				continue
			}
			found++
			if !strings.HasPrefix(f[1], "0100007F:") {
				t.Errorf("%s listens on %s (%s)", inodes[f[9]], f[1], table)
			}
		}
	}
	if found != len(portNames()) {
		t.Errorf("%d listeners, want %d", found, len(portNames()))
	}
}

func checkEtcd(t *testing.T, c *Cluster) {
	get := func(port string, ca *authority, pair *keyPair) error {
		config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem}}
		if pair != nil {
			config.CertData, config.KeyData = pair.cert, pair.key
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		response, err := client.Get(c.plan.url(port) + "/version")
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		return nil
	}
	probe := c.creds.pairs[certEtcdProbe]
	if err := get(portEtcd, c.creds.etcdCA, &probe); err != nil {
		t.Errorf("etcd refuses its own client: %v", err)
	}
	for _, port := range []string{portEtcd, portEtcdPeer} {
		if err := get(port, c.creds.etcdCA, nil); err == nil {
			t.Errorf("%s accepts a client without a certificate", port)
		}
		if err := get(port, c.creds.etcdCA, &c.creds.admin); err == nil {
			t.Errorf("%s accepts the administrator of the API", port)
		}
		plain := strings.Replace(c.plan.url(port), "https", "http", 1) + "/version"
		if response, err := http.Get(plain); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				t.Errorf("%s speaks without TLS", port)
			}
		}
	}
}

func checkAnonymous(t *testing.T, c *Cluster) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	response, err := client.Get(c.plan.url(portAPIServer) + "/version")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("anonymous gets %s", response.Status)
	}
}

func deployment(name string, replicas int32, gated bool) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		},
	}}
	if gated {
		d.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: cluster.ReadinessGate}}
	}
	return d
}

func mustDeploy(t *testing.T, client *kubernetes.Clientset, d *appsv1.Deployment) {
	t.Helper()
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podsOf(t *testing.T, client *kubernetes.Clientset, app string) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func available(t *testing.T, client *kubernetes.Clientset, name string) int32 {
	t.Helper()
	d, err := client.AppsV1().Deployments("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Status.AvailableReplicas
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// setGate plays the script. It returns how long kwok took to follow.
func setGate(t *testing.T, client *kubernetes.Clientset, pod string, status corev1.ConditionStatus) time.Duration {
	t.Helper()
	watch, err := client.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pod})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, cluster.ReadinessGate, status)
	begin := time.Now()
	if _, err := client.CoreV1().Pods("default").Patch(t.Context(), pod, "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(20 * time.Second)
	for {
		select {
		case e := <-watch.ResultChan():
			p, ok := e.Object.(*corev1.Pod)
			if ok && condition(p, corev1.PodReady) == status && condition(p, cluster.ReadinessGate) == status {
				return time.Since(begin)
			}
		case <-timeout:
			t.Fatalf("pod %s does not follow its gate to %s", pod, status)
		}
	}
}

func checkGate(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	mustDeploy(t, client, deployment("gated", 3, true))
	eventually(t, "three pods run", func() bool { return running(podsOf(t, client, "gated")) == 3 })
	for _, pod := range podsOf(t, client, "gated") {
		if condition(&pod, corev1.PodReady) != corev1.ConditionFalse || condition(&pod, cluster.ReadinessGate) != "" {
			t.Fatalf("at first: %+v", pod.Status.Conditions)
		}
		if condition(&pod, corev1.PodScheduled) != corev1.ConditionTrue {
			t.Errorf("the scheduler's condition was lost: %+v", pod.Status.Conditions)
		}
	}
	pods := podsOf(t, client, "gated")
	for _, pod := range pods[:2] {
		t.Logf("gate -> Ready in %s", setGate(t, client, pod.Name, corev1.ConditionTrue))
	}
	eventually(t, "two available", func() bool { return available(t, client, "gated") == 2 })
	for range 5 {
		closed := setGate(t, client, pods[0].Name, corev1.ConditionFalse)
		opened := setGate(t, client, pods[0].Name, corev1.ConditionTrue)
		t.Logf("gate closed -> not Ready in %s, opened -> Ready in %s", closed, opened)
	}
	setGate(t, client, pods[0].Name, corev1.ConditionFalse)
	eventually(t, "one available", func() bool { return available(t, client, "gated") == 1 })
	for _, pod := range podsOf(t, client, "gated") {
		ready := pod.Name == pods[1].Name
		if got := condition(&pod, corev1.PodReady) == corev1.ConditionTrue; got != ready {
			t.Errorf("%s: %+v", pod.Name, pod.Status.Conditions)
		}
		if pod.Status.ContainerStatuses[0].Ready != ready || condition(&pod, corev1.PodScheduled) != corev1.ConditionTrue {
			t.Errorf("%s: %+v", pod.Name, pod.Status)
		}
	}
	if err := client.AppsV1().Deployments("default").Delete(t.Context(), "gated", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pods gone", func() bool { return len(podsOf(t, client, "gated")) == 0 })
}

func running(pods []corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

func checkUngated(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	begin := time.Now()
	mustDeploy(t, client, deployment("plain", 50, false))
	eventually(t, "all available", func() bool { return available(t, client, "plain") == 50 })
	t.Logf("50 pods available after %s", time.Since(begin))
	ips, nodes := map[string]bool{}, map[string]bool{}
	for _, pod := range podsOf(t, client, "plain") {
		ips[pod.Status.PodIP], nodes[pod.Spec.NodeName] = true, true
	}
	if len(ips) != 50 || len(nodes) != defaultNodes {
		t.Errorf("%d addresses on %d nodes", len(ips), len(nodes))
	}
}

func checkRestart(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	before := c.Processes()[apiServerName].PID()
	lap := stopwatch(t)
	if err := c.StopComponent(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	lap("stopped")
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("the API answers although its server was stopped")
	}
	if err := c.StartComponent(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	lap("started")
	if err := c.RestartComponent(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	lap("restarted")
	if after := c.Processes()[apiServerName].PID(); after == before {
		t.Error("the same process")
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
	// Everything finds the server again: controllers, scheduler, kwok.
	mustDeploy(t, client, deployment("after", 3, false))
	eventually(t, "pods made", func() bool { return len(podsOf(t, client, "after")) == 3 })
	lap("controllers are back")
	eventually(t, "pods run", func() bool { return running(podsOf(t, client, "after")) == 3 })
	lap("scheduler and kwok are back")
	eventually(t, "available after the restart", func() bool { return available(t, client, "after") == 3 })
}

func checkManagerRestart(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	before, server := c.Processes()[controllerManagerName].PID(), c.plan.url(portControllerManager)
	lap := stopwatch(t)
	if err := c.StopComponent(t.Context(), cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	lap("stopped")
	mustDeploy(t, client, deployment("orphan", 3, false))
	select {
	case <-c.Done():
		t.Fatalf("the cluster failed of a stop that was asked for: %v", c.Err())
	case <-time.After(time.Second): // a controller manager that lives needs some milliseconds
	}
	if sets, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=orphan"}); err != nil || len(sets.Items) != 0 {
		t.Errorf("somebody reconciles although the controller manager was stopped: %v, %v", sets.Items, err)
	}
	lap("nobody reconciled")
	if err := c.StartComponent(t.Context(), cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	lap("started")
	eventually(t, "available after the start", func() bool { return available(t, client, "orphan") == 3 })
	lap("reconciled")
	if err := c.RestartComponent(t.Context(), cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	lap("restarted")
	if after := c.Processes()[controllerManagerName].PID(); after == before {
		t.Error("the same process")
	}
	if !c.probe.get(t.Context(), server+"/healthz") {
		t.Error("not at the same address")
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
}

func checkRefusedRestarts(t *testing.T, c *Cluster) {
	for name, do := range map[string]struct {
		err  error
		want string
	}{
		"the start of what runs":          {c.StartComponent(t.Context(), cluster.ControllerManager), "kube-controller-manager is running"},
		"what cannot come back":           {c.RestartComponent(t.Context(), etcdName), `"etcd" cannot be restarted, only kube-apiserver and kube-controller-manager`},
		"the stop of what cannot be back": {c.StopComponent(t.Context(), kwokName), `"kwok" cannot be restarted`},
	} {
		if do.err == nil || !strings.Contains(do.err.Error(), do.want) {
			t.Errorf("%s: %v", name, do.err)
		}
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
}

func stopwatch(t *testing.T) func(what string) {
	last := time.Now()
	return func(what string) {
		t.Helper()
		t.Logf("%s after %s", what, time.Since(last).Round(time.Millisecond))
		last = time.Now()
	}
}

func TestEndOfAComponentIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name, component string
		before          func(*Cluster) error
	}{
		{"the scheduler", schedulerName, func(*Cluster) error { return nil }},
		{"a controller manager that was restarted", controllerManagerName, func(c *Cluster) error {
			return c.RestartComponent(t.Context(), controllerManagerName)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := mustUp(t, testConfig(t))
			if err := c.before(up); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(up.Processes()[c.component].PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case <-up.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("not noticed")
			}
			if err := up.Err(); err == nil || !strings.Contains(err.Error(), c.component) || !strings.Contains(err.Error(), "signal: killed") {
				t.Error(err)
			}
		})
	}
}

func TestTwoAtOnce(t *testing.T) {
	configs := []Config{testConfig(t), testConfig(t)}
	var wg sync.WaitGroup
	for _, cfg := range configs {
		wg.Go(func() {
			begin := time.Now()
			c, err := Up(context.Background(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			t.Logf("up after %s at %s", time.Since(begin), c.RESTConfig().Host)
			t.Cleanup(func() { mustDown(t, c) })
		})
	}
	wg.Wait()
}

func TestKilledOwnerLeavesNoProcess(t *testing.T) {
	cfg := testConfig(t)
	o := startOther(t, "up", "RECKON_TEST_ROOT="+cfg.Root)
	o.line(t) // begin
	if line := o.line(t); !strings.HasPrefix(line, "up ") {
		t.Fatal(line)
	}
	o.kill()
	eventually(t, "all children dead", func() bool {
		list, err := List(cfg.Root)
		return err == nil && len(list) == 1 && list[0].Running == 0 && !list[0].OwnerAlive
	})
	assertNoProcess(t, cfg.Root)
	for _, want := range []int{1, 0} {
		removed, err := Clean(t.Context(), cfg.Root, false)
		if err != nil || len(removed) != want {
			t.Errorf("removed %v, %v; want %d", removed, err, want)
		}
	}
	assertEmpty(t, cfg.Root)
}

func TestDetached(t *testing.T) {
	cfg := testConfig(t)
	o := startOther(t, "up", "RECKON_TEST_ROOT="+cfg.Root, "RECKON_TEST_DETACHED=1", "RECKON_TEST_NAME=stays")
	t.Cleanup(func() { _ = Down(context.Background(), cfg.Root, "stays") })
	o.line(t) // begin
	if line := o.line(t); line != "up stays" {
		t.Fatal(line)
	}
	if err := o.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	removed, err := Clean(t.Context(), cfg.Root, false)
	if err != nil || len(removed) != 0 {
		t.Errorf("Clean removed a running detached cluster: %v, %v", removed, err)
	}
	list, err := List(cfg.Root)
	if err != nil || len(list) != 1 || list[0].Running != 5 || list[0].Phase != phaseReady {
		t.Fatalf("%+v, %v", list, err)
	}
	s, err := readState(clusterDir(cfg.Root, "stays"))
	if err != nil {
		t.Fatal(err)
	}
	for name, port := range s.Ports {
		if _, err := reservePort(port); err == nil {
			t.Errorf("the port of %s is not reserved any more", name)
		}
	}
	for range 2 {
		if err := Down(t.Context(), cfg.Root, "stays"); err != nil {
			t.Error(err)
		}
	}
	assertEmpty(t, cfg.Root)
}

// A detached cluster whose maker dies half-way has no parent death signal to
// end it. That is what the marks in the environment are for.
func TestKilledMakerOfADetachedCluster(t *testing.T) {
	cfg := testConfig(t)
	o := startOther(t, "up", "RECKON_TEST_ROOT="+cfg.Root, "RECKON_TEST_DETACHED=1", "RECKON_TEST_NAME=half")
	eventually(t, "a first process", func() bool {
		s, err := readState(clusterDir(cfg.Root, "half"))
		return err == nil && s.running() > 0
	})
	o.kill()
	if _, err := Clean(t.Context(), cfg.Root, false); err != nil {
		t.Fatal(err)
	}
	assertEmpty(t, cfg.Root)
}
