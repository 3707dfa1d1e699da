package rollback

import (
	"context"
	"errors"
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/manifests"
)

// Name is that of the Rollout and of what it routes by, as in manifests/rollback.
const Name = "drill"

// Names of the drill's other objects.
const (
	stableService = "drill-stable"
	canaryService = "drill-canary"
	route         = "primary"
	stableSubset  = "stable"
	canarySubset  = "canary"
)

// CreateRouting creates the Services and the Istio objects.
func (p Params) CreateRouting(ctx context.Context, c client.Client, namespace string) error {
	file, err := manifests.Files.Open("rollback/" + p.Routing + ".yaml")
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

// Workload is the Rollout of these parameters at a version of its template.
func (p Params) Workload(namespace, version string) (*v1alpha1.Rollout, error) {
	file, err := manifests.Files.Open("rollback/workload.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ro := &v1alpha1.Rollout{}
	if err := decoder.Decode(file, ro, decoder.MutateNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the Rollout's manifest: %w", err)
	}
	ro.Spec.Replicas = int32p(p.Replicas)
	ro.Spec.Template.Labels[stage.VersionLabel] = version
	if p.RollbackWindow > 0 {
		ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: int32(p.RollbackWindow)}
	}
	p.strategy(ro.Spec.Strategy.Canary)
	return ro, nil
}

func (p Params) strategy(canary *v1alpha1.CanaryStrategy) {
	istio := &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: Name, Routes: []string{route}}}
	if rollouts.Routing(p.Routing) == rollouts.RoutingServices {
		canary.CanaryService, canary.StableService = canaryService, stableService
	} else {
		istio.DestinationRule = &v1alpha1.IstioDestinationRule{Name: Name, CanarySubsetName: canarySubset, StableSubsetName: stableSubset}
	}
	canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Istio: istio}
	if p.MinPodsPerReplicaSet > 0 {
		canary.MinPodsPerReplicaSet = int32p(p.MinPodsPerReplicaSet)
	}
	canary.DynamicStableScale = p.DynamicStableScale
	if !p.DynamicStableScale { // validation refuses the two together
		canary.ScaleDownDelaySeconds = int32p(p.ScaleDownDelay)
	}
	canary.Steps = p.Steps.API()
}

// errGone is what a script says when its Rollout is not there.
var errGone = errors.New("the Rollout is not there")

// current reads the Rollout; used before commands, which patch what they see.
func current(ctx context.Context, st *stage.Stage) (*v1alpha1.Rollout, error) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: st.Namespace, Name: Name}}
	if err := st.Client.Get(ctx, client.ObjectKeyFromObject(ro), ro); err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return ro, nil
}
