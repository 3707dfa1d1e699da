package rollback_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// tape writes the recording that a controller which acts as a trace of the
// model says would leave.
type tape struct {
	t  testing.TB
	w  *recording.Writer
	p  rollback.Params
	at time.Duration
	rv uint64
}

type obj = map[string]any

func (tp *tape) fact(f recording.Fact) {
	tp.at += 10 * time.Millisecond
	f.T = int64(tp.at)
	if err := tp.w.Append(f); err != nil {
		tp.t.Fatal(err)
	}
}

func (tp *tape) object(resource, name string, body obj) {
	body["metadata"] = obj{"name": name}
	raw, err := json.Marshal(body)
	if err != nil {
		tp.t.Fatal(err)
	}
	tp.rv++
	tp.fact(recording.Fact{Object: &recording.Object{Change: recording.Modified, Resource: resource, Namespace: "drill", Name: name, RV: tp.rv, Body: raw}})
}

func (tp *tape) step(name, phase string) {
	tp.fact(recording.Fact{Step: &recording.Step{Name: name, Phase: phase}})
}

func (tp *tape) replicaSet(version string, size, available int) {
	tp.object("replicasets.apps", "drill-"+version, obj{
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
		tp.fact(recording.Fact{Log: &recording.Log{Component: argorollouts.Name, Line: line}})
	}
}

func (tp *tape) weight(w int) {
	canary, stable := obj{"host": "drill-canary"}, obj{"host": "drill-stable"}
	if tp.p.Routing == string(rollouts.RoutingSubsets) {
		canary, stable = obj{"host": "drill", "subset": "canary"}, obj{"host": "drill", "subset": "stable"}
	}
	tp.object("virtualservices.networking.istio.io", "drill", obj{"spec": obj{"http": []obj{{"name": "primary", "route": []obj{
		{"destination": stable, "weight": 100 - w}, {"destination": canary, "weight": w},
	}}}}})
}

func (tp *tape) status(r rollouts.Row) {
	phase := "Progressing"
	if r.Stable == r.Current {
		phase = "Healthy"
	}
	tp.object("rollouts.argoproj.io", "drill", obj{"status": obj{
		"phase": phase, "currentPodHash": r.Current, "stableRS": r.Stable, "currentStepIndex": r.Index, "abort": r.Abort,
	}})
}

// alive is what a controller that works shows of itself.
func alive(at time.Duration) recording.Fact {
	return recording.Fact{Sample: &recording.Sample{Series: "process_cpu_seconds_total", Value: at.Seconds()}}
}

// play records a trace and reads it into the series of the parameters.
func play(t testing.TB, p rollback.Params, trace rollouts.Trace) *series.Set {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	tp := &tape{t: t, w: w, p: p}
	before := trace.Start
	tp.weight(before.Weight)
	for _, v := range []string{rollback.Old, rollback.New} {
		tp.replicaSet(v, before.Size[v], before.Available[v])
	}
	tp.status(before)
	tp.fact(recording.Fact{Log: &recording.Log{Component: argorollouts.Name, Line: "started"}})
	tp.step(rollback.StepRollback, "begin")
	for _, r := range trace.Rows {
		tp.row(r, before)
		tp.at += time.Second
		before = r
	}
	tp.step(rollback.StepRollback, "end")
	tp.fact(alive(tp.at))
	tp.step(rollback.StepQuiet, "begin")
	for end := tp.at + p.Quiet.Std(); tp.at < end; tp.at += time.Second {
		tp.fact(alive(tp.at))
	}
	tp.step(rollback.StepQuiet, "end")
	if err := w.Close(int64(tp.at)); err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := series.Read(r, p.Definitions())
	if err != nil {
		t.Fatal(err)
	}
	return set
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
