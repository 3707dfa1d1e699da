package revisions

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/scenarios/workload"
)

// StepDelete is the deletion of the Deployment.
const StepDelete = "delete the Deployment"

// policies of the API by the scenario's words.
var policies = map[string]metav1.DeletionPropagation{
	Background: metav1.DeletePropagationBackground,
	Foreground: metav1.DeletePropagationForeground,
	Orphan:     metav1.DeletePropagationOrphan,
}

func (pl *play) delete() []workload.Act {
	return []workload.Act{
		pl.Step(workload.StepUpdate, func(ctx context.Context) error { return pl.update(ctx, workload.V2, nil) }),
		pl.Step(StepDelete, pl.remove),
		pl.Step(workload.StepQuiet, func(ctx context.Context) error { return pl.Stage.Pass(ctx, pl.p.Quiet.Std()) }),
		pl.Step(workload.StepAsk, pl.again),
	}
}

// remove deletes the Deployment and waits for the end of all that goes with it.
func (pl *play) remove(ctx context.Context) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: pl.Stage.Namespace, Name: workload.Name}}
	if err := pl.Stage.Client.Delete(ctx, d, client.PropagationPolicy(policies[pl.p.Propagation])); err != nil {
		return fmt.Errorf("deleting the Deployment: %w", err)
	}
	goes := []string{workload.Deployments, workload.ReplicaSets, workload.Pods}
	if pl.p.Propagation == Orphan {
		goes = goes[:1]
	}
	for _, resource := range goes {
		if err := pl.gone(ctx, resource, everything); err != nil {
			return err
		}
	}
	return pl.rest(ctx)
}

// rest waits until nothing has changed for half a second. There may be no
// Deployment any more to ask for what it has observed, as Still does.
func (pl *play) rest(ctx context.Context) error {
	for _, resource := range []string{workload.Deployments, workload.ReplicaSets, workload.Pods} {
		if err := pl.Stage.Still(ctx, resource, 500*time.Millisecond, pl.limit); err != nil {
			return err
		}
	}
	return nil
}

// again creates the Deployment once more: whether a controller takes it up says
// whether the silence before was that of a controller that lived.
func (pl *play) again(ctx context.Context) error {
	d, err := pl.p.Deployment.Deployment(pl.Stage.Namespace, workload.V2)
	if err != nil {
		return err
	}
	d.Labels = map[string]string{workload.AskedLabel: "yes"}
	if err := pl.Stage.Client.Create(ctx, d); err != nil {
		return fmt.Errorf("creating the Deployment again: %w", err)
	}
	// A new Deployment counts its generations from 1: what was written before is
	// no measure for it.
	fresh := workload.Script{Deployment: pl.p.Deployment, Stage: pl.Stage}
	return fresh.Settle(ctx, workload.V2, pl.limit)
}
