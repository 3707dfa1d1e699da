package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/recording"
)

// What a cluster offers decides which claims there are.
func TestACapabilityThatIsNotKnownIsNoAnswerKey(t *testing.T) {
	for name, c := range map[string]struct {
		cluster recording.Cluster
		want    string // in the error; empty: there is an answer key
	}{
		"embedded, before recordings said":  {recording.Cluster{Provider: cluster.Embedded}, ""},
		"a cluster that was never there":    {recording.Cluster{}, ""},
		"all that a provider offers":        {recording.Cluster{Provider: cluster.Kind, Offers: []string{"kubelet", "traffic", "mesh", "start-up-time"}}, ""},
		"real pods that say nothing":        {recording.Cluster{Provider: cluster.Kind}, "provider kind, but not what it offers"},
		"a provider that is not known":      {recording.Cluster{Provider: "cloud"}, "provider cloud, but not what it offers"},
		"a name that is not known, misread": {recording.Cluster{Provider: cluster.Kind, Offers: []string{"kubelet", "trafic"}}, `offers "trafic"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Prediction(recording.Header{Scenario: "rollback-window", Params: json.RawMessage(`{}`), Cluster: c.cluster,
				Components: []recording.Component{{Name: "argo-rollouts", Version: "v1.8.2"}, {Name: "kubernetes", Version: "v1.37.2"}}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
