package rollback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Steps of the script, which claims name as windows.
const (
	StepDeploy   = "deploy v1"
	StepUpgrade  = "upgrade to v2"
	StepOldGone  = "wait for v1 to be gone"
	StepServed   = "wait for v2 to be served"
	StepRequests = "requests begin"
	StepBefore   = "before"
	StepRollback = "roll back to v1"
	StepRamp     = "pods become ready"
	StepSettle   = "settle"
	StepQuiet    = "quiet"
	StepEnd      = "requests end"
)

// limits of waiting. They bound a run that goes wrong; none of them is a claim.
const (
	setUpLimit   = 60 * time.Second
	controlLimit = 15 * time.Second
	// slack covers the controller's retry limiter, 1 ms to 10 s (utils/queue/queue.go, v1.8.2).
	slack = 45 * time.Second
	// reactionLimit is how long the controller may take to react to the first pod.
	reactionLimit = 5 * time.Second
	// revisionGrain: creation timestamps have whole seconds and the window compares them.
	revisionGrain = 2 * time.Second
)

// Script is the rollback script under way.
type Script struct {
	Params   Params
	Stage    *stage.Stage
	Commands argorollouts.Commands

	// aborted is set once the controller has settled on an abort.
	aborted bool
}

// NewScript makes the script of a run.
func NewScript(p Params, st *stage.Stage) *Script {
	version := st.Versions[scenario.ArgoRollouts]
	return &Script{Params: p, Stage: st, Commands: argorollouts.CommandsOf(st.Client, version)}
}

// SetUp brings v1 up, promotes v2 and, unless the drill wants v1 still running,
// waits until v1 has no pods. From then on no pod of v1 becomes ready.
func (s *Script) SetUp(ctx context.Context) error {
	if err := s.Stage.Step(ctx, StepDeploy, s.deploy); err != nil {
		return err
	}
	if err := s.Stage.Step(ctx, StepUpgrade, s.upgrade); err != nil {
		return err
	}
	after, step := s.served, StepServed
	if s.Params.OldReplicaSet == OldGone {
		after, step = s.oldGone, StepOldGone
	}
	if err := s.Stage.Step(ctx, step, after); err != nil {
		return err
	}
	if !s.Params.Sends(s.Stage.On) {
		return nil
	}
	if err := s.Stage.Step(ctx, StepRequests, s.requests); err != nil {
		return err
	}
	return s.Stage.Step(ctx, StepBefore, func(ctx context.Context) error { return s.Stage.Pass(ctx, before) })
}

func (s *Script) deploy(ctx context.Context) error {
	st := s.Stage
	st.Startup(Old, 0)
	st.Startup(New, 0)
	if err := s.Params.CreateRouting(ctx, st.Client, st.Namespace); err != nil {
		return err
	}
	ro, err := s.Params.Workload(st.Namespace, Old)
	if err != nil {
		return err
	}
	st.Furnish(&ro.Spec.Template, s.Params.app())
	if err := st.Client.Create(ctx, ro); err != nil {
		return fmt.Errorf("creating the Rollout: %w", err)
	}
	if err := s.mustReach(ctx, "v1 healthy", Rollouts, s.setUpLimit(), healthy("")); err != nil {
		return err
	}
	return st.Pass(ctx, revisionGrain)
}

func (s *Script) upgrade(ctx context.Context) error {
	if err := s.atRest(ctx); err != nil {
		return err
	}
	before, err := Present(ctx, s.Stage)
	if err != nil {
		return err
	}
	hash := before.Status.CurrentPodHash
	if err := ApplyTemplate(ctx, s.Stage, New); err != nil {
		return err
	}
	if err := s.mustReach(ctx, "v2 wanted", Rollouts, controlLimit, wants(hash)); err != nil {
		return err
	}
	if err := s.PromoteFull(ctx); err != nil {
		return err
	}
	return s.mustReach(ctx, "v2 promoted", Rollouts, s.setUpLimit(), healthy(hash))
}

func (s *Script) oldGone(ctx context.Context) error {
	limit := s.setUpLimit() + time.Duration(s.Params.ScaleDownDelay)*time.Second
	err := s.mustReach(ctx, "v1 at 0 pods", ReplicaSets, limit, func(v *series.View) bool {
		return IsVersion(v, Old) && *v.Spec.Replicas == 0 && v.Status.Replicas == 0
	})
	// Not earlier: with subset routing, v1.8.2 fails every pass while a pod of
	// an old ReplicaSet is unavailable, and so never scales it down
	// (rollout/trafficrouting/istio/istio.go:328).
	if s.Stage.Readiness != nil {
		s.Stage.Readiness.Hold(Old, 0)
	}
	return err
}

