package workload_test

import (
	"testing"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// said is a check that predicts and observes the same text.
type said struct {
	judge.Check
	text   string
	status judge.Status
}

func (s said) Predicted() string { return s.text }

func (s said) Eval(*series.Set) (judge.Finding, error) {
	return judge.Finding{Status: s.status, Observed: s.text}, nil
}

func TestValuesInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words      func(string) string
		text, want string
	}{
		{workload.YesNo, "1", "yes"},
		{workload.YesNo, "0 → 1 → 2", "no → yes → 2"},
		{workload.In("pods"), "1", "1 pod"},
		{workload.In("pods"), "0 → 12", "0 pods → 12 pods"},
		{workload.Stays("untouched", "%s of 2 left"), "always = 2", "untouched"},
		{workload.Stays("untouched", "%s of 2 left"), "always", "untouched"},
		{workload.Stays("untouched", "%s of 2 left"), "1", "1 of 2 left"},
	} {
		w := workload.Worded{Check: said{text: c.text, status: judge.Held}, Words: c.words}
		if got := w.Predicted(); got != c.want {
			t.Errorf("predicted %q is said as %q, want %q", c.text, got, c.want)
		}
		if f, _ := w.Eval(nil); f.Observed != c.want {
			t.Errorf("observed %q is said as %q, want %q", c.text, f.Observed, c.want)
		}
	}
	none := workload.Worded{Check: said{text: "-", status: judge.Inconclusive}, Words: workload.In("pods")}
	if f, _ := none.Eval(nil); f.Observed != "-" {
		t.Errorf("nothing observed is said as %q", f.Observed)
	}
}
