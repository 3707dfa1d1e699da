package canaryautoscaled

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
)

// stub is a caveat of every report.
const stub = "the external metrics API is a stub: the script writes the load, and a custom resource definition serves it; no pod carries anything"

// Series beside those of the Rollout and of the autoscaler.
const (
	Average = "average" // load of a pod as the autoscaler computed it
	Excess  = "excess"  // replicas above those that the greater load needs
)

// ExcessGuard limits what is scaled without a need.
const ExcessGuard = Excess

// Guards are those of a canary, and one of the autoscaler.
func (s Scenario) Guards() map[string]string {
	out := s.Base.Guards()
	out[ExcessGuard] = "replicas above those that the greater of both loads needs; by default none"
	return out
}

// Predict adds what the autoscaler does to what the Rollout does.
func (s Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	out, err := s.Base.Predict(in)
	if err != nil {
		return out, err
	}
	rules, known := autoscaler.RulesFor(scenario.ControllerManagerVersion(in.Versions))
	onRollouts, _ := rollouts.RulesFor(in.Versions[scenario.ArgoRollouts])
	k := key{Params: p, Key: autoscaled.Key{Rules: rules}, course: p.Course(onRollouts)}
	out.Model += ", autoscaler " + rules.Tag()
	out.Notes = append(out.Notes, k.Notes(stub, known)...)
	out.Definitions = append(out.Definitions, p.definitions()...)
	out.Claims = append(out.Claims, k.claims()...)
	out.Guards = append(out.Guards, k.excess(in.Guards))
	out.Chart.Panels = append([]judge.Panel{{Title: "replicas", Unit: "pods", Lines: []judge.Line{
		{Series: canary.Wanted, Label: "spec.replicas"}, {Series: autoscaled.Desired, Label: "wanted by the autoscaler"},
	}}}, out.Chart.Panels...)
	return out, nil
}

func (p *Params) definitions() []series.Definition {
	return append(autoscaled.Definitions(pulse),
		autoscaled.Of(Average, "load of a pod as the autoscaler computed it", autoscaled.Reading(average)),
		series.Definition{Name: Excess, Unit: "pods", Doc: "replicas above those that the greater load needs", Derive: &series.Derived{
			Inputs: []string{canary.Wanted}, Value: func(in []float64) float64 { return max(0, in[0]-float64(p.needed())) },
		}},
	)
}

func pulse(m series.CurrentMetric) (string, bool) {
	return m.External.Current.Value, m.External.Metric.Selector.MatchLabels["of"] == ofPulse
}

func average(m series.CurrentMetric) (string, bool) {
	return m.External.Current.AverageValue, m.External.Metric.Selector.MatchLabels["of"] == ofLoad
}

// needed is how many replicas the greater load needs.
func (p *Params) needed() int {
	load := (max(p.Load, p.NewLoad) + 99) / 100
	return max(p.Replicas, p.MinReplicas, min(load, p.MaxReplicas))
}

// Claims: what becomes of spec.replicas, and of the weight while v1 lacks pods.
func (p *Params) Claims(k canary.Key) []judge.Claim {
	out := []judge.Claim{{
		ID: "replicas", Sentence: "spec.replicas takes exactly these values, in this order",
		Basis: k.Basis(rollouts.RuleScaleStatus, rollouts.RuleScaling),
		Check: judge.Sequence{Of: canary.Wanted, Want: judge.Numbers(replicas(k.Course)...), Window: k.Course.Drilled()},
	}}
	return append(out, p.early(k)...)
}

// replicas are the values of spec.replicas in a course.
func replicas(c *canary.Course) []int {
	return c.Trace().Sequence(func(r rollouts.Row) int { return r.Replicas })
}

// early is the greatest weight after the load has changed and before v1 has the pods that
// it gets for that.
func (p *Params) early(k canary.Key) []judge.Claim {
	from := slices.IndexFunc(k.Course.Legs, func(l canary.Leg) bool { return l.Name == stepLoad })
	to := from
	size := k.Course.Legs[from].Trace.Final().Size[canary.Old]
	most := 0
	for i, leg := range k.Course.Legs[from:] {
		if leg.Leg.Version == canary.Old || leg.Trace.Final().Available[canary.Old] >= size {
			break
		}
		to = from + i
		for _, r := range append([]rollouts.Row{leg.Trace.Start}, leg.Trace.Rows...) {
			most = max(most, r.Weight)
		}
	}
	if at := k.Course.Legs[from].Trace.Final(); at.Available[canary.Old] >= size {
		return nil // v1 lacks nothing
	}
	return []judge.Claim{{
		ID: "early", Sentence: fmt.Sprintf("the greatest canary weight from the new load on while v1 has fewer than its %d pods available", size),
		Basis: k.Basis(rollouts.RuleStableGuard, rollouts.RuleSubsetGuard, rollouts.RuleAtDesired, rollouts.RuleSetWeight),
		Check: judge.Extremum{
			Of: rollback.Weight, While: judge.Cond{Series: rollback.Available(canary.Old), Op: judge.Less, Value: series.Number(float64(size))},
			Want: float64(most), Window: series.Window{From: stepLoad, To: k.Course.Legs[to].Name},
		},
	}}
}

// key is what the claims about the autoscaler are made from.
type key struct {
	*Params
	autoscaled.Key
	course *canary.Course
}

func (k key) claims() []judge.Claim {
	drilled := k.course.Drilled()
	why := k.Basis(autoscaler.RuleStatusSize, autoscaler.RuleExternal, autoscaler.RuleTolerance, autoscaler.RuleHighest, autoscaler.RuleStabilized, autoscaler.RuleBounds)
	commands := 0
	for _, leg := range k.course.Legs {
		if commanded(leg) {
			commands++
		}
	}
	return []judge.Claim{
		{
			ID: "desired", Sentence: "the autoscaler wants exactly these sizes, in this order", Basis: why,
			Check: judge.Sequence{Of: autoscaled.Desired, Want: judge.Numbers(replicas(k.course)...), Window: drilled},
		},
		k.Works(drilled),
		k.Looks(commands+autoscaled.Syncs(k.Quiet.Std()), "it looks again and again, before each command and after the end", drilled),
		k.Stays(canary.Wanted, k.Quiet.Std(), series.Window{From: canary.StepQuiet, To: canary.StepQuiet}),
	}
}

// excess: pods of two versions beside each other are taken for a size.
func (k key) excess(limits map[string]float64) judge.Guard {
	worst := 0.0
	for _, n := range replicas(k.course) {
		worst = max(worst, float64(n-k.needed()))
	}
	return judge.Guard{
		ID: ExcessGuard, Sentence: Scenario{}.Guards()[ExcessGuard], Basis: k.Basis(autoscaler.RuleStatusSize),
		Series: Excess, Limit: limits[ExcessGuard], Expected: &worst, Window: k.course.Drilled(),
	}
}
