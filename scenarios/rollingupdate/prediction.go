package rollingupdate

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Drilled is the part of the run that claims speak of.
var Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}

// tabulated are the sizes of the fence table: those of the first seed document,
// which end where a default update begins to cost a pod.
var tabulated = []int{1, 2, 3, 4, 10}

// Predict explores all rollouts of the model and plays one.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := workload.NewKey(p.Deployment, in, p.versions()...)
	if in.On.Has(cluster.Kubelet) {
		k.Ending = p.Ending()
	}
	k.NoPods = p.Replicas == 0 && p.Meanwhile != Scale
	trace, err := deployment.Play(p.Spec(), p.moves()...)
	if err != nil {
		return judge.Prediction{}, fmt.Errorf("the model does not settle: %w", err)
	}
	out := k.Prediction()
	least, most := p.fences()
	out.Definitions = append(out.Definitions, workload.ShortDefinition(least))
	if p.Meanwhile == Rollover {
		out.Guards = k.Guards(in.Guards, most, Drilled)
	} else {
		out.Guards = k.GuardsOf(in.Guards, most, Drilled)
		out.Claims = append(out.Claims, k.Ceiling(most, Drilled))
		out.Claims = append(out.Claims, k.Floor(least, Drilled)...)
	}
	out.Claims = append(out.Claims, k.Moves(Drilled, min(1, p.Replicas)))
	out.Claims = append(out.Claims, k.PodsFollow(Drilled)...)
	if p.RevisionHistoryLimit >= len(p.versions()) { // else the oldest are cleaned up
		out.Claims = append(out.Claims, k.Numbered(Drilled, map[string][]int{workload.V1: {1}, workload.V2: {0, 2}, workload.V3: {0, 3}})...)
	}
	out.Claims = append(out.Claims, p.order(k)...)
	out.Claims = append(out.Claims, p.held(k)...)
	if p.Linger > 0 {
		out.Claims = append(out.Claims, k.Existing(most, p.biggest(), Drilled), k.DoneEarly(Drilled))
	}
	final := trace.Final()
	out.Claims = append(out.Claims, k.Ended(p.last(), final.Total, len(p.versions()), Drilled)...)
	out.Claims = append(out.Claims, k.Still(p.Quiet.Std()))
	if serving := p.serving(); serving.Sends(in.On) {
		k.Requests(&out, serving, p.Startup.Std(), in.Guards, Drilled)
	}
	if p.Strategy == workload.RollingUpdate {
		out.Tables = append(out.Tables, k.FenceTable(p.sizes()...))
	}
	out.Tables = append(out.Tables, k.TraceTable(trace))
	return out, nil
}

func (p *Params) versions() []string {
	if p.Meanwhile == Rollover {
		return []string{workload.V1, workload.V2, workload.V3}
	}
	return []string{workload.V1, workload.V2}
}

// moves are what the script does, for the model.
func (p *Params) moves() []deployment.Move {
	switch p.Meanwhile {
	case Scale:
		return []deployment.Move{deployment.DeployLimited(workload.V2, p.Held), deployment.ScaleTo(p.ScaleTo), deployment.Recover(workload.V2)}
	case Rollover:
		return []deployment.Move{deployment.DeployLimited(workload.V2, p.Held), deployment.DeployAt(workload.V3)}
	}
	return []deployment.Move{deployment.DeployAt(workload.V2)}
}

// fences over the whole run: after a scaling the fences are others, and pods
// that are missing then were never there.
func (p *Params) fences() (least, most int) {
	least, most = p.Fences()
	if p.Meanwhile == Scale {
		after := p.Deployment
		after.Replicas = p.ScaleTo
		l, m := after.Fences()
		least, most = min(least, l), max(most, m)
	}
	return least, most
}

// biggest is the greatest number of replicas.
func (p *Params) biggest() int {
	if p.Meanwhile == Scale {
		return max(p.Replicas, p.ScaleTo)
	}
	return p.Replicas
}

// order is claimed where the model allows one order only.
func (p *Params) order(k workload.Key) []judge.Claim {
	if p.Meanwhile != Nothing {
		return nil
	}
	spec := p.Spec()
	spec.Template = workload.V2
	envelope := deployment.Explore(spec, deployment.Chaos{})
	if !envelope.Enumerated || !envelope.Unique {
		return nil
	}
	return k.Sequences(envelope.Orders, Drilled)
}

// held are the exact sizes at which a held update comes to rest, and to which a
// scaling divides the pods.
func (p *Params) held(k workload.Key) []judge.Claim {
	if p.Meanwhile == Nothing {
		return nil
	}
	out := p.rest(k, "held", StepHold, 1)
	if p.Meanwhile == Scale {
		out = append(out, p.rest(k, "scaled", StepScale, 2)...)
	}
	return out
}

// rest are the sizes after the first moves, at the end of a step.
func (p *Params) rest(k workload.Key, id, step string, moves int) []judge.Claim {
	trace, err := deployment.Play(p.Spec(), p.moves()[:moves]...)
	if err != nil {
		return nil // Predict has said so: the moves are a part of those it played
	}
	var out []judge.Claim
	for _, v := range []string{workload.V1, workload.V2} {
		size := trace.Final().Version(v).Replicas
		out = append(out, k.Final(id+"-"+v, fmt.Sprintf("%s wants this many pods when the update is %s at %d ready pods of v2", v, id, p.Held),
			workload.Wanted(v), series.Number(float64(size)), series.Window{From: step, To: step},
			deployment.RuleNewSize, deployment.RuleOld, deployment.RuleProportional))
	}
	return out
}

func (p *Params) sizes() []int {
	out := append(slices.Clone(tabulated), p.Replicas)
	slices.Sort(out)
	return slices.Compact(out)
}
