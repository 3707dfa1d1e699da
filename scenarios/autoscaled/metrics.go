// Package autoscaled holds what scenarios share whose workload a HorizontalPodAutoscaler
// scales: the stub of a metrics API that it asks, the autoscaler itself, and the series
// and claims that say what it did.
package autoscaled

import (
	"context"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
)

// Stub is a metrics API: a custom resource definition whose objects are readings.
type Stub struct {
	// Manifest is the definition's path below manifests.
	Manifest string
	// Kind is that of a reading.
	Kind schema.GroupVersionKind
}

// Serve makes the API and waits until it answers.
func (s Stub) Serve(ctx context.Context, st *stage.Stage) error {
	definition := &unstructured.Unstructured{}
	if err := read(s.Manifest, &definition.Object); err != nil {
		return err
	}
	if err := st.Client.Create(ctx, definition); err != nil {
		return fmt.Errorf("defining the metrics API: %w", err)
	}
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(s.Kind)
		err := st.Client.List(ctx, list, client.InNamespace(st.Namespace))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the metrics API does not answer: %w", err)
		}
		if err := st.Pass(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Reading is an object of the API without contents.
func (s Stub) Reading(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(s.Kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// Autoscaler is that of a manifest, by its path below manifests, with bounds.
func Autoscaler(manifest, namespace string, least, most int) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := read(manifest, out); err != nil {
		return nil, err
	}
	out.Namespace = namespace
	out.Spec.MinReplicas, out.Spec.MaxReplicas = new(int32(least)), int32(most)
	return out, nil
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
