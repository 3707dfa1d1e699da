// Package stage is what a scenario's script has in its hands: a client whose
// writes are recorded, the readiness of pods, named steps, and waiting on the
// very stream that is being recorded.
package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/series"
)

// VersionLabel marks pod templates, so that every ReplicaSet and pod says
// which version of the workload it is.
const VersionLabel = "reckon.dev/version"

// HarnessLabel marks pods that are ours and no part of the workload.
const HarnessLabel = "reckon.dev/harness"

// Stage is made by the engine, one for each run.
type Stage struct {
	// Client writes as the script; every write becomes a call in the recording.
	Client client.Client
	// Kube is the same for libraries that want client-go's own.
	Kube      kubernetes.Interface
	Namespace string
	// On is what the cluster offers.
	On       cluster.Capabilities
	Recorder *record.Recorder
	// Readiness is nil where scripts do not decide over it.
	Readiness *Readiness
	// Traffic is nil where pods cannot be reached.
	Traffic Traffic
	// ControlPlane is nil where the scenario does not need cluster.ScriptedMesh.
	ControlPlane ControlPlane
	// Controller is nil where the scenario does not put other releases in its place.
	Controller Controller
	// Image is that of the program in the workload's pods, where pods are real.
	Image string
	Clock clock.Clock
	// Progress says what the script is at, for people who wait.
	Progress func(step string)
	// Versions are those of the components under test, by name.
	Versions map[string]string
}

// ErrNotReached is recorded when a step's awaited state did not come in time.
// It is an observation about the components, not a failure of the script.
var ErrNotReached = errors.New("not reached")

// Step runs one named step and records its begin and end. It begins when the
// recorder has received all that was stored before: the watches of two kinds race
// each other, and a window must not begin with a state that is over. An ErrNotReached is
// recorded and the script goes on, so that the claims can say what happened
// instead; any other error ends the script.
func (s *Stage) Step(ctx context.Context, name string, do func(ctx context.Context) error) error {
	if err := s.Recorder.Sync(ctx); err != nil {
		return fmt.Errorf("before step %s: %w", name, err)
	}
	s.Recorder.StepBegin(name)
	s.Progress(name)
	err := do(ctx)
	s.Recorder.StepEnd(name, err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrNotReached):
		return nil
	case err != nil:
		return fmt.Errorf("step %s: %w", name, err)
	}
	return nil
}

// Until waits for a state of an object of the resource; after the limit it
// returns ErrNotReached with what was awaited.
func (s *Stage) Until(ctx context.Context, what, resource string, limit time.Duration, match func(v *series.View) bool) error {
	return s.UntilIn(ctx, s.Namespace, what, resource, limit, match)
}

// UntilIn is Until in another namespace.
func (s *Stage) UntilIn(ctx context.Context, namespace, what, resource string, limit time.Duration, match func(v *series.View) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrNotReached)
	defer cancel()
	_, err := s.Recorder.Wait(ctx, resource, namespace, func(state record.State) bool {
		var v series.View
		return json.Unmarshal(state.Body, &v) == nil && match(&v)
	})
	if err != nil && errors.Is(context.Cause(ctx), ErrNotReached) {
		return fmt.Errorf("%s: %w within %s", what, ErrNotReached, limit)
	}
	return err
}

// Still waits until no object of the resource has changed for d, at most for the
// limit. A write of ours beside one of the controller's own can be lost on it:
// Rollouts puts the answer to its status patch into its informer, over a newer
// version that a watch delivered (rollout/controller.go:492, v1.8.2).
func (s *Stage) Still(ctx context.Context, resource string, d, limit time.Duration) error {
	begin := s.Clock.Now()
	if err := s.Recorder.Sync(ctx, resource); err != nil { // else our own last write may still be under way
		return err
	}
	for s.Clock.Since(begin) < limit {
		newest := uint64(0)
		for _, o := range s.Recorder.Objects(resource, s.Namespace) {
			newest = max(newest, o.RV)
		}
		quiet, cancel := context.WithTimeoutCause(ctx, d, ErrNotReached)
		_, err := s.Recorder.Wait(quiet, resource, s.Namespace, func(o record.State) bool { return o.RV > newest })
		over := errors.Is(context.Cause(quiet), ErrNotReached)
		cancel()
		if over {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s at rest: %w within %s", resource, ErrNotReached, limit)
}

// Pass lets d go by, where the delay itself is the condition of the drill.
func (s *Stage) Pass(ctx context.Context, d time.Duration) error {
	select {
	case <-s.Clock.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
