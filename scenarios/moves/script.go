package moves

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// Limits of waiting. They bound a run that goes wrong; none of them is a claim.
const (
	// moveLimit covers the controller's retry limiter, 1 ms to 10 s
	// (utils/queue/queue.go, v1.8.2), twice.
	moveLimit = 25 * time.Second
	// atRest is how long a Rollout that rests has not changed, before a move.
	atRest    = 500 * time.Millisecond
	restLimit = 15 * time.Second
	// settled is the same before the quiet period, for all that the controller writes.
	settled = 1500 * time.Millisecond
	// lookEvery is how often what the recorder has is held against what is awaited.
	lookEvery = 50 * time.Millisecond
)

// script is a plan under way.
type script struct {
	Plan
	stage    *stage.Stage
	commands argorollouts.Commands
	// deployed is whether there is a Rollout.
	deployed bool
	// before is where the controller rests by the model, before a move.
	before rollouts.Row
}

// Script makes the moves of a plan on the stage.
func (p Plan) Script(ctx context.Context, st *stage.Stage) error {
	version := st.Versions[scenario.ArgoRollouts]
	rules, _ := rollouts.RulesFor(version)
	s := &script{Plan: p, stage: st, commands: argorollouts.CommandsOf(st.Client, version)}
	play := p.Play(rules)
	err := st.Step(ctx, StepSetUp, func(ctx context.Context) error { return s.setUp(ctx, play.SetUp) })
	if err != nil {
		return err
	}
	for i, stop := range play.Stops {
		if err := st.Step(ctx, p.step(i), func(ctx context.Context) error { return s.make(ctx, stop) }); err != nil {
			return err
		}
	}
	if err := st.Step(ctx, StepRest, s.rest); err != nil {
		return err
	}
	return st.Step(ctx, StepQuiet, func(ctx context.Context) error { return st.Pass(ctx, p.Quiet) })
}

// setUp makes the moves before the drill. What is not reached there leaves nothing to
// judge.
func (s *script) setUp(ctx context.Context, stops []rollouts.Stop) error {
	for _, stop := range stops {
		if err := s.make(ctx, stop); err != nil {
			return fmt.Errorf("the set-up failed: %s: %v", stop.Move, err)
		}
	}
	return nil
}

// make makes one move when the Rollout is at rest, and waits until the controller is
// where the model says that it comes to rest.
func (s *script) make(ctx context.Context, stop rollouts.Stop) error {
	if s.deployed {
		if err := s.stage.Still(ctx, rollback.Rollouts, atRest, restLimit); err != nil {
			return err
		}
	}
	if err := s.act(ctx, stop.Move); err != nil {
		return fmt.Errorf("%s: %w", stop.Move, err)
	}
	before := s.before
	s.before = stop.Row
	if stop.Move.Act == rollouts.ActElapse && sameState(before, stop.Row) {
		return s.stage.Pass(ctx, time.Duration(stop.Move.Count)*time.Second)
	}
	limit := moveLimit
	if stop.Move.Act == rollouts.ActElapse {
		limit += time.Duration(stop.Move.Count) * time.Second
	}
	return s.await(ctx, stop.Row, limit)
}

// sameState says whether two stops differ by their time only.
func sameState(a, b rollouts.Row) bool {
	a.At, b.At = 0, 0
	return reflect.DeepEqual(a, b)
}

// act does what a move says.
func (s *script) act(ctx context.Context, mv rollouts.Move) error {
	switch mv.Act {
	case rollouts.ActDeploy:
		return s.deploy(ctx, mv.Version)
	case rollouts.ActReady:
		s.stage.Readiness.Hold(mv.Version, mv.Count)
		return nil
	case rollouts.ActElapse:
		return nil
	case rollouts.ActSteps:
		return s.patch(ctx, map[string]any{"strategy": map[string]any{"canary": map[string]any{"steps": stepsOf(mv.Steps).API()}}})
	case rollouts.ActReplicas:
		return s.patch(ctx, map[string]any{"replicas": mv.Count})
	case rollouts.ActWeight:
		return s.editWeight(ctx, mv.Count)
	}
	ro, err := rollback.Present(ctx, s.stage)
	if err != nil {
		return err
	}
	switch mv.Act {
	case rollouts.ActPromote:
		return s.commands.Promote(ctx, ro)
	case rollouts.ActPromoteFull:
		return s.commands.PromoteFull(ctx, ro)
	case rollouts.ActAbort:
		return s.commands.Abort(ctx, ro)
	case rollouts.ActRetry:
		return s.commands.Retry(ctx, ro)
	}
	return fmt.Errorf("the script knows no move %q", mv.Act)
}

