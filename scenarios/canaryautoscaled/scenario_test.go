package canaryautoscaled

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"defaults":          func(*Params) {},
	"scaling":           func(p *Params) { p.When = WhenScaling },
	"finishing":         func(p *Params) { p.When = WhenFinishing },
	"subsets":           func(p *Params) { p.Routing = "subsets" },
	"scaling-subsets":   func(p *Params) { p.When, p.Routing = WhenScaling, "subsets" },
	"dynamic":           func(p *Params) { p.DynamicStableScale = true },
	"finishing-dynamic": func(p *Params) { p.When, p.DynamicStableScale = WhenFinishing, true },
	"bounded":           func(p *Params) { p.MaxReplicas = 12 },
	"falls":             func(p *Params) { p.NewLoad = 400 },
	"in-two-looks":      func(p *Params) { p.NewLoad = 2660 },
	"issue-4847":        adopted,
	"twenty-to-forty":   doubled,
}

// adopted is argo-rollouts#4847: one canary pod beside ten, and a load that is just right.
func adopted(p *Params) {
	p.Load, p.NewLoad = 1000, 1000
	p.Steps = rollback.Steps{rollback.SetWeight(10), canary.Pause(), rollback.SetWeight(50), canary.Pause()}
}

// doubled is a canary that is a twentieth of the pods: whatever the load, it is inside the
// tolerance.
func doubled(p *Params) {
	p.Replicas, p.MaxReplicas, p.Load, p.NewLoad, p.When = 20, 80, 1850, 4000, WhenScaling
	p.Steps = rollback.Steps{rollback.SetWeight(5), canary.Pause(), rollback.SetWeight(10), canary.Pause()}
}

// The autoscaler's part of an answer key.
func TestTheAutoscalerIsHeldToItsModel(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"defaults": "10 → 16", "bounded": "10 → 12", "falls": "10", "in-two-looks": "10 → 20 → 27",
		"issue-4847": "10 → 11", "twenty-to-forty": "20 → 40 → 42",
	} {
		p := Scenario{}.Defaults().(*Params)
		cells[cell](p)
		for _, version := range canarytest.Versions {
			key := canarytest.Predict(t, Scenario{}, p, version)
			for _, id := range []string{"replicas", "desired"} {
				if got := claim(t, key, id).Check.Predicted(); got != want {
					t.Errorf("%s, %s: %s is %q, want %q", cell, version, id, got, want)
				}
			}
		}
	}
}

func claim(t *testing.T, key judge.Prediction, id string) judge.Claim {
	t.Helper()
	for _, c := range key.Claims {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no claim %q", id)
	return judge.Claim{}
}

// A release of Kubernetes that nobody read is said to be one.
func TestNotesSayWhatWasNotRead(t *testing.T) {
	t.Parallel()
	for version, unread := range map[string]bool{"v1.34.2": false, "v1.37.2": false, "v1.99.0": true} {
		key, err := Scenario{}.Predict(scenario.Input{Params: Scenario{}.Defaults(), Versions: map[string]string{scenario.Kubernetes: version, scenario.ArgoRollouts: "v1.9.2"}})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(key.Notes, "; ")
		if !strings.Contains(notes, "stub") || strings.Contains(notes, "was used") != unread {
			t.Errorf("%s: notes %q", version, notes)
		}
		keytest.HasBasis(t, version, key)
	}
}

func TestScenario(t *testing.T) {
	t.Parallel()
	canarytest.Family[*Params]{
		Scenario: Scenario{}, Cells: cells,
		Wrong: map[string]canarytest.Wrong{
			"a weight that does not wait for v1, as on 1.7":   {Cell: "defaults", Version: "v1.9.2", Claim: "early", Alter: func(r *rollouts.Rules) { r.StableGuard = false }},
			"a weight that waits for v1, as from 1.8 on":      {Cell: "scaling", Version: "v1.7.2", Claim: "early", Alter: func(r *rollouts.Rules) { r.StableGuard = true }},
			"one that waits for its share, as on 1.8.3":       {Cell: "subsets", Version: "v1.9.2", Claim: "11-pods-of-v1-are-ready-weights", Alter: func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardSkip }},
			"one that waits for all by subsets, as on 1.9":    {Cell: "subsets", Version: "v1.8.3", Claim: "v1-becomes-ready-weights", Alter: func(r *rollouts.Rules) { r.SubsetGuard = rollouts.SubsetGuardErrorStableCanary }},
			"a v1 that shrinks before it is there, as on 1.7": {Cell: "dynamic", Version: "v1.8.3", Claim: "early", Alter: func(r *rollouts.Rules) { r.StableGuard = false }},
		},
		On: "v1.9.2",
		Refused: map[string]canarytest.Refused[*Params]{
			"the defaults":                         {Change: func(*Params) {}, Says: ""},
			"no routing":                           {Change: func(p *Params) { p.Routing = "none" }, Says: `routing: "none" leaves no weight to hold against pods, expected services or subsets`},
			"fewer replicas than the autoscaler's": {Change: func(p *Params) { p.MinReplicas = 11 }, Says: "replicas: 10 is outside the autoscaler's bounds, expected 11 to 40"},
			"a load at which it does not rest":     {Change: func(p *Params) { p.Load = 1500 }, Says: "load: at 1500 % the autoscaler makes 15 of 10 replicas before the update begins, expected a load at which it rests"},
			"a pause that ends":                    {Change: func(p *Params) { p.Steps[1] = rollback.PauseFor(time.Second) }, Says: "steps: [20, pause 1s, 30, pause forever]: a pause with an end may be over before the autoscaler looks, expected pauses without one"},
			"a quiet time without a look":          {Change: func(p *Params) { p.Quiet = scenario.Duration(autoscaled.SyncPeriod) }, Says: "quiet: 5s has hardly a sync in it, expected at least 10s"},
			"a size that depends on when it looks": {Change: func(p *Params) {
				p.Load, p.NewLoad = 1000, 1000
				p.Steps = rollback.Steps{rollback.SetWeight(20), rollback.SetWeight(5), canary.Pause()}
			}, Says: "steps: while v2 becomes ready there are 11 pods, at which the autoscaler makes 11 of 10 replicas: the rest would depend on when it looks"},
			"a run that is longer than it remembers": {Change: func(p *Params) { p.Ramp = scenario.Duration(20 * time.Second) }, Says: "ramp: the run would take 8m29s: after 5m0s the autoscaler forgets what it proposed"},
		},
		Draw: func(rt *rapid.T, p *Params) {
			p.Replicas = rapid.IntRange(1, 12).Draw(rt, "replicas")
			p.Load = p.Replicas * rapid.SampledFrom([]int{92, 95, 100, 108}).Draw(rt, "percent")
			p.NewLoad = rapid.IntRange(1, 40).Draw(rt, "newLoad") * 95
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 3).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.When = rapid.SampledFrom([]string{WhenScaling, WhenPaused, WhenFinishing}).Draw(rt, "when")
			p.Steps = rapid.SampledFrom([]rollback.Steps{{}, {rollback.SetWeight(100)}, {canary.Pause()}, p.Steps, {rollback.SetWeight(10), rollback.SetWeight(50), canary.Pause()}}).Draw(rt, "steps")
		},
	}.Test(t)
}
