package moves_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/moves"
	"reckon.dev/reckon/scenarios/rollback"
	"reckon.dev/reckon/scenarios/rollback/rollbacktest"
)

// tape writes the recording that a controller which acts as a trace of the model says
// would leave.
type tape struct {
	*rollbacktest.Tape
	plan moves.Plan
}

type obj = rollbacktest.Obj

func (tp *tape) say(message string) { tp.Log(fmt.Sprintf(`{"level":"info","msg":%q}`, message)) }

// hash is that of a version.
func hash(version string) string {
	if version == "" {
		return ""
	}
	return "hash" + version
}

func (tp *tape) replicaSet(version string, size, available int) {
	tp.Object(rollback.ReplicaSets, "drill-"+version, map[string]string{v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}, obj{
		"spec":   obj{"replicas": size, "template": obj{"metadata": obj{"labels": obj{stage.VersionLabel: version}}}},
		"status": obj{"availableReplicas": available, "replicas": size},
	})
}

func (tp *tape) service(name, version string) {
	tp.Object(rollback.Services, name, nil, obj{"spec": obj{"selector": obj{"app": "drill", v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}}})
}

func (tp *tape) subsets() bool { return tp.plan.Spec.Routing == rollouts.RoutingSubsets }

func (tp *tape) weight(w int) { tp.Weight(tp.plan.Spec.Routing, w) }

func (tp *tape) rule(s rollouts.Subsets) {
	subset := func(name, version string) obj {
		return obj{"name": name, "labels": obj{v1alpha1.DefaultRolloutUniqueLabelKey: hash(version)}}
	}
	tp.Object(rollback.DestinationRules, rollback.Name, nil, obj{"spec": obj{"subsets": []obj{subset("stable", s.Stable), subset("canary", s.Canary)}}})
}

func (tp *tape) status(r rollouts.Row) {
	status := obj{"phase": "Healthy", "currentPodHash": hash(r.Current), "stableRS": hash(r.Stable), "currentStepIndex": r.Index, "abort": r.Abort}
	if r.Paused {
		status["pauseConditions"] = []obj{{"reason": "pause"}}
	}
	tp.Object(rollback.Rollouts, rollback.Name, nil, obj{"spec": obj{"replicas": r.Replicas}, "status": status})
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
			tp.say(fmt.Sprintf("Rollout completed update to revision 3 (%s): %s", r.Current, reason))
		}
	}
}

// play records a trace and reads it into the series of the plan.
func play(t testing.TB, plan moves.Plan, trace rollouts.Trace) *series.Set {
	t.Helper()
	tp := &tape{Tape: rollbacktest.New(t), plan: plan}
	before := trace.Start
	for v := range before.Size {
		tp.replicaSet(v, before.Size[v], before.Available[v])
	}
	tp.routes(before, before, true)
	tp.status(before)
	tp.say("Patched: {}")
	tp.say("Rollout completed update to revision 1 (v1): Initial deploy")
	from, to := plan.Drilled().From, plan.Drilled().To
	tp.Step(from, "begin")
	tp.say("Started syncing rollout")
	for _, r := range trace.Rows {
		tp.row(r, before)
		before = r
	}
	tp.Step(from, "end")
	tp.Alive()
	tp.Step(to, "begin")
	for end := tp.At + plan.Quiet; tp.At < end; tp.At += time.Second {
		tp.Alive()
	}
	tp.Step(to, "end")
	return tp.Read(plan.Definitions())
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