// served waits until the requests are v2's: with subset routing, v1.8.2 and v1.9
// may promote it and move the subset only with the next try, up to 10 s later.
func (s *Script) served(ctx context.Context) error {
	ro, err := Present(ctx, s.Stage)
	if err != nil {
		return err
	}
	target := s.Params.StableTarget().Object
	want := series.Number(float64(Digest(ro.Status.StableRS)))
	return s.mustReach(ctx, "v2 served", target.Resource, setUpLimit, func(v *series.View) bool {
		got, ok := target.Value(v)
		return ok && got == want
	})
}

// setUpLimit is how long a step of the set-up may take.
func (s *Script) setUpLimit() time.Duration {
	if !s.Stage.On.Has(cluster.Kubelet) {
		return setUpLimit
	}
	return stage.PodPatience + time.Duration(s.Params.Replicas)*s.Params.Ramp.Std()
}

// before is how long requests are sent before the rollback, to compare with.
const before = 5 * time.Second

// requests begin to be sent, on the routes that the controller writes.
func (s *Script) requests(ctx context.Context) error {
	return s.Stage.Traffic.Start(ctx, stage.Load{
		Client: stage.GRPC, Service: s.Params.host(), Port: stage.GRPCPort, Rate: s.Params.Rate, Limit: scenario.AnswerLimit,
	})
}

// Rollback applies v1 again and returns when the controller has taken notice.
func (s *Script) Rollback(ctx context.Context) error {
	if s.Params.OldReplicaSet == OldGone {
		if err := s.atRest(ctx); err != nil {
			return err
		}
	}
	return s.Stage.Step(ctx, StepRollback, func(ctx context.Context) error {
		before, err := Present(ctx, s.Stage)
		if err != nil {
			return err
		}
		if err := ApplyTemplate(ctx, s.Stage, Old); err != nil {
			return err
		}
		return s.Stage.Until(ctx, "v1 wanted", Rollouts, controlLimit, wants(before.Status.CurrentPodHash))
	})
}

// atRest waits until the controller has written nothing for half a second.
func (s *Script) atRest(ctx context.Context) error {
	if err := s.Stage.Still(ctx, Rollouts, 500*time.Millisecond, setUpLimit); err != nil {
		return fmt.Errorf("the set-up failed: %v", err)
	}
	return nil
}

// Ramp lets the pods of v1 become ready one by one until v1 is promoted; real
// pods do so by themselves, and those that still run are ready. Pauses without an
// end are promoted, as an operator would.
func (s *Script) Ramp(ctx context.Context) error {
	return s.Stage.Step(ctx, StepRamp, func(ctx context.Context) error {
		if s.Stage.Readiness == nil || s.Params.OldReplicaSet == OldRunning {
			return s.promoted(ctx)
		}
		if err := s.firstPod(ctx); err != nil {
			return err
		}
		s.Stage.Readiness.Ramp(Old, s.Params.Ramp.Std())
		return s.promoted(ctx)
	})
}

// firstPod readies one pod and gives the controller time to react to it before
// the ramp goes on: on a busy machine it may take longer than a short ramp, and
// what it does at the first pod is the question. Where it does nothing (the
// weight is withheld, or stays 0) the ramp goes on after reactionLimit.
func (s *Script) firstPod(ctx context.Context) error {
	if err := s.Stage.Pass(ctx, s.Params.Ramp.Std()); err != nil {
		return err
	}
	s.Stage.Readiness.Hold(Old, 1)
	err := s.Stage.Until(ctx, "a first weight", VirtualServices, reactionLimit, func(v *series.View) bool {
		weight, ok := s.Params.CanaryWeight(v)
		return ok && weight.Num > 0
	})
	if errors.Is(err, stage.ErrNotReached) {
		return nil
	}
	return err
}

func (s *Script) promoted(ctx context.Context) error {
	limit := s.Stage.Patience(s.Params.Expected() + slack)
	for {
		var done bool
		err := s.Stage.Until(ctx, "v1 promoted", Rollouts, limit, func(v *series.View) bool {
			s.aborted = v.Status.Abort && v.Status.Phase == string(v1alpha1.RolloutPhaseDegraded)
			done = s.aborted || v.Status.StableRS == v.Status.CurrentPodHash
			return done || s.waitsForever(v)
		})
		if err != nil || done {
			return err
		}
		ro, err := Present(ctx, s.Stage)
		if err != nil {
			return err
		}
		if err := s.Commands.Promote(ctx, ro); err != nil {
			return err
		}
		err = s.Stage.Until(ctx, "pause promoted", Rollouts, controlLimit, func(v *series.View) bool { return !s.waitsForever(v) })
		if err != nil {
			return err
		}
	}
}

