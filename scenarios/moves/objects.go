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
	route          = "primary"
	stableSubset   = "stable"
	canarySubset   = "canary"
)

// subsets says whether traffic is routed by the subsets of a DestinationRule.
func (p Plan) subsets() bool { return p.Spec.Routing == rollouts.RoutingSubsets }

// services creates the Services and what routes to them.
func (p Plan) services(ctx context.Context, c client.Client, namespace string) error {
	path := "rollback/services.yaml"
	switch {
	case p.blueGreen():
		path = "bluegreen/services.yaml"
	case p.subsets():
		path = "rollback/subsets.yaml"
	}
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
	istio := &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: name, Routes: []string{route}}}
	out := &v1alpha1.CanaryStrategy{Steps: p.Steps.API(), DynamicStableScale: p.Spec.DynamicStableScale,
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{Istio: istio}}
	if p.subsets() {
		istio.DestinationRule = &v1alpha1.IstioDestinationRule{Name: name, CanarySubsetName: canarySubset, StableSubsetName: stableSubset}
	} else {
		out.CanaryService, out.StableService = canaryService, stableService
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

func int32p(n int) *int32 {
	out := int32(n)
	return &out
}
