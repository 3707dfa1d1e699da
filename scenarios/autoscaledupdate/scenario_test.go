package autoscaledupdate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/autoscaledupdate"
)

// versions has one release of each group of the models, and one that none covers.
var versions = []string{"v1.34.2", "v1.35.4", "v1.36.3", "v1.37.2", "v1.99.0"}

// params are the defaults, changed.
func params(change func(*autoscaledupdate.Params)) *autoscaledupdate.Params {
	p := autoscaledupdate.Scenario{}.Defaults().(*autoscaledupdate.Params)
	if change != nil {
		change(p)
	}
	return p
}

func check(p *autoscaledupdate.Params) error {
	if err := scenario.CheckBounds(p); err != nil {
		return err
	}
	return autoscaledupdate.Scenario{}.Check(p, nil)
}

func predict(t testing.TB, version string, p *autoscaledupdate.Params) judge.Prediction {
	t.Helper()
	out, err := autoscaledupdate.Scenario{}.Predict(scenario.Input{Params: p, Versions: map[string]string{scenario.Kubernetes: version}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// spread is the scenario with parameters that reach all branches of its prediction.
func spread(yield func(name, version string, p *autoscaledupdate.Params)) {
	for _, version := range versions {
		for _, replicas := range []int{1, 3, 8} {
			for _, usage := range []int{1, 50, 85, 90, 100, 110, 130, 400} {
				for _, most := range []int{3, 10, 30} {
					for _, surge := range []deployment.IntOrPercent{deployment.Int(0), deployment.Percent(25), deployment.Percent(100)} {
						p := params(func(p *autoscaledupdate.Params) {
							p.Replicas, p.Usage, p.MaxReplicas, p.MaxSurge = replicas, usage, most, surge
						})
						if check(p) == nil {
							yield(fmt.Sprintf("%s: %d replicas, usage %d, most %d, surge %s", version, replicas, usage, most, surge), version, p)
						}
					}
				}
			}
		}
	}
}

func TestEveryPredictionReadsDefinedSeriesOnly(t *testing.T) {
	t.Parallel()
	n := 0
	spread(func(name, version string, p *autoscaledupdate.Params) {
		n++
		prediction := predict(t, version, p)
		keytest.ReadsDefinedSeries(t, name, prediction)
	})
	if n < 200 {
		t.Errorf("only %d predictions were tried", n)
	}
}

func TestEveryClaimHasItsBasis(t *testing.T) {
	t.Parallel()
	spread(func(name, version string, p *autoscaledupdate.Params) {
		prediction := predict(t, version, p)
		keytest.HasBasis(t, name, prediction)
		if !strings.Contains(prediction.Notes[len(prediction.Notes)-1], "was used") == (version == "v1.99.0") {
			t.Errorf("%s: notes %q", name, prediction.Notes)
		}
		if !slices.ContainsFunc(prediction.Notes, func(n string) bool { return strings.Contains(n, "stub") }) {
			t.Errorf("%s: no note says that the metrics come from a stub", name)
		}
	})
}

// What operators ask, in the words of the answer key.
func TestAnswerKey(t *testing.T) {
	t.Parallel()
	at := func(usage, most int, change func(*autoscaledupdate.Params)) *autoscaledupdate.Params {
		return params(func(p *autoscaledupdate.Params) {
			p.Usage, p.MaxReplicas = usage, most
			if change != nil {
				change(p)
			}
		})
	}
	startup := func(d time.Duration) func(*autoscaledupdate.Params) {
		return func(p *autoscaledupdate.Params) { p.Startup = scenario.Duration(d) }
	}
	noSurge := func(p *autoscaledupdate.Params) { p.MaxSurge = deployment.Int(0) }
	double := func(p *autoscaledupdate.Params) { p.MaxSurge = deployment.Percent(100) }
	for name, c := range map[string]struct {
		params   *autoscaledupdate.Params
		id, want string
	}{
		"at the target nothing moves":                  {at(100, 20, nil), "replicas", "8"},
		"nor inside the tolerance":                     {at(110, 20, nil), "replicas", "8"},
		"above it, the update finds the maximum":       {at(130, 12, nil), "replicas", "12"},
		"which was reached before":                     {at(130, 12, nil), "settled", "8 → 11 → 12"},
		"below it, the update scales up":               {at(85, 9, nil), "replicas", "8 → 9"},
		"and again while it lasts":                     {at(85, 10, startup(13*time.Second)), "replicas", "8 → 9 → 10"},
		"how far is a matter of time":                  {at(85, 40, startup(13*time.Second)), "replicas", "highest 11 to 40 pods"},
		"not without a surge":                          {at(85, 20, noSurge), "replicas", "8"},
		"far below it, it takes a larger surge":        {at(60, 20, nil), "replicas", "8"},
		"such as of everything":                        {at(60, 10, double), "replicas", "highest exactly 10 pods"},
		"the update is seen more than once in general": {at(100, 20, nil), "syncs", "at least 2 syncs"},
	} {
		if err := check(c.params); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		prediction := predict(t, "v1.37.2", c.params)
		i := slices.IndexFunc(prediction.Claims, func(x judge.Claim) bool { return x.ID == c.id })
		if got := prediction.Claims[i].Check.Predicted(); got != c.want {
			t.Errorf("%s: %s is %q, want %q", name, c.id, got, c.want)
		}
	}
}

func TestParametersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*autoscaledupdate.Params){
		"<nil>": nil,
		`strategy: "Recreate" has no surge, expected RollingUpdate`:                                 func(p *autoscaledupdate.Params) { p.Strategy = "Recreate" },
		"replicas: 8 is outside the autoscaler's bounds, expected 9 to 20":                          func(p *autoscaledupdate.Params) { p.MinReplicas = 9 },
		"replicas: 8 is outside the autoscaler's bounds, expected 1 to 7":                           func(p *autoscaledupdate.Params) { p.MaxReplicas = 7 },
		"maxUnavailable: with no pod left there is no metric, expected at least one pod that stays": func(p *autoscaledupdate.Params) { p.MaxUnavailable = deployment.Percent(100) },
		"startup: 1s may be over before the autoscaler looks, expected at least 6s":                 func(p *autoscaledupdate.Params) { p.Startup = scenario.Duration(time.Second) },
		"quiet: 5s has hardly a sync in it, expected at least 10s":                                  func(p *autoscaledupdate.Params) { p.Quiet = scenario.Duration(5 * time.Second) },
		"startup: the run would take 10m29s: after 5m0s the autoscaler forgets what it proposed":    func(p *autoscaledupdate.Params) { p.Startup = scenario.Duration(5 * time.Minute) },
		"usage: 0 is too small, expected 1 to 1000":                                                 func(p *autoscaledupdate.Params) { p.Usage = 0 },
	} {
		if err := check(params(change)); fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
