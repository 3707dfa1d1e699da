package stalledupdate

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Drilled is the part of the run that claims speak of.
var Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}

// Stalled is the part with one old ReplicaSet, where the fences are promises;
// Back that of the undo, where they are guards.
var (
	Stalled = series.Window{From: workload.StepUpdate, To: StepNoRollback}
	Back    = series.Window{From: StepUndo, To: workload.StepQuiet}
)

// stuck is the condition Progressing after its deadline.
const stuck = "False/ProgressDeadlineExceeded"

// Predict plays the update to where it stalls, and the way back.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := workload.NewKey(p.Deployment, in, workload.V1, workload.V2)
	stall := deployment.DeployLimited(workload.V2, p.Ready)
	stalled, err := deployment.Play(p.Spec(), stall)
	if err != nil {
		return judge.Prediction{}, err
	}
	whole, err := deployment.Play(p.Spec(), stall, deployment.DeployAt(workload.V1))
	if err != nil {
		return judge.Prediction{}, err
	}
	least, most := p.Fences()
	out := k.Prediction()
	out.Claims = append(out.Claims, k.Ceiling(most, Stalled))
	out.Claims = append(out.Claims, k.Floor(least, Stalled)...)
	out.Definitions = append(out.Definitions, workload.ShortDefinition(least))
	out.Guards = k.Guards(in.Guards, most, Back)
	out.Claims = append(out.Claims, k.Moves(Drilled, 1))
	out.Claims = append(out.Claims, k.PodsFollow(Drilled)...)
	out.Claims = append(out.Claims, p.stall(k, stalled.Final())...)
	out.Claims = append(out.Claims, p.deadline(k, stalled)...)
	out.Claims = append(out.Claims, p.noRollback(k))
	out.Claims = append(out.Claims, p.undo(k)...)
	out.Claims = append(out.Claims, k.Ended(workload.V1, p.Replicas, 3, Drilled)...)
	out.Claims = append(out.Claims, k.Still(p.Quiet.Std()))
	out.Tables = append(out.Tables, k.TraceTable(whole))
	return out, nil
}

// stall: the exact sizes at which nothing can move any more.
func (p *Params) stall(k workload.Key, at deployment.Row) []judge.Claim {
	var out []judge.Claim
	for _, v := range k.Versions {
		out = append(out, k.Final("stalled-"+v, "the wanted size of "+v+" where the update stalls", workload.Wanted(v),
			series.Number(float64(at.Version(v).Replicas)), Stalled,
			deployment.RuleNewSize, deployment.RuleOld))
	}
	return append(out, k.Final("stalled-available", "available pods where the update stalls", workload.Available,
		series.Number(float64(at.Available)), Stalled, deployment.RuleOld))
}

// deadline: Progressing turns False so long after the last progress, which is
// what follows from the last write of a size: pods are made or go, and the
// Deployment's status counts them.
func (p *Params) deadline(k workload.Key, stalled deployment.Trace) []judge.Claim {
	bounds, ok := deployment.DeadlineBounds(p.ProgressDeadlineSeconds)
	if !ok {
		return nil
	}
	window := series.Window{From: workload.StepUpdate, To: StepDeadline}
	return []judge.Claim{{
		ID: "deadline", Sentence: fmt.Sprintf("Progressing is False %d s after the last progress, and not before", p.ProgressDeadlineSeconds),
		Basis: append(k.Basis(deployment.RuleTimedOut, deployment.RuleProgressing, deployment.RuleRequeue), "timestamps of whole seconds, and what the control loops need"),
		Check: judge.Within{
			From: lastWrite(stalled),
			To:   judge.Cond{Series: workload.Progressing, Op: judge.Equal, Value: series.Text(stuck)},
			Min:  bounds.NotBefore, Max: bounds.By + p.availability() + workload.Reaction, Window: window,
		},
	}}
}

// availability: the pods that do become available are progress too, and are so
// only minReadySeconds after the last write.
func (p *Params) availability() time.Duration {
	if p.Ready == 0 {
		return 0
	}
	return time.Duration(p.MinReadySeconds) * time.Second
}

// lastWrite is the condition that the last write of the trace makes true.
func lastWrite(trace deployment.Trace) judge.Cond {
	writes := trace.Writes()
	last := writes[len(writes)-1]
	return judge.Cond{Series: workload.Wanted(last.Version), Op: judge.Equal, Value: series.Number(float64(last.To))}
}

// noRollback: the controller reports and does nothing more.
func (p *Params) noRollback(k workload.Key) judge.Claim {
	of := []string{workload.Template, workload.Revision, workload.Progressing}
	for _, v := range k.Versions {
		of = append(of, workload.Wanted(v), workload.LiveOf(v))
	}
	return judge.Claim{
		ID: "no-rollback", Sentence: "after the deadline nothing is rolled back, and nothing else moves",
		Basis: k.Basis(deployment.RuleTimedOut),
		Check: judge.Quiet{
			Of: of, For: p.NoRollback.Std(), Window: series.Window{From: StepNoRollback, To: StepNoRollback},
			Proof: &judge.Proof{ // the controller takes the undo up, so it was there all the time
				Cond:   judge.Cond{Series: workload.Revision, Op: judge.Equal, Value: series.Text("3")},
				Window: series.Window{From: StepUndo, To: workload.StepSettle},
			},
		},
	}
}

// undo: v1 gets the next number and its old one is gone.
func (p *Params) undo(k workload.Key) []judge.Claim {
	revision := func(id, version string, want ...int) judge.Claim {
		return judge.Claim{
			ID: id, Sentence: "the ReplicaSet of " + version + " has exactly these revisions", Basis: k.Basis(deployment.RuleRevision),
			Check: judge.Sequence{Of: workload.RevisionOf(version), Want: judge.Numbers(want...), Window: Drilled},
		}
	}
	return []judge.Claim{
		revision("revisions-v1", workload.V1, 1, 3),
		revision("revisions-v2", workload.V2, p.abandoned()...),
	}
}

// abandoned are the revisions of v2: without a history it is cleaned up after the undo.
func (p *Params) abandoned() []int {
	if p.RevisionHistoryLimit == 0 {
		return []int{0, 2, 0}
	}
	return []int{0, 2}
}
