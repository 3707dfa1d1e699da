package canaryprogress

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// half goes to half of the traffic, and then to all of it.
var half = rollback.Steps{rollback.SetWeight(50)}

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"defaults":            func(*Params) {},
	"abort":               func(p *Params) { p.DeadlineAbort = true },
	"abort-without-a-pod": func(p *Params) { p.DeadlineAbort, p.Ready = true, 0 },
	"abort-by-subsets":    func(p *Params) { p.DeadlineAbort, p.Routing = true, "subsets" },
	"abort-dynamic":       func(p *Params) { p.DeadlineAbort, p.DynamicStableScale = true, true },
	"abort-basic":         func(p *Params) { p.DeadlineAbort, p.Routing, p.Ready = true, "none", 2 },
	"all-ready":           func(p *Params) { p.Ready = 5 },
	"pods":                func(p *Params) { p.Threshold, p.Enough = ThresholdPods, 2 },
	"pods-to-the-end":     func(p *Params) { p.Threshold, p.Enough, p.Steps = ThresholdPods, 2, half },
	"percent":             func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 60 },
	"percent-to-the-end":  func(p *Params) { p.Threshold, p.Enough, p.Steps, p.Ready = ThresholdPercent, 50, half, 5 },
	"percent-of-too-few":  func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 80 },
	"no-pods-are-enough":  func(p *Params) { p.Threshold, p.Enough, p.Ready, p.Steps = ThresholdPods, 0, 0, half },
	"fewer-than-min-pods": func(p *Params) { p.Replicas, p.MinPodsPerReplicaSet, p.Ready = 1, 2, 0 },
}

func params(change func(*Params)) *Params {
	p := Scenario{}.Defaults().(*Params)
	change(p)
	return p
}

func family() canarytest.Family {
	f := canarytest.Family{
		Scenario: Scenario{}, Cells: map[string]any{},
		Course: func(params any, rules rollouts.Rules) (canary.Params, *canary.Course) {
			p := params.(*Params)
			return p.Params, p.course(rules)
		},
		Predict: func(params any, rules rollouts.Rules) judge.Prediction {
			return params.(*Params).predict(rules, "v1.8.2", true, nil)
		},
	}
	for name, change := range cells {
		f.Cells[name] = params(change)
	}
	return f
}

func TestAnswerKeys(t *testing.T) {
	t.Parallel()
	family().Keys(t)
}

func TestWhatTheModelDoesIsWhatItPredicts(t *testing.T) {
	t.Parallel()
	family().Acts(t)
}

// TestAWrongModelIsCaught alters one rule and holds what the true one does against it.
func TestAWrongModelIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cell, version, claim string
		alter                func(*rollouts.Rules)
	}{
		"a threshold, as in 1.9":  {"pods-to-the-end", "v1.8.3", "some-pods-of-v2-become-ready-weights", func(r *rollouts.Rules) { r.ProgressThreshold = true }},
		"no threshold, as in 1.8": {"pods", "v1.9.2", "weights", func(r *rollouts.Rules) { r.ProgressThreshold = false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			family().Catches(t, c.cell, c.version, c.claim, c.alter)
		})
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Params)
		want   string
	}{
		"the defaults":                    {func(*Params) {}, ""},
		"more ready than wanted":          {func(p *Params) { p.Ready = 6 }, "ready: 6 is more than the 5 pods that v2 has in its first step"},
		"more than there are":             {func(p *Params) { p.Ready = 11 }, "ready: 11 is more than the 10 replicas"},
		"more than all pods":              {func(p *Params) { p.Threshold, p.Enough = ThresholdPercent, 101 }, "enough: 101 % is more than all pods"},
		"a deadline that is over at once": {func(p *Params) { p.Deadline = 5 }, "progressDeadlineSeconds: 5 is too small, expected 6 to 600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (Scenario{}).Check(params(c.change), map[string]string{scenario.ArgoRollouts: "v1.9.2"})
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
				t.Errorf("error %s, want %q", got, c.want)
			}
		})
	}
}

// TestWhatIsAcceptedCanBeJudged: whatever Check accepts has an answer key that can be judged.
func TestWhatIsAcceptedCanBeJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := params(func(p *Params) {
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.DeadlineAbort = rapid.Bool().Draw(rt, "abort")
			p.Ready = rapid.IntRange(0, 6).Draw(rt, "ready")
			p.Threshold = rapid.SampledFrom([]string{ThresholdNone, ThresholdPods, ThresholdPercent}).Draw(rt, "threshold")
			p.Enough = rapid.IntRange(0, 100).Draw(rt, "enough")
			p.Steps = rapid.SampledFrom([]rollback.Steps{{}, half, {canary.Pause()}, {rollback.SetWeight(30), canary.Pause(), rollback.SetWeight(60)}}).Draw(rt, "steps")
		})
		version := rapid.SampledFrom(canarytest.Versions).Draw(rt, "version")
		if (Scenario{}).Check(p, map[string]string{scenario.ArgoRollouts: version}) != nil {
			return
		}
		keytest.ReadsDefinedSeries(t, fmt.Sprintf("%+v on %s", p, version), canarytest.Predict(t, Scenario{}, p, version))
	})
}
