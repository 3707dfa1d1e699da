package upgrademidflight

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// Predict plays the flight on the models of both versions.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	from, to := p.rules()
	out := p.predict(from, to, in.Guards)
	for _, v := range slices.Compact([]string{p.From, p.To}) {
		if rules, known := rollouts.RulesFor(scenario.ModelVersion(v)); !known {
			out.Notes = append(out.Notes, rules.Nearest(v))
		}
	}
	return out, nil
}

// predict is the answer key on given rules.
func (p *Params) predict(from, to rollouts.Rules, limits map[string]float64) judge.Prediction {
	f := p.flight(from, to)
	k := key{Key: canary.NewKey(p.Params, f.course), p: p, flight: f, from: from}
	out := k.Prediction(p.To, true, limits)
	out.Model = fmt.Sprintf("rollouts %s and %s", from.Group, to.Group)
	out.Tables[0].Title = fmt.Sprintf("what the models of %s and, from its start on, %s do, pass by pass", from.Group, to.Group)
	out.Definitions = append(out.Definitions, definitions()...)
	if p.Election {
		out.Definitions = append(out.Definitions, electionDefinitions()...)
	}
	out.Claims = append(k.change(), out.Claims...)
	return out
}

// Claims that tests name.
const (
	claimNobody     = "nobody-writes"
	claimAnalyses   = "analyses"
	claimLeaders    = "leaders"
	claimLeaderless = "without-a-leader"
	claimWriters    = "writers"
)

// key derives the claims about the change.
type key struct {
	canary.Key
	p      *Params
	flight flight
	from   rollouts.Rules
}

// change: the other version starts, lives, and goes on with what it finds.
func (k key) change() []judge.Claim {
	tag := " (" + scenario.ModelVersion(k.p.To) + ")"
	program := []string{"cmd/rollouts-controller/main.go" + tag}
	takes, _ := k.Course.Leg(k.p.stepTakes())
	after := series.Window{From: k.p.stepStart(), To: stepQuiet}
	out := []judge.Claim{
		{ID: "starts", Sentence: k.starts(), Basis: program, Check: judge.Done{Step: k.p.stepStart()}},
		{ID: "lives", Sentence: "it runs until the end", Basis: program, Check: judge.Done{Step: stepQuiet}},
		{
			ID: claimNobody, Sentence: "while no controller runs, nothing that a controller writes is written", Basis: []string{"formula: nobody else writes weights, selectors and sizes"},
			Check: judge.Quiet{Of: k.writtenByControllers(), For: k.p.Away.Std(), Window: series.Window{From: stepAway, To: stepAway}},
		},
		{
			ID: "steps", Sentence: "the step index takes exactly these values, in this order", Basis: k.Basis(rollouts.RuleReset, rollouts.RuleAtDesired, rollouts.RuleWindowSkips),
			Check: judge.Sequence{Of: rollback.Index, Want: judge.Numbers(indices(k.Course.Trace())...), Window: k.Course.Drilled()},
		},
		{
			ID: "abort-status", Sentence: "status.abort takes exactly these values (1 = aborted), in this order", Basis: k.Basis(rollouts.RuleBranchC, rollouts.RuleRemoveAbort),
			Check: judge.Sequence{Of: rollback.Abort, Want: judge.Numbers(aborts(k.Course.Trace())...), Window: k.Course.Drilled()},
		},
		{
			ID: "revisions", Sentence: "with it comes no revision, no ReplicaSet and no other hash", Basis: k.unchanged(),
			Check: judge.Quiet{Of: []string{seriesRevision, seriesSets, seriesHash}, For: k.p.Quiet.Std(), Window: after},
		},
	}
	if k.p.At == AtRest { // else nobody can tell what of its pass the first version has done
		out = append(out, judge.Claim{
			ID: "goes-on", Sentence: k.goesOn(), Basis: k.unchanged(),
			Check: judge.Sequence{Of: rollback.Index, Want: judge.Numbers(indices(takes.Trace)...), Window: takes.Window()},
		})
	}
	if k.p.When == Analysing {
		out = append(out, k.analyses())
	}
	if k.p.Election {
		out = append(out, k.election()...)
	}
	return out
}

// starts says what is claimed of the start: with leader election nothing follows it yet.
func (k key) starts() string {
	if k.p.Election {
		return "the version that takes over starts, beside the first one"
	}
	return "the version that takes over starts, and comes to rest where the model says"
}

// analyses: one that was begun goes on, and an update that begins again has another.
func (k key) analyses() judge.Claim {
	want := 1
	if k.flight.cause.Effect == rollouts.Restarted {
		want++
	}
	return judge.Claim{
		ID: claimAnalyses, Sentence: "how many analyses the step had in the end", Basis: k.unchanged(),
		Check: judge.Final{Of: seriesAnalyses, Want: series.Number(float64(want)), Window: k.Course.Drilled()},
	}
}

// writtenByControllers are the series of what nobody but a controller writes.
func (k key) writtenByControllers() []string {
	out := []string{rollback.Size(canary.Old), rollback.Size(canary.New), rollback.Index}
	switch rollouts.Routing(k.Routing) {
	case rollouts.RoutingServices:
		out = append(out, canary.Written(rollback.VirtualServices), canary.Written(rollback.Services))
	case rollouts.RoutingSubsets:
		out = append(out, canary.Written(rollback.VirtualServices), canary.Written(rollback.DestinationRules))
	}
	if leg, _ := k.Course.Leg(stepAway); leg.Leg.Turn != rollouts.TurnPromote { // the command writes the Rollout
		out = append(out, canary.Written(rollback.Rollouts))
	}
	return out
}

// goesOn says what the version that takes over does with the step that it finds.
func (k key) goesOn() string {
	if k.flight.cause.Effect == rollouts.Restarted {
		return "the version that takes over begins again with the first step: " + k.flight.cause.Why
	}
	return "the version that takes over goes on with the step that it finds"
}

// unchanged is why a ReplicaSet and a step are found again, in both versions, or are not.
func (k key) unchanged() []string {
	var out []string
	for _, b := range k.flight.cause.Basis {
		out = append(out, b.String())
	}
	for _, g := range []rollouts.Group{k.from.Group, k.Rules.Group} {
		for _, b := range g.UnchangedBasis() {
			if !slices.Contains(out, b.String()) {
				out = append(out, b.String())
			}
		}
	}
	return out
}

func indices(t rollouts.Trace) []int { return t.Sequence(func(r rollouts.Row) int { return r.Index }) }

func aborts(t rollouts.Trace) []int {
	return t.Sequence(func(r rollouts.Row) int {
		if r.Abort {
			return 1
		}
		return 0
	})
}
