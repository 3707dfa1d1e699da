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
	StableService = "drill-stable"
	CanaryService = "drill-canary"
	Route         = "primary"
	StableSubset  = "stable"
	CanarySubset  = "canary"
)

// RevisionAnnotation is a Rollout's revision (utils/annotations/annotations.go, v1.8.3).
const RevisionAnnotation = "rollout.argoproj.io/revision"

// CreateRouting creates the Services and the Istio objects.
func (p Params) CreateRouting(ctx context.Context, c client.Client, namespace string) error {
	return CreateAll(ctx, c, namespace, "rollback/"+p.Routing+".yaml")
}

// CreateAll creates the objects of a manifest, by its path below manifests.
func CreateAll(ctx context.Context, c client.Client, namespace, path string) error {
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

// Workload is the Rollout of these parameters at a version of its template.
func (p Params) Workload(namespace, version string) (*v1alpha1.Rollout, error) {
	ro, err := Template(namespace, version, p.Replicas, p.RollbackWindow)
	if err != nil {
		return nil, err
	}
	p.strategy(ro.Spec.Strategy.Canary)
	return ro, nil
}

// Template is the Rollout of the manifest at a version of its template, with so many
// replicas and revisions of its rollback window (0: without one).
func Template(namespace, version string, replicas, window int) (*v1alpha1.Rollout, error) {
	file, err := manifests.Files.Open("rollback/workload.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ro := &v1alpha1.Rollout{}
	if err := decoder.Decode(file, ro, decoder.MutateNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the Rollout's manifest: %w", err)
	}
	ro.Spec.Replicas = new(int32(replicas))
	ro.Spec.Template.Labels[stage.VersionLabel] = version
	if window > 0 {
		ro.Spec.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: int32(window)}
	}
	return ro, nil
}

func (p Params) strategy(canary *v1alpha1.CanaryStrategy) {
	istio := &v1alpha1.IstioTrafficRouting{VirtualService: &v1alpha1.IstioVirtualService{Name: Name, Routes: []string{Route}}}
	if rollouts.Routing(p.Routing) == rollouts.RoutingServices {
		canary.CanaryService, canary.StableService = CanaryService, StableService
	} else {
		istio.DestinationRule = &v1alpha1.IstioDestinationRule{Name: Name, CanarySubsetName: CanarySubset, StableSubsetName: StableSubset}
	}
	canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Istio: istio}
	if p.MinPodsPerReplicaSet > 0 {
		canary.MinPodsPerReplicaSet = new(int32(p.MinPodsPerReplicaSet))
	}
	canary.DynamicStableScale = p.DynamicStableScale
	if !p.DynamicStableScale { // validation refuses the two together
		canary.ScaleDownDelaySeconds = new(int32(p.ScaleDownDelay))
	}
	canary.Steps = p.Steps.API()
}

// errGone is what a script says when its Rollout is not there.
var errGone = errors.New("the Rollout is not there")

// Present is the Rollout as it is; for commands, which patch what they see.
func Present(ctx context.Context, st *stage.Stage) (*v1alpha1.Rollout, error) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: st.Namespace, Name: Name}}
	if err := st.Client.Get(ctx, client.ObjectKeyFromObject(ro), ro); err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return ro, nil
}
