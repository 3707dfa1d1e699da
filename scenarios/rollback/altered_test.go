package rollback_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
	"reckon.dev/reckon/scenarios/rollback/rollbacktest"
)

// tape writes the recording that a controller which acts as a trace of the
// model says would leave.
type tape struct {
	*rollbacktest.Tape
	p rollback.Params
}

type obj = rollbacktest.Obj

func (tp *tape) replicaSet(version string, size, available int) {
	tp.Object(rollback.ReplicaSets, "drill-"+version, nil, obj{
		"spec":   obj{"replicas": size, "template": obj{"metadata": obj{"labels": obj{stage.VersionLabel: version}}}},
		"status": obj{"availableReplicas": available},
	})
}

// row writes what a pass changed, in the order in which a pass does it: pods
// became available before, the weight is written, then ReplicaSets are scaled.
func (tp *tape) row(r, before rollouts.Row) {
	for _, v := range []string{rollback.Old, rollback.New} {
		if n := min(r.Available[v], before.Size[v]); n != before.Available[v] {
			tp.replicaSet(v, before.Size[v], n)
		}
	}
	if r.Weight != before.Weight {
		tp.weight(r.Weight)
	}
	for _, v := range []string{rollback.Old, rollback.New} {
		if r.Size[v] != before.Size[v] {
			tp.replicaSet(v, r.Size[v], r.Available[v])
		}
	}
	tp.status(r)
	for _, e := range r.Events {
		line := fmt.Sprintf(`{"level":"info","event_reason":%q,"msg":%q}`, strings.SplitN(e, ": ", 2)[0], e)
		if reason, ok := strings.CutPrefix(e, rollouts.EventCompleted+": "); ok {
			line = fmt.Sprintf(`{"level":"info","msg":"Rollout completed update to revision 3 (%s): %s"}`, r.Current, reason)
		}
		tp.Log(line)
	}
}

func (tp *tape) weight(w int) { tp.Weight(rollouts.Routing(tp.p.Routing), w) }

func (tp *tape) status(r rollouts.Row) {
	phase := "Progressing"
	if r.Stable == r.Current {
		phase = "Healthy"
	}
	tp.Object(rollback.Rollouts, rollback.Name, nil, obj{"status": obj{
		"phase": phase, "currentPodHash": r.Current, "stableRS": r.Stable, "currentStepIndex": r.Index, "abort": r.Abort,
	}})
}

// play records a trace and reads it into the series of the parameters.
func play(t testing.TB, p rollback.Params, trace rollouts.Trace) *series.Set {
	t.Helper()
	tp := &tape{Tape: rollbacktest.New(t), p: p}
	before := trace.Start
	tp.weight(before.Weight)
	for _, v := range []string{rollback.Old, rollback.New} {
		tp.replicaSet(v, before.Size[v], before.Available[v])
	}
	tp.status(before)
	tp.Log("started")
	tp.Step(rollback.StepRollback, "begin")
	for _, r := range trace.Rows {
		tp.row(r, before)
		tp.At += time.Second
		before = r
	}
	tp.Step(rollback.StepRollback, "end")
	tp.Alive()
	tp.Step(rollback.StepQuiet, "begin")
	for end := tp.At + p.Quiet.Std(); tp.At < end; tp.At += time.Second {
		tp.Alive()
	}
	tp.Step(rollback.StepQuiet, "end")
	return tp.Read(p.Definitions())
}

