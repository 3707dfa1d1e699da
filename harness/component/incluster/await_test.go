package incluster

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestANodeIsWaitedFor(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}
	c := &Client{Kube: fake.NewClientset(pod)}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*poll, errors.New("too long"))
	defer cancel()
	if node, err := c.NodeOf(ctx, pod); err == nil || err.Error() != "the node of pod pod: too long" {
		t.Errorf("%q, %v", node, err)
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n"
	timer := time.AfterFunc(poll, func() { _, _ = c.Kube.CoreV1().Pods("ns").Update(t.Context(), bound, metav1.UpdateOptions{}) })
	defer timer.Stop()
	if node, err := c.NodeOf(t.Context(), pod); err != nil || node != "n" {
		t.Errorf("%q, %v", node, err)
	}
}
