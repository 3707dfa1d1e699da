package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// ReadManifests reads all objects of a file of YAML documents.
func ReadManifests(file string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(f, 1<<16)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if len(object.Object) > 0 { // a document of comments only
			out = append(out, object)
		}
	}
}

// Apply applies objects server-side, in order, as their only owner.
func (c *Client) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	options := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
	for _, o := range objects {
		r, err := c.resource(o)
		if err == nil {
			_, err = r.Apply(ctx, o.GetName(), o, options)
		}
		if err != nil {
			return fmt.Errorf("applying %s: %w", nameOf(o), ended(ctx, err))
		}
	}
	return nil
}

// Delete deletes objects, the last one first, with all that they own. What is
// not there is fine.
func (c *Client) Delete(ctx context.Context, objects ...*unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	var errs []error
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		r, err := c.resource(o)
		if err == nil {
			err = r.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		}
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("deleting %s: %w", nameOf(o), ended(ctx, err)))
		}
	}
	return errors.Join(errs...)
}

func (c *Client) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.Dynamic.Resource(mapping.Resource), nil
}

func nameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// ended prefers the reason for which a context ended to what followed from it.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// EnsureNamespace makes a namespace if there is none of that name.
func (c *Client) EnsureNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, ended(ctx, err))
	}
	return nil
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// ApplyCRD applies a CRD and waits until it is established.
func (c *Client) ApplyCRD(ctx context.Context, crd *unstructured.Unstructured) error {
	// Not through the mapper: CRDs are applied many at once, before all else.
	options := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
	if _, err := c.Dynamic.Resource(crds).Apply(ctx, crd.GetName(), crd, options); err != nil {
		return fmt.Errorf("applying CRD %s: %w", crd.GetName(), ended(ctx, err))
	}
	return c.AwaitEstablished(ctx, crd.GetName())
}

// AwaitEstablished waits until the API server serves the resources of a CRD: a
// matter of milliseconds.
func (c *Client) AwaitEstablished(ctx context.Context, crd string) error {
	for {
		o, err := c.Dynamic.Resource(crds).Get(ctx, crd, metav1.GetOptions{})
		if err == nil && established(o) {
			return nil
		}
		if cause := sleep(ctx, poll/10); cause != nil {
			return fmt.Errorf("waiting for CRD %s to be established: %w", crd, cause)
		}
	}
}

func established(o *unstructured.Unstructured) bool {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd); err != nil {
		return false
	}
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// poll is the time between two looks at what takes seconds.
const poll = 200 * time.Millisecond

// sleep waits, or returns the reason for which ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// sameObject says whether a pod is the one of that name that there was before.
func sameObject(pod *corev1.Pod, uid types.UID) bool { return uid == "" || pod.UID == uid }
