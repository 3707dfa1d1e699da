package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// limits of waiting. They bound a run that goes wrong; none of them is a claim.
const (
	setUpLimit = 60 * time.Second
	// slack covers the controller's retry limiter, 1 ms to 10 s (utils/queue/queue.go, v1.8.2).
	slack = 20 * time.Second
	// rest is how long the controller must not have written before the next move: one of
	// ours beside one of its own can be lost on it, see stage.Stage.Still.
	rest = time.Second
	// revisionGrain: creation timestamps have whole seconds.
	revisionGrain = 2 * time.Second
)

// Script plays a course on a real controller.
type Script struct {
	Rollout Rollout
	Course  *Course
	Stage   *stage.Stage
	// Scale makes a course's moves that change spec.replicas, where it has any.
	Scale    func(ctx context.Context, replicas int) error
	commands argorollouts.Commands
}

// NewScript is the script of a course on a stage.
func NewScript(ro Rollout, course *Course, st *stage.Stage) *Script {
	return &Script{Rollout: ro, Course: course, Stage: st, commands: argorollouts.CommandsOf(st.Client, st.Versions[scenario.ArgoRollouts])}
}

// Run brings v1 up, makes the moves of the course, each in a step of its own, and holds
// still.
func (s *Script) Run(ctx context.Context) error {
	if err := s.Deploy(ctx); err != nil {
		return err
	}
	for _, leg := range s.Course.Legs {
		if err := s.Leg(ctx, leg); err != nil {
			return err
		}
	}
	return s.Hold(ctx)
}

// Deploy brings v1 up.
func (s *Script) Deploy(ctx context.Context) error { return s.Stage.Step(ctx, StepDeploy, s.deploy) }

// Leg makes a move and waits for the state that the model predicts. Where that does not
// come the script goes on, and the claims say what came instead.
func (s *Script) Leg(ctx context.Context, leg Leg) error {
	return s.Stage.Step(ctx, leg.Name, func(ctx context.Context) error { return s.leg(ctx, leg) })
}

// Hold lets the quiet period pass.
func (s *Script) Hold(ctx context.Context) error {
	return s.Stage.Step(ctx, StepQuiet, func(ctx context.Context) error { return s.Stage.Pass(ctx, s.Rollout.Quiet.Std()) })
}

// Move makes the move of a leg and waits for nothing.
func (s *Script) Move(ctx context.Context, leg Leg) error {
	s.freeze()
	return s.move(ctx, leg.Leg)
}

// Available waits until the versions have the pods that they have after the leg.
func (s *Script) Available(ctx context.Context, leg Leg) error {
	return s.pods(ctx, leg.Trace.Final(), func() time.Duration { return s.limit(leg) })
}

// Follow waits for what the model says to follow on a leg. A leg of which nothing is to
// follow is given time to show something.
func (s *Script) Follow(ctx context.Context, leg Leg) error {
	if leg.Idle() {
		if err := s.Stage.Pass(ctx, idleFor(leg)); err != nil {
			return err
		}
	}
	return s.await(ctx, leg.Trace.Final(), leg.Trace.Restless(), s.limit(leg))
}

func (s *Script) deploy(ctx context.Context) error {
	st := s.Stage
	st.Readiness.Open(Old)
	ro, err := s.Rollout.base().Workload(st.Namespace, Old)
	if err != nil {
		return err
	}
	if s.Rollout.basic() {
		unrouted(ro.Spec.Strategy.Canary)
	} else if err := s.Rollout.base().CreateRouting(ctx, st.Client, st.Namespace); err != nil {
		return err
	}
	if s.Rollout.Shape != nil {
		s.Rollout.Shape(&ro.Spec)
	}
	if err := st.Client.Create(ctx, ro); err != nil {
		return fmt.Errorf("creating the Rollout: %w", err)
	}
	if err := s.await(ctx, s.Course.Start, false, setUpLimit); err != nil {
		if errors.Is(err, stage.ErrNotReached) {
			return fmt.Errorf("the set-up failed: %v", err) // there is nothing to judge
		}
		return err
	}
	return st.Pass(ctx, revisionGrain)
}

