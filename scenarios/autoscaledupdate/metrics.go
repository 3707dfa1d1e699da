package autoscaledupdate

import (
	"context"
	"fmt"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
)

// podMetrics is the kind that the stub serves, and the autoscaler asks for
// (k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go:75, v0.37.2).
var podMetrics = schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"}

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

// serve makes the API and waits until it answers.
func (m *meter) serve(ctx context.Context) error {
	definition := &unstructured.Unstructured{}
	if err := read("workload/podmetrics.yaml", &definition.Object); err != nil {
		return err
	}
	if err := m.st.Client.Create(ctx, definition); err != nil {
		return fmt.Errorf("defining the metrics API: %w", err)
	}
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(podMetrics)
		err := m.st.Client.List(ctx, list, client.InNamespace(m.st.Namespace))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the metrics API does not answer: %w", err)
		}
		if err := m.st.Pass(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// read reads a manifest as it is.
func read(file string, into any) error {
	text, err := manifests.Files.ReadFile(file)
	if err == nil {
		err = utilyaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
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
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(podMetrics)
		object.SetNamespace(m.st.Namespace)
		object.SetName(name)
		if err := m.st.Client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
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
	object := &unstructured.Unstructured{Object: map[string]any{
		"timestamp": m.st.Clock.Now().UTC().Format(time.RFC3339),
		"window":    "10s",
		"containers": []any{map[string]any{
			"name":  pod.Spec.Containers[0].Name,
			"usage": map[string]any{memory: fmt.Sprintf("%dMi", m.usage), pulse: fmt.Sprint(m.pulse)},
		}},
	}}
	object.SetGroupVersionKind(podMetrics)
	object.SetNamespace(pod.Namespace)
	object.SetName(pod.Name)
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

// hpa is the autoscaler of these parameters.
func (p *Params) hpa(namespace string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := read("workload/autoscaler.yaml", out); err != nil {
		return nil, err
	}
	out.Namespace = namespace
	out.Spec.MinReplicas, out.Spec.MaxReplicas = new(int32(p.MinReplicas)), int32(p.MaxReplicas)
	return out, nil
}
