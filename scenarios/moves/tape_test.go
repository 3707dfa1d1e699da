package moves_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/moves"
	"reckon.dev/reckon/scenarios/rollback"
)

// tape writes the recording that a controller which acts as a trace of the model says
// would leave.
type tape struct {
	t    testing.TB
	w    *recording.Writer
	plan moves.Plan
	at   time.Duration
	rv   uint64
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
	if body["metadata"] == nil {
		body["metadata"] = obj{"name": name}
	}
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

func (tp *tape) log(line obj) {
	text, err := json.Marshal(line)
	if err != nil {
		tp.t.Fatal(err)
	}
	tp.fact(recording.Fact{Log: &recording.Log{Component: argorollouts.Name, Line: string(text)}})
}

func (tp *tape) alive() {
	tp.fact(recording.Fact{Sample: &recording.Sample{Series: "process_cpu_seconds_total", Value: tp.at.Seconds()}})
}

// hash is that of a version.
func hash(version string) string {
	if version == "" {
		return ""
	}
	return "hash" + version
}

func (tp *tape) replicaSet(version string, size, available int) {
	tp.object("replicasets.apps", "drill-"+version, obj{
		"metadata": obj{"name": "drill-" + version, "labels": obj{v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}},
		"spec":     obj{"replicas": size, "template": obj{"metadata": obj{"labels": obj{stage.VersionLabel: version}}}},
		"status":   obj{"availableReplicas": available, "replicas": size},
	})
}

func (tp *tape) service(name, version string) {
	tp.object("services", name, obj{"spec": obj{"selector": obj{"app": "drill", v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}}})
}

func (tp *tape) subsets() bool { return tp.plan.Spec.Routing == rollouts.RoutingSubsets }

func (tp *tape) weight(w int) {
	canary, stable := obj{"host": "drill-canary"}, obj{"host": "drill-stable"}
	if tp.subsets() {
		canary, stable = obj{"host": "drill", "subset": "canary"}, obj{"host": "drill", "subset": "stable"}
	}
	tp.object("virtualservices.networking.istio.io", "drill", obj{"spec": obj{"http": []obj{{"name": "primary", "route": []obj{
		{"destination": stable, "weight": 100 - w}, {"destination": canary, "weight": w},
	}}}}})
}

func (tp *tape) rule(s rollouts.Subsets) {
	subset := func(name, version string) obj {
		return obj{"name": name, "labels": obj{v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}}
	}
	tp.object("destinationrules.networking.istio.io", "drill", obj{"spec": obj{"subsets": []obj{subset("stable", s.Stable), subset("canary", s.Canary)}}})
}

func (tp *tape) status(r rollouts.Row) {
	status := obj{"phase": "Healthy", "currentPodHash": hash(r.Current), "stableRS": hash(r.Stable), "currentStepIndex": r.Index, "abort": r.Abort}
	if r.Paused {
		status["pauseConditions"] = []obj{{"reason": "pause"}}
	}
	tp.object("rollouts.argoproj.io", "drill", obj{"spec": obj{"replicas": r.Replicas}, "status": status})
}

// routes writes the services, the subsets and the weight, in the order of a pass.
func (tp *tape) routes(r, before rollouts.Row, all bool) {
	move := func(name, to, from string) {
		if all || to != from {
			tp.service(name, to)
		}
	}
	if tp.plan.Spec.BlueGreen != nil {
		move("drill-preview", r.Preview, before.Preview)
		move("drill-active", r.Active, before.Active)
		return
	}
	move("drill-stable", r.StableService, before.StableService)
	move("drill-canary", r.CanaryService, before.CanaryService)
	if r.WeightFirst && r.Weight != before.Weight {
		tp.weight(r.Weight)
	}
	if tp.subsets() && (all || r.Subsets != before.Subsets) {
		tp.rule(r.Subsets)
	}
	if all || r.Weight != before.Weight {
		tp.weight(r.Weight)
	}
}

// row writes what a pass changed: pods became available before, routes are written, then
// ReplicaSets are sized and the status is patched.
func (tp *tape) row(r, before rollouts.Row) {
	if r.Replicas != before.Replicas {
		early := before
		early.Replicas = r.Replicas
		tp.status(early)
	}
	for _, v := range tp.plan.Versions {
		if n := min(r.Available[v], before.Size[v]); n > before.Available[v] || r.Size[v] == before.Size[v] && n != before.Available[v] {
			tp.replicaSet(v, before.Size[v], n)
		}
		if _, was := before.Size[v]; !was && r.Size != nil {
			if _, is := r.Size[v]; is {
				tp.replicaSet(v, 0, 0)
			}
		}
	}
	tp.routes(r, before, false)
	for _, v := range tp.plan.Versions {
		if r.Size[v] != before.Size[v] {
			tp.replicaSet(v, r.Size[v], r.Available[v])
		}
	}
	tp.status(r)
	for _, e := range r.Events {
		if reason, ok := strings.CutPrefix(e, rollouts.EventCompleted+": "); ok {
			tp.log(obj{"level": "info", "msg": fmt.Sprintf("Rollout completed update to revision 3 (%s): %s", r.Current, reason)})
		}
	}
}

// play records a trace and reads it into the series of the plan.
func play(t testing.TB, plan moves.Plan, trace rollouts.Trace) *series.Set {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	tp := &tape{t: t, w: w, plan: plan}
	before := trace.Start
	for v := range before.Size {
		tp.replicaSet(v, before.Size[v], before.Available[v])
	}
	tp.routes(before, before, true)
	tp.status(before)
	tp.log(obj{"msg": "Patched: {}"})
	tp.log(obj{"msg": "Rollout completed update to revision 1 (v1): Initial deploy"})
	from, to := plan.Drilled().From, plan.Drilled().To
	tp.step(from, "begin")
	tp.log(obj{"msg": "Started syncing rollout"})
	for _, r := range trace.Rows {
		tp.row(r, before)
		before = r
	}
	tp.step(from, "end")
	tp.alive()
	tp.step(to, "begin")
	for end := tp.at + plan.Quiet; tp.at < end; tp.at += time.Second {
		tp.alive()
	}
	tp.step(to, "end")
	if err := w.Close(int64(tp.at)); err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := series.Read(r, plan.Definitions())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func judged(t testing.TB, plan moves.Plan, rules rollouts.Rules, set *series.Set) judge.Verdict {
	t.Helper()
	v, err := judge.Judge(recording.Header{}, plan.PredictOn(rules, nil), set, judge.Gate{Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// plans are one of each strategy and routing, with everything that their claims tell.
func plans() map[string]moves.Plan {
	preview := 1
	blueGreen := rollouts.Spec{Replicas: 4, BlueGreen: &rollouts.BlueGreen{Approval: true, PreviewReplicas: &preview}}
	canary := moves.DefaultCanary()
	subsets := canary
	subsets.Routing = "subsets"
	third := func(c moves.Canary) []rollouts.Move {
		return moves.Join(c.ToPause(moves.V2), c.ToPause(moves.V3), moves.Promotions(c.Steps), c.Gone())
	}
	versions := []string{moves.V1, moves.V2, moves.V3}
	edit := []rollouts.Move{{Act: rollouts.ActSteps, Steps: rollback.Steps{rollback.SetWeight(20), moves.Forever()}.Model()}}
	scale := []rollouts.Move{{Act: rollouts.ActReplicas, Count: 16}, moves.Ready(moves.V1, 16), moves.Ready(moves.V2, 16)}
	return map[string]moves.Plan{
		"blue-green": {Spec: blueGreen, SetUp: moves.First(4), Versions: versions, Quiet: 10 * time.Second, Drill: []rollouts.Move{
			moves.Deploy(moves.V2), moves.Ready(moves.V2, 1), moves.Deploy(moves.V3), moves.Ready(moves.V3, 4), moves.Do(rollouts.ActAbort),
			moves.Do(rollouts.ActRetry), moves.Do(rollouts.ActPromote), moves.Elapse(30),
		}},
		"retried": {Spec: rollouts.Spec{Replicas: 4, BlueGreen: &rollouts.BlueGreen{Approval: true}}, SetUp: moves.First(4), Versions: versions[:2],
			Quiet: 10 * time.Second, Drill: []rollouts.Move{moves.Deploy(moves.V2), moves.Ready(moves.V2, 4), moves.Do(rollouts.ActAbort),
				moves.Do(rollouts.ActRetry), moves.Do(rollouts.ActPromote), moves.Elapse(30)}},
		"services": {Spec: canary.Spec(), Steps: canary.Steps.API(), SetUp: moves.First(10), Versions: versions, Quiet: 10 * time.Second, Drill: third(canary)},
		"subsets":  {Spec: subsets.Spec(), Steps: canary.Steps.API(), SetUp: moves.First(10), Versions: versions, Quiet: 10 * time.Second, Drill: third(subsets)},
		"edited": {Spec: canary.Spec(), Steps: canary.Steps.API(), SetUp: moves.First(10), Versions: versions[:2], Quiet: 10 * time.Second,
			Drill: moves.Join(canary.ToPause(moves.V2), scale, edit, moves.Promotions(canary.Steps), canary.Gone())},
	}
}

func TestWhatTheModelDoesIsWhatItPredicts(t *testing.T) {
	t.Parallel()
	for name, plan := range plans() {
		for _, group := range rollouts.Groups() {
			rules := rollouts.RulesForGroup(group)
			trace := plan.Play(rules).Trace
			set := play(t, plan, trace)
			v := judged(t, plan, rules, set)
			if v.Outcome != judge.Pass {
				t.Errorf("%s, %s: %s: %q\n%s", name, group, v.Outcome, v.Reasons, trace)
			}
			for _, g := range v.Guards {
				if g.Worst == nil || *g.Worst != *g.Expected {
					t.Errorf("%s, %s: guard %s: worst %v, expected %g", name, group, g.ID, g.Worst, *g.Expected)
				}
			}
		}
	}
}

// TestAWrongModelIsCaught alters one rule at a time and holds what the true model does
// against the answer key of the altered one.
func TestAWrongModelIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan  string
		group rollouts.Group
		alter func(*rollouts.Rules)
		claim string
	}{
		"a retry that needs its approval": {"retried", rollouts.Group19, func(r *rollouts.Rules) { r.FastRollback = true }, "paused"},
		"a retry that needs none":         {"retried", rollouts.Group110, func(r *rollouts.Rules) { r.FastRollback = false }, "paused"},
		"subsets before the weight":       {"subsets", rollouts.Group110, func(r *rollouts.Rules) { r.EarlyZeroWeight = false }, "to-nobody"},
		"the weight before subsets":       {"subsets", rollouts.Group17, func(r *rollouts.Rules) { r.EarlyZeroWeight = true }, "to-nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := plans()[c.plan]
			rules := rollouts.RulesForGroup(c.group)
			set := play(t, plan, plan.Play(rules).Trace)
			c.alter(&rules)
			v := judged(t, plan, rules, set)
			i := slices.IndexFunc(v.Claims, func(r judge.ClaimResult) bool { return r.ID == c.claim })
			if v.Outcome != judge.Fail || v.Claims[i].Status != judge.Broken {
				t.Errorf("%s: %s, claim %s is %s: predicted %s, observed %s", name, v.Outcome, c.claim, v.Claims[i].Status, v.Claims[i].Predicted, v.Claims[i].Observed)
			}
		})
	}
}
