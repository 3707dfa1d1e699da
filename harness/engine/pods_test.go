package engine

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"reckon.dev/reckon/harness/component/incluster"
)

func TestOneKubeProxyLeadsTheProxies(t *testing.T) {
	t.Parallel()
	pod := func(name, app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{"k8s-app": app}}}
	}
	kube := fake.NewClientset(pod("kube-dns-1", "kube-dns"))
	f := &fleetPods{client: &incluster.Client{Kube: kube}, node: "n"}
	if _, err := f.kubeProxy(t.Context()); err == nil || !strings.Contains(err.Error(), "0 pods of kube-proxy on node n") {
		t.Errorf("error %v of a node without kube-proxy", err)
	}
	if _, err := kube.CoreV1().Pods("kube-system").Create(t.Context(), pod("kube-proxy-1", "kube-proxy"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := incluster.Container{Namespace: "kube-system", Pod: "kube-proxy-1", Name: "kube-proxy"}
	if got, err := f.kubeProxy(t.Context()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
