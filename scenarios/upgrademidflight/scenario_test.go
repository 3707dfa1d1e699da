package upgrademidflight

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarytest"
	"reckon.dev/reckon/scenarios/rollback"
)

// ladder goes up in three steps and waits at the top.
var ladder = rollback.Steps{rollback.SetWeight(20), rollback.SetWeight(50), rollback.SetWeight(80), canary.Pause()}

// cells are parameters that reach all branches of the prediction.
var cells = map[string]func(*Params){
	"paused":                func(*Params) {},
	"paused-promoted-later": func(p *Params) { p.Meanwhile = false },
	"paused-basic":          func(p *Params) { p.Routing = "none" },
	"scaling":               func(p *Params) { p.When = Scaling },
	"scaling-killed":        func(p *Params) { p.When, p.How = Scaling, Kill },
	"scaling-at-write":      func(p *Params) { p.When, p.At = Scaling, AtWrite },
	"aborting-at-write":     func(p *Params) { p.When, p.At, p.Meanwhile = Aborting, AtWrite, false },
	"rolling-back-at-write": func(p *Params) { p.When, p.At = RollingBack, AtWrite },
	"scaling-subsets":       func(p *Params) { p.When, p.Routing, p.Meanwhile = Scaling, "subsets", false },
	"aborting":              func(p *Params) { p.When = Aborting },
	"aborting-later":        func(p *Params) { p.When, p.Meanwhile = Aborting, false },
	"aborting-dynamic":      func(p *Params) { dynamic(p) },
	"aborting-dynamic-delay": func(p *Params) {
		dynamic(p)
		p.AbortDelay = 15
	},
	"analysing": func(p *Params) { analysing(p) },
	"analysing-passed-later": func(p *Params) {
		analysing(p)
		p.Meanwhile = false
	},
	"paused-election":      func(p *Params) { p.Election = true },
	"rolling-back":         func(p *Params) { p.When = RollingBack },
	"rolling-back-subsets": func(p *Params) { p.When, p.Routing = RollingBack, "subsets" },
	"rolling-back-later":   func(p *Params) { p.When, p.Meanwhile = RollingBack, false },
}

// dynamic is an abort in whose midst the weight follows the pods of v1, or goes down by
// the steps.
func dynamic(p *Params) {
	p.When, p.Meanwhile, p.DynamicStableScale, p.AbortDelay, p.Steps = Aborting, false, true, -1, ladder
}

// analysing is in an analysis at half of the traffic.
func analysing(p *Params) {
	p.When = Analysing
	p.Steps = rollback.Steps{rollback.SetWeight(20), rollback.SetWeight(50), canary.Pause(), rollback.SetWeight(100)}
}

// changes are the changes of the version that the model tells apart, and none.
var changes = [][2]string{{"v1.8.3", "v1.9.2"}, {"v1.9.2", "v1.8.3"}, {"v1.9.2", "v1.10.1"}, {"v1.7.2", "v1.8.2"}, {"v1.9.2", "v1.9.2"}}

const unread = "v1.99.0"

func params(change func(*Params)) *Params {
	p := Scenario{}.Defaults().(*Params)
	change(p)
	return p
}

// each is every cell over every change of the version that it accepts.
func each(t *testing.T, yield func(cell string, p *Params)) {
	t.Helper()
	for cell, change := range cells {
		for _, versions := range changes {
			p := params(change)
			p.From, p.To = versions[0], versions[1]
			if err := (Scenario{}).Check(p, nil); err != nil {
				t.Errorf("%s, %v: %v", cell, versions, err)
				continue
			}
			yield(cell, p)
		}
	}
}

func TestAnswerKeys(t *testing.T) {
	t.Parallel()
	all := map[string]*bytes.Buffer{}
	each(t, func(cell string, p *Params) {
		key := predict(t, p)
		keytest.ReadsDefinedSeries(t, cell, key)
		keytest.HasBasis(t, cell, key)
		if len(key.Notes) > 0 {
			t.Errorf("%s: notes %q", cell, key.Notes)
		}
		if all[cell] == nil {
			all[cell] = &bytes.Buffer{}
		}
		fmt.Fprintf(all[cell], "%s to %s, model %s\n", p.From, p.To, key.Model)
		canarytest.Write(all[cell], key)
	})
	for cell, text := range all {
		golden.Check(t, cell+".golden", text.Bytes())
	}
}

func predict(t testing.TB, p *Params) judge.Prediction {
	t.Helper()
	key, err := Scenario{}.Predict(scenario.Input{Params: p, On: cluster.Offered(cluster.Embedded)})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAReleaseThatNobodyReadIsNoted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Params){
		"before": func(p *Params) { p.From = unread },
		"after":  func(p *Params) { p.To = unread },
		"both":   func(p *Params) { p.From, p.To = unread, unread },
	} {
		if key := predict(t, params(change)); len(key.Notes) != 1 {
			t.Errorf("%s: notes %q", name, key.Notes)
		}
	}
}

func TestWhatTheModelsDoIsWhatTheyPredict(t *testing.T) {
	t.Parallel()
	each(t, func(cell string, p *Params) {
		key := predict(t, p)
		set := canarytest.Play(t, p.Params, p.flight(p.rules()).course, key.Definitions)
		if v := canarytest.Judge(t, taped(key), set); v.Outcome != judge.Pass {
			t.Errorf("%s, %s to %s: %s: %q", cell, p.From, p.To, v.Outcome, v.Reasons)
		}
	})
}

