package moves

import (
	"context"
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
)

// Names of objects, as in manifests/rollback and manifests/bluegreen.
const (
	name           = "drill"
	stableService  = "drill-stable"
	canaryService  = "drill-canary"
	activeService  = "drill-active"
	previewService = "drill-preview"
	secondName     = "drill-second"
	route          = "primary"
	stableSubset   = "stable"
	canarySubset   = "canary"
)

// HeaderRoute is the name of the managed route.
const HeaderRoute = "header"

// subsets says whether traffic is routed by the subsets of a DestinationRule.
func (p Plan) subsets() bool { return p.Spec.Routing == rollouts.RoutingSubsets }

// services creates the Services and what routes to them.
func (p Plan) services(ctx context.Context, c client.Client, namespace string) error {
	for _, path := range p.manifests() {
		if err := create(ctx, c, namespace, path); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) manifests() []string {
	switch {
	case len(p.Manifests) > 0:
		return p.Manifests
	case p.blueGreen():
		return []string{"bluegreen/services.yaml"}
	case p.subsets():
		return []string{"rollback/subsets.yaml"}
	}
	return []string{"rollback/services.yaml"}
}

// create creates the objects of a manifest.
func create(ctx context.Context, c client.Client, namespace, path string) error {
	file, err := manifests.Files.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return decoder.DecodeEach(ctx, file, func(ctx context.Context, obj k8s.Object) error {
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
		return nil
	}, decoder.MutateNamespace(namespace))
}

// rollout is the Rollout of the plan at a version of its template.
func (p Plan) rollout(namespace, version string) (*v1alpha1.Rollout, error) {
	file, err := manifests.Files.Open("rollback/workload.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ro := &v1alpha1.Rollout{}
	if err := decoder.Decode(file, ro, decoder.MutateNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the Rollout's manifest: %w", err)
	}
	ro.Spec.Replicas = int32p(p.Spec.Replicas)
	ro.Spec.Template.Labels[stage.VersionLabel] = version
	if n := p.Spec.WindowRevisions; n > 0 {
		ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: int32(n)}
	}
	if p.blueGreen() {
		ro.Spec.Strategy = v1alpha1.RolloutStrategy{BlueGreen: p.blueGreenStrategy()}
	} else {
		ro.Spec.Strategy = v1alpha1.RolloutStrategy{Canary: p.canaryStrategy()}
	}
	return ro, nil
}

func (p Plan) blueGreenStrategy() *v1alpha1.BlueGreenStrategy {
	b := p.Spec.BlueGreen
	out := &v1alpha1.BlueGreenStrategy{ActiveService: activeService, PreviewService: previewService, AutoPromotionSeconds: int32(b.AutoPromotionSeconds)}
	if b.Approval {
		out.AutoPromotionEnabled = new(false)
	}
	if b.PreviewReplicas != nil {
		out.PreviewReplicaCount = int32p(*b.PreviewReplicas)
	}
	if n := p.Spec.ScaleDownDelaySeconds; n > 0 {
		out.ScaleDownDelaySeconds = int32p(n)
	}
	if n := p.Spec.AbortScaleDownDelaySeconds; n != nil {
		out.AbortScaleDownDelaySeconds = int32p(*n)
	}
	return out
}

func (p Plan) canaryStrategy() *v1alpha1.CanaryStrategy {
	istio := p.istio()
	out := &v1alpha1.CanaryStrategy{Steps: p.Steps, DynamicStableScale: p.Spec.DynamicStableScale,
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{Istio: istio}}
	if p.subsets() {
		istio.DestinationRule = &v1alpha1.IstioDestinationRule{Name: name, CanarySubsetName: canarySubset, StableSubsetName: stableSubset}
	} else {
		out.CanaryService, out.StableService = canaryService, stableService
	}
	if p.header() {
		out.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: HeaderRoute}}
	}
	if n := p.Spec.MinPods; n > 0 {
		out.MinPodsPerReplicaSet = int32p(n)
	}
	if n := p.Spec.ScaleDownDelaySeconds; n > 0 && !p.Spec.DynamicStableScale { // validation refuses the two together
		out.ScaleDownDelaySeconds = int32p(n)
	}
	if n := p.Spec.AbortScaleDownDelaySeconds; n != nil {
		out.AbortScaleDownDelaySeconds = int32p(*n)
	}
	return out
}

// istio names the VirtualService, or two.
func (p Plan) istio() *v1alpha1.IstioTrafficRouting {
	one := v1alpha1.IstioVirtualService{Name: name, Routes: []string{route}}
	if p.Spec.RoutesOmitted {
		one.Routes = nil
	}
	if !p.Spec.SecondService {
		return &v1alpha1.IstioTrafficRouting{VirtualService: &one}
	}
	second := one
	second.Name = secondName
	return &v1alpha1.IstioTrafficRouting{VirtualServices: []v1alpha1.IstioVirtualService{one, second}}
}

// SetHeader is a step that makes the managed route, or removes it.
func SetHeader(match bool) v1alpha1.CanaryStep {
	out := v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: HeaderRoute}}
	if match {
		out.SetHeaderRoute.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: "x-canary", HeaderValue: &v1alpha1.StringMatch{Exact: "yes"}}}
	}
	return out
}

func int32p(n int) *int32 {
	out := int32(n)
	return &out
}
