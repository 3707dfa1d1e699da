package upgradenoop

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
)

// planned are parameters as a plan has them.
func planned(t testing.TB, change func(*Params)) *Params {
	t.Helper()
	p := Scenario{}.Defaults().(*Params)
	change(p)
	if err := (Scenario{}).Load(p); err != nil {
		t.Fatal(err)
	}
	if err := (Scenario{}).Check(p, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// pairs are all that the model tells apart, and one that it does not know.
func pairs(yield func(name string, from, to string, back bool)) {
	versions := []string{"v1.7.2", "v1.8.3", "v1.9.2", "v1.10.1", "v1.99.0"}
	for _, from := range versions {
		for _, to := range versions {
			for _, back := range []bool{false, true} {
				yield(fmt.Sprintf("%s to %s, back %t", from, to, back), from, to, back)
			}
		}
	}
}

func TestEveryPredictionHasItsSeriesAndItsBasis(t *testing.T) {
	t.Parallel()
	pairs(func(name, from, to string, back bool) {
		p := planned(t, func(p *Params) { p.From, p.To, p.Back = from, to, back })
		prediction, err := Scenario{}.Predict(scenario.Input{Params: p, On: cluster.Offered(cluster.Embedded)})
		if err != nil {
			t.Fatal(err)
		}
		keytest.ReadsDefinedSeries(t, name, prediction)
		keytest.HasBasis(t, name, prediction)
		if unknown := from == "v1.99.0" || to == "v1.99.0"; unknown != (len(prediction.Notes) > 0) {
			t.Errorf("%s: notes %q", name, prediction.Notes)
		}
	})
}

// touched are the Rollouts of the generated fleet that a leg is predicted to touch.
func touched(k *key, leg int) map[string]rollouts.Effect {
	out := map[string]rollouts.Effect{}
	for _, c := range k.fates {
		if c.legs[leg].Effect != rollouts.Untouched {
			out[c.Name] = c.legs[leg].Effect
		}
	}
	return out
}

func TestTheGeneratedFleetHasSomeOfEachEffect(t *testing.T) {
	t.Parallel()
	up := map[string]rollouts.Effect{
		"required": rollouts.Rewritten, "preferred-beside-own": rollouts.Rewritten, "preferred": rollouts.Redeployed, "preferred-steps": rollouts.Redeployed, "preferred-paused": rollouts.Redeployed,
		"bluegreen-anti-affinity": rollouts.Redeployed, "edited": rollouts.Redeployed, "edited-paused": rollouts.Redeployed, "twin": rollouts.Reverted,
		"analysis-reapplied": rollouts.Restarted,
	}
	down := maps.Clone(up)
	down["analysis-paused"] = rollouts.Restarted
	back := map[string]rollouts.Effect{"analysis-reapplied": rollouts.Restarted}
	for name, e := range up {
		if e == rollouts.Redeployed || e == rollouts.Reverted {
			back[name] = rollouts.Reverted
		}
	}
	for name, c := range map[string]struct {
		from, to string
		leg      int
		want     map[string]rollouts.Effect
	}{
		"up":             {"v1.8.3", "v1.9.2", 0, up},
		"and back":       {"v1.8.3", "v1.9.2", 1, back},
		"down":           {"v1.9.2", "v1.8.3", 0, down},
		"within a group": {"v1.9.2", "v1.10.1", 0, map[string]rollouts.Effect{}},
		"not at all":     {"v1.8.3", "v1.8.3", 0, map[string]rollouts.Effect{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKey(planned(t, func(p *Params) { p.From, p.To, p.Back = c.from, c.to, true }))
			if got := touched(k, c.leg); !maps.Equal(got, c.want) {
				t.Errorf("touched %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheGeneratedFleetIsComplete(t *testing.T) {
	t.Parallel()
	p := planned(t, func(*Params) {})
	if n := len(p.Inventory.Members); n < 25 || len(p.Inventory.Problems) > 0 || len(p.Inventory.Unknown) > 0 {
		t.Errorf("%d Rollouts, problems %v, unknown %v", n, p.Inventory.Problems, p.Inventory.Unknown)
	}
	for _, m := range p.Inventory.Members {
		if m.Doubt != "" || m.Paused && !m.Pauses || m.Pauses && !m.Paused && slices.Contains(m.Features, fatePaused) {
			t.Errorf("%+v", m)
		}
	}
}

func TestReleasesAreEachVersionOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     []string
	}{{"v1.8.3", "v1.9.2", []string{"v1.8.3", "v1.9.2"}}, {"v1.8.3", "v1.8.3", []string{"v1.8.3"}}} {
		p := &Params{From: c.from, To: c.to, Back: true}
		if got := (Scenario{}).Releases(p)[scenario.ArgoRollouts]; !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Params)
		field  string
	}{
		"no version":                  {func(p *Params) { p.From = "" }, "from"},
		"no release":                  {func(p *Params) { p.To = "latest" }, "to"},
		"a directory without release": {func(p *Params) { p.To = "../fork" }, "to"},
		"paused without a fleet":      {func(p *Params) { p.Paused = true }, "paused"},
		"no time to watch":            {func(p *Params) { p.Watch = 0 }, "watch"},
	} {
		p := Scenario{}.Defaults().(*Params)
		c.change(p)
		if err, ok := (Scenario{}).Check(p, nil).(*scenario.FieldError); !ok || err.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := Scenario{}.Defaults().(*Params)
	p.Fleet = "no such directory"
	if err, ok := (Scenario{}).Load(p).(*scenario.FieldError); !ok || err.Field != "fleet" {
		t.Errorf("a directory that is not there: %v", err)
	}
}
