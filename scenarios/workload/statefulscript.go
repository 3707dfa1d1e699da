package workload

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// StatefulScript are the acts on one StatefulSet.
type StatefulScript struct {
	StatefulSet StatefulSet
	Stage       *stage.Stage
}

// Step makes an act that is a named step.
func (s StatefulScript) Step(name string, do Act) Act {
	return func(ctx context.Context) error { return s.Stage.Step(ctx, name, do) }
}

// Deploy creates the StatefulSet at a version and waits until it is complete and
// at rest. What is not reached here leaves nothing to judge.
func (s StatefulScript) Deploy(ctx context.Context, version string) error {
	return s.Stage.Step(ctx, StepDeploy, func(ctx context.Context) error {
		s.Stage.Readiness.Open(version)
		set, err := s.StatefulSet.StatefulSet(s.Stage.Namespace, version)
		if err != nil {
			return err
		}
		if err := s.Stage.Client.Create(ctx, set); err != nil {
			return fmt.Errorf("creating the StatefulSet: %w", err)
		}
		limit := SetUpLimit + time.Duration(s.StatefulSet.Replicas)*time.Second
		if err := s.Updated(ctx, version, s.StatefulSet.Replicas, limit); err != nil {
			return fmt.Errorf("the set-up failed: %v", err)
		}
		return nil
	})
}

// Updated waits until the controller says of the spec as it is now, and not of an
// older one, that so many pods are at the template's revision and all are ready,
// and until nothing moves any more.
func (s StatefulScript) Updated(ctx context.Context, version string, pods int, limit time.Duration) error {
	err := s.Stage.Until(ctx, fmt.Sprintf("%d pods at %s", pods, version), StatefulSets, limit, func(v *series.View) bool {
		n := s.StatefulSet.Replicas
		return v.Metadata.Name == Name && Observed(v) && v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version &&
			v.Status.UpdatedReplicas == pods && v.Status.ReadyReplicas == n && v.Status.Replicas == n
	})
	if err != nil {
		return err
	}
	return s.Still(ctx, restTime, limit)
}

// restTime is how long nothing must have moved where nothing is to be waited for.
const restTime = 500 * time.Millisecond

// Still waits until StatefulSet and pods have not changed for a while.
func (s StatefulScript) Still(ctx context.Context, d, limit time.Duration) error {
	for _, resource := range []string{StatefulSets, Pods} {
		if err := s.Stage.Still(ctx, resource, d, limit); err != nil {
			return err
		}
	}
	return nil
}

// Exists waits until there is a pod of a version at the ordinal.
func (s StatefulScript) Exists(ctx context.Context, ordinal int, version string, limit time.Duration) error {
	return s.Stage.Until(ctx, PodName(ordinal)+" at "+version, Pods, limit, func(v *series.View) bool {
		return v.Metadata.Name == PodName(ordinal) && v.Metadata.Labels[stage.VersionLabel] == version
	})
}

// Apply changes the template to another version.
func (s StatefulScript) Apply(ctx context.Context, version string) error {
	return s.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, stage.VersionLabel, version))
}

// MovePartition changes the partition.
func (s StatefulScript) MovePartition(ctx context.Context, to int) error {
	return s.Patch(ctx, fmt.Sprintf(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":%d}}}}`, to))
}

// Patch merges a body into the StatefulSet.
func (s StatefulScript) Patch(ctx context.Context, body string) error {
	return patch(ctx, s.Stage.Client, &appsv1.StatefulSet{}, s.Stage.Namespace, body)
}

// DeleteByHand deletes the pod at an ordinal if it is of that version. It is
// labelled before, so that a recording tells this deletion from the controller's.
func (s StatefulScript) DeleteByHand(ctx context.Context, ordinal int, version string) error {
	pod := &corev1.Pod{}
	if err := s.Stage.Client.Get(ctx, client.ObjectKey{Namespace: s.Stage.Namespace, Name: PodName(ordinal)}, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	if pod.Labels[stage.VersionLabel] != version {
		return nil
	}
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, ByHandLabel)
	if err := s.Stage.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return client.IgnoreNotFound(err)
	}
	uid := pod.UID
	return client.IgnoreNotFound(s.Stage.Client.Delete(ctx, pod, client.Preconditions{UID: &uid}))
}

// Finish holds still and then asks the controller for a sign of life.
func (s StatefulScript) Finish(ctx context.Context, quiet time.Duration) error {
	if err := s.Stage.Step(ctx, StepQuiet, func(ctx context.Context) error { return s.Stage.Pass(ctx, quiet) }); err != nil {
		return err
	}
	return s.Stage.Step(ctx, StepAsk, s.ask)
}

// ask changes what no pod depends on and waits until the controller has observed it.
func (s StatefulScript) ask(ctx context.Context) error {
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}},"spec":{"revisionHistoryLimit":%d}}`, AskedLabel, revisionHistoryLimit+1)
	if err := s.Patch(ctx, body); err != nil {
		return err
	}
	return s.Stage.Until(ctx, "an answer", StatefulSets, ControlLimit, func(v *series.View) bool {
		value, _ := answered(v)
		return value.Num == 1
	})
}