// stepsOf turns the model's steps back. The plans of this package know weights, pauses
// without an end and setCanaryScale.
func stepsOf(steps []rollouts.Step) rollback.Steps {
	out := rollback.Steps{}
	for _, step := range steps {
		switch {
		case step.SetWeight != nil:
			out = append(out, rollback.SetWeight(*step.SetWeight))
		case step.Pause != nil:
			out = append(out, rollback.Step{Pause: &rollback.Pause{}})
		case step.SetCanaryScale != nil:
			c := step.SetCanaryScale
			out = append(out, rollback.Step{SetCanaryScale: &rollback.CanaryScale{Replicas: c.Replicas, Weight: c.Weight, MatchTrafficWeight: c.MatchTrafficWeight}})
		}
	}
	return out
}

func (s *script) deploy(ctx context.Context, version string) error {
	if s.deployed {
		return s.patch(ctx, map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{stage.VersionLabel: version}}}})
	}
	if err := s.services(ctx, s.stage.Client, s.stage.Namespace); err != nil {
		return err
	}
	ro, err := s.rollout(s.stage.Namespace, version)
	if err != nil {
		return err
	}
	if err := s.stage.Client.Create(ctx, ro); err != nil {
		return fmt.Errorf("creating the Rollout: %w", err)
	}
	s.deployed = true
	return nil
}

func (s *script) patch(ctx context.Context, spec map[string]any) error {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name = s.stage.Namespace, rollback.Name
	if err := s.stage.Client.Patch(ctx, ro, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patching the Rollout with %s: %w", body, err)
	}
	return nil
}

// editWeight writes weights into the VirtualService as somebody beside the controller.
func (s *script) editWeight(ctx context.Context, weight int) error {
	vs := &unstructured.Unstructured{}
	vs.SetAPIVersion("networking.istio.io/v1alpha3")
	vs.SetKind("VirtualService")
	if err := s.stage.Client.Get(ctx, client.ObjectKey{Namespace: s.stage.Namespace, Name: rollback.Name}, vs); err != nil {
		return fmt.Errorf("reading the VirtualService: %w", err)
	}
	routes, _, err := unstructured.NestedSlice(vs.Object, "spec", "http")
	if err != nil {
		return fmt.Errorf("reading the VirtualService's routes: %w", err)
	}
	for _, r := range routes {
		if r, ok := r.(map[string]any); ok && r["name"] == rollback.Route {
			r["route"] = []any{
				map[string]any{"destination": map[string]any{"host": rollback.StableService}, "weight": int64(100 - weight)},
				map[string]any{"destination": map[string]any{"host": rollback.CanaryService}, "weight": int64(weight)},
			}
		}
	}
	if err := unstructured.SetNestedSlice(vs.Object, routes, "spec", "http"); err != nil {
		return err
	}
	if err := s.stage.Client.Update(ctx, vs); err != nil {
		return fmt.Errorf("editing the VirtualService: %w", err)
	}
	return nil
}

// await waits until what was recorded last is the state of a stop. After the limit it
// returns stage.ErrNotReached with what differs.
func (s *script) await(ctx context.Context, want rollouts.Row, limit time.Duration) error {
	begin := s.stage.Clock.Now()
	for {
		differs := s.now().differs(s.Plan, want)
		if differs == "" {
			return nil
		}
		if s.stage.Clock.Since(begin) > limit {
			return fmt.Errorf("%s: %w within %s", differs, stage.ErrNotReached, limit)
		}
		if err := s.stage.Pass(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// rest waits until nothing that the controller writes has changed for a while.
func (s *script) rest(ctx context.Context) error {
	for _, resource := range []string{rollback.Rollouts, rollback.ReplicaSets, rollback.Services} {
		err := s.stage.Still(ctx, resource, settled, restLimit)
		if errors.Is(err, stage.ErrNotReached) {
			return fmt.Errorf("%s still changes: %w", resource, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
