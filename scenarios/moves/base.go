package moves

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// A Drill is the parameters of one of the scenarios.
type Drill interface{ Plan() Plan }

// Base is what the scenarios share. One that embeds it has parameters that are a Drill.
type Base struct{}

func (Base) Components(cluster.Capabilities) []string { return []string{scenario.ArgoRollouts} }

func (Base) Guards() map[string]string { return GuardNames() }

func (Base) Expected(params any) time.Duration { return params.(Drill).Plan().Expected() }

// Predict plays the moves on the model of the version.
func (Base) Predict(in scenario.Input) (judge.Prediction, error) {
	return in.Params.(Drill).Plan().Predict(in.Versions[scenario.ArgoRollouts], in.Guards), nil
}

// Script makes the moves.
func (Base) Script(ctx context.Context, params any, st *stage.Stage) error {
	return params.(Drill).Plan().Script(ctx, st)
}

// CanaryBase is that of scenarios of a canary.
type CanaryBase struct{ Base }

// Needs: the script decides which pods are ready.
func (CanaryBase) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness, cluster.Mesh}
}
