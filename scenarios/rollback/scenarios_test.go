package rollback_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/rollback"
	"reckon.dev/reckon/scenarios/rollbackabort"
	"reckon.dev/reckon/scenarios/rollbackwindow"
)

// versions has one release of each group that the model tells apart, and one
// that no group covers.
var versions = []string{"v1.7.2", "v1.8.2", "v1.8.3", "v1.9.2", "v1.10.1", "v1.99.0"}

// shared points to the parameters that all rollback scenarios have.
func shared(t testing.TB, params any) *rollback.Params {
	switch p := params.(type) {
	case *rollbackwindow.Params:
		return &p.Params
	case *rollbackabort.Params:
		return &p.Params
	}
	t.Fatalf("parameters of an unknown kind %T", params)
	return nil
}

func steps(t testing.TB, text string) rollback.Steps {
	t.Helper()
	out := rollback.Steps{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// spread is every scenario with parameters that reach all branches of its prediction.
func spread(t testing.TB, yield func(name string, s scenario.Scenario, params any, version string)) {
	t.Helper()
	changes := map[string]func(*rollback.Params){
		"defaults":             func(*rollback.Params) {},
		"subsets":              func(p *rollback.Params) { p.Routing = "subsets" },
		"no window":            func(p *rollback.Params) { p.RollbackWindow = 0 },
		"no window, subsets":   func(p *rollback.Params) { p.RollbackWindow, p.Routing = 0, "subsets" },
		"no pods":              func(p *rollback.Params) { p.Replicas = 0 },
		"one pod":              func(p *rollback.Params) { p.Replicas, p.MinPodsPerReplicaSet = 1, 1 },
		"no steps":             func(p *rollback.Params) { p.Steps = steps(t, `[]`) },
		"only everything":      func(p *rollback.Params) { p.Steps = steps(t, `[100]`) },
		"never everything":     func(p *rollback.Params) { p.Steps = steps(t, `[5,"pause"]`) },
		"falling weights":      func(p *rollback.Params) { p.Steps = steps(t, `[50,20]`) },
		"a pause without end":  func(p *rollback.Params) { p.Steps = steps(t, `[5,"pause forever",100]`) },
		"a canary scale":       func(p *rollback.Params) { p.Steps = steps(t, `[{"setCanaryScale":{"replicas":3}},5,100]`) },
		"dynamic stable scale": func(p *rollback.Params) { p.DynamicStableScale = true },
		"old running":          func(p *rollback.Params) { p.OldReplicaSet, p.ScaleDownDelay = rollback.OldRunning, 30 },
	}
	for _, s := range []scenario.Scenario{rollbackwindow.Scenario{}, rollbackabort.Scenario{}} {
		for name, change := range changes {
			if s.Name() == "rollback-window-abort" && name == "dynamic stable scale" {
				continue // refused, see TestParametersThatCannotBeUsedAreRefused
			}
			for _, version := range versions {
				params := s.Defaults()
				change(shared(t, params))
				all := []any{params}
				if p, ok := params.(*rollbackabort.Params); ok {
					all = nil
					for _, escape := range []string{rollbackabort.Abort, rollbackabort.PromoteFull} {
						other := *p
						other.Escape, other.AtWeight = escape, 0
						all = append(all, &other)
					}
				}
				for i, params := range all {
					if err := s.Check(params, map[string]string{scenario.ArgoRollouts: version}); err != nil {
						t.Errorf("%s, %s, %s: %v", s.Name(), name, version, err)
						continue
					}
					yield(fmt.Sprintf("%s, %s, %s, %d", s.Name(), name, version, i), s, params, version)
				}
			}
		}
	}
}

func predict(t testing.TB, s scenario.Scenario, params any, version string) judge.Prediction {
	t.Helper()
	p, err := s.Predict(scenario.Input{Params: params, On: cluster.Offered(cluster.Embedded), Versions: map[string]string{scenario.ArgoRollouts: version}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryPredictionReadsDefinedSeriesOnly(t *testing.T) {
	t.Parallel()
	n := 0
	spread(t, func(name string, s scenario.Scenario, params any, version string) {
		n++
		p := predict(t, s, params, version)
		keytest.ReadsDefinedSeries(t, name, p)
	})
	if n < 200 {
		t.Errorf("only %d predictions were tried", n)
	}
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	spread(t, func(name string, s scenario.Scenario, params any, version string) {
		p := predict(t, s, params, version)
		keytest.HasBasis(t, name, p)
		if unknown := version == "v1.99.0"; unknown != (len(p.Notes) > 0) {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	})
}

func TestAnswerKeysMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, s := range []scenario.Scenario{rollbackwindow.Scenario{}, rollbackabort.Scenario{}} {
		for _, version := range versions[:5] {
			for _, routing := range []string{"services", "subsets"} {
				params := s.Defaults()
				shared(t, params).Routing = routing
				golden.Check(t, fmt.Sprintf("%s.%s.%s.golden", s.Name(), version, routing), []byte(text(predict(t, s, params, version))))
			}
		}
	}
}

// text writes an answer key as lines.
func text(p judge.Prediction) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s\n\n", p.Model)
	for _, c := range p.Claims {
		fmt.Fprintf(&b, "%s: %s\n    predicted %s\n    reads     %s\n", c.ID, c.Sentence, c.Check.Predicted(), strings.Join(c.Check.Series(), ", "))
		for _, basis := range c.Basis {
			fmt.Fprintf(&b, "    basis     %s\n", basis)
		}
	}
	for _, g := range p.Guards {
		fmt.Fprintf(&b, "guard %s: limit %g, predicted worst %.4g\n", g.ID, g.Limit, *g.Expected)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", p.Tables[0].Title, strings.Join(p.Tables[0].Head, " | "))
	for _, row := range p.Tables[0].Rows {
		fmt.Fprintln(&b, strings.Join(row, " | "))
	}
	return b.String()
}

// TestSubsetRoutingTellsTheVersionsApart: with subsets, v1.8.2, v1.9 and v1.10
// hold the first weight until the two pods of minPodsPerReplicaSet are
// available; v1.7.2 and v1.8.3 write it with the first.
func TestSubsetRoutingTellsTheVersionsApart(t *testing.T) {
	t.Parallel()
	for version, available := range map[string]int{"v1.7.2": 1, "v1.8.2": 2, "v1.8.3": 1, "v1.9.2": 2, "v1.10.1": 2} {
		params := rollbackwindow.Scenario{}.Defaults()
		shared(t, params).Routing = "subsets"
		p := predict(t, rollbackwindow.Scenario{}, params, version)
		if got, want := claim(t, p, "exposure").Check.Predicted(), fmt.Sprintf("100, first at %d available", available); got != want {
			t.Errorf("%s: exposure %q, want %q", version, got, want)
		}
		if got := claim(t, p, "weights").Check.Predicted(); got != "0 → 100 → 0" {
			t.Errorf("%s: weights %q", version, got)
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
		scenario scenario.Scenario
		change   func(params any)
		version  string
		want     string
	}{
		"the defaults":       {rollbackwindow.Scenario{}, nil, "v1.8.2", ""},
		"fewer than no pods": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Replicas = -1 }), "v1.8.2", "replicas: -1 is too small, expected 0 to 500"},
		"too many pods":      {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Replicas = 501 }), "v1.8.2", "replicas: 501 is too large, expected 0 to 500"},
		"no pods":            {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Replicas = 0 }), "v1.8.2", ""},
		"an unknown routing": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Routing = "subset" }), "v1.8.2", `routing: "subset" is unknown, expected services | subsets, did you mean "subsets"?`},
		"more pods at least than there are, before 1.10": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Replicas = 1 }), "v1.9.2",
			"minPodsPerReplicaSet: 2 is more than the 1 replicas: Argo Rollouts v1.9.2 never calls such a Rollout healthy (v1.10 and later do), so the set-up could not end"},
		"more pods at least than there are, since 1.10": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Replicas = 1 }), "v1.10.1", ""},
		"a weight above 100":                            {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Steps = rollback.Steps{rollback.SetWeight(101)} }), "v1.8.2", "steps[0].setWeight: 101 is no weight, expected 0 to 100"},
		"falling weights":                               {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Steps = rollback.Steps{rollback.SetWeight(50), rollback.SetWeight(20)} }), "v1.8.2", ""},
		"a pause of half a second":                      {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Steps = rollback.Steps{rollback.PauseFor(5e8)} }), "v1.8.2", "steps[0].pause.duration: 500ms is no whole number of seconds, which is what Rollouts counts in"},
		"an abort with dynamicStableScale":              {rollbackabort.Scenario{}, func(v any) { v.(*rollbackabort.Params).DynamicStableScale = true }, "v1.8.2", "escape: abort does not go with dynamicStableScale yet: the controller scales v2 before or after it sees the abort, and the model knows one order only"},
		"a ramp that nobody can follow":                 {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.Ramp = 1e6 }), "v1.8.2", "ramp: expected 200ms, which a controller on a busy machine still follows, to 1h, got 1ms"},
		"an old ReplicaSet that is gone too soon": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) { p.OldReplicaSet = rollback.OldRunning }), "v1.8.2",
			"scaleDownDelaySeconds: 1 is too short for oldReplicaSet: running, expected at least 30"},
		"an old ReplicaSet that nobody keeps": {rollbackwindow.Scenario{}, on(func(p *rollback.Params) {
			p.OldReplicaSet, p.ScaleDownDelay, p.DynamicStableScale = rollback.OldRunning, 30, true
		}), "v1.8.2", "oldReplicaSet: running does not go with dynamicStableScale, which keeps no old ReplicaSet"},
		"an abort at a weight that is never reached": {rollbackabort.Scenario{}, func(params any) {
			p := params.(*rollbackabort.Params)
			p.Steps, p.AtWeight = rollback.Steps{}, 1
		}, "v1.8.2", "atWeight: 1 is never reached: with steps [] the model of v1.8.2 goes to 0 at most"},
		"an abort at a weight above 100": {rollbackabort.Scenario{}, func(params any) { params.(*rollbackabort.Params).AtWeight = 101 }, "v1.8.2", "atWeight: 101 is too large, expected 0 to 100"},
		"an unknown way out":             {rollbackabort.Scenario{}, func(params any) { params.(*rollbackabort.Params).Escape = "pray" }, "v1.8.2", `escape: "pray" is unknown, expected abort | promote-full`},
		"a promotion needs no weight": {rollbackabort.Scenario{}, func(params any) {
			p := params.(*rollbackabort.Params)
			p.Steps, p.AtWeight, p.Escape = rollback.Steps{}, 100, rollbackabort.PromoteFull
		}, "v1.8.2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := c.scenario.Defaults()
			if c.change != nil {
				c.change(params)
			}
			err := c.scenario.Check(params, map[string]string{scenario.ArgoRollouts: c.version})
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
				t.Errorf("error %s, want %q", got, c.want)
			}
		})
	}
}

