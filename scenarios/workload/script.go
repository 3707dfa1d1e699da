package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Steps of the scripts, which claims name as windows.
const (
	StepDeploy   = "deploy v1"
	StepRequests = "requests begin"
	StepBefore   = "before"
	StepUpdate   = "update to v2"
	StepSettle   = "settle"
	StepQuiet    = "quiet"
	StepAsk      = "ask for a sign of life"
	StepEnd      = "requests end"
)

// Limits of waiting. They bound a run that goes wrong; none of them is a claim.
const (
	SetUpLimit   = 60 * time.Second
	ControlLimit = 30 * time.Second
)

// Script are the acts on one Deployment.
type Script struct {
	Deployment Deployment
	Stage      *stage.Stage
	// App is the program in the pods, where pods are real.
	App stage.App

	// written is the generation that our last write made. What the recorder
	// shows may be older than that, and complete as of then: such a status must
	// never be taken for an answer (Shopify/krane#325, argo-rollouts#1526).
	written int64
}

// Deploy creates the Deployment at a version and waits until it is complete.
// What is not reached here leaves nothing to judge.
func (s *Script) Deploy(ctx context.Context, version string) error {
	return s.Stage.Step(ctx, StepDeploy, func(ctx context.Context) error {
		s.Stage.Startup(version, 0)
		d, err := s.Deployment.Deployment(s.Stage.Namespace, version)
		if err != nil {
			return err
		}
		s.Stage.Furnish(&d.Spec.Template, s.App)
		if err := s.Stage.Client.Create(ctx, d); err != nil {
			return fmt.Errorf("creating the Deployment: %w", err)
		}
		s.written = d.Generation
		limit := s.Stage.Patience(SetUpLimit + time.Duration(s.Deployment.MinReadySeconds)*time.Second)
		if err := s.Complete(ctx, version, limit); err != nil {
			return fmt.Errorf("the set-up failed: %v", err)
		}
		return nil
	})
}

// Complete waits until the controller says of the spec as we wrote it last, and
// not of an older one, that all pods are of the version, wanted and available.
func (s *Script) Complete(ctx context.Context, version string, limit time.Duration) error {
	return s.Stage.Until(ctx, version+" complete", Deployments, limit, func(v *series.View) bool {
		return s.current(v) && Complete(v, version)
	})
}

// current says whether the view has our last write and the controller has observed it.
func (s *Script) current(v *series.View) bool {
	return v.Metadata.Name == Name && int64(v.Metadata.Generation) >= s.written && Observed(v)
}

// Complete is what `kubectl rollout status` takes for the end of a rollout
// (DeploymentStatusViewer.Status, k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go,
// v0.37.2), for one version of the template.
func Complete(v *series.View, version string) bool {
	wanted := int(number(v.Spec.Replicas))
	return v.Metadata.Name == Name && Observed(v) && v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version &&
		v.Status.UpdatedReplicas == wanted && v.Status.Replicas == wanted && v.Status.AvailableReplicas == wanted
}

// Apply changes the template to another version.
func (s *Script) Apply(ctx context.Context, version string) error {
	return s.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, stage.VersionLabel, version))
}

// Restart is what `kubectl rollout restart` does, with the mark of a version so
// that the pods can be told apart (k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go:41, v0.37.2).
func (s *Script) Restart(ctx context.Context, version string) error {
	at := s.Stage.Clock.Now().UTC().Format(time.RFC3339)
	return s.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q},"labels":{%q:%q}}}}}`,
		at, stage.VersionLabel, version))
}

// Scale changes the number of replicas.
func (s *Script) Scale(ctx context.Context, replicas int) error {
	return s.Patch(ctx, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// Patch merges a body into the Deployment.
func (s *Script) Patch(ctx context.Context, body string) error {
	d := &appsv1.Deployment{}
	if err := patch(ctx, s.Stage.Client, d, s.Stage.Namespace, body); err != nil {
		return err
	}
	s.written = d.Generation
	return nil
}

// Undo is `kubectl rollout undo`, by its own code. Revision 0 is the one before.
// It returns what kubectl would print.
func (s *Script) Undo(ctx context.Context, revision int64) (string, error) {
	d := &appsv1.Deployment{}
	if err := s.Stage.Client.Get(ctx, client.ObjectKey{Namespace: s.Stage.Namespace, Name: Name}, d); err != nil {
		return "", err
	}
	undo, err := polymorphichelpers.RollbackerFor(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), s.Stage.Kube)
	if err != nil {
		return "", err
	}
	said, err := undo.Rollback(d, nil, revision, cmdutil.DryRunNone)
	if err != nil {
		return said, err
	}
	err = s.Stage.Client.Get(ctx, client.ObjectKeyFromObject(d), d)
	s.written = d.Generation
	return said, err
}

// Still waits until the controllers are at rest: the Deployment's has observed
// our last write, every ReplicaSet has the pods that it wants, those that are
// ready are available, none still terminates, and nothing has changed for half a second.
func (s *Script) Still(ctx context.Context, limit time.Duration) error {
	begin := s.Stage.Clock.Now()
	if err := s.Stage.Until(ctx, "our last write observed", Deployments, limit, s.current); err != nil {
		return err
	}
	for {
		for _, resource := range []string{Deployments, ReplicaSets, Pods} {
			if err := s.Stage.Still(ctx, resource, 500*time.Millisecond, limit); err != nil {
				return err
			}
		}
		switch {
		case s.sized() && s.all(Pods, isLive):
			return nil
		case s.Stage.Clock.Since(begin) > limit:
			return fmt.Errorf("ReplicaSets with the pods that they want, and no other: %w within %s", stage.ErrNotReached, limit)
		}
	}
}

// sized says whether every ReplicaSet has seen its size and has that many pods.
func (s *Script) sized() bool {
	return s.all(ReplicaSets, func(v *series.View) bool {
		return Observed(v) && v.Status.Replicas == int(number(v.Spec.Replicas)) && v.Status.ReadyReplicas == v.Status.AvailableReplicas
	})
}

// all says whether all objects of the resource match, as they are now.
func (s *Script) all(resource string, match func(v *series.View) bool) bool {
	for _, o := range s.Stage.Recorder.Objects(resource, s.Stage.Namespace) {
		var v series.View
		if json.Unmarshal(o.Body, &v) != nil || !match(&v) {
			return false
		}
	}
	return true
}

// Finish holds still and then asks the controller for a sign of life.
func (s *Script) Finish(ctx context.Context, quiet time.Duration) error {
	if err := s.Stage.Step(ctx, StepQuiet, func(ctx context.Context) error { return s.Stage.Pass(ctx, quiet) }); err != nil {
		return err
	}
	return s.Stage.Step(ctx, StepAsk, s.ask)
}

// ask changes what no pod depends on and waits until the controller has observed it.
func (s *Script) ask(ctx context.Context) error {
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}},"spec":{"revisionHistoryLimit":%d}}`, AskedLabel, s.Deployment.RevisionHistoryLimit+1)
	if err := s.Patch(ctx, body); err != nil {
		return err
	}
	return s.Stage.Until(ctx, "an answer", Deployments, ControlLimit, func(v *series.View) bool {
		value, _ := answered(v)
		return value.Num == 1
	})
}

// Settle waits until the version is complete, every other pod is gone and the
// controllers are at rest.
func (s *Script) Settle(ctx context.Context, version string, limit time.Duration) error {
	if err := s.Complete(ctx, version, limit); err != nil {
		return err
	}
	return s.Still(ctx, limit)
}
