package singlereplica

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Drilled is the part of the run that claims speak of.
var Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}

// Predict explores all rollouts of one pod; there is one order only, or none
// that matters.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := workload.NewKey(p.Deployment, in, workload.V1, workload.V2)
	spec := p.Spec()
	trace, err := deployment.Play(spec, deployment.DeployAt(workload.V2))
	if err != nil {
		return judge.Prediction{}, err
	}
	spec.Template = workload.V2
	envelope := deployment.Explore(spec, deployment.Chaos{})
	least, most := p.Fences()

	out := k.Prediction()
	out.Definitions = append(out.Definitions, workload.GapDefinition())
	out.Guards = append(out.Guards, guard(k, in.Guards, least))
	out.Claims = append(out.Claims, k.Ceiling(most, Drilled))
	out.Claims = append(out.Claims, p.availability(k, least, in.On)...)
	out.Claims = append(out.Claims, k.Moves(Drilled, 1))
	out.Claims = append(out.Claims, k.PodsFollow(Drilled)...)
	if p.RevisionHistoryLimit >= 2 { // else the old one is cleaned up
		out.Claims = append(out.Claims, k.Numbered(Drilled, map[string][]int{workload.V1: {1}, workload.V2: {0, 2}})...)
	}
	if envelope.Enumerated && envelope.Unique {
		out.Claims = append(out.Claims, k.Sequences(envelope.Orders, Drilled)...)
	}
	if p.Linger > 0 {
		out.Claims = append(out.Claims, k.Existing(most, p.Replicas, Drilled))
	}
	if p.Flap {
		out.Claims = append(out.Claims, p.flapping(k)...)
	}
	if p.Budget {
		out.Definitions = append(out.Definitions, workload.BudgetDefinitions()...)
		out.Claims = append(out.Claims, k.Final("budget", "the budget allows no disruption at the end, and stood in nobody's way: it binds evictions, not the Deployment",
			workload.Allowed, series.Number(0), Drilled, deployment.RuleOld))
	}
	out.Claims = append(out.Claims, k.Ended(workload.V2, 1, 2, Drilled)...)
	out.Claims = append(out.Claims, k.Still(p.Quiet.Std()))
	if p.Sends(in.On) {
		k.Requests(&out, p.Serving, p.Startup.Std(), in.Guards, Drilled)
	}
	if p.Strategy == workload.RollingUpdate {
		out.Tables = append(out.Tables, k.FenceTable(1))
	}
	out.Tables = append(out.Tables, k.TraceTable(trace))
	return out, nil
}

// guard: a pod is ready at any time. The model knows where it is not.
func guard(k workload.Key, limits map[string]float64, least int) judge.Guard {
	expected := 0.0
	if least == 0 {
		expected = 1
	}
	return judge.Guard{
		ID: workload.Gap, Sentence: workload.GapSentence, Basis: k.Basis(deployment.RuleFenceposts, deployment.RuleOld),
		Series: workload.Gap, Limit: limits[workload.Gap], Expected: &expected, Window: Drilled,
	}
}

// availability is the floor where there is one; else how long the outage lasts.
func (p *Params) availability(k workload.Key, least int, on cluster.Capabilities) []judge.Claim {
	if least > 0 {
		return append(k.Floor(least, Drilled), k.OldGoesLast(Drilled))
	}
	return []judge.Claim{k.NoneReady(Drilled), p.outage(k, on)}
}

// outage: from the instant at which no pod is ready until one is again. The new
// pod is made only after the old one was given up, and with Recreate after it
// has ended.
func (p *Params) outage(k workload.Key, on cluster.Capabilities) judge.Claim {
	low := p.Startup.Std()
	if p.Strategy == workload.Recreate {
		low += p.Linger.Std()
	}
	high := low + workload.Reaction + lingerGrain(p.Linger.Std())
	if on.Has(cluster.Kubelet) {
		high += workload.PodStart
		if p.Strategy == workload.Recreate {
			low, high = low+p.PreStop.Std(), high+p.Ending()
		}
	}
	return k.Outage(low, high, Drilled)
}

// lingerGrain: how late a simulated pod that lingers may be gone.
func lingerGrain(linger time.Duration) time.Duration {
	if linger == 0 {
		return 0
	}
	return time.Second
}

// flapping: readiness that was lost counts for nothing. Until the pod has been
// ready for minReadySeconds at a stretch it is not available and the old one stays.
func (p *Params) flapping(k workload.Key) []judge.Claim {
	bounds := deployment.AvailableBounds(p.MinReadySeconds)
	flap := series.Window{From: StepFlap, To: StepFlap}
	return []judge.Claim{
		k.Never("flap-available", "a pod whose readiness flaps does not become available", workload.AvailableOf(workload.V2), flap, deployment.RuleAvailable),
		k.Took("steady-available", "the pod is available minReadySeconds after it became ready for good",
			workload.ReadyOf(workload.V2), workload.AvailableOf(workload.V2), bounds.NotBefore, bounds.By+workload.Reaction,
			series.Window{From: StepSteady, To: workload.StepSettle}, deployment.RuleAvailable),
	}
}
