package argorollouts

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/component/incluster"
)

// InstallOption changes what Install does.
type InstallOption func(*installOptions)

type installOptions struct{ istio bool }

// WithoutIstio leaves Istio's CRDs to Istio, which brings its own.
func WithoutIstio() InstallOption { return func(o *installOptions) { o.istio = false } }

// Install applies the CRDs of the controller's own version and those of Istio
// that its module ships, and waits until each is established. Own versions,
// because CRDs prune unknown fields; server-side, because those of 1.10 are
// larger than the annotation that client-side apply needs. Istio's first,
// because a controller that finds none looks again after ten minutes only.
func Install(ctx context.Context, config *rest.Config, assets string, opts ...InstallOption) error {
	client, err := incluster.New(config)
	if err != nil {
		return err
	}
	with := installOptions{istio: true}
	for _, opt := range opts {
		opt(&with)
	}
	objects, err := crdsOf(assets, with.istio)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range objects {
		group.Go(func() error { return client.ApplyCRD(ctx, crd) })
	}
	group.Go(func() error { return client.EnsureNamespace(ctx, Namespace) })
	return group.Wait()
}

// crdsOf reads the CRDs of the controller, and those of Istio if wanted.
func crdsOf(assets string, istio bool) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(assets, "manifests", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs of Argo Rollouts under %s: rebuild the component", assets)
	}
	if istio {
		files = append([]string{filepath.Join(assets, "test", "e2e", "crds", "istio.yaml")}, files...)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		found, err := readCRDs(file)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// wanted leaves out what no controller under test looks at: of Istio's CRDs,
// Rollouts lists the two that carry routing (utils/istio/istio.go, v1.8.2).
func wanted(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	return group == "argoproj.io" || plural == "virtualservices" || plural == "destinationrules"
}

func readCRDs(file string) ([]*unstructured.Unstructured, error) {
	objects, err := incluster.ReadManifests(file)
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "CustomResourceDefinition" || !wanted(o)
	}), err
}
