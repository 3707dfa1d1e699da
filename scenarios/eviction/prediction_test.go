package eviction_test

import (
	"fmt"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/eviction"
	"reckon.dev/reckon/scenarios/workload"
)

// versions has one release of each group of texts, and one that no group covers.
var versions = []string{"v1.34.2", "v1.36.3", "v1.37.2", "v1.99.0"}

func predict(t testing.TB, p *eviction.Params, version string) judge.Prediction {
	t.Helper()
	out, err := eviction.Scenario{}.Predict(scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: version}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func params(change func(*eviction.Params)) *eviction.Params {
	p := eviction.Scenario{}.Defaults().(*eviction.Params)
	change(p)
	return p
}

// spread is every combination that the scenario accepts, at few sizes.
func spread(t testing.TB, yield func(name string, p *eviction.Params, version string)) {
	t.Helper()
	limits := []deployment.IntOrPercent{deployment.Int(0), deployment.Int(2), deployment.Percent(50)}
	for _, replicas := range []int{1, 3} {
		for _, budget := range []string{eviction.MinAvailable, eviction.MaxUnavailable, eviction.None} {
			for _, limit := range limits {
				for _, policy := range []string{eviction.Unset, "AlwaysAllow"} {
					for _, how := range []string{eviction.Evictions, eviction.Drain, eviction.Kubectl} {
						for _, replacement := range []string{eviction.After, eviction.Never} {
							for i, version := range versions {
								p := params(func(p *eviction.Params) {
									p.Replicas, p.Budget, p.Limit, p.Policy, p.How, p.Replacement = replicas, budget, limit, policy, how, replacement
									p.Unready, p.Budgets = i%(replicas+1), 1+i%2
								})
								if budget == eviction.None {
									p.Policy, p.Budgets = eviction.Unset, 1
								}
								if err := (eviction.Scenario{}).Check(p, nil); err != nil {
									t.Fatal(err)
								}
								yield(fmt.Sprintf("%+v at %s", *p, version), p, version)
							}
						}
					}
				}
			}
		}
	}
}

func TestEveryPredictionReadsDefinedSeriesOnly(t *testing.T) {
	t.Parallel()
	spread(t, func(name string, p *eviction.Params, version string) {
		out := predict(t, p, version)
		keytest.ReadsDefinedSeries(t, name, out)
	})
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	spread(t, func(name string, p *eviction.Params, version string) {
		out := predict(t, p, version)
		keytest.HasBasis(t, name, out)
		if unknown := version == "v1.99.0"; unknown != (len(out.Notes) > 0) {
			t.Errorf("%s: notes %q", name, out.Notes)
		}
		if (eviction.Scenario{}).Expected(p) <= 0 {
			t.Errorf("%s: takes no time", name)
		}
	})
}

func predicted(t testing.TB, p *eviction.Params, id string) string {
	t.Helper()
	for _, c := range predict(t, p, "v1.37.2").Claims {
		if c.ID == id {
			return c.Check.Predicted()
		}
	}
	return "no claim"
}

// What operators ask, in the words of the answer key.
func TestAnswerKey(t *testing.T) {
	t.Parallel()
	one := func(change func(*eviction.Params)) *eviction.Params {
		return params(func(p *eviction.Params) {
			p.Replicas, p.Limit, p.Evictions = 1, deployment.Int(1), 3
			change(p)
		})
	}
	for name, c := range map[string]struct {
		params   *eviction.Params
		id, want string
	}{
		"one pod that must be available is never evicted": {one(func(*eviction.Params) {}), "answers", "429 → 429 → 429"},
		"and none is made in its place":                   {one(func(*eviction.Params) {}), "live", "1"},
		"without a budget there is a gap":                 {one(func(p *eviction.Params) { p.Budget = eviction.None }), "outage", "1.000 s to 6.000 s"},
		"it has no end if the new pod is never ready": {one(func(p *eviction.Params) {
			p.Budget, p.Replacement = eviction.None, eviction.Never
		}), "outage", "0 pods"},
		"a crash loop is in the way of a drain":           {one(func(p *eviction.Params) { p.Unready, p.How = 1, eviction.Drain }), "answers", "429 → 429 → 429"},
		"but not with AlwaysAllow":                        {one(func(p *eviction.Params) { p.Unready, p.How, p.Policy = 1, eviction.Drain, "AlwaysAllow" }), "answers", "201"},
		"a second budget is an error":                     {params(func(p *eviction.Params) { p.Budgets = 2 }), "answers", "500 → 500 → 500"},
		"and a drain gives up at once":                    {params(func(p *eviction.Params) { p.Budgets, p.How = 2, eviction.Drain }), "left-on-node", "3 pods"},
		"a drain waits for the new pods":                  {params(func(p *eviction.Params) { p.How = eviction.Drain }), "answers", "201 → 429 → 429 → 201 → 429 → 201"},
		"the cause names both numbers":                    {one(func(*eviction.Params) {}), "cause", "The disruption budget drill needs 1 healthy pods and has 1 currently"},
		"a budget that lets the only pod go is a gap too": {one(func(p *eviction.Params) { p.Budget, p.Evictions = eviction.MaxUnavailable, 1 }), "outage", "1.000 s to 6.000 s"},
		"what is desired by a share of no pods is a race": {one(func(p *eviction.Params) {
			p.Limit, p.Unready, p.Policy = deployment.Percent(100), 1, "AlwaysAllow"
		}), "desired", "no claim"},
	} {
		if got := predicted(t, c.params, c.id); got != c.want {
			t.Errorf("%s: %s is %q, want %q", name, c.id, got, c.want)
		}
	}
}

// TestGuardsTakeTheDrillsLimits: without them they are 0. Where all pods are asked
// for at once and new ones become ready, nobody can say that there is a gap.
func TestGuardsTakeTheDrillsLimits(t *testing.T) {
	t.Parallel()
	onDrain := func(change func(*eviction.Params)) *eviction.Params {
		return params(func(p *eviction.Params) { p.How = eviction.Drain; change(p) })
	}
	kubectl := func(change func(*eviction.Params)) *eviction.Params {
		return params(func(p *eviction.Params) { p.How, p.Budget = eviction.Kubectl, eviction.None; change(p) })
	}
	for name, c := range map[string]struct {
		params *eviction.Params
		limits map[string]float64
		want   string // of each guard: limit, expected
	}{
		"evictions":              {params(func(*eviction.Params) {}), nil, "gap 0 0"},
		"a drill's limit":        {params(func(*eviction.Params) {}), map[string]float64{workload.Gap: 1}, "gap 1 0"},
		"a drain":                {onDrain(func(*eviction.Params) {}), nil, "gap 0 0, left 0 0"},
		"one that never ends":    {onDrain(func(p *eviction.Params) { p.Replacement = eviction.Never }), map[string]float64{eviction.Left: 2}, "gap 0 0, left 2 2"},
		"a drain without budget": {onDrain(func(p *eviction.Params) { p.Budget = eviction.None }), nil, "gap 0 1, left 0 0"},
		"all at once":            {kubectl(func(*eviction.Params) {}), nil, "gap 0 -, left 0 0"},
		"all at once, for good":  {kubectl(func(p *eviction.Params) { p.Replacement = eviction.Never }), nil, "gap 0 1, left 0 0"},
		"all at once, one pod":   {kubectl(func(p *eviction.Params) { p.Replicas = 1 }), nil, "gap 0 1, left 0 0"},
		"all at once, a floor":   {kubectl(func(p *eviction.Params) { p.Budget = eviction.MinAvailable }), nil, "gap 0 0, left 0 0"},
	} {
		out, err := eviction.Scenario{}.Predict(scenario.Input{Params: c.params, Guards: c.limits, Versions: map[string]string{scenario.Kubernetes: "v1.37.2"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range out.Guards {
			expected := "-"
			if g.Expected != nil {
				expected = fmt.Sprint(*g.Expected)
			}
			got = append(got, fmt.Sprintf("%s %g %s", g.ID, g.Limit, expected))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*eviction.Params{
		"unready: 4 of 3 replicas cannot be unready":                                            params(func(p *eviction.Params) { p.Unready = 4 }),
		"budgets: with no budget there are not 2 of them":                                       params(func(p *eviction.Params) { p.Budget, p.Budgets = eviction.None, 2 }),
		"unhealthyPodEvictionPolicy: it is a field of a budget, and there is none":              params(func(p *eviction.Params) { p.Budget, p.Policy = eviction.None, "AlwaysAllow" }),
		"replicas: 0 is too small, expected 1 to 100":                                           params(func(p *eviction.Params) { p.Replicas = 0 }),
		`how: "drains" is unknown, expected evictions | drain | kubectl, did you mean "drain"?`: params(func(p *eviction.Params) { p.How = "drains" }),
	} {
		if err := (eviction.Scenario{}).Check(p, nil); fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
