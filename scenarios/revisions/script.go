package revisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of the acts undo and undo-to alone.
const (
	StepThird = "update to v3"
	StepUndo  = "undo"
)

// kubectl is the name under which its answers are recorded, as a log.
const kubectl = "kubectl"

// play is one run of the script.
type play struct {
	workload.Script
	p     *Params
	limit time.Duration
}

// Script deploys v1 and does what is asked with it.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	pl := &play{workload.Script{Deployment: p.Deployment, Stage: st}, p, 2*s.Expected(params) + workload.ControlLimit}
	acts := []workload.Act{func(ctx context.Context) error { return pl.Deploy(ctx, workload.V1) }}
	switch p.Act {
	case Adopt:
		acts = append(acts, pl.adopt()...)
	case Delete:
		acts = append(acts, pl.delete()...)
	default:
		acts = append(acts, pl.undo()...)
	}
	return workload.InOrder(ctx, acts...)
}

func (pl *play) undo() []workload.Act {
	h := pl.p.history()
	return []workload.Act{
		pl.Step(workload.StepUpdate, func(ctx context.Context) error { return pl.update(ctx, workload.V2, h.removed(1)) }),
		pl.Step(StepThird, func(ctx context.Context) error { return pl.update(ctx, workload.V3, h.removed(2)) }),
		pl.Step(StepUndo, pl.ask),
		pl.Step(workload.StepSettle, func(ctx context.Context) error { return pl.settle(ctx, h.current().Template, h.removed(3)) }),
		func(ctx context.Context) error { return pl.Finish(ctx, pl.p.Quiet.Std()) },
	}
}

// update changes to another template and waits for the end of the rollout. No
// rollout begins before the last one has ended: two old ReplicaSets with pods
// would be scaled in the order of their creation timestamps, whose grain is one
// second, and by name within it (pkg/controller/controller_utils.go:1232, v1.37.2).
func (pl *play) update(ctx context.Context, version string, removed []string) error {
	pl.Stage.Readiness.Open(version)
	if err := pl.Apply(ctx, version); err != nil {
		return err
	}
	return pl.settle(ctx, version, removed)
}

// settle waits for the end of a rollout, of the pods of other versions, and of
// the ReplicaSets beyond the limit, which go after it.
func (pl *play) settle(ctx context.Context, version string, removed []string) error {
	if err := pl.Complete(ctx, version, pl.limit); err != nil {
		return err
	}
	others := func(v *series.View) bool { return v.Metadata.Labels[stage.VersionLabel] != version }
	if err := pl.gone(ctx, workload.Pods, others); err != nil {
		return err
	}
	for _, r := range removed {
		if err := pl.gone(ctx, workload.ReplicaSets, ofVersion(r)); err != nil {
			return err
		}
	}
	return pl.Still(ctx, pl.limit)
}

// ask is the undo. What kubectl says is an observation, an error too.
func (pl *play) ask(ctx context.Context) error {
	to := int64(0)
	if pl.p.Act == UndoTo {
		to = int64(pl.p.ToRevision)
	}
	answer, err := pl.Undo(ctx, to)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && answer != "" {
		return err // after the undo: not kubectl's
	}
	if err != nil {
		answer = err.Error()
	}
	pl.Stage.Recorder.LogLine(kubectl)(answer)
	return nil
}

func ofVersion(version string) func(*series.View) bool {
	return func(v *series.View) bool { return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version }
}

// objects are those of a resource that exist now and match.
func (pl *play) objects(resource string, match func(*series.View) bool) ([]series.View, error) {
	var out []series.View
	for _, o := range pl.Stage.Recorder.Objects(resource, pl.Stage.Namespace) {
		var v series.View
		if err := json.Unmarshal(o.Body, &v); err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource, o.Name, err)
		}
		if match(&v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// gone waits until the objects that exist now and match do not exist any more.
func (pl *play) gone(ctx context.Context, resource string, match func(*series.View) bool) error {
	objects, err := pl.objects(resource, match)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pl.limit, stage.ErrNotReached)
	defer cancel()
	for _, o := range objects {
		err := pl.Stage.Recorder.WaitGone(ctx, resource, pl.Stage.Namespace, o.Metadata.Name)
		if err != nil && errors.Is(context.Cause(ctx), stage.ErrNotReached) {
			return fmt.Errorf("the end of %s %s: %w within %s", resource, o.Metadata.Name, stage.ErrNotReached, pl.limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func everything(*series.View) bool { return true }
