package revisions

import (
	"context"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of the act adopt alone.
const (
	StepForeign = "create a pod with the template's labels"
	StepStray   = "create a pod that the selector matches"
	StepRelease = "take a label from a pod"
)

// RoleLabel marks the pods that the script has to do with. No selector reads it.
const RoleLabel = "reckon.dev/role"

// Roles of pods. Foreign and Stray are also their names.
const (
	Foreign  = "foreign"  // has every label of the template, and not pod-template-hash
	Stray    = "stray"    // has that too, and no owner
	Released = "released" // was created by the ReplicaSet, and lost the label app
)

func (pl *play) adopt() []workload.Act {
	return []workload.Act{
		pl.Step(StepForeign, pl.foreign),
		pl.Step(StepStray, pl.stray),
		pl.Step(StepRelease, pl.release),
		func(ctx context.Context) error { return pl.Finish(ctx, pl.p.Quiet.Std()) },
	}
}

// foreign creates the pod, and waits until it is as ready as any other.
func (pl *play) foreign(ctx context.Context) error {
	if err := pl.create(ctx, Foreign, ""); err != nil {
		return err
	}
	err := pl.Stage.Until(ctx, "the foreign pod ready", workload.Pods, pl.limit, func(v *series.View) bool {
		return v.Metadata.Name == Foreign && v.Is("Ready", "True")
	})
	if err != nil {
		return err
	}
	return pl.Still(ctx, pl.limit)
}

// stray creates the pod and waits until it is gone again. It is never ready, so
// that it is the one that is too many, whenever the controller looks: of two
// pods the one that is not ready goes first.
func (pl *play) stray(ctx context.Context) error {
	sets, err := pl.objects(workload.ReplicaSets, ofVersion(workload.V1))
	if err != nil {
		return err
	}
	if len(sets) != 1 {
		return fmt.Errorf("%d ReplicaSets of v1 after the set-up, expected one", len(sets))
	}
	pl.Stage.Readiness.Refuse(Stray, true)
	if err := pl.create(ctx, Stray, sets[0].Metadata.Labels[appsv1.DefaultDeploymentUniqueLabelKey]); err != nil {
		return err
	}
	// The answer to the create may be here before the watch has delivered the pod.
	if err := pl.Stage.Recorder.Sync(ctx, workload.Pods); err != nil {
		return err
	}
	if err := pl.gone(ctx, workload.Pods, func(v *series.View) bool { return v.Metadata.Name == Stray }); err != nil {
		return err
	}
	return pl.Still(ctx, pl.limit)
}

// release takes the label app from a pod of the ReplicaSet, as one does to look
// at a pod in peace, and waits for another in its place.
func (pl *play) release(ctx context.Context) error {
	known, err := pl.objects(workload.Pods, everything)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	mine := ""
	for i := range known {
		names[known[i].Metadata.Name] = true
		if mine == "" && own(&known[i]) {
			mine = known[i].Metadata.Name
		}
	}
	if mine == "" {
		return errors.New("the ReplicaSet has no pod")
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pl.Stage.Namespace, Name: mine}}
	body := fmt.Sprintf(`{"metadata":{"labels":{"app":"aside",%q:%q}}}`, RoleLabel, Released)
	if err := pl.Stage.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return fmt.Errorf("taking the label: %w", err)
	}
	err = pl.Stage.Until(ctx, "another pod ready", workload.Pods, pl.limit, func(v *series.View) bool {
		return !names[v.Metadata.Name] && v.Is("Ready", "True")
	})
	if err != nil {
		return err
	}
	return pl.Still(ctx, pl.limit)
}

// create makes a pod from the template, which no controller owns.
func (pl *play) create(ctx context.Context, role, hash string) error {
	d, err := pl.p.Deployment.Deployment(pl.Stage.Namespace, workload.V1)
	if err != nil {
		return err
	}
	labels := maps.Clone(d.Spec.Template.Labels)
	labels[RoleLabel] = role
	if hash != "" {
		labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pl.Stage.Namespace, Name: role, Labels: labels, Annotations: d.Spec.Template.Annotations,
		},
		Spec: d.Spec.Template.Spec,
	}
	if err := pl.Stage.Client.Create(ctx, pod); err != nil {
		return fmt.Errorf("creating the %s pod: %w", role, err)
	}
	return nil
}
