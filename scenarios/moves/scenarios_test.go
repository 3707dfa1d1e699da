package moves_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/strict"
	"reckon.dev/reckon/scenarios/bluegreen"
	"reckon.dev/reckon/scenarios/canaryedited"
	"reckon.dev/reckon/scenarios/canaryrouting"
	"reckon.dev/reckon/scenarios/canarysuperseded"
)

// versions has one release of each group that the model tells apart, and one that no
// group covers.
var versions = []string{"v1.7.2", "v1.8.2", "v1.8.3", "v1.9.2", "v1.10.1", "v1.99.0"}

// cells are the courses of every scenario, with parameters that reach all branches of
// their predictions.
var cells = []struct {
	scenario scenario.Scenario
	params   string // beside the defaults
}{
	{bluegreen.Scenario{}, `{}`},
	{bluegreen.Scenario{}, `{"previewReplicaCount":0}`},
	{bluegreen.Scenario{}, `{"approval":"none"}`},
	{bluegreen.Scenario{}, `{"approval":"seconds"}`},
	{bluegreen.Scenario{}, `{"approval":"seconds","promoteEarly":true}`},
	{bluegreen.Scenario{}, `{"course":"abort"}`},
	{bluegreen.Scenario{}, `{"course":"abort","abortScaleDownDelaySeconds":0}`},
	{bluegreen.Scenario{}, `{"course":"retry"}`},
	{bluegreen.Scenario{}, `{"course":"retry","previewReplicaCount":0}`},
	{bluegreen.Scenario{}, `{"course":"superseded"}`},
	{bluegreen.Scenario{}, `{"course":"superseded-approved","scaleDownDelaySeconds":40}`},
	{bluegreen.Scenario{}, `{"course":"rollback"}`},
	{bluegreen.Scenario{}, `{"course":"rollback","rollbackWindow":3,"previewReplicaCount":0}`},
	{bluegreen.Scenario{}, `{"course":"rollback","rollbackWindow":3,"promoteFull":true}`},
	{bluegreen.Scenario{}, `{"course":"rollback","rollbackWindow":3,"approval":"none"}`},
	{bluegreen.Scenario{}, `{"course":"rollback-early","previewReplicaCount":0}`},
	{bluegreen.Scenario{}, `{"course":"rollback-early","previewReplicaCount":0,"missingPods":1}`},
	{bluegreen.Scenario{}, `{"course":"rollback-early"}`},
	{bluegreen.Scenario{}, `{"course":"forward-again","previewReplicaCount":0}`},
	{bluegreen.Scenario{}, `{"course":"scaled"}`},
	{canarysuperseded.Scenario{}, `{}`},
	{canarysuperseded.Scenario{}, `{"routing":"subsets"}`},
	{canarysuperseded.Scenario{}, `{"missingPods":1}`},
	{canarysuperseded.Scenario{}, `{"missingPods":1,"routing":"subsets"}`},
	{canarysuperseded.Scenario{}, `{"dynamicStableScale":true}`},
	{canarysuperseded.Scenario{}, `{"course":"back-to-first"}`},
	{canarysuperseded.Scenario{}, `{"course":"back-to-first","missingPods":2}`},
	{canarysuperseded.Scenario{}, `{"course":"back-to-first","dynamicStableScale":true}`},
	{canarysuperseded.Scenario{}, `{"course":"back-to-older","rollbackWindow":3,"routing":"subsets"}`},
	{canarysuperseded.Scenario{}, `{"course":"third-then-first","rollbackWindow":1}`},
	{canarysuperseded.Scenario{}, `{"course":"third-then-first","rollbackWindow":2}`},
	{canarysuperseded.Scenario{}, `{"course":"third-then-second"}`},
	{canarysuperseded.Scenario{}, `{"course":"third-then-second","rollbackWindow":3}`},
	{canarysuperseded.Scenario{}, `{"course":"degraded","missingPods":2}`},
	{canarysuperseded.Scenario{}, `{"course":"degraded","missingPods":6,"routing":"subsets"}`},
	{canaryedited.Scenario{}, `{}`},
	{canaryedited.Scenario{}, `{"routing":"subsets"}`},
	{canaryedited.Scenario{}, `{"newSteps":[]}`},
	{canaryedited.Scenario{}, `{"newSteps":[30,"pause forever",60,"pause forever",100]}`},
	{canaryedited.Scenario{}, `{"newSteps":[80,"pause forever"]}`},
	{canaryedited.Scenario{}, `{"edit":"replicas"}`},
	{canaryedited.Scenario{}, `{"edit":"replicas","newReplicas":16,"scaleBack":true}`},
	{canaryedited.Scenario{}, `{"edit":"replicas","newReplicas":0,"scaleBack":true}`},
	{canaryrouting.Scenario{}, `{}`},
	{canaryrouting.Scenario{}, `{"routes":"omitted"}`},
	{canaryrouting.Scenario{}, `{"routes":"omitted","header":"scaled"}`},
	{canaryrouting.Scenario{}, `{"virtualServices":2}`},
	{canaryrouting.Scenario{}, `{"header":"first"}`},
	{canaryrouting.Scenario{}, `{"header":"scaled"}`},
	{canaryrouting.Scenario{}, `{"header":"removed"}`},
	{canaryrouting.Scenario{}, `{"header":"scaled","course":"third"}`},
	{canaryrouting.Scenario{}, `{"header":"scaled","course":"canary-lost"}`},
	{canaryrouting.Scenario{}, `{"header":"scaled","course":"degraded"}`},
	{canaryrouting.Scenario{}, `{"course":"edited"}`},
	{canaryrouting.Scenario{}, `{"course":"edited","virtualServices":2}`},
}

