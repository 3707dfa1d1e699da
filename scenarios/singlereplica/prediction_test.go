package singlereplica_test

import (
	"encoding/json"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/singlereplica"
)

func with(t *testing.T, text string) any {
	t.Helper()
	params := singlereplica.Scenario{}.Defaults()
	if err := json.Unmarshal([]byte(text), params); err != nil {
		t.Fatal(err)
	}
	return params
}

// TestWorstSecondOfRequests: what the guard errors expects on real pods, in percent.
func TestWorstSecondOfRequests(t *testing.T) {
	t.Parallel()
	none, all := 0.0, 100.0
	for name, c := range map[string]struct {
		params string
		want   *float64
	}{
		"drain: some of a second, and nobody knows how many": {`{}`, nil},
		"preStop: none":                       {`{"preStop":"3s"}`, &none},
		"linger: none":                        {`{"linger":"3s"}`, &none},
		"no surge: all of a second":           {`{"maxSurge":0,"maxUnavailable":1}`, &all},
		"no surge and preStop: it depends":    {`{"maxSurge":0,"maxUnavailable":1,"preStop":"3s"}`, nil},
		"Recreate: all of a second":           {`{"strategy":"Recreate","preStop":"3s"}`, &all},
		"pods that refuse some by themselves": {`{"preStop":"3s","concurrency":1}`, nil},
	} {
		p, err := singlereplica.Scenario{}.Predict(scenario.Input{Params: with(t, c.params), On: cluster.Offered(cluster.Kind)})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Guards {
			if g.ID != judge.ErrorsGuard {
				continue
			}
			if (g.Expected == nil) != (c.want == nil) || c.want != nil && *g.Expected != *c.want {
				t.Errorf("%s: expected %v, want %v", name, g.Expected, c.want)
			}
		}
	}
}

func TestFlapNeedsWhatRealPodsDoNotOffer(t *testing.T) {
	t.Parallel()
	needs := singlereplica.Scenario{}.Needs(with(t, `{"minReadySeconds":4,"flap":true}`))
	if missing := cluster.Offered(cluster.Kind).Missing(needs); len(missing) != 1 || missing[0] != cluster.ScriptedReadiness {
		t.Errorf("kind lacks %v", missing)
	}
}