// unrouted takes away what a canary without traffic routing does not have.
func unrouted(c *v1alpha1.CanaryStrategy) {
	c.TrafficRouting, c.CanaryService, c.StableService, c.ScaleDownDelaySeconds = nil, "", "", nil
}

// leg makes one move.
func (s *Script) leg(ctx context.Context, leg Leg) error {
	if err := s.Move(ctx, leg); err != nil {
		return err
	}
	return s.Follow(ctx, leg)
}

// freeze: pods become ready in moves that say so only.
func (s *Script) freeze() {
	s.Stage.Readiness.Freeze(Old)
	s.Stage.Readiness.Freeze(New)
}

// idleFor is how long a move of which nothing is to follow is given to show something.
func idleFor(leg Leg) time.Duration {
	if leg.Leg.Turn == rollouts.TurnElapse {
		return time.Duration(leg.Leg.N)*time.Second + 2*time.Second
	}
	return 2 * time.Second
}

// limit of waiting for a leg's end.
func (s *Script) limit(leg Leg) time.Duration {
	limit := slack
	switch leg.Leg.Turn {
	case rollouts.TurnGrow:
		limit += time.Duration(leg.Trace.Final().At-leg.Trace.Start.At) * time.Second
		limit += time.Duration(2*s.Rollout.Replicas) * s.Rollout.Ramp.Std()
	case rollouts.TurnElapse:
		limit += time.Duration(leg.Leg.N) * time.Second
	}
	return limit
}

func (s *Script) move(ctx context.Context, m rollouts.Leg) error {
	switch m.Turn {
	case rollouts.TurnUpdate:
		return rollback.ApplyTemplate(ctx, s.Stage, m.Version)
	case rollouts.TurnGrow:
		return s.grow(ctx, m)
	case rollouts.TurnHold:
		s.Stage.Readiness.Hold(m.Version, m.N)
		return nil
	case rollouts.TurnElapse, rollouts.TurnNone:
		return nil
	case rollouts.TurnScale:
		if s.Scale == nil {
			return fmt.Errorf("nobody knows how to scale to %d", m.N)
		}
		return s.Scale(ctx, m.N)
	}
	return s.command(ctx, m.Turn)
}

// grow readies one more pod each ramp: without end, or up to a number.
func (s *Script) grow(ctx context.Context, m rollouts.Leg) error {
	if m.N == 0 {
		s.Stage.Readiness.Ramp(m.Version, s.Rollout.Ramp.Std())
		return nil
	}
	for n := s.available(m.Version) + 1; n <= m.N; n++ {
		s.Stage.Readiness.Hold(m.Version, n)
		if err := s.Stage.Pass(ctx, s.Rollout.Ramp.Std()); err != nil {
			return err
		}
	}
	return nil
}

// command sends what the kubectl plugin sends for the Rollout as it is now.
func (s *Script) command(ctx context.Context, act rollouts.Turn) error {
	ro, err := rollback.Present(ctx, s.Stage)
	if err != nil {
		return err
	}
	send, ok := map[rollouts.Turn]func(context.Context, *v1alpha1.Rollout) error{
		rollouts.TurnAbort:       s.commands.Abort,
		rollouts.TurnRetry:       s.commands.Retry,
		rollouts.TurnPromote:     s.commands.Promote,
		rollouts.TurnPromoteFull: s.commands.PromoteFull,
		rollouts.TurnSkipStep:    s.commands.SkipStep,
		rollouts.TurnSkipAll:     s.commands.SkipAllSteps,
	}[act]
	if !ok {
		return fmt.Errorf("nobody knows how to send %q", act)
	}
	return send(ctx, ro)
}

