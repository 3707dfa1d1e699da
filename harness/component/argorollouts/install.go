package argorollouts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// fieldManager owns what Reckon applies.
const fieldManager = "reckon"

var (
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Install applies the CRDs of the controller's own version and those of Istio
// that its module ships, and waits until each is established. Own versions,
// because CRDs prune unknown fields; server-side, because those of 1.10 are
// larger than the annotation that client-side apply needs. Istio's first,
// because a controller that finds none looks again after ten minutes only.
func Install(ctx context.Context, config *rest.Config, assets string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(assets, "manifests", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRDs of Argo Rollouts under %s: rebuild the component", assets)
	}
	files = append([]string{filepath.Join(assets, "test", "e2e", "crds", "istio.yaml")}, files...)
	var objects []*unstructured.Unstructured
	for _, file := range files {
		found, err := readCRDs(file)
		if err != nil {
			return err
		}
		objects = append(objects, found...)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range objects {
		group.Go(func() error { return applyCRD(ctx, client, crd) })
	}
	group.Go(func() error { return ensureNamespace(ctx, client) })
	return group.Wait()
}

// wanted leaves out what no controller under test looks at: of Istio's CRDs,
// Rollouts lists the two that carry routing (utils/istio/istio.go, v1.8.2).
func wanted(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	return group == "argoproj.io" || plural == "virtualservices" || plural == "destinationrules"
}

func readCRDs(file string) ([]*unstructured.Unstructured, error) {
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
		if object.GetKind() == "CustomResourceDefinition" && wanted(object) {
			out = append(out, object)
		}
	}
}

func applyCRD(ctx context.Context, client dynamic.Interface, crd *unstructured.Unstructured) error {
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.Resource(crds).Apply(ctx, crd.GetName(), crd, options); err != nil {
		return fmt.Errorf("applying CRD %s: %w", crd.GetName(), err)
	}
	if err := awaitEstablished(ctx, client, crd.GetName()); err != nil {
		return fmt.Errorf("waiting for CRD %s to be established: %w", crd.GetName(), err)
	}
	return nil
}

func awaitEstablished(ctx context.Context, client dynamic.Interface, name string) error {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.Resource(crds).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Resource(crds).Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, established)
	return err
}

func established(event watch.Event) (bool, error) {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Deleted {
		return false, nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return false, err
	}
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue, nil
		}
	}
	return false, nil
}

func ensureNamespace(ctx context.Context, client dynamic.Interface) error {
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	ns.SetName(Namespace)
	_, err := client.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", Namespace, err)
	}
	return nil
}
