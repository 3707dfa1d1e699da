package canaryautoscaled

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/canary"
)

// Steps of the script before the course.
const (
	StepMeter     = "stub the metrics API"
	StepAutoscale = "autoscale"
)

const (
	// autoscaleLimit covers the time in which the controller manager learns of a new kind:
	// it asks each 30 s (cmd/kube-controller-manager/app/controllermanager.go:579, v1.37.2).
	autoscaleLimit = 75 * time.Second
	// lookLimit is how long a sync is waited for.
	lookLimit = 4 * autoscaled.SyncPeriod
	// refresh is how often the counter moves on: more often than the autoscaler looks.
	refresh = time.Second
)

// externalMetrics is what the stub serves, and the autoscaler asks for
// (k8s.io/metrics/pkg/apis/external_metrics/v1beta1/types.go:40, v0.37.2).
var externalMetrics = autoscaled.Stub{
	Manifest: "workload/externalmetrics.yaml", Kind: schema.GroupVersionKind{Group: "external.metrics.k8s.io", Version: "v1beta1", Kind: "ExternalMetricValue"},
}

// Names of readings, which are the labels that the autoscaler's metrics select them by.
const (
	ofLoad  = "load"
	ofPulse = "pulse"
)

// script is a run under way.
type script struct {
	*Params
	*canary.Script
}

// Script brings v1 up under an autoscaler and plays the course. Each command comes right
// after a look of the autoscaler, so that it does not look again while ReplicaSets change.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	rules, _ := rollouts.RulesFor(st.Versions[scenario.ArgoRollouts])
	s := &script{Params: p, Script: canary.NewScript(p.Rollout(), p.Course(rules), st)}
	s.Scale = s.answer
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { stop(nil); <-done }()
	if err := st.Step(ctx, StepMeter, s.serve); err != nil {
		close(done)
		return err
	}
	go func() {
		defer close(done)
		if err := s.beat(ctx); err != nil {
			stop(err)
		}
	}()
	if err := s.Deploy(ctx); err != nil {
		return err
	}
	if err := st.Step(ctx, StepAutoscale, s.autoscale); err != nil {
		return err
	}
	for _, leg := range s.Script.Course.Legs {
		if err := s.play(ctx, leg); err != nil {
			return err
		}
	}
	return s.Hold(ctx)
}

func (s *script) play(ctx context.Context, leg canary.Leg) error {
	if commanded(leg) {
		if err := s.look(ctx); err != nil {
			return fmt.Errorf("before %s: %v", leg.Name, err)
		}
	}
	if leg.Name == stepLoad {
		s.Scale = s.change
	} else {
		s.Scale = s.answer
	}
	return s.Leg(ctx, leg)
}

// change writes the new load. Where the autoscaler is to leave the size alone it has two
// looks to do otherwise.
func (s *script) change(ctx context.Context, replicas int) error {
	if err := s.write(ctx, ofLoad, thousandths(s.NewLoad)); err != nil {
		return err
	}
	if leg, ok := s.Script.Course.Leg(stepLoad); !ok || leg.Trace.Start.Replicas != replicas {
		return nil
	}
	for range 2 {
		if err := s.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// answer: the autoscaler scales by itself.
func (s *script) answer(context.Context, int) error { return nil }

// look waits until the autoscaler has looked once more.
func (s *script) look(ctx context.Context) error {
	before := series.Value{}
	for _, o := range s.Stage.Recorder.Objects(autoscaled.Autoscalers, s.Stage.Namespace) {
		var v series.View
		if json.Unmarshal(o.Body, &v) == nil {
			before, _ = autoscaled.Reading(pulse)(&v)
		}
	}
	return s.Stage.Until(ctx, "a look of the autoscaler", autoscaled.Autoscalers, lookLimit, func(v *series.View) bool {
		now, ok := autoscaled.Reading(pulse)(v)
		return ok && now != before
	})
}

// serve makes the API and both readings.
func (s *script) serve(ctx context.Context) error {
	if err := externalMetrics.Serve(ctx, s.Stage); err != nil {
		return err
	}
	for name, value := range map[string]string{ofLoad: thousandths(s.Load), ofPulse: "0"} {
		object := externalMetrics.Reading(s.Stage.Namespace, name)
		object.SetLabels(map[string]string{"of": name})
		s.fill(object.Object, value)
		if err := s.Stage.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("writing the first metric %s: %w", name, err)
		}
	}
	return nil
}

func (s *script) fill(object map[string]any, value string) {
	object["metricName"], object["metricLabels"] = "readings", map[string]any{}
	object["timestamp"], object["value"] = s.Stage.Clock.Now().UTC().Format(time.RFC3339), value
}

// thousandths is a load in percent as a quantity.
func thousandths(percent int) string { return fmt.Sprintf("%dm", external(percent).Total) }

// write changes a reading.
func (s *script) write(ctx context.Context, name, value string) error {
	object := externalMetrics.Reading(s.Stage.Namespace, name)
	s.fill(object.Object, value)
	if err := s.Stage.Client.Patch(ctx, object, client.Merge); err != nil {
		return fmt.Errorf("writing the metric %s: %w", name, err)
	}
	return nil
}

// beat moves the counter on until the context ends.
func (s *script) beat(ctx context.Context) error {
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Stage.Clock.After(refresh):
		}
		if err := s.write(ctx, ofPulse, fmt.Sprint(n)); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// autoscale makes the autoscaler and waits until it rests at the replicas that are there.
func (s *script) autoscale(ctx context.Context) error {
	hpa, err := autoscaled.Autoscaler("rollback/autoscaler.yaml", s.Stage.Namespace, s.MinReplicas, s.MaxReplicas)
	if err != nil {
		return err
	}
	if err := s.Stage.Client.Create(ctx, hpa); err != nil {
		return fmt.Errorf("creating the autoscaler: %w", err)
	}
	what := fmt.Sprintf("an autoscaler that wants %d pods", s.Replicas)
	if err := s.Stage.Until(ctx, what, autoscaled.Autoscalers, autoscaleLimit, autoscaled.Rests(s.Replicas)); err != nil {
		return fmt.Errorf("the set-up failed: %v", err)
	}
	return nil
}
