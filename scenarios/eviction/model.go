package eviction

import (
	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/scenarios/workload"
)

// newest are the rules for what does not depend on the version.
var newest, _ = disruption.RulesFor("v1.37.2")

// play is what the model says of these parameters.
func (p *Params) play(rules disruption.Rules) disruption.Trace {
	d := disruption.Drill{Replicas: p.Replicas, Unready: p.Unready, Budgets: p.budgets(), Replacement: disruption.Never}
	if p.drains() {
		d.Rounds = p.Patience
	} else {
		d.Evictions = p.Evictions
	}
	if p.Replacement == After {
		d.Replacement = disruption.AfterEach
	}
	return disruption.Play(rules, d)
}

// budgets are as the model has them.
func (p *Params) budgets() []disruption.Budget {
	if p.Budget == None {
		return nil
	}
	limit, err := share.Parse(p.Limit.String())
	if err != nil { // it is written by its own type
		panic(err)
	}
	var out []disruption.Budget
	for i := range p.Budgets {
		b := disruption.Budget{Name: budgetName(i)}
		if p.Budget == MinAvailable {
			b.MinAvailable = &limit
		} else {
			b.MaxUnavailable = &limit
		}
		if p.Policy != Unset {
			b.Policy = disruption.Policy(p.Policy)
		}
		out = append(out, b)
	}
	return out
}

// budgetName is drill for the first budget, and drill-2 for the second.
func budgetName(i int) string { return []string{workload.Name, workload.Name + "-2"}[i] }

func granted(t disruption.Trace) int {
	n := 0
	for _, r := range t.Rows {
		if r.Answer.Deleted {
			n++
		}
	}
	return n
}

// The numbers of a Look.
func allowed(l disruption.Look) int { return l.Status.DisruptionsAllowed }
func healthy(l disruption.Look) int { return l.Status.CurrentHealthy }
func desired(l disruption.Look) int { return l.Status.DesiredHealthy }
func ready(l disruption.Look) int   { return l.Ready }
func live(l disruption.Look) int    { return l.Live }