func on(change func(*rollback.Params)) func(any) {
	return func(params any) { change(&params.(*rollbackwindow.Params).Params) }
}

// TestWhatIsAcceptedCanBeSetUp: parameters that Check accepts have a set-up
// that ends, on every version, and a prediction that can be judged.
func TestWhatIsAcceptedCanBeSetUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := rollback.DefaultParams()
		p.Replicas = rapid.IntRange(0, 8).Draw(rt, "replicas")
		p.MinPodsPerReplicaSet = rapid.IntRange(0, 9).Draw(rt, "minPods")
		p.Routing = rapid.SampledFrom([]string{"services", "subsets"}).Draw(rt, "routing")
		p.RollbackWindow = rapid.IntRange(0, 3).Draw(rt, "window")
		p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
		p.OldReplicaSet = rapid.SampledFrom([]string{rollback.OldGone, rollback.OldRunning}).Draw(rt, "old")
		p.ScaleDownDelay = rapid.SampledFrom([]int{1, 30}).Draw(rt, "delay")
		p.Steps = rapid.SliceOfN(rapid.Custom(step), 0, 5).Draw(rt, "steps")
		version := rapid.SampledFrom(versions).Draw(rt, "version")
		if p.Check(version) != nil {
			return
		}
		trace, _, _ := p.Model(version, rollouts.RollbackOptions{})
		if trace.Invalid != "" {
			rt.Fatalf("accepted, but the set-up cannot end: %s", trace.Invalid)
		}
		prediction := predict(t, rollbackwindow.Scenario{}, &rollbackwindow.Params{Params: p}, version)
		if _, err := judge.Judge(recording.Header{}, prediction, keytest.Empty(t, prediction.Definitions), judge.Gate{}); err != nil {
			rt.Fatal(err)
		}
	})
}

// step draws a canary step that Rollouts accepts.
func step(t *rapid.T) rollback.Step {
	weight := rapid.IntRange(0, 100).Draw(t, "weight")
	pods := rapid.IntRange(0, 12).Draw(t, "pods")
	return rapid.SampledFrom([]rollback.Step{
		rollback.SetWeight(weight),
		rollback.PauseFor(1e9 * 2),
		{Pause: &rollback.Pause{}},
		{SetCanaryScale: &rollback.CanaryScale{Replicas: &pods}},
		{SetCanaryScale: &rollback.CanaryScale{Weight: &weight}},
		{SetCanaryScale: &rollback.CanaryScale{MatchTrafficWeight: true}},
	}).Draw(t, "step")
}
