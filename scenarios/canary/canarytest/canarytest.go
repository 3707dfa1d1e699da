// Package canarytest is for tests: it writes the recording that a controller would leave
// which acts as a course of the model says, so that an answer key can be held against it
// without a cluster.
package canarytest

import (
	"fmt"
	"maps"
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
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/rollback"
	"reckon.dev/reckon/scenarios/rollback/rollbacktest"
)

type obj = rollbacktest.Obj

// tape writes one recording.
type tape struct {
	*rollbacktest.Tape
	p      canary.Params
	passes int
}

// Play writes the recording of a course and reads it into the series of the prediction.
func Play(t testing.TB, p canary.Params, c *canary.Course, defs []series.Definition) *series.Set {
	t.Helper()
	tp := &tape{Tape: rollbacktest.New(t), p: p}
	tp.begin(c.Start)
	before := c.Start
	for _, leg := range c.Legs {
		tp.Step(leg.Name, "begin")
		for _, r := range leg.Trace.Rows {
			tp.row(r, before)
			before = r
		}
		for range 10 * restless(leg) {
			tp.flap(before)
		}
		tp.Step(leg.Name, "end")
	}
	tp.quiet(before, c.Legs[len(c.Legs)-1])
	return tp.Read(defs)
}

func restless(leg canary.Leg) int {
	if leg.Trace.Restless() {
		return 1
	}
	return 0
}

func (tp *tape) begin(start rollouts.Row) {
	tp.weight(start.Weight)
	for _, v := range slices.Sorted(maps.Keys(start.Size)) {
		tp.replicaSet(v, start.Size[v], start.Available[v])
	}
	tp.targets(start)
	tp.status(start)
	tp.event("", "Rollout completed update to revision 1 (v1): Initial deploy")
	tp.Sample("rollout_reconcile_count", map[string]string{"name": rollback.Name}, 0)
	tp.Alive()
}

// quiet is the end: a controller that lives, and does nothing unless it cannot rest.
func (tp *tape) quiet(last rollouts.Row, leg canary.Leg) {
	tp.Alive()
	tp.Step(canary.StepQuiet, "begin")
	for end := tp.At + tp.p.Quiet.Std(); tp.At < end; tp.At += time.Second {
		if leg.Trace.Restless() {
			for range 5 {
				tp.flap(last)
			}
			tp.Sample("rollout_reconcile_count", map[string]string{"name": rollback.Name}, float64(tp.passes))
		}
		tp.Alive()
	}
	tp.Step(canary.StepQuiet, "end")
}

// flap is the canary Service on its way to v2 and back.
func (tp *tape) flap(r rollouts.Row) {
	tp.passes++
	away := r
	away.CanaryService = canary.New
	for _, to := range []rollouts.Row{away, r} {
		tp.targets(to)
		tp.event(rollouts.EventSwitch, "Switched selector")
	}
}

// row writes what a pass changed, in the order in which a pass does it: pods became
// available before; selectors, weight, and then sizes.
func (tp *tape) row(r, before rollouts.Row) {
	for _, v := range slices.Sorted(maps.Keys(r.Size)) {
		if n := min(r.Available[v], before.Size[v]); n != before.Available[v] {
			tp.replicaSet(v, before.Size[v], n)
		}
		if _, known := before.Size[v]; !known {
			tp.replicaSet(v, 0, 0)
		}
	}
	if r.CanaryService != before.CanaryService || r.StableService != before.StableService || r.Subsets != before.Subsets {
		tp.targets(r)
	}
	if r.Weight != before.Weight {
		tp.weight(r.Weight)
	}
	for _, v := range slices.Sorted(maps.Keys(r.Size)) {
		if r.Size[v] != before.Size[v] {
			tp.replicaSet(v, r.Size[v], r.Available[v])
		}
	}
	tp.status(r)
	for _, e := range r.Events {
		tp.event(strings.SplitN(e, ": ", 2)[0], e)
		if reason, ok := strings.CutPrefix(e, rollouts.EventCompleted+": "); ok {
			tp.event("", fmt.Sprintf("Rollout completed update to revision 3 (%s): %s", r.Current, reason))
		}
	}
	tp.At += time.Second
}

// event logs an event of the controller.
func (tp *tape) event(reason, message string) {
	tp.Log(fmt.Sprintf(`{"event_reason":%q,"level":"info","msg":%q}`, reason, message))
}

const hashLabel = "rollouts-pod-template-hash"

func (tp *tape) replicaSet(version string, size, available int) {
	tp.Object(rollback.ReplicaSets, "drill-"+version, map[string]string{hashLabel: version}, obj{
		"spec":   obj{"replicas": size, "template": obj{"metadata": obj{"labels": obj{stage.VersionLabel: version}}}},
		"status": obj{"availableReplicas": available},
	})
}

func (tp *tape) weight(w int) { tp.Weight(rollouts.Routing(tp.p.Routing), w) }

func (tp *tape) targets(r rollouts.Row) {
	if tp.p.Routing == string(rollouts.RoutingSubsets) {
		tp.Object(rollback.DestinationRules, rollback.Name, nil, obj{"spec": obj{"subsets": []obj{
			{"name": "stable", "labels": obj{hashLabel: r.Subsets.Stable}}, {"name": "canary", "labels": obj{hashLabel: r.Subsets.Canary}},
		}}})
		return
	}
	for name, to := range map[string]string{"drill-stable": r.StableService, "drill-canary": r.CanaryService} {
		tp.Object(rollback.Services, name, nil, obj{"spec": obj{"selector": obj{hashLabel: to}}})
	}
}

func (tp *tape) status(r rollouts.Row) {
	tp.Object(rollback.Rollouts, rollback.Name, nil, obj{"spec": obj{"replicas": r.Replicas}, "status": obj{
		"phase": r.Phase, "currentPodHash": r.Current, "stableRS": r.Stable, "currentStepIndex": r.Index, "abort": r.Abort,
	}})
}

// Predict is the answer key of a scenario's parameters on a version.
func Predict(t testing.TB, s scenario.Scenario, params any, version string) judge.Prediction {
	t.Helper()
	p, err := s.Predict(scenario.Input{Params: params, On: cluster.Offered(cluster.Embedded), Versions: map[string]string{scenario.ArgoRollouts: version}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Judge holds an answer key against series.
func Judge(t testing.TB, p judge.Prediction, set *series.Set) judge.Verdict {
	t.Helper()
	v, err := judge.Judge(recording.Header{}, p, set, judge.Gate{Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
