package autoscaled

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// A Key derives claims about an autoscaler.
type Key struct{ Rules autoscaler.Rules }

// Basis are the places of rules.
func (k Key) Basis(rules ...autoscaler.Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, k.Rules.Basis(r))
	}
	return out
}

// Works claims that it worked all the time: else a constant size would be no more than a
// controller that does nothing.
func (k Key) Works(in series.Window) judge.Claim {
	return judge.Claim{
		ID: "active", Sentence: "the autoscaler computes a size from the metric all the time", Basis: k.Basis(autoscaler.RuleActive),
		Check: Always(Active, Valid, in),
	}
}

// Always claims that a series has one text only.
func Always(of, text string, in series.Window) judge.Check {
	return workload.Worded{
		Check: judge.Always{Cond: judge.Cond{Series: of, Op: judge.Equal, Value: series.Text(text)}, Window: in},
		Words: workload.Stays("always "+text, "%s"),
	}
}

// Looks claims at least so many syncs.
func (k Key) Looks(least int, sentence string, in series.Window) judge.Claim {
	return judge.Claim{
		ID: "syncs", Sentence: sentence, Basis: k.Basis(autoscaler.RulePeriod, autoscaler.RuleStatus),
		Check: judge.Path{
			Of: []string{Pulse}, Rule: fmt.Sprintf("at least %d syncs", least), Least: least, Window: in,
			Begin: func() judge.Walk { return func([]series.Value) error { return nil } },
			Saw:   func(states [][]series.Value) string { return fmt.Sprintf("%d syncs", len(states)-1) },
		},
	}
}

// Stays claims that the size, a series, stays after the end, while the autoscaler goes on
// looking.
func (k Key) Stays(replicas string, d time.Duration, in series.Window) judge.Claim {
	return judge.Claim{
		ID: "quiet-autoscaler", Sentence: "the size does not change after the end, while the autoscaler goes on looking",
		Basis: k.Basis(autoscaler.RuleTolerance, autoscaler.RuleStabilized),
		Check: judge.Quiet{Of: []string{replicas, Desired}, For: d, Alive: Pulse, MaxSilence: SyncPeriod + workload.Reaction, Window: in},
	}
}

// Notes say what of an answer key does not come from the controller's own world, and
// which release's rules were used where that is not the one that is asked for.
func (k Key) Notes(stub string, known bool) []string {
	out := []string{stub}
	if !known {
		out = append(out, "the autoscaler of this version was not read: that of "+k.Rules.Tag()+" was used")
	}
	return out
}
