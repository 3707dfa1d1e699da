package moves

import (
	"context"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/scenarios/rollback"
)

// Names of objects in manifests/bluegreen and manifests/routing.
const (
	activeService  = "drill-active"
	previewService = "drill-preview"
	secondName     = "drill-second"
)

// HeaderRoute is the name of the managed route.
const HeaderRoute = "header"

// subsets says whether traffic is routed by the subsets of a DestinationRule.
func (p Plan) subsets() bool { return p.Spec.Routing == rollouts.RoutingSubsets }

// services creates the Services and what routes to them.
func (p Plan) services(ctx context.Context, c client.Client, namespace string) error {
	for _, path := range p.manifests() {
		if err := rollback.CreateAll(ctx, c, namespace, path); err != nil {
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

// rollout is the Rollout of the plan at a version of its template.
func (p Plan) rollout(namespace, version string) (*v1alpha1.Rollout, error) {
	ro, err := rollback.Template(namespace, version, p.Spec.Replicas, p.Spec.WindowRevisions)
	if err != nil {
		return nil, err
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
		out.PreviewReplicaCount = new(int32(*b.PreviewReplicas))
	}
	if n := p.Spec.ScaleDownDelaySeconds; n > 0 {
		out.ScaleDownDelaySeconds = new(int32(n))
	}
	if n := p.Spec.AbortScaleDownDelaySeconds; n != nil {
		out.AbortScaleDownDelaySeconds = new(int32(*n))
	}
	return out
}

func (p Plan) canaryStrategy() *v1alpha1.CanaryStrategy {
	istio := p.istio()
	out := &v1alpha1.CanaryStrategy{Steps: p.Steps, DynamicStableScale: p.Spec.DynamicStableScale,
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{Istio: istio}}
	if p.subsets() {
		istio.DestinationRule = &v1alpha1.IstioDestinationRule{Name: rollback.Name, CanarySubsetName: rollback.CanarySubset, StableSubsetName: rollback.StableSubset}
	} else {
		out.CanaryService, out.StableService = rollback.CanaryService, rollback.StableService
	}
	if p.header() {
		out.TrafficRouting.ManagedRoutes = []v1alpha1.MangedRoutes{{Name: HeaderRoute}}
	}
	if n := p.Spec.MinPods; n > 0 {
		out.MinPodsPerReplicaSet = new(int32(n))
	}
	if n := p.Spec.ScaleDownDelaySeconds; n > 0 && !p.Spec.DynamicStableScale { // validation refuses the two together
		out.ScaleDownDelaySeconds = new(int32(n))
	}
	if n := p.Spec.AbortScaleDownDelaySeconds; n != nil {
		out.AbortScaleDownDelaySeconds = new(int32(*n))
	}
	return out
}

// istio names the VirtualService, or two.
func (p Plan) istio() *v1alpha1.IstioTrafficRouting {
	one := v1alpha1.IstioVirtualService{Name: rollback.Name, Routes: []string{rollback.Route}}
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
