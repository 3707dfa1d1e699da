package canarytest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// A Family is a scenario with what its answer keys are tested on.
type Family[P canary.Drill] struct {
	Scenario scenario.Scenario
	// Cells are parameters that reach all branches of the prediction, each made of the
	// defaults.
	Cells map[string]func(P)
	// Wrong are models that what versions do must not agree with.
	Wrong map[string]Wrong
	// On is the version on which Refused are refused.
	On      string
	Refused map[string]Refused[P]
	// Draw draws parameters, of which many are accepted.
	Draw func(rt *rapid.T, p P)
}

// Test tests the family.
func (f Family[P]) Test(t *testing.T) {
	t.Helper()
	for name, test := range map[string]func(*testing.T){
		"answer keys": f.keys, "what the model does is what it predicts": f.acts, "a wrong model is caught": f.catches,
		"parameters that cannot be used are refused": f.refuses, "what is accepted can be judged": f.judged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (f Family[P]) params(change func(P)) P {
	p := f.Scenario.Defaults().(P)
	change(p)
	return p
}

// key is the answer key that rules give, those of a version that is known.
func (f Family[P]) key(p P, rules rollouts.Rules) judge.Prediction {
	return untimed(canary.Predict(p, rules, "v1.8.2", true, nil))
}

// keys checks the answer keys: they read defined series only, every claim has its basis,
// and they are those of the golden files, one a cell with all versions in it.
func (f Family[P]) keys(t *testing.T) {
	all := map[string]*bytes.Buffer{}
	f.each(t, func(cell string, p P, version string) {
		name, key := cell+", "+version, Predict(t, f.Scenario, p, version)
		keytest.ReadsDefinedSeries(t, name, key)
		keytest.HasBasis(t, name, key)
		if (version == unread) != slices.ContainsFunc(key.Notes, func(n string) bool { return strings.Contains(n, "the nearest group") }) {
			t.Errorf("%s: notes %q", name, key.Notes)
		}
		if all[cell] == nil {
			all[cell] = &bytes.Buffer{}
		}
		if version != unread {
			fmt.Fprintf(all[cell], "model %s\n", key.Model)
			Write(all[cell], key)
		}
	})
	for cell, text := range all {
		golden.Check(t, cell+".golden", text.Bytes())
	}
}

// Write writes what an answer key says, as lines.
func Write(b *bytes.Buffer, p judge.Prediction) {
	for _, c := range p.Claims {
		fmt.Fprintf(b, "  %s: %s\n", c.ID, c.Check.Predicted())
	}
	for _, g := range p.Guards {
		fmt.Fprintf(b, "  guard %s: limit %g, predicted worst %.4g\n", g.ID, g.Limit, *g.Expected)
	}
}

// acts checks that the recording of a controller which acts as the model keeps every claim.
func (f Family[P]) acts(t *testing.T) {
	f.each(t, func(cell string, p P, version string) {
		rules, _ := rollouts.RulesFor(version)
		if v := f.plays(t, p, p.Course(rules), f.key(p, rules)); v.Outcome != judge.Pass {
			t.Errorf("%s, %s: %s: %q", cell, version, v.Outcome, v.Reasons)
		}
	})
}

// plays holds an answer key against what a controller leaves that acts as the course.
func (f Family[P]) plays(t *testing.T, p P, course *canary.Course, key judge.Prediction) judge.Verdict {
	t.Helper()
	return Judge(t, key, Play(t, p.Rollout().Params, course, key.Definitions))
}

// Wrong is a model with one rule altered, and the claim by which a cell catches it.
type Wrong struct {
	Cell, Version, Claim string
	Alter                func(*rollouts.Rules)
}

// catches checks that what versions do breaks the claims of altered models.
func (f Family[P]) catches(t *testing.T) {
	for name, c := range f.Wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change, ok := f.Cells[c.Cell]
			if !ok {
				t.Fatalf("there is no cell %q", c.Cell)
			}
			p := f.params(change)
			rules, _ := rollouts.RulesFor(c.Version)
			truth := p.Course(rules)
			c.Alter(&rules)
			v := f.plays(t, p, truth, f.key(p, rules))
			if !slices.ContainsFunc(v.Claims, func(r judge.ClaimResult) bool { return r.ID == c.Claim && r.Status == judge.Broken }) {
				t.Errorf("claim %s is not broken: %q", c.Claim, v.Reasons)
			}
		})
	}
}

// Refused are parameters, as a change of the defaults, with what Check says of them; "" is
// nothing.
type Refused[P canary.Drill] struct {
	Change func(P)
	Says   string
}

// refuses checks what the scenario says of parameters.
func (f Family[P]) refuses(t *testing.T) {
	for name, c := range f.Refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := f.Scenario.Check(f.params(c.Change), map[string]string{scenario.ArgoRollouts: f.On})
			if got := fmt.Sprint(err); c.Says == "" && err != nil || c.Says != "" && got != c.Says {
				t.Errorf("error %s, want %q", got, c.Says)
			}
		})
	}
}

// judged checks that whatever Check accepts has a course with steps of different names,
// and an answer key that can be judged.
func (f Family[P]) judged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := f.params(func(p P) { f.Draw(rt, p) })
		version := rapid.SampledFrom(Versions).Draw(rt, "version")
		if f.Scenario.Check(p, map[string]string{scenario.ArgoRollouts: version}) != nil {
			return
		}
		rules, _ := rollouts.RulesFor(version)
		seen := map[string]bool{}
		for _, leg := range p.Course(rules).Legs {
			if seen[leg.Name] {
				rt.Fatalf("two steps %q", leg.Name)
			}
			seen[leg.Name] = true
		}
		keytest.ReadsDefinedSeries(t, fmt.Sprintf("%+v on %s", p, version), Predict(t, f.Scenario, p, version))
	})
}

func (f Family[P]) each(t *testing.T, yield func(cell string, p P, version string)) {
	t.Helper()
	for cell, change := range f.Cells {
		p := f.params(change)
		for _, version := range append(Versions, unread) {
			if err := f.Scenario.Check(p, map[string]string{scenario.ArgoRollouts: version}); err != nil {
				t.Errorf("%s, %s: %v", cell, version, err)
				continue
			}
			yield(cell, p, version)
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
