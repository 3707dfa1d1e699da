package autoscaledupdate

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/autoscaled"
)

// podMetrics is what the stub serves, and the autoscaler asks for
// (k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go:75, v0.37.2).
var podMetrics = autoscaled.Stub{
	Manifest: "workload/podmetrics.yaml", Kind: schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"},
}

// refresh is how often the counters move on: more often than the autoscaler looks.
const refresh = 2 * time.Second

// meter writes what every pod uses, as a metrics server does for pods that run,
// whether or not they are ready.
type meter struct {
	st    *stage.Stage
	usage int // Mi
	pulse int

	mu       sync.Mutex
	measured map[string]bool // pods that have an object
}

// run keeps the objects in line with the pods until the context ends.
func (m *meter) run(ctx context.Context) error {
	list, changed, err := stage.InformerPods{Client: m.st.Kube, Namespace: m.st.Namespace}.Pods(ctx)
	if err != nil {
		return fmt.Errorf("watching the pods to measure: %w", err)
	}
	tick := m.st.Clock.After(refresh)
	for {
		if err := m.follow(ctx, list()); err != nil && ctx.Err() == nil {
			return fmt.Errorf("writing metrics: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick:
			tick = m.st.Clock.After(refresh)
			if err := m.advance(ctx, list()); err != nil && ctx.Err() == nil {
				return fmt.Errorf("writing metrics: %w", err)
			}
		}
	}
}

// follow adds objects for new pods and takes away those of pods that are gone.
func (m *meter) follow(ctx context.Context, pods []*corev1.Pod) error {
	gone := m.names()
	for _, pod := range pods {
		delete(gone, pod.Name)
		if pod.Status.Phase != corev1.PodRunning || m.has(pod.Name) {
			continue
		}
		if err := m.st.Client.Create(ctx, m.object(pod)); err != nil {
			return err
		}
		m.note(pod.Name, true)
	}
	for name := range gone {
		if err := m.st.Client.Delete(ctx, podMetrics.Reading(m.st.Namespace, name)); client.IgnoreNotFound(err) != nil {
			return err
		}
		m.note(name, false)
	}
	return nil
}

// advance moves every counter on.
func (m *meter) advance(ctx context.Context, pods []*corev1.Pod) error {
	m.pulse++
	for _, pod := range pods {
		if !m.has(pod.Name) {
			continue
		}
		if err := m.st.Client.Patch(ctx, m.object(pod), client.Merge); err != nil {
			return err
		}
	}
	return nil
}

// object is what the metrics API says of a pod.
func (m *meter) object(pod *corev1.Pod) *unstructured.Unstructured {
	object := podMetrics.Reading(pod.Namespace, pod.Name)
	object.Object["timestamp"], object.Object["window"] = m.st.Clock.Now().UTC().Format(time.RFC3339), "10s"
	object.Object["containers"] = []any{map[string]any{
		"name":  pod.Spec.Containers[0].Name,
		"usage": map[string]any{memory: fmt.Sprintf("%dMi", m.usage), pulse: fmt.Sprint(m.pulse)},
	}}
	object.SetLabels(pod.Labels)
	return object
}

// waitFor waits until so many pods have a reading.
func (m *meter) waitFor(ctx context.Context, pods int) error {
	for len(m.names()) < pods {
		if err := m.st.Pass(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.measured[name]
}

func (m *meter) note(name string, has bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if has {
		m.measured[name] = true
	} else {
		delete(m.measured, name)
	}
}

func (m *meter) names() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for name := range m.measured {
		out[name] = true
	}
	return out
}