func (s *Script) waitsForever(v *series.View) bool {
	i := v.Status.CurrentStepIndex
	if i == nil || *i >= len(s.Params.Steps) || len(v.Status.PauseConditions) == 0 {
		return false
	}
	pause := s.Params.Steps[*i].Pause
	return pause != nil && pause.Duration == nil
}

// Finish waits until the version that lost is gone, the weight is back and the
// controller is at rest, then holds still.
func (s *Script) Finish(ctx context.Context) error {
	if err := s.Stage.Step(ctx, StepSettle, s.settle); err != nil {
		return err
	}
	err := s.Stage.Step(ctx, StepQuiet, func(ctx context.Context) error { return s.Stage.Pass(ctx, s.Params.Quiet.Std()) })
	if err != nil || !s.Params.Sends(s.Stage.On) {
		return err
	}
	return s.Stage.Step(ctx, StepEnd, s.Stage.Traffic.Stop)
}

func (s *Script) settle(ctx context.Context) error {
	limit := s.setUpLimit() + time.Duration(s.Params.ScaleDownDelay)*time.Second
	loser := New
	if s.aborted {
		loser = Old
	}
	err := s.Stage.Until(ctx, loser+" at 0 pods", ReplicaSets, limit, func(v *series.View) bool {
		return IsVersion(v, loser) && *v.Spec.Replicas == 0 && v.Status.Replicas == 0
	})
	if err != nil {
		return err
	}
	err = s.Stage.Until(ctx, "weight 0", VirtualServices, controlLimit, func(v *series.View) bool {
		weight, ok := s.Params.CanaryWeight(v)
		return ok && weight.Num == 0
	})
	if err != nil {
		return err
	}
	if !s.aborted {
		if err := s.Stage.Until(ctx, "rollout healthy", Rollouts, controlLimit, healthy("")); err != nil {
			return err
		}
	}
	return s.Stage.Still(ctx, Rollouts, 500*time.Millisecond, controlLimit)
}

// PromoteFull sends promote --full for the Rollout as it is now.
func (s *Script) PromoteFull(ctx context.Context) error {
	ro, err := Present(ctx, s.Stage)
	if err != nil {
		return err
	}
	return s.Commands.PromoteFull(ctx, ro)
}

// AbortAt waits for the canary weight to reach w and aborts at once.
func (s *Script) AbortAt(ctx context.Context, w int) error {
	err := s.Stage.Until(ctx, fmt.Sprintf("weight %d", w), VirtualServices, s.Params.Expected()+slack, func(v *series.View) bool {
		got, ok := s.Params.CanaryWeight(v)
		return ok && got.Num >= float64(w)
	})
	if err != nil {
		return err
	}
	ro, err := Present(ctx, s.Stage)
	if err != nil {
		return err
	}
	return s.Commands.Abort(ctx, ro)
}

// mustReach is for the set-up: what is not reached there leaves nothing to judge.
func (s *Script) mustReach(ctx context.Context, what, resource string, limit time.Duration, match func(*series.View) bool) error {
	err := s.Stage.Until(ctx, what, resource, limit, match)
	if err != nil {
		return fmt.Errorf("the set-up failed: %v", err)
	}
	return nil
}

// ApplyTemplate applies the template of a version to the Rollout.
func ApplyTemplate(ctx context.Context, st *stage.Stage, version string) error {
	body := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, stage.VersionLabel, version)
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name = st.Namespace, Name
	if err := st.Client.Patch(ctx, ro, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return fmt.Errorf("applying %s: %w", version, err)
	}
	return nil
}

// healthy matches a Rollout that is promoted and healthy at a hash other than not.
func healthy(not string) func(*series.View) bool {
	return func(v *series.View) bool {
		s := v.Status
		return s.CurrentPodHash != "" && s.CurrentPodHash != not && s.StableRS == s.CurrentPodHash && s.Phase == string(v1alpha1.RolloutPhaseHealthy)
	}
}

// wants matches a Rollout that wants another ReplicaSet than that of the hash.
func wants(not string) func(*series.View) bool {
	return func(v *series.View) bool { return v.Status.CurrentPodHash != "" && v.Status.CurrentPodHash != not }
}

// IsVersion says whether that is the ReplicaSet of a version.
func IsVersion(v *series.View, version string) bool {
	return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version && v.Spec.Replicas != nil
}
