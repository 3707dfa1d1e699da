package trackrecord

import (
	"slices"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

// Recorded is a committed recording: its verdict, and the path of its directory from
// where the record is.
type Recorded struct {
	Dir     string
	Verdict judge.Verdict
}

// Of are the recordings of a cell, in the order of repetitions.
func Of(c plan.Cell, recorded []Recorded) []Recorded {
	var out []Recorded
	for _, r := range recorded {
		if v := r.Verdict; v.Drill == c.Drill && v.Cell == c.Name && v.Scenario == c.Scenario && sameVersions(c, v) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Recorded) int { return a.Verdict.Repetition - b.Verdict.Repetition })
	return out
}

// sameVersions: what a drill pins today may not be what was recorded.
func sameVersions(c plan.Cell, v judge.Verdict) bool {
	for _, component := range v.Components {
		if want, ok := c.Versions[component.Name]; ok && want != component.Version && !slices.Contains(c.Later[component.Name], component.Version) {
			return false
		}
	}
	return true
}

// Foretold is the verdict of a cell that was not run, as far as it is known: what
// today's model predicts, and nothing that was seen.
func Foretold(c plan.Cell) (judge.Verdict, error) {
	s, params, err := c.Load()
	if err != nil {
		return judge.Verdict{}, err
	}
	p, err := s.Predict(scenario.Input{Params: params, Versions: plan.ModelVersions(c.Versions), On: cluster.Offered(c.Provider), Guards: c.Guards})
	if err != nil {
		return judge.Verdict{}, err
	}
	v := judge.Verdict{Drill: c.Drill, Cell: c.Name, Scenario: c.Scenario, Model: p.Model}
	for _, claim := range p.Claims {
		v.Claims = append(v.Claims, judge.ClaimResult{ID: claim.ID, Sentence: claim.Sentence, Basis: claim.Basis, Predicted: claim.Check.Predicted()})
	}
	for _, guard := range p.Guards {
		v.Guards = append(v.Guards, judge.GuardResult{ID: guard.ID, Sentence: guard.Sentence, Limit: guard.Limit, Expected: guard.Expected})
	}
	return v, nil
}
