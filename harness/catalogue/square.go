package catalogue

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/trackrecord"
)

// square is one cell with what is known of it.
type square struct {
	cell plan.Cell
	// runs are its recordings, none where it was not run.
	runs []trackrecord.Recorded
	// told is the run that is told: the first that is not as predicted, or the first of
	// all. Of a cell that was not run it is what the model predicts.
	told trackrecord.Recorded
}

func squareOf(c plan.Cell, recorded []trackrecord.Recorded) (square, error) {
	s := square{cell: c, runs: trackrecord.Of(c, recorded)}
	if len(s.runs) == 0 {
		v, err := trackrecord.Foretold(c)
		s.told.Verdict = v
		return s, err
	}
	i := slices.IndexFunc(s.runs, func(r trackrecord.Recorded) bool { return len(disagreements(r.Verdict)) > 0 })
	s.told = s.runs[max(i, 0)]
	return s, nil
}

// differs are the claims and guards that were not as predicted, in any of the runs.
func (s square) differs() []string {
	var out []string
	for _, r := range s.runs {
		for _, id := range disagreements(r.Verdict) {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// theRun stands for a run that proves nothing where no claim says so.
const theRun = "outcome"

// disagreements are the claims and guards of a run that are not as predicted: claims
// that did not hold, and guards that broke or did not where the model says otherwise.
// A guard that broke by less than predicted did break as predicted.
func disagreements(v judge.Verdict) []string {
	var out []string
	for _, c := range v.Claims {
		if c.Status != judge.Held {
			out = append(out, c.ID)
		}
	}
	for _, g := range v.Guards {
		if g.Status == judge.Inconclusive || surprising(g) {
			out = append(out, g.ID)
		}
	}
	if len(out) == 0 && v.Outcome != judge.Pass && v.Outcome != judge.Fail {
		out = append(out, theRun)
	}
	return out
}

func surprising(g judge.GuardResult) bool {
	if g.Expected == nil || g.Worst == nil {
		return false
	}
	foreseen, broken := *g.Expected > g.Limit, g.Status == judge.Broken
	worse := *g.Worst > *g.Expected && number(*g.Worst) != number(*g.Expected) // ratios carry rounding errors
	return foreseen != broken || broken && worse
}

// predicted is what a claim or guard of the square was predicted to be, "" where the
// prediction has none of that name.
func (s square) predicted(id string) string {
	v := s.told.Verdict
	if i := claimAt(v, id); i >= 0 {
		return v.Claims[i].Predicted
	}
	if i := guardAt(v, id); i >= 0 && v.Guards[i].Expected != nil {
		return "worst " + number(*v.Guards[i].Expected)
	}
	return ""
}

// observed is what was seen of it, "" where nothing was.
func (s square) observed(id string) string {
	v := s.told.Verdict
	if i := claimAt(v, id); i >= 0 {
		return v.Claims[i].Observed
	}
	if i := guardAt(v, id); i >= 0 && v.Guards[i].Worst != nil {
		return "worst " + number(*v.Guards[i].Worst)
	}
	return ""
}

// otherwise is what was observed of a claim that did not hold, or of a guard whose
// worst value is not the predicted one. Of claims that held, both read the same or one
// is within the other.
func (s square) otherwise(id string) string {
	if i := claimAt(s.told.Verdict, id); i >= 0 && s.told.Verdict.Claims[i].Status == judge.Held {
		return ""
	}
	if seen := s.observed(id); seen != s.predicted(id) {
		return seen
	}
	return ""
}

// unsafe are the guards that broke, or that are predicted to where nothing was seen.
func (s square) unsafe() []string {
	var out []string
	for _, g := range s.told.Verdict.Guards {
		worst := g.Worst
		if len(s.runs) == 0 {
			worst = g.Expected
		}
		if worst != nil && *worst > g.Limit {
			out = append(out, fmt.Sprintf("**%s %s**", g.ID, number(*worst)))
		}
	}
	return out
}

// held says how many claims of how many did.
func (s square) held() string {
	n := 0
	for _, c := range s.told.Verdict.Claims {
		if c.Status == judge.Held {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(s.told.Verdict.Claims))
}

// ids are the names of all claims and then of all guards.
func (s square) ids() []string {
	var out []string
	for _, c := range s.told.Verdict.Claims {
		out = append(out, c.ID)
	}
	for _, g := range s.told.Verdict.Guards {
		out = append(out, g.ID)
	}
	return out
}

func claimAt(v judge.Verdict, id string) int {
	return slices.IndexFunc(v.Claims, func(c judge.ClaimResult) bool { return c.ID == id })
}

func guardAt(v judge.Verdict, id string) int {
	return slices.IndexFunc(v.Guards, func(g judge.GuardResult) bool { return g.ID == id })
}

func number(v float64) string { return series.Number(v).String() }
