package statefulsetpartition

import (
	"fmt"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/statefulset"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Drilled is the part of the run that claims speak of.
var Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}

// key makes the claims from one run of the model.
type key struct {
	*Params
	rules  statefulset.Rules
	spec   statefulset.Spec
	played played
	stores bool // the API server keeps maxUnavailable
}

// Predict plays the model once: the order of deletions, the revisions of each
// ordinal and how few are ready are the same in all runs, which a test draws.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	rules, spec, known := p.model(in.Versions)
	k := key{p, rules, spec, p.play(rules, spec, inOrder), stores(in.Versions)}
	out := judge.Prediction{
		Model:       "statefulset " + string(rules.Group),
		Definitions: append(workload.StatefulDefinitions(p.Replicas, p.kept(), workload.V1, workload.V2), unready()),
		Chart:       chart(),
		Tables:      []judge.Table{k.table()},
	}
	if !known {
		out.Notes = append(out.Notes, fmt.Sprintf("the model knows no Kubernetes %s: the nearest group, %s, was used",
			scenario.ControllerManagerVersion(in.Versions), rules.Group))
	}
	out.Notes = append(out.Notes, k.gates(in.Versions)...)
	if p.Replicas > 0 { // without pods there is no series of pods
		out.Claims = append(out.Claims, k.order())
		out.Claims = append(out.Claims, k.ordinals()...)
		out.Claims = append(out.Claims, k.below()...)
		out.Claims = append(out.Claims, k.leastReady())
		out.Guards = append(out.Guards, k.guard(in.Guards))
	}
	out.Claims = append(out.Claims, k.most(), k.moves())
	if p.MaxUnavailable.Value > 0 {
		out.Claims = append(out.Claims, k.field())
	}
	out.Claims = append(out.Claims, k.rest("staged", k.staging(), k.played.staged)...)
	if p.Stuck != None {
		out.Claims = append(out.Claims, k.stuck()...)
	}
	out.Claims = append(out.Claims, k.rest("final", Drilled, k.played.final)...)
	out.Claims = append(out.Claims, k.quiet())
	return out, nil
}

// gates says where maxUnavailable is lost: the API server and the controller
// manager have a gate each, and the default differs from version to version.
func (k key) gates(versions map[string]string) []string {
	switch {
	case k.MaxUnavailable.Value == 0:
		return nil
	case !k.stores:
		return []string{fmt.Sprintf("%s drops maxUnavailable: the gate MaxUnavailableStatefulSet is off in its API server", versions[scenario.Kubernetes])}
	case !k.rules.MaxUnavailable:
		return []string{fmt.Sprintf("the controller manager %s ignores maxUnavailable, which is stored: its gate MaxUnavailableStatefulSet is off",
			scenario.ControllerManagerVersion(versions))}
	}
	return nil
}

func (k key) basis(rules ...statefulset.Rule) []string {
	var out []string
	for _, r := range rules {
		if b := k.rules.Basis(r).String(); b != "" {
			out = append(out, b)
		}
	}
	return out
}

// updating are the rules that delete pods for an update.
func (k key) updating() []statefulset.Rule {
	if k.ordered() {
		return []statefulset.Rule{statefulset.RuleOrdered, statefulset.RuleUpdate}
	}
	return []statefulset.Rule{statefulset.RuleBroken, statefulset.RuleUpdateParallel}
}

// staging is the time until the update is at the partition, or stuck.
func (k key) staging() series.Window {
	w := series.Window{From: workload.StepUpdate, To: StepStaged}
	if k.Stuck != None {
		w.To = StepStuck
	}
	return w
}

func chart() judge.Chart {
	return judge.Chart{
		Window: series.Window{From: workload.StepUpdate, To: workload.StepQuiet},
		Panels: []judge.Panel{
			{Title: "ready", Unit: "pods", Lines: []judge.Line{
				{Series: workload.ReadyOf(workload.V1), Label: "v1"}, {Series: workload.ReadyOf(workload.V2), Label: "v2"}, {Series: workload.Ready, Label: "total"},
			}},
			{Title: "live", Unit: "pods", Lines: []judge.Line{
				{Series: workload.LiveOf(workload.V1), Label: "v1"}, {Series: workload.LiveOf(workload.V2), Label: "v2"}, {Series: workload.Existing, Label: "existing"},
			}},
			{Title: "status", Unit: "pods", Lines: []judge.Line{{Series: workload.Updated, Label: "updatedReplicas"}, {Series: workload.Partition, Label: "partition"}}},
		},
	}
}

// table is the model's run, one row for each event.
func (k key) table() judge.Table {
	t := judge.Table{
		Title: "one run of the model: ? is a pod that is not ready, - one that terminates",
		Head:  []string{"event", "why", "pods", "ready"},
	}
	add := func(event string, row statefulset.Row) {
		t.Rows = append(t.Rows, []string{event, string(row.Why), row.PodsString(), fmt.Sprint(row.ReadyPods())})
	}
	add("start", k.played.trace.Start)
	for _, row := range k.played.trace.Rows {
		add(row.Event.String(), row)
	}
	return t
}
