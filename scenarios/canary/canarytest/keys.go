package canarytest

import (
	"bytes"
	"fmt"
	"testing"

	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/keytest"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios/canary"
)

// Versions has one release of each group that the model tells apart.
var Versions = []string{"v1.7.2", "v1.8.2", "v1.8.3", "v1.9.2", "v1.10.1"}

// unread is a release that no group covers.
const unread = "v1.99.0"

// A Family is a scenario with parameters that reach all branches of its prediction.
type Family struct {
	Scenario scenario.Scenario
	Cells    map[string]any
	// Course plays parameters on rules.
	Course func(params any, rules rollouts.Rules) (canary.Params, *canary.Course)
	// Predict is the answer key that rules give.
	Predict func(params any, rules rollouts.Rules) judge.Prediction
}

// Keys checks the answer keys: they read defined series only, every claim has its basis,
// and they are those of the golden files, one a cell with all versions in it.
func (f Family) Keys(t *testing.T) {
	t.Helper()
	all := map[string]*bytes.Buffer{}
	f.each(t, func(cell string, params any, version string) {
		name, key := cell+", "+version, Predict(t, f.Scenario, params, version)
		keytest.ReadsDefinedSeries(t, name, key)
		keytest.HasBasis(t, name, key)
		if (version == unread) != (len(key.Notes) > 0) {
			t.Errorf("%s: notes %q", name, key.Notes)
		}
		if all[cell] == nil {
			all[cell] = &bytes.Buffer{}
		}
		if version != unread {
			write(all[cell], key)
		}
	})
	for cell, text := range all {
		golden.Check(t, cell+".golden", text.Bytes())
	}
}

// write writes what a version's answer key says, as lines.
func write(b *bytes.Buffer, p judge.Prediction) {
	fmt.Fprintf(b, "model %s\n", p.Model)
	for _, c := range p.Claims {
		fmt.Fprintf(b, "  %s: %s\n", c.ID, c.Check.Predicted())
	}
	for _, g := range p.Guards {
		fmt.Fprintf(b, "  guard %s: limit %g, predicted worst %.4g\n", g.ID, g.Limit, *g.Expected)
	}
}

// Acts checks that the recording of a controller which acts as the model keeps every claim.
func (f Family) Acts(t *testing.T) {
	t.Helper()
	f.each(t, func(cell string, params any, version string) {
		rules, _ := rollouts.RulesFor(version)
		p, course := f.Course(params, rules)
		key := untimed(f.Predict(params, rules))
		if v := Judge(t, key, Play(t, p, course, key.Definitions)); v.Outcome != judge.Pass {
			t.Errorf("%s, %s: %s: %q", cell, version, v.Outcome, v.Reasons)
		}
	})
}

// Catches checks that what a version does breaks a claim of an altered model.
func (f Family) Catches(t *testing.T, cell, version, claim string, alter func(*rollouts.Rules)) {
	t.Helper()
	params, ok := f.Cells[cell]
	if !ok {
		t.Fatalf("there is no cell %q", cell)
	}
	rules, _ := rollouts.RulesFor(version)
	p, truth := f.Course(params, rules)
	alter(&rules)
	key := untimed(f.Predict(params, rules))
	v := Judge(t, key, Play(t, p, truth, key.Definitions))
	for _, r := range v.Claims {
		if r.ID == claim && r.Status == judge.Broken {
			return
		}
	}
	t.Errorf("claim %s is not broken: %q", claim, v.Reasons)
}

func (f Family) each(t *testing.T, yield func(cell string, params any, version string)) {
	t.Helper()
	for cell, params := range f.Cells {
		for _, version := range append(Versions, unread) {
			if err := f.Scenario.Check(params, map[string]string{scenario.ArgoRollouts: version}); err != nil {
				t.Errorf("%s, %s: %v", cell, version, err)
				continue
			}
			yield(cell, params, version)
		}
	}
}

// untimed leaves out the claims about durations, of which a tape knows nothing.
func untimed(key judge.Prediction) judge.Prediction {
	var out []judge.Claim
	for _, c := range key.Claims {
		if _, timed := c.Check.(judge.Within); !timed {
			out = append(out, c)
		}
	}
	key.Claims = out
	return key
}
