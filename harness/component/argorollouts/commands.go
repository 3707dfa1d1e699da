package argorollouts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"golang.org/x/mod/semver"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Commands sends to a Rollout what the kubectl plugin sends: the same merge
// patches on the status subresource (pkg/kubectl-argo-rollouts/cmd, v1.8.2).
type Commands struct {
	Client client.Client
	// CLI is the plugin version whose patches are sent; they differ in one
	// point only: from 1.9 on, a full promotion also unpauses.
	UnpauseOnFull bool
}

// CommandsOf are those of the plugin of a version.
func CommandsOf(c client.Client, version string) Commands {
	return Commands{Client: c, UnpauseOnFull: semver.Compare(version, "v1.9.0") >= 0}
}

// Abort sends `kubectl argo rollouts abort`: abort/abort.go:20 (v1.8.2).
func (c Commands) Abort(ctx context.Context, ro *v1alpha1.Rollout) error {
	return c.patchStatus(ctx, ro, map[string]any{"abort": true})
}

// Retry sends `kubectl argo rollouts retry rollout`: retry/retry.go (v1.8.2).
func (c Commands) Retry(ctx context.Context, ro *v1alpha1.Rollout) error {
	return c.patchStatus(ctx, ro, map[string]any{"abort": false})
}

// Promote sends `kubectl argo rollouts promote`: promote/promote.go:33-41 (v1.8.2).
// A paused Rollout loses its pause conditions; an unpaused canary moves on by
// one step, whether or not the step is done.
func (c Commands) Promote(ctx context.Context, ro *v1alpha1.Rollout) error {
	if ro.Spec.Paused {
		if err := c.unpause(ctx, ro); err != nil {
			return err
		}
	}
	status := map[string]any{"pauseConditions": nil}
	if len(ro.Status.PauseConditions) == 0 && ro.Spec.Strategy.Canary != nil && ro.Status.CurrentStepIndex != nil {
		next := *ro.Status.CurrentStepIndex
		if int(next) < len(ro.Spec.Strategy.Canary.Steps) {
			next++
		}
		status["currentStepIndex"] = next
	}
	return c.patchStatus(ctx, ro, status)
}

// SkipStep sends `kubectl argo rollouts promote --skip-current-step`:
// promote/promote.go:144 (v1.8.2).
func (c Commands) SkipStep(ctx context.Context, ro *v1alpha1.Rollout) error {
	next := int32(0)
	if ro.Status.CurrentStepIndex != nil {
		next = *ro.Status.CurrentStepIndex
	}
	if ro.Spec.Strategy.Canary != nil && int(next) < len(ro.Spec.Strategy.Canary.Steps) {
		next++
	}
	return c.patchStatus(ctx, ro, map[string]any{"currentStepIndex": next})
}

// SkipAllSteps sends `kubectl argo rollouts promote --skip-all-steps`:
// promote/promote.go:156 (v1.8.2).
func (c Commands) SkipAllSteps(ctx context.Context, ro *v1alpha1.Rollout) error {
	return c.patchStatus(ctx, ro, map[string]any{"currentStepIndex": len(ro.Spec.Strategy.Canary.Steps)})
}

// PromoteFull sends `kubectl argo rollouts promote --full`: a no-op while the
// Rollout is fully promoted already.
func (c Commands) PromoteFull(ctx context.Context, ro *v1alpha1.Rollout) error {
	if ro.Status.CurrentPodHash == ro.Status.StableRS {
		return nil
	}
	if ro.Spec.Paused && c.UnpauseOnFull {
		if err := c.unpause(ctx, ro); err != nil {
			return err
		}
	}
	return c.patchStatus(ctx, ro, map[string]any{"promoteFull": true})
}

// Undo sends `kubectl argo rollouts undo`: a JSON patch that replaces the pod
// template by that of the ReplicaSet, without the hash label.
func (c Commands) Undo(ctx context.Context, ro *v1alpha1.Rollout, to *appsv1.ReplicaSet) error {
	template := to.Spec.Template.DeepCopy()
	delete(template.Labels, v1alpha1.DefaultRolloutUniqueLabelKey)
	body, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/template", "value": template}})
	if err != nil {
		return err
	}
	if err := c.Client.Patch(ctx, ro.DeepCopy(), client.RawPatch(types.JSONPatchType, body)); err != nil {
		return fmt.Errorf("undoing rollout %s: %w", ro.Name, err)
	}
	return nil
}

func (c Commands) unpause(ctx context.Context, ro *v1alpha1.Rollout) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`))
	if err := c.Client.Patch(ctx, ro.DeepCopy(), patch); err != nil {
		return fmt.Errorf("unpausing rollout %s: %w", ro.Name, err)
	}
	return nil
}

func (c Commands) patchStatus(ctx context.Context, ro *v1alpha1.Rollout, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := c.Client.Status().Patch(ctx, ro.DeepCopy(), client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patching the status of rollout %s with %s: %w", ro.Name, body, err)
	}
	return nil
}
