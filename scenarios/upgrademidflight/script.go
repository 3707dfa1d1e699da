package upgrademidflight

import (
	"context"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/canary"
)

// cutTime is within what time after a change of a CRD the API server ends the watches of
// its objects: a second for requests under way (apiextensions-apiserver
// pkg/apiserver/customresource_handler.go, tearDown, v0.37.2), and some more.
const cutTime = 3 * time.Second

// Script begins the update under the first version, puts the other in its place, and
// sees the update to its end.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	s := &script{Params: p, st: st, flight: p.flight(p.rules())}
	s.moves = canary.NewScript(p.rollout(), s.flight.setUp, st)
	if newer(p.To, p.From) {
		if err := st.Step(ctx, p.stepCRDs(), s.install); err != nil {
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
		if leg.Name == p.stepStart() && st.Controller.Ended() != nil {
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
}

// install applies the CRDs of the later of both versions before anything is there, as
// they are in a cluster before and after any change between the two.
func (s *script) install(ctx context.Context) error {
	if err := s.st.Controller.Install(ctx, s.To); err != nil {
		return err
	}
	return s.st.Pass(ctx, cutTime)
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
		if leg.Leg.Turn == rollouts.TurnElapse {
			if err := s.st.Pass(ctx, time.Duration(leg.Leg.N)*time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *script) make(ctx context.Context, leg canary.Leg) error {
	do := map[string]func(context.Context, canary.Leg) error{
		s.stepEnd(): s.end, stepAway: s.away, s.stepStart(): s.start,
	}[leg.Name]
	if do == nil {
		return s.moves.Make(ctx, leg)
	}
	return s.st.Step(ctx, leg.Name, func(ctx context.Context) error { return do(ctx, leg) })
}

// end ends the first version.
func (s *script) end(ctx context.Context, leg canary.Leg) error {
	if err := s.moves.Move(ctx, leg); err != nil {
		return err
	}
	if s.How == Kill {
		return s.st.Controller.Kill(ctx)
	}
	return s.st.Controller.Stop(ctx)
}

// away lets what the update waits for come, and time pass.
func (s *script) away(ctx context.Context, leg canary.Leg) error {
	if err := s.moves.Move(ctx, leg); err != nil {
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

// start starts the other version and waits until it has taken over.
func (s *script) start(ctx context.Context, leg canary.Leg) error {
	if err := s.st.Controller.Start(ctx, s.To); err != nil {
		return err
	}
	if leg.Idle() {
		if err := s.st.Pass(ctx, idle); err != nil {
			return err
		}
	}
	return s.moves.Follow(ctx, leg)
}

// idle is how long a version that is to change nothing is given to change something.
const idle = 3 * time.Second

// quiet ends with whether the controller still lives.
func (s *script) quiet(ctx context.Context) error {
	if err := s.st.Pass(ctx, s.Quiet.Std()); err != nil {
		return err
	}
	return s.st.Controller.Ended()
}