// with is a scenario's defaults with some parameters changed, as a drill changes them.
func with(t testing.TB, s scenario.Scenario, params string) any {
	t.Helper()
	out := s.Defaults()
	doc, err := strict.Parse("params", []byte(params))
	if err == nil {
		err = doc.Decode(out)
	}
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return out
}

// each is every cell on every version.
func each(t testing.TB, yield func(name, version string, s scenario.Scenario, params any)) {
	t.Helper()
	for _, c := range cells {
		for _, version := range versions {
			params := with(t, c.scenario, c.params)
			if err := c.scenario.Check(params, map[string]string{scenario.ArgoRollouts: version}); err != nil {
				t.Errorf("%s %s, %s: %v", c.scenario.Name(), c.params, version, err)
				continue
			}
			yield(fmt.Sprintf("%s %s, %s", c.scenario.Name(), c.params, version), version, c.scenario, params)
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
	each(t, func(name, version string, s scenario.Scenario, params any) {
		keytest.ReadsDefinedSeries(t, name, predict(t, s, params, version))
	})
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	each(t, func(name, version string, s scenario.Scenario, params any) {
		p := predict(t, s, params, version)
		keytest.HasBasis(t, name, p)
		if unknown := version == "v1.99.0"; unknown != (len(p.Notes) > 0) {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	})
}

// TestAnswerKeysMatchTheirGoldenFiles: what each cell predicts, a line a claim, and the
// versions that predict the same beside each other.
func TestAnswerKeysMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"blue-green", "canary-superseded", "canary-steps-edited", "canary-routing"} {
		var b strings.Builder
		for _, c := range cells {
			if c.scenario.Name() != name {
				continue
			}
			fmt.Fprintf(&b, "%s\n", c.params)
			var keys []string
			of := map[string][]string{}
			for _, version := range versions[:5] {
				text := text(predict(t, c.scenario, with(t, c.scenario, c.params), version))
				if len(of[text]) == 0 {
					keys = append(keys, text)
				}
				of[text] = append(of[text], version)
			}
			for _, key := range keys {
				fmt.Fprintf(&b, "  %s\n%s", strings.Join(of[key], " "), key)
			}
		}
		golden.Check(t, name+".golden", []byte(b.String()))
	}
}

// text is what is predicted, without its basis.
func text(p judge.Prediction) string {
	var b strings.Builder
	for _, c := range p.Claims {
		if c.ID != "quiet" && c.ID != "calm" {
			fmt.Fprintf(&b, "    %-12s %s\n", c.ID, c.Check.Predicted())
		}
	}
	for _, g := range p.Guards {
		fmt.Fprintf(&b, "    guard %-8s limit %g, predicted worst %.4g\n", g.ID, g.Limit, *g.Expected)
	}
	return b.String()
}

// TestVersionsDiffer: where versions differ, so do their answer keys, in these claims.
func TestVersionsDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scenario scenario.Scenario
		params   string
		claim    string
		want     map[string]string
	}{
		{bluegreen.Scenario{}, `{"course":"rollback","rollbackWindow":3,"previewReplicaCount":0}`, "active",
			map[string]string{"v1.7.2": "2", "v1.8.2": "2", "v1.8.3": "2", "v1.9.2": "2", "v1.10.1": "2 → 1"}},
		{bluegreen.Scenario{}, `{"course":"retry","previewReplicaCount":0}`, "paused",
			map[string]string{"v1.7.2": "0 → 1 → 0", "v1.8.2": "0 → 1 → 0", "v1.8.3": "0 → 1 → 0", "v1.9.2": "0 → 1 → 0", "v1.10.1": "0 → 1 → 0 → 1 → 0"}},
		{bluegreen.Scenario{}, `{"course":"forward-again","previewReplicaCount":0}`, "paused",
			map[string]string{"v1.7.2": "0", "v1.8.2": "0", "v1.8.3": "0", "v1.9.2": "0", "v1.10.1": "0 → 1 → 0"}},
		{bluegreen.Scenario{}, `{"course":"superseded"}`, "size-v2",
			map[string]string{"v1.7.2": "0 → 1 → 4 → 0", "v1.10.1": "0 → 1 → 4 → 0"}},
		{canarysuperseded.Scenario{}, `{"routing":"subsets"}`, "to-nobody",
			map[string]string{"v1.7.2": "highest exactly 50 %", "v1.8.2": "highest exactly 50 %", "v1.9.2": "highest exactly 0 %", "v1.10.1": "highest exactly 0 %"}},
		{canarysuperseded.Scenario{}, `{"course":"degraded","missingPods":6}`, "weights",
			map[string]string{"v1.7.2": "0 → 50 → 100 → 0", "v1.8.2": "0 → 50 → 100 → 0"}},
		{canaryrouting.Scenario{}, `{"routes":"omitted"}`, "weights",
			map[string]string{"v1.7.2": "0", "v1.8.2": "0", "v1.8.3": "0 → 50 → 100 → 0", "v1.9.2": "0 → 50 → 100 → 0", "v1.10.1": "0 → 50 → 100 → 0"}},
		{canaryrouting.Scenario{}, `{"header":"scaled","course":"canary-lost"}`, "header-at-pause",
			map[string]string{"v1.7.2": "1", "v1.8.2": "0", "v1.10.1": "0"}},
		{canaryrouting.Scenario{}, `{"header":"first"}`, "header-at-pause",
			map[string]string{"v1.7.2": "1", "v1.8.2": "0", "v1.10.1": "0"}},
		{canaryrouting.Scenario{}, `{"header":"scaled","routes":"omitted"}`, "weights",
			map[string]string{"v1.7.2": "0", "v1.8.3": "0", "v1.10.1": "0"}},
		{canaryrouting.Scenario{}, `{"header":"scaled","course":"degraded"}`, "header",
			map[string]string{"v1.7.2": "0 → 1 → 0", "v1.8.2": "0", "v1.8.3": "0", "v1.9.2": "0", "v1.10.1": "0"}},
	} {
		for version, want := range c.want {
			p := predict(t, c.scenario, with(t, c.scenario, c.params), version)
			i := slices.IndexFunc(p.Claims, func(claim judge.Claim) bool { return claim.ID == c.claim })
			if got := p.Claims[i].Check.Predicted(); got != want {
				t.Errorf("%s %s, %s: %s is %q, want %q", c.scenario.Name(), c.params, version, c.claim, got, want)
			}
		}
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scenario scenario.Scenario
		params   string
		want     string
	}{
		"an unknown course":            {bluegreen.Scenario{}, `{"course":"updates"}`, `course: "updates" is unknown, expected update | abort | retry | superseded | superseded-approved | rollback | rollback-early | forward-again | scaled, did you mean "update"?`},
		"more previews than replicas":  {bluegreen.Scenario{}, `{"previewReplicaCount":5}`, "previewReplicaCount: 5 is more than the 4 replicas"},
		"an approval without previews": {bluegreen.Scenario{}, `{"course":"superseded-approved","previewReplicaCount":0}`, "course: superseded-approved needs a preview that is smaller than replicas, and approval: by-hand"},
		"early without a time":         {bluegreen.Scenario{}, `{"promoteEarly":true}`, "promoteEarly: goes with approval: seconds only"},
		"full without a rollback":      {bluegreen.Scenario{}, `{"promoteFull":true}`, "promoteFull: goes with course: rollback only"},
		"missing at another course":    {bluegreen.Scenario{}, `{"missingPods":1}`, "missingPods: goes with course: rollback-early only"},
		"a retry that is too late":     {bluegreen.Scenario{}, `{"course":"retry","abortScaleDownDelaySeconds":2}`, "abortScaleDownDelaySeconds: 2 may be over before the retry, expected 0 or at least 6"},
		"a delay that is too short":    {bluegreen.Scenario{}, `{"course":"superseded","scaleDownDelaySeconds":5}`, "scaleDownDelaySeconds: 5 may be over before the moves of course superseded are, expected at least 18"},
		"a quiet that shows nothing":   {bluegreen.Scenario{}, `{"quiet":"1s"}`, "quiet: expected 5s, which show that nothing follows, to 1h, got 1s"},
		"steps without a pause":        {canarysuperseded.Scenario{}, `{"steps":[50,100]}`, "steps: [50, 100]: expected a weight above 0 and a pause first, such as [50, pause forever, 100]"},
		"a pause that ends by itself":  {canarysuperseded.Scenario{}, `{"steps":[50,"pause",100]}`, "steps: [50, pause 1s, 100]: expected weights and pauses without an end only"},
		"nothing is degraded":          {canarysuperseded.Scenario{}, `{"course":"degraded"}`, "missingPods: course degraded needs some"},
		"more missing than there are":  {canarysuperseded.Scenario{}, `{"missingPods":11}`, "missingPods: 11 is more than the 10 replicas"},
		"missing of a changing size":   {canarysuperseded.Scenario{}, `{"missingPods":1,"dynamicStableScale":true}`, "missingPods: does not go with dynamicStableScale: the stable ReplicaSet changes its size meanwhile"},
		"no edit of steps":             {canaryedited.Scenario{}, `{"newSteps":[50,"pause forever",100]}`, "newSteps: are the same as steps"},
		"no edit of replicas":          {canaryedited.Scenario{}, `{"edit":"replicas","newReplicas":10}`, "newReplicas: are as many as replicas"},
		"back from where":              {canaryedited.Scenario{}, `{"scaleBack":true}`, "scaleBack: goes with edit: replicas only"},
		"two services and no route":    {canaryrouting.Scenario{}, `{"routes":"omitted","virtualServices":2}`, "virtualServices: go with routes: listed only"},
		"no edit of the weight":        {canaryrouting.Scenario{}, `{"course":"edited","weight":50}`, "weight: course edited needs a listed route and another weight than the first step's"},
		"routing by subsets":           {canaryrouting.Scenario{}, `{"routing":"subsets"}`, "routing: this scenario knows services only"},
		"a weight above 100":           {canaryedited.Scenario{}, `{"newSteps":[101]}`, "steps[0].setWeight: 101 is no weight, expected 0 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.scenario.Check(with(t, c.scenario, c.params), map[string]string{scenario.ArgoRollouts: "v1.8.2"})
			if fmt.Sprint(err) != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestParametersAreWritten: what a drill's recording says of its parameters leads to the
// same plan again.
func TestParametersAreWritten(t *testing.T) {
	t.Parallel()
	for _, c := range cells {
		params := with(t, c.scenario, c.params)
		written, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		again := with(t, c.scenario, string(written))
		if a, b := text(predict(t, c.scenario, params, "v1.9.2")), text(predict(t, c.scenario, again, "v1.9.2")); a != b {
			t.Errorf("%s %s: written and read again it predicts otherwise", c.scenario.Name(), c.params)
		}
	}
}
