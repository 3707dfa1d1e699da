package upgradenoop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/fleet"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// deploy makes the fleet under the first version. What the API server rejects is
// written down; the rest is to become Healthy.
func (s *script) deploy(ctx context.Context) error {
	for _, namespace := range s.fleet.Namespaces() {
		if err := s.ensure(ctx, bareObject("v1", "Namespace", "", namespace)); err != nil {
			return err
		}
	}
	for _, o := range slices.Concat(s.fleet.Others, s.fleet.Rollouts) {
		if err := s.makeUp(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range slices.Concat(s.fleet.Others, s.fleet.Rollouts) {
		err := s.st.Client.Create(ctx, o.DeepCopy())
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !apierrors.IsAlreadyExists(err):
			s.st.Recorder.LogLine(logRejected)(fmt.Sprintf("%s (%s): %v", o, o.Place(), oneLine(err)))
		}
	}
	return s.await(ctx, "every Rollout Healthy", s.members, func(_ Member, v *series.View) bool {
		return v.Status.Phase == string(v1alpha1.RolloutPhaseHealthy) || v.Spec.Paused
	}, nil)
}

// makeUp makes what a workload's pods need to be admitted and the fleet does not have.
func (s *script) makeUp(ctx context.Context, workload fleet.Object) error {
	for _, ref := range fleet.Admission(workload) {
		if slices.ContainsFunc(s.fleet.Others, func(o fleet.Object) bool { return o.String() == ref.String() }) {
			continue
		}
		version := map[string]string{"ServiceAccount": "v1", "PriorityClass": "scheduling.k8s.io/v1", "RuntimeClass": "node.k8s.io/v1"}[ref.Kind]
		o := bareObject(version, ref.Kind, ref.Namespace, ref.Name)
		switch ref.Kind {
		case "PriorityClass": // which must not have pods of the fleet ended for others
			o.Object["value"], o.Object["preemptionPolicy"] = int64(0), string(corev1.PreemptNever)
		case "RuntimeClass":
			o.Object["handler"] = "simulated"
		}
		if err := s.ensure(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) ensure(ctx context.Context, o client.Object) error {
	if err := s.st.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
	}
	return nil
}

// update changes the template of every Rollout that is to be updated, and promotes
// those that are not to be paused.
func (s *script) update(ctx context.Context) error {
	const change = `{"spec":{"template":{"metadata":{"annotations":{"reckon.dev/revision":"2"}}}}}`
	for i, ro := range s.fleet.Rollouts {
		m := s.members[i]
		if !m.Updated || !s.there(m) {
			continue
		}
		version, kind, name := ro.GetAPIVersion(), "Rollout", m.Name
		if ref := fleet.Mapping(ro.Object, "spec", "workloadRef"); ref != nil {
			version, kind, name = fleet.Text(ref, "apiVersion"), fleet.Text(ref, "kind"), fleet.Text(ref, "name")
		}
		if err := s.patch(ctx, version, kind, m.Namespace, name, types.MergePatchType, change); err != nil {
			return err
		}
	}
	updated := func(m Member) bool { return m.Updated }
	promote := s.promotion(ctx)
	return s.await(ctx, "every Rollout promoted or paused", s.chosen(updated), func(m Member, v *series.View) bool {
		if v.Metadata.Annotations[rollback.RevisionAnnotation] == "1" {
			return false
		}
		if m.Paused {
			return v.Status.Phase == string(v1alpha1.RolloutPhasePaused) && s.untimed(m, v)
		}
		return healthy(v)
	}, func(m Member, v *series.View) error {
		if m.Paused {
			return nil
		}
		return promote(m, v)
	})
}

// healthy says whether a Rollout is Healthy and fully promoted.
func healthy(v *series.View) bool {
	return v.Status.Phase == string(v1alpha1.RolloutPhaseHealthy) && v.Status.StableRS == v.Status.CurrentPodHash
}

// promotion sends promote --full to a Rollout that is in the middle of an update, once
// for each hash that it is updated to.
func (s *script) promotion(ctx context.Context) func(Member, *series.View) error {
	sent := map[string]bool{}
	return func(m Member, v *series.View) error {
		of := m.Key() + " " + v.Status.CurrentPodHash
		if v.Status.CurrentPodHash == v.Status.StableRS || sent[of] {
			return nil
		}
		sent[of] = true
		ro := &v1alpha1.Rollout{}
		if err := s.st.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, ro); err != nil {
			return err
		}
		return s.commands.PromoteFull(ctx, ro)
	}
}

// untimed says whether a Rollout stands at a pause without end.
func (s *script) untimed(m Member, v *series.View) bool {
	i := v.Status.CurrentStepIndex
	if m.Strategy == "blueGreen" || i == nil {
		return m.Strategy == "blueGreen"
	}
	ro := s.manifest(m)
	steps := fleet.Items(fleet.Mapping(ro.Object, "spec", "strategy", "canary"), "steps")
	return *i < len(steps) && steps[*i]["pause"] != nil && fleet.Mapping(steps[*i], "pause")["duration"] == nil
}

func (s *script) manifest(m Member) fleet.Object {
	for _, ro := range s.fleet.Rollouts {
		if ro.GetNamespace() == m.Namespace && ro.GetName() == m.Name {
			return ro
		}
	}
	return fleet.Object{}
}

func (s *script) chosen(choose func(Member) bool) []Member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m Member) bool { return !choose(m) })
}

func (s *script) there(m Member) bool {
	_, there := s.states.of(s.st.Recorder, rolloutResource, m.Key())
	return there
}

// prepare does to Rollouts and ReplicaSets what their fates say.
func (s *script) prepare(ctx context.Context) error {
	for i, ro := range s.fleet.Rollouts {
		m := s.members[i]
		if m.Reapplied {
			if err := s.apply(ctx, ro); err != nil {
				return err
			}
		}
		if !m.Edited && !m.Twin {
			continue
		}
		present, older := s.replicaSets(m)
		if present == nil || m.Twin && older == nil {
			return errors.Join(stage.ErrNotReached, fmt.Errorf("the ReplicaSets of %s", m.Key()))
		}
		name, body := present.Name, `{"spec":{"template":{"spec":{"tolerations":[{"key":"example.com/injected","operator":"Exists"}]}}}}`
		if m.Twin {
			name, body = older.Name, `{"spec":{"template":{"metadata":{"annotations":{"reckon.dev/revision":"2"}}}}}`
		}
		if err := s.patch(ctx, "apps/v1", "ReplicaSet", m.Namespace, name, types.StrategicMergePatchType, body); err != nil {
			return err
		}
	}
	return nil
}

// replicaSets are the present one of a Rollout and an older one, nil if there is none.
func (s *script) replicaSets(m Member) (present, older *recording.Object) {
	v, _ := s.states.of(s.st.Recorder, rolloutResource, m.Key())
	for _, o := range s.st.Recorder.Objects(setResource, m.Namespace) {
		var set series.View
		if json.Unmarshal(o.Body, &set) != nil || ownerOf(&set, "Rollout") != m.Name {
			continue
		}
		if set.Metadata.Labels[v1alpha1.DefaultRolloutUniqueLabelKey] == v.Status.CurrentPodHash {
			present = &o.Object
		} else {
			older = &o.Object
		}
	}
	return present, older
}