func judged(t testing.TB, p rollback.Params, trace rollouts.Trace, set *series.Set) judge.Verdict {
	t.Helper()
	v, err := judge.Judge(recording.Header{}, p.Predict(trace, "v1.8.2", true, scenario.Input{On: cluster.Offered(cluster.Embedded)}), set, judge.Gate{Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatTheModelDoesIsWhatItPredicts(t *testing.T) {
	t.Parallel()
	for _, version := range versions[:5] {
		for _, routing := range []string{"services", "subsets"} {
			for name, change := range map[string]func(*rollback.Params){
				"defaults":             func(*rollback.Params) {},
				"no window":            func(p *rollback.Params) { p.RollbackWindow = 0 },
				"falling weights":      func(p *rollback.Params) { p.Steps = steps(t, `[50,20]`) },
				"no steps":             func(p *rollback.Params) { p.Steps = steps(t, `[]`) },
				"old running":          func(p *rollback.Params) { p.OldReplicaSet, p.ScaleDownDelay = rollback.OldRunning, 30 },
				"dynamic stable scale": func(p *rollback.Params) { p.DynamicStableScale = true },
			} {
				p := rollback.DefaultParams()
				p.Routing = routing
				change(&p)
				trace, _, _ := p.Model(version, rollouts.RollbackOptions{})
				if v := judged(t, p, trace, play(t, p, trace)); v.Outcome != judge.Pass {
					t.Errorf("%s, %s, %s: %s: %q\n%s", version, routing, name, v.Outcome, v.Reasons, trace)
				}
			}
		}
	}
}

// TestAWrongModelIsCaught alters one rule at a time and holds a recording of
// v1.8.2 against the answer key of the altered model.
func TestAWrongModelIsCaught(t *testing.T) {
	t.Parallel()
	true182, _ := rollouts.RulesFor("v1.8.2")
	scarce := 5 // pods of v2 that are still available, too few for half of the traffic
	for name, c := range map[string]struct {
		routing string
		steps   string
		opts    rollouts.RollbackOptions
		alter   func(*rollouts.Rules)
		claim   string
		// predicted by the altered model, observed in the recording
		predicted, observed, object string
	}{
		"the subset guard of 1.8.3": {
			"subsets", `[5,"pause",100]`, rollouts.RollbackOptions{}, func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardSkip },
			"exposure", "100, first at 1 available", "100, first at 2 available", "virtualservices.networking.istio.io/drill@",
		},
		"no subset guard, as in 1.7": {
			"subsets", `[5,"pause",100]`, rollouts.RollbackOptions{}, func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardNone },
			"exposure-size", "100, first at 20 wanted", "100, first at 2 wanted", "replicasets.apps/drill-v1@",
		},
		"no stable guard, as in 1.7": {
			"services", `[50]`, rollouts.RollbackOptions{StableAvailable: &scarce}, func(r *rollouts.Rules) { r.StableGuard = false },
			"weights", "0 → 50 → 100 → 0", "0 → 100 → 0", "virtualservices.networking.istio.io/drill@",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rollback.DefaultParams()
			p.Routing, p.Steps = c.routing, steps(t, c.steps)
			real := p.Play(true182, c.opts)
			set := play(t, p, real)
			if v := judged(t, p, real, set); v.Outcome != judge.Pass {
				t.Fatalf("the true model: %s: %q\n%s", v.Outcome, v.Reasons, real)
			}
			altered := true182
			c.alter(&altered)
			v := judged(t, p, p.Play(altered, c.opts), set)
			if v.Outcome != judge.Fail {
				t.Fatalf("the altered model: %s: %q", v.Outcome, v.Reasons)
			}
			i := slices.IndexFunc(v.Claims, func(r judge.ClaimResult) bool { return r.ID == c.claim })
			got := v.Claims[i]
			if got.Status != judge.Broken || got.Predicted != c.predicted || got.Observed != c.observed {
				t.Errorf("claim %s is %s: predicted %q, observed %q", got.ID, got.Status, got.Predicted, got.Observed)
			}
			if !slices.ContainsFunc(got.Objects, func(o string) bool { return strings.HasPrefix(o, c.object) }) {
				t.Errorf("objects %q, want a version of %s", got.Objects, c.object)
			}
			if !slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.HasPrefix(r, "claim "+c.claim+": ") }) {
				t.Errorf("the reasons do not name the claim: %q", v.Reasons)
			}
		})
	}
}