// await waits until everything is as in the model's row, and then until the controller
// has written nothing for a while. Where it is restless its Services go to and fro.
func (s *Script) await(ctx context.Context, want rollouts.Row, restless bool, limit time.Duration) error {
	end := s.Stage.Clock.Now().Add(limit)
	left := func() time.Duration { return max(end.Sub(s.Stage.Clock.Now()), time.Millisecond) }
	if err := s.pods(ctx, want, left); err != nil {
		return err
	}
	if !s.Rollout.basic() {
		if err := s.routed(ctx, want, restless, left); err != nil {
			return err
		}
	}
	stable, current := s.hash(want.Stable), s.hash(want.Current)
	err := s.Stage.Until(ctx, "the Rollout's status", rollback.Rollouts, left(), func(v *series.View) bool {
		st := v.Status
		return v.Spec.Replicas != nil && *v.Spec.Replicas == want.Replicas && st.Phase == want.Phase && st.StableRS == stable && st.CurrentPodHash == current && st.Abort == want.Abort && len(st.PauseConditions) > 0 == want.Paused &&
			(len(s.Rollout.Steps) == 0 || st.CurrentStepIndex != nil && *st.CurrentStepIndex == want.Index)
	})
	if err != nil {
		return err
	}
	return s.Stage.Still(ctx, rollback.Rollouts, rest, left()+rest)
}

// pods waits until the versions have the pods of the row.
func (s *Script) pods(ctx context.Context, want rollouts.Row, left func() time.Duration) error {
	for _, version := range slices.Sorted(maps.Keys(want.Size)) {
		err := s.Stage.Until(ctx, fmt.Sprintf("%s at %d of %d pods", version, want.Available[version], want.Size[version]), rollback.ReplicaSets, left(), func(v *series.View) bool {
			return rollback.IsVersion(v, version) && *v.Spec.Replicas == want.Size[version] && v.Status.AvailableReplicas == want.Available[version]
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// routed waits until the weight and the targets are as in the row.
func (s *Script) routed(ctx context.Context, want rollouts.Row, restless bool, left func() time.Duration) error {
	err := s.Stage.Until(ctx, fmt.Sprintf("weight %d", want.Weight), rollback.VirtualServices, left(), func(v *series.View) bool {
		weight, ok := s.Rollout.base().CanaryWeight(v)
		return ok && weight.Num == float64(want.Weight)
	})
	if err != nil || restless {
		return err
	}
	canary, stable := want.CanaryService, want.StableService
	if s.Rollout.bySubsets() {
		canary, stable = want.Subsets.Canary, want.Subsets.Stable
	}
	for _, t := range []struct {
		to     string
		series series.Definition
	}{{canary, s.Rollout.base().CanaryTarget()}, {stable, s.Rollout.base().StableTarget()}} {
		hash := float64(rollback.Digest(s.hash(t.to)))
		err := s.Stage.Until(ctx, t.series.Doc+" of "+t.to, t.series.Object.Resource, left(), func(v *series.View) bool {
			got, ok := t.series.Object.Value(v)
			return ok && got.Num == hash
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replicaSet is that of a version as it was recorded last, nil if there is none.
func (s *Script) replicaSet(version string) *series.View {
	for _, o := range s.Stage.Recorder.Objects(rollback.ReplicaSets, s.Stage.Namespace) {
		var v series.View
		if json.Unmarshal(o.Body, &v) == nil && rollback.IsVersion(&v, version) {
			return &v
		}
	}
	return nil
}

func (s *Script) available(version string) int {
	if rs := s.replicaSet(version); rs != nil {
		return rs.Status.AvailableReplicas
	}
	return 0
}

// hash is what the controller calls a version by, "" before it has a ReplicaSet.
func (s *Script) hash(version string) string {
	if rs := s.replicaSet(version); rs != nil {
		return rs.Metadata.Labels[v1alpha1.DefaultRolloutUniqueLabelKey]
	}
	return ""
}
