package canary

import (
	"context"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// A Drill is the parameters of one of the scenarios.
type Drill interface {
	// Rollout is the one under drill.
	Rollout() Rollout
	// Course plays the parameters on the rules.
	Course(rules rollouts.Rules) *Course
	// Claims are those that the scenario has beside Key.Prediction's.
	Claims(k Key) []judge.Claim
}

// Base is what the scenarios share. One that embeds it has parameters that are a Drill.
type Base struct{}

// Needs: which pods are ready is the script's to say.
func (Base) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness, cluster.Mesh}
}

func (Base) Components(cluster.Capabilities) []string { return []string{scenario.ArgoRollouts} }

func (Base) Guards() map[string]string { return GuardNames() }

// Expected adds up what a run takes: a second of rest after each move, and what pods and
// delays take.
func (Base) Expected(params any) time.Duration {
	d := params.(Drill)
	return Expected(d.Rollout().Params, d.Course(rollouts.RulesForGroup(rollouts.Group110)))
}

// Predict plays the course on the model of the version.
func (Base) Predict(in scenario.Input) (judge.Prediction, error) {
	version := in.Versions[scenario.ArgoRollouts]
	rules, known := rollouts.RulesFor(version)
	return Predict(in.Params.(Drill), rules, version, known, in.Guards), nil
}

// Predict is the answer key of a drill on given rules, which are those of the version
// itself if it is known.
func Predict(d Drill, rules rollouts.Rules, version string, known bool, limits map[string]float64) judge.Prediction {
	k := NewKey(d.Rollout().Params, d.Course(rules))
	out := k.Prediction(version, known, limits)
	out.Claims = append(out.Claims, d.Claims(k)...)
	return out
}

// Script makes the moves of the course on the controller.
func (Base) Script(ctx context.Context, params any, st *stage.Stage) error {
	d := params.(Drill)
	rules, _ := rollouts.RulesFor(st.Versions[scenario.ArgoRollouts])
	return NewScript(d.Rollout(), d.Course(rules), st).Run(ctx)
}
