package judge

import "reckon.dev/reckon/harness/series"

// Done: a step of the script ended as it was to. One that did not says why.
type Done struct{ Step string }

func (Done) Predicted() string { return "yes" }
func (Done) Series() []string  { return nil }

func (c Done) Eval(set *series.Set) (Finding, error) {
	step := set.Step(c.Step)
	if step == nil || !step.Ended {
		return Untold("the script did not reach the end of %q", c.Step), nil
	}
	at := step.End
	if step.Error != "" {
		return Finding{Status: Broken, Observed: "no", Why: step.Error, Samples: 1, At: &at}, nil
	}
	return Finding{Status: Held, Observed: "yes", Samples: 1, At: &at}, nil
}