// taped leaves out the claims about what such a tape knows nothing of: that a time has
// passed, analyses and leases.
func taped(key judge.Prediction) judge.Prediction {
	unknown := []string{claimNobody, claimAnalyses, claimLeaders, claimLeaderless, claimWriters}
	key.Claims = slices.DeleteFunc(slices.Clone(key.Claims), func(c judge.Claim) bool { return slices.Contains(unknown, c.ID) })
	return key
}

// TestAWrongModelIsCaught holds what the true models do against the key of other ones.
func TestAWrongModelIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cell  string
		alter func(from, to *rollouts.Rules)
		claim string
	}{
		"the ladder of 1.9 is not walked down":    {"aborting-dynamic", func(_, to *rollouts.Rules) { to.AbortLadder = false }, "weights"},
		"1.8 walks it down already":               {"aborting-dynamic", func(from, _ *rollouts.Rules) { from.AbortLadder = true }, "weights"},
		"the first version goes on after its end": {"aborting-dynamic", func(from, to *rollouts.Rules) { *to = *from }, "weights"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := params(cells[c.cell])
			from, to := p.rules()
			truth := p.flight(from, to)
			c.alter(&from, &to)
			key := p.predict(from, to, nil)
			v := canarytest.Judge(t, taped(key), canarytest.Play(t, p.Params, truth.course, key.Definitions))
			if !slices.ContainsFunc(v.Claims, func(r judge.ClaimResult) bool { return r.ID == c.claim && r.Status == judge.Broken }) {
				t.Errorf("claim %s is not broken: %q", c.claim, v.Reasons)
			}
		})
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Params)
		says   string
	}{
		"the defaults":              {func(*Params) {}, ""},
		"no version":                {func(p *Params) { p.From = "" }, `from: "" is no version, expected one such as v1.9.2, or directory@v1.9.2`},
		"no release":                {func(p *Params) { p.To = "latest" }, `to: "latest" is no version, expected one such as v1.9.2, or directory@v1.9.2`},
		"an unknown state":          {func(p *Params) { p.When = "flying" }, `when: "flying" is unknown, expected paused | scaling | analysing | aborting | rolling-back`},
		"one pod":                   {func(p *Params) { p.Replicas = 1 }, "replicas: expected at least 2: of fewer pods none is missing while another is there"},
		"no pause":                  {func(p *Params) { p.Steps = rollback.Steps{rollback.SetWeight(50)} }, "steps: [50] never stops, so the update is over when the controller is replaced; expected a pause without end"},
		"a step of one pod":         {func(p *Params) { p.When, p.Replicas = Scaling, 3 }, "steps: with [30, pause forever, 60, 100] and 3 replicas the first weight wants 1 pods, of which there is none to wait for; expected one that wants at least 2"},
		"an abort for good":         {func(p *Params) { p.AbortDelay = 0 }, "abortScaleDownDelaySeconds: 0 is never, so that nothing follows the abort; expected -1 or at least 1"},
		"a pause has no write":      {func(p *Params) { p.At = AtWrite }, "at: write does not go with when: paused, after which pods are made before a weight is written"},
		"nor has a basic canary":    {func(p *Params) { p.When, p.At, p.Routing = Scaling, AtWrite, "none" }, "at: write does not go with routing: none, where no weight is written"},
		"a delay that nobody began": {func(p *Params) { p.When, p.At = Aborting, AtWrite }, "at: write and when: aborting go with meanwhile: false, abortScaleDownDelaySeconds and without dynamicStableScale only: the delay begins under the other version"},
		"no time":                   {func(p *Params) { p.Away = 0 }, "away: expected 1s to 1m, got 0s"},
		"a rollback by weights":     {func(p *Params) { p.When, p.DynamicStableScale = RollingBack, true }, "dynamicStableScale: does not go with when: rolling-back here: v2 is scaled down before or after the next pod of v1 is seen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Scenario{}.Check(params(c.change), nil)
			if got := fmt.Sprint(err); c.says == "" && err != nil || c.says != "" && got != c.says {
				t.Errorf("error %s, want %q", got, c.says)
			}
		})
	}
}

func TestWhatIsAcceptedCanBeJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		versions := rapid.SampledFrom(changes).Draw(rt, "versions")
		p := params(func(p *Params) {
			p.From, p.To = versions[0], versions[1]
			p.When = rapid.SampledFrom([]string{Paused, Scaling, Analysing, Aborting, RollingBack}).Draw(rt, "when")
			p.At = rapid.SampledFrom([]string{AtRest, AtWrite}).Draw(rt, "at")
			p.Meanwhile = rapid.Bool().Draw(rt, "meanwhile")
			p.Replicas = rapid.IntRange(0, 12).Draw(rt, "replicas")
			p.MinPodsPerReplicaSet = rapid.IntRange(0, 4).Draw(rt, "minPods")
			p.Routing = rapid.SampledFrom([]string{"services", "subsets", "none"}).Draw(rt, "routing")
			p.DynamicStableScale = rapid.Bool().Draw(rt, "dynamic")
			p.AbortDelay = rapid.SampledFrom([]int{-1, 0, 10}).Draw(rt, "delay")
			p.Steps = rapid.SampledFrom([]rollback.Steps{ladder, p.Steps, {rollback.SetWeight(100), canary.Pause()}, {canary.Pause()}}).Draw(rt, "steps")
		})
		if (Scenario{}).Check(p, nil) != nil {
			return
		}
		f, seen := p.flight(p.rules()), map[string]bool{}
		for _, leg := range f.course.Legs {
			if seen[leg.Name] {
				rt.Fatalf("two steps %q", leg.Name)
			}
			seen[leg.Name] = true
		}
		keytest.ReadsDefinedSeries(t, fmt.Sprintf("%+v", p), predict(t, p))
	})
}
