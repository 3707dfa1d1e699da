package workload_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/rollingupdate"
	"reckon.dev/reckon/scenarios/scaling"
	"reckon.dev/reckon/scenarios/singlereplica"
	"reckon.dev/reckon/scenarios/stalledupdate"
)

// TestAnswerKeysOfDeployments: over parameters that reach all branches of the
// predictions, and all groups of the model.
func TestAnswerKeysOfDeployments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario scenario.Scenario
		params   []string
	}{
		{rollingupdate.Scenario{}, []string{
			`{}`, `{"replicas":0}`, `{"replicas":1}`, `{"strategy":"Recreate","linger":"2s"}`, `{"linger":"2s"}`, `{"replicas":1000}`,
			`{"meanwhile":"scale","scaleTo":0}`, `{"meanwhile":"rollover"}`, `{"revisionHistoryLimit":0}`,
			`{"preStop":"3s"}`, `{"maxSurge":0,"maxUnavailable":"100%","startup":"4s"}`, `{"rate":0}`,
		}},
		{singlereplica.Scenario{}, []string{
			`{}`, `{"maxSurge":0,"maxUnavailable":1}`, `{"strategy":"Recreate","linger":"2s"}`, `{"budget":true}`,
			`{"minReadySeconds":4,"flap":true}`, `{"linger":"2s","revisionHistoryLimit":0}`,
			`{"shutdown":"exit"}`, `{"maxSurge":0,"maxUnavailable":1,"preStop":"3s"}`, `{"startup":"0s"}`,
		}},
		{stalledupdate.Scenario{}, []string{`{}`, `{"ready":3}`, `{"strategy":"Recreate"}`, `{"revisionHistoryLimit":0}`}},
		{scaling.Scenario{}, []string{`{}`, `{"replicas":1,"sizes":[12,3,0,2]}`}},
	} {
		for _, text := range c.params {
			params := c.scenario.Defaults()
			if err := json.Unmarshal([]byte(text), params); err != nil {
				t.Fatal(err)
			}
			if err := c.scenario.Check(params, nil); err != nil {
				t.Fatalf("%s %s: %v", c.scenario.Name(), text, err)
			}
			for _, provider := range cluster.Providers() {
				on := cluster.Offered(provider)
				if len(on.Missing(c.scenario.Needs(params))) > 0 {
					continue
				}
				for _, version := range []string{"v1.34.2", "v1.36.3", "v1.37.2", "v1.99.0"} {
					name := fmt.Sprintf("%s %s at %s on %s", c.scenario.Name(), text, version, provider)
					p, err := c.scenario.Predict(scenario.Input{Params: params, On: on, Versions: map[string]string{scenario.Kubernetes: version}})
					if err != nil {
						t.Fatal(err)
					}
					keytest.ReadsDefinedSeries(t, name, p)
					keytest.HasBasis(t, name, p)
					if unknown := version == "v1.99.0"; unknown != (len(p.Notes) > 0) {
						t.Errorf("%s: notes %q", name, p.Notes)
					}
				}
			}
		}
	}
}
