package upgrademidflight

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Script begins the update under the first version, puts the other in its place, and
// sees the update to its end.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	s := &script{Params: p, st: st, flight: p.flight(p.rules())}
	s.moves = canary.NewScript(p.rollout(), s.flight.setUp, st)
	if newer(p.To, p.From) { // before anything is there, as in a cluster before and after any change between the two
		if err := st.Step(ctx, p.stepCRDs(), func(ctx context.Context) error { return st.Install(ctx, p.To) }); err != nil {
			return err
		}
	}
	if p.analysis() >= 0 {
		if err := rollback.CreateAll(ctx, st.Client, st.Namespace, "upgrade/analysis.yaml"); err != nil {
			return err
		}
	}
	if err := s.moves.Deploy(ctx); err != nil {
		return err
	}
	if len(s.flight.setUp.Legs) > 0 {
		if err := st.Step(ctx, stepSetUp, s.setUp); err != nil {
			return err
		}
	}
	for _, leg := range s.flight.course.Legs {
		if err := s.make(ctx, leg); err != nil {
			return err
		}
		if leg.Name == p.stepStart() && !s.started {
			return nil // nobody is there to see the update to its end
		}
	}
	return st.Step(ctx, stepQuiet, s.quiet)
}

// script is the script under way.
type script struct {
	*Params
	st     *stage.Stage
	flight flight
	moves  *canary.Script
	// started: the other version was.
	started bool
	// leader is who had the lease before the first version ended.
	leader string
}

// setUp makes the moves before those that claims speak of. What is not reached there leaves
// nothing to judge.
func (s *script) setUp(ctx context.Context) error {
	for _, leg := range s.flight.setUp.Legs {
		if err := s.moves.Move(ctx, leg); err != nil {
			return err
		}
		if err := s.moves.Follow(ctx, leg); err != nil {
			return fmt.Errorf("the set-up failed: %s: %v", leg.Name, err)
		}
	}
	return nil
}

func (s *script) make(ctx context.Context, leg canary.Leg) error {
	var do func(context.Context, canary.Leg) error
	switch leg.Name {
	case s.stepStart():
		do = s.start
	case s.stepEnd():
		do = s.end
	case stepAway:
		do = s.away
	case s.stepTakes():
		do = s.takes
	default:
		do = s.move
	}
	return s.st.Step(ctx, leg.Name, func(ctx context.Context) error { return do(ctx, leg) })
}

// move is a leg like those of other updates.
func (s *script) move(ctx context.Context, leg canary.Leg) error {
	if err := s.send(ctx, leg); err != nil {
		return err
	}
	return s.moves.Follow(ctx, leg)
}

// send makes the move of a leg.
func (s *script) send(ctx context.Context, leg canary.Leg) error {
	if leg.Leg.Turn != rollouts.TurnPassAnalysis {
		return s.moves.Move(ctx, leg)
	}
	if err := s.moves.Move(ctx, canary.Leg{}); err != nil { // no pod becomes ready meanwhile
		return err
	}
	return s.passAnalyses(ctx)
}

// passAnalyses ends every analysis that runs: one without a measurement then counts as
// successful (analysis/analysis.go, assessRunStatus, v1.8.3).
func (s *script) passAnalyses(ctx context.Context) error {
	runs := &v1alpha1.AnalysisRunList{}
	if err := s.st.Client.List(ctx, runs, client.InNamespace(s.st.Namespace)); err != nil {
		return fmt.Errorf("listing the analyses: %w", err)
	}
	for _, run := range runs.Items {
		if run.Status.Phase.Completed() {
			continue
		}
		body := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"terminate":true}}`))
		if err := s.st.Client.Patch(ctx, &run, body); err != nil {
			return fmt.Errorf("ending analysis %s: %w", run.Name, err)
		}
	}
	return nil
}

// end ends the first version.
func (s *script) end(ctx context.Context, leg canary.Leg) error {
	s.leader = s.holder()
	if err := s.send(ctx, leg); err != nil {
		return err
	}
	if s.At == AtWrite {
		if err := s.written(ctx, leg.Trace.Final().Weight); err != nil {
			return err
		}
	}
	if s.How == Kill {
		return s.st.Controller.Kill(ctx)
	}
	return s.st.Controller.Stop(ctx)
}

// writeLimit is how long the first version may take to write a weight.
const writeLimit = 15 * time.Second

// written waits until a weight is seen, and for nothing that comes after it.
func (s *script) written(ctx context.Context, weight int) error {
	of := rollback.WeightIn(rollback.Name, rollouts.Routing(s.Routing))
	return s.st.Until(ctx, fmt.Sprintf("weight %d", weight), rollback.VirtualServices, writeLimit, func(v *series.View) bool {
		got, ok := of(v)
		return ok && got.Num == float64(weight)
	})
}

// away lets what the update waits for come, and time pass.
func (s *script) away(ctx context.Context, leg canary.Leg) error {
	if err := s.send(ctx, leg); err != nil {
		return err
	}
	if err := s.moves.Available(ctx, leg); err != nil {
		return err
	}
	long := s.Away.Std()
	if leg.Leg.Turn == rollouts.TurnElapse {
		long = max(long, time.Duration(leg.Leg.N+1)*time.Second)
	}
	return s.st.Pass(ctx, long)
}

// start starts the other version, and waits until it has taken over if it is alone.
func (s *script) start(ctx context.Context, leg canary.Leg) error {
	if err := s.st.Controller.Start(ctx, s.To); err != nil {
		return err
	}
	s.started = true
	return s.moves.Follow(ctx, leg)
}

// takes waits until the other version leads and has taken over.
func (s *script) takes(ctx context.Context, leg canary.Leg) error {
	err := s.st.UntilIn(ctx, argorollouts.Namespace, "another leader", leases, 2*(leaseDuration+retryMost), func(v *series.View) bool {
		return v.Metadata.Name == argorollouts.Lock && v.Spec.HolderIdentity != "" && v.Spec.HolderIdentity != s.leader
	})
	if err != nil {
		return err
	}
	return s.moves.Follow(ctx, leg)
}

// holder is who has the lease of the leader as it was recorded last.
func (s *script) holder() string {
	for _, o := range s.st.Recorder.Objects(leases, argorollouts.Namespace) {
		var v series.View
		if json.Unmarshal(o.Body, &v) == nil && v.Metadata.Name == argorollouts.Lock {
			return v.Spec.HolderIdentity
		}
	}
	return ""
}

// quiet ends with whether the controller still lives.
func (s *script) quiet(ctx context.Context) error {
	if err := s.st.Pass(ctx, s.Quiet.Std()); err != nil {
		return err
	}
	return s.st.Controller.Ended()
}
