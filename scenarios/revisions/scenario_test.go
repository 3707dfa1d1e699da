package revisions_test

import (
	"fmt"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/revisions"
)

// versions has one release of each group of the model, and one that no group covers.
var versions = []string{"v1.34.2", "v1.36.3", "v1.37.2", "v1.99.0"}

// params are the defaults, changed.
func params(change func(*revisions.Params)) *revisions.Params {
	p := revisions.Scenario{}.Defaults().(*revisions.Params)
	if change != nil {
		change(p)
	}
	return p
}

func check(p *revisions.Params) error {
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	return revisions.Scenario{}.Check(p, nil)
}

// spread is the scenario with parameters that reach all branches of its prediction.
func spread(yield func(name, version string, p *revisions.Params)) {
	for _, version := range versions {
		for _, act := range []string{revisions.Undo, revisions.UndoTo, revisions.Adopt, revisions.Delete} {
			for _, limit := range []int{0, 1, 2, 10} {
				for _, replicas := range []int{0, 1, 3} {
					for _, to := range []int{1, 3, 7} {
						for _, propagation := range []string{revisions.Background, revisions.Foreground, revisions.Orphan} {
							p := params(func(p *revisions.Params) {
								p.Act, p.RevisionHistoryLimit, p.Replicas, p.ToRevision, p.Propagation = act, limit, replicas, to, propagation
							})
							if check(p) == nil {
								yield(fmt.Sprintf("%s: %s, limit %d, %d replicas, to %d, %s", version, act, limit, replicas, to, propagation), version, p)
							}
						}
					}
				}
			}
		}
	}
}

func predict(t testing.TB, version string, p *revisions.Params) judge.Prediction {
	t.Helper()
	out, err := revisions.Scenario{}.Predict(scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: version}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryPredictionReadsDefinedSeriesOnly(t *testing.T) {
	t.Parallel()
	n := 0
	spread(func(name, version string, p *revisions.Params) {
		n++
		prediction := predict(t, version, p)
		keytest.ReadsDefinedSeries(t, name, prediction)
	})
	if n < 400 {
		t.Errorf("only %d predictions were tried", n)
	}
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	spread(func(name, version string, p *revisions.Params) {
		prediction := predict(t, version, p)
		keytest.HasBasis(t, name, prediction)
		if unknown := version == "v1.99.0"; unknown != (len(prediction.Notes) > 0) {
			t.Errorf("%s: notes %q", name, prediction.Notes)
		}
	})
}

// TestWhatUndoDoesToTheList: the numbers by limit, and kubectl's answer.
func TestWhatUndoDoesToTheList(t *testing.T) {
	t.Parallel()
	const kept, removed = "kept", "removed"
	const success, none, missing = "rolled back", `no rollout history found for deployment "drill"`, "unable to find specified revision 1 in history"
	for _, c := range []struct {
		act            string
		limit, to      int
		answer         string
		v1, v2, v3     string
		deployment     string
		kept           [3]string
		greatestNumber string
	}{
		{revisions.Undo, 10, 1, success, "0 → 1", "0 → 2 → 4", "0 → 3", "1 → 2 → 3 → 4", [3]string{kept, kept, kept}, "highest exactly 3 ReplicaSets"},
		{revisions.Undo, 2, 1, success, "0 → 1", "0 → 2 → 4", "0 → 3", "1 → 2 → 3 → 4", [3]string{kept, kept, kept}, "highest exactly 3 ReplicaSets"},
		{revisions.Undo, 1, 1, success, "0 → 1 → 0", "0 → 2 → 4", "0 → 3", "1 → 2 → 3 → 4", [3]string{removed, kept, kept}, "highest exactly 3 ReplicaSets"},
		{revisions.Undo, 0, 1, none, "0 → 1 → 0", "0 → 2 → 0", "0 → 3", "1 → 2 → 3", [3]string{removed, removed, kept}, "highest exactly 2 ReplicaSets"},
		{revisions.UndoTo, 10, 1, success, "0 → 1 → 4", "0 → 2", "0 → 3", "1 → 2 → 3 → 4", [3]string{kept, kept, kept}, "highest exactly 3 ReplicaSets"},
		{revisions.UndoTo, 1, 1, missing, "0 → 1 → 0", "0 → 2", "0 → 3", "1 → 2 → 3", [3]string{removed, kept, kept}, "highest exactly 3 ReplicaSets"},
		{revisions.UndoTo, 0, 1, missing, "0 → 1 → 0", "0 → 2 → 0", "0 → 3", "1 → 2 → 3", [3]string{removed, removed, kept}, "highest exactly 2 ReplicaSets"},
		{revisions.UndoTo, 10, 3, "skipped rollback (current template already matches revision 3)", "0 → 1", "0 → 2", "0 → 3", "1 → 2 → 3",
			[3]string{kept, kept, kept}, "highest exactly 3 ReplicaSets"},
	} {
		p := predict(t, "v1.37.2", params(func(p *revisions.Params) { p.Act, p.RevisionHistoryLimit, p.ToRevision = c.act, c.limit, c.to }))
		for id, want := range map[string]string{
			"answer": c.answer, "revisions-v1": c.v1, "revisions-v2": c.v2, "revisions-v3": c.v3, "revisions": c.deployment,
			"kept-v1": c.kept[0], "kept-v2": c.kept[1], "kept-v3": c.kept[2], "most-kept": c.greatestNumber,
		} {
			if got := claim(t, p, id).Check.Predicted(); got != want {
				t.Errorf("%s %d, limit %d: claim %s predicts %q, want %q", c.act, c.to, c.limit, id, got, want)
			}
		}
	}
}

func claim(t testing.TB, p judge.Prediction, id string) judge.Claim {
	t.Helper()
	i := slices.IndexFunc(p.Claims, func(c judge.Claim) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no claim %s", id)
	}
	return p.Claims[i]
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*revisions.Params)
		want   string
	}{
		"the defaults":        {nil, ""},
		"undo without pods":   {func(p *revisions.Params) { p.Replicas = 0 }, ""},
		"adopt without pods":  {func(p *revisions.Params) { p.Act, p.Replicas = revisions.Adopt, 0 }, "replicas: adopt is about pods, expected at least 1"},
		"delete without pods": {func(p *revisions.Params) { p.Act, p.Replicas = revisions.Delete, 0 }, "replicas: delete is about pods, expected at least 1"},
		"an unknown act":      {func(p *revisions.Params) { p.Act = "undoto" }, `act: "undoto" is unknown, expected undo | undo-to | adopt | delete, did you mean "undo-to"?`},
		"revision 0":          {func(p *revisions.Params) { p.ToRevision = 0 }, "toRevision: 0 is too small, expected 1 to 1000"},
		"an unknown policy":   {func(p *revisions.Params) { p.Propagation = "orphans" }, `propagation: "orphans" is unknown, expected background | foreground | orphan, did you mean "orphan"?`},
		"a deadline too early": {func(p *revisions.Params) { p.ProgressDeadlineSeconds, p.MinReadySeconds = 5, 5 },
			"progressDeadlineSeconds: 5 is no deadline, expected more than minReadySeconds, which is 5"},
	} {
		err := check(params(c.change))
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: error %s, want %q", name, got, c.want)
		}
	}
}
