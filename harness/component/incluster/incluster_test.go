package incluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func TestManifestsAreReadWholeAndCommentsAreNoObjects(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	text := "# a head\n---\nkind: A\nmetadata: {name: one}\n---\n# nothing\n---\nkind: B\nmetadata: {name: two}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	objects, err := ReadManifests(file)
	if err != nil || len(objects) != 2 || objects[0].GetKind() != "A" || objects[1].GetName() != "two" {
		t.Fatalf("%v, %v", objects, err)
	}
	if err := os.WriteFile(file, []byte("kind: [A\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifests(file); err == nil || !strings.Contains(err.Error(), "a.yaml") {
		t.Fatalf("error %v", err)
	}
}

func TestAnEndpointGoesThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	c, err := New(&rest.Config{Host: "https://127.0.0.1:6443"})
	if err != nil {
		t.Fatal(err)
	}
	want := "https://127.0.0.1:6443/api/v1/namespaces/ns/pods/pod:8090/proxy/metrics"
	if e := c.Endpoint("ns", "pod", 8090, "metrics"); e.URL != want || e.HTTP == nil {
		t.Errorf("%s, want %s", e.URL, want)
	}
}

func TestADeploymentIsRolledOutWhenNothingOldIsLeft(t *testing.T) {
	t.Parallel()
	two := int32(2)
	for _, c := range []struct {
		name   string
		status appsv1.DeploymentStatus
		want   bool
	}{
		{"all of it", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, true},
		{"seen before the change", appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, false},
		{"an old pod is left", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 3}, false},
		{"the new ones are not available", appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2}, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: &two}, Status: c.status}
		if got := rolledOut(d); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestOnlyPodsOfTheLatestTemplateCount(t *testing.T) {
	t.Parallel()
	controller := func(kind, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, UID: types.UID(uid), Controller: new(true)}}
	}
	at := func(rev string) map[string]string { return map[string]string{revision: rev} }
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Annotations: at("2"), Generation: 5}, Status: appsv1.DeploymentStatus{ObservedGeneration: 5}}
	sets := []appsv1.ReplicaSet{
		{ObjectMeta: metav1.ObjectMeta{UID: "predecessor's", Annotations: at("2"), OwnerReferences: controller("Deployment", "gone")}},
		{ObjectMeta: metav1.ObjectMeta{UID: "old", Annotations: at("1"), OwnerReferences: controller("Deployment", "d")}},
		{ObjectMeta: metav1.ObjectMeta{UID: "new", Annotations: at("2"), OwnerReferences: controller("Deployment", "d")}},
	}
	pods := func() []corev1.Pod {
		return []corev1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Name: "e", OwnerReferences: controller("ReplicaSet", "new"), DeletionTimestamp: new(metav1.Now())}},
			{ObjectMeta: metav1.ObjectMeta{Name: "d", OwnerReferences: controller("ReplicaSet", "new")}},
			{ObjectMeta: metav1.ObjectMeta{Name: "c", OwnerReferences: controller("ReplicaSet", "old")}},
			{ObjectMeta: metav1.ObjectMeta{Name: "b", OwnerReferences: controller("ReplicaSet", "predecessor's")}},
			{ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: controller("ReplicaSet", "new")}},
		}
	}
	if got := latestOf(d, sets, pods()); len(got) != 2 || got[0].Name != "a" || got[1].Name != "d" {
		t.Errorf("pods %v", got)
	}
	d.Generation = 6
	if got := latestOf(d, sets, pods()); len(got) != 0 {
		t.Errorf("pods of a change that was not seen: %v", got)
	}
}

func TestAPodIsBrokenWhenItsProgramIsNotTheOneItWas(t *testing.T) {
	t.Parallel()
	first := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1"}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1}},
	}}
	for _, c := range []struct {
		name   string
		change func(p *corev1.Pod)
		want   string
	}{
		{"as before", func(*corev1.Pod) {}, ""},
		{"not ready for a while", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = false }, ""},
		{"another one", func(p *corev1.Pod) { p.UID = "2" }, "replaced by another"},
		{"on its way out", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, "is being deleted"},
		{"restarted", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount = 2
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
		}, "container main of pod p restarted: it ended with exit code 2"},
		{"out of memory", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
		}, "exit code 137 (OOMKilled)"},
		{"evicted", func(p *corev1.Pod) { p.Status.Phase, p.Status.Message = corev1.PodFailed, "disk pressure" }, "Failed disk pressure"},
	} {
		pod := first.DeepCopy()
		c.change(pod)
		if got := broken(first, pod); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOneLineKeepsTheEnd(t *testing.T) {
	t.Parallel()
	if got := oneLine("a\n\n  b\r\nc\n"); got != "a | b | c" {
		t.Errorf("%q", got)
	}
	if got := oneLine(strings.Repeat("é", maxLine) + " the end"); len(got) > maxLine+len("…") || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-20:])
	}
}
