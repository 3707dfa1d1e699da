package eviction

import (
	"fmt"
	"math"
	"slices"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Windows that claims speak of.
var (
	Asking  = series.Window{From: StepEvict, To: StepEvict}
	Drilled = series.Window{From: StepEvict, To: workload.StepQuiet}
)

// key makes claims. The API server answers, the controller manager counts: each
// has its version.
type key struct {
	*Params
	trace      disruption.Trace
	api, count disruption.Rules
}

// Predict plays the evictions.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := key{Params: p}
	version := in.Versions[scenario.Kubernetes]
	var known bool
	k.api, known = disruption.RulesFor(version)
	k.count, _ = disruption.RulesFor(scenario.ControllerManagerVersion(in.Versions))
	k.trace = p.play(k.api)

	w := workload.NewKey(p.workload(), in, workload.V1)
	out := w.Prediction()
	out.Model = fmt.Sprintf("disruption %s, %s", k.api.Group(), out.Model)
	if !known {
		out.Notes = append(out.Notes, fmt.Sprintf("the model knows no evictions of Kubernetes %s: the rules of %s were used", version, k.api.Group()))
	}
	out.Definitions = append(p.definitions(), workload.GapDefinition())
	out.Guards = k.guards(in.Guards)
	if p.How == Kubectl {
		out.Claims = append(out.Claims, k.atOnce()...)
	} else {
		out.Claims = append(out.Claims, k.answers()...)
		out.Claims = append(out.Claims, k.sequences()...)
	}
	out.Claims = append(out.Claims, k.pods()...)
	if p.drains() {
		out.Claims = append(out.Claims, k.drained()...)
	}
	out.Claims = append(out.Claims, w.Still(p.Quiet.Std()))
	if p.Budget != None {
		out.Claims = append(out.Claims, k.still())
	}
	out.Chart = k.chart()
	out.Tables = []judge.Table{k.table()}
	return out, nil
}

func (k key) apiBasis(rules ...disruption.Rule) []string   { return basis(k.api, rules) }
func (k key) countBasis(rules ...disruption.Rule) []string { return basis(k.count, rules) }

func basis(of disruption.Rules, rules []disruption.Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, of.Basis(r))
	}
	return out
}

// before says what each eviction found, which is what makes the order exact.
const before = "each asked for when the wanted pods ran and the budget's status counted them"

// answers: codes, and why.
func (k key) answers() []judge.Claim {
	out := []judge.Claim{{
		ID: "answers", Sentence: "the evictions are answered exactly so, " + before + k.promise(), Basis: k.answerBasis(),
		Check: judge.Sequence{Of: Answers, Want: judge.Numbers(k.trace.Codes()...), Window: Asking},
	}}
	if why := k.reasons(); len(why) > 0 {
		out = append(out, judge.Claim{
			ID: "cause", Sentence: "the refusals give this reason, and no other one", Basis: k.answerBasis(),
			Check: judge.Sequence{Of: Cause, Want: why, Window: Asking},
		})
	}
	if k.Budgets > 1 {
		out = append(out, judge.Claim{
			ID: "http", Sentence: "no response says 201, as the handler of creations writes under a Status: what is no success becomes an error, which clients see",
			Basis: append(k.apiBasis(disruption.RuleMany), "k8s.io/apiserver/pkg/endpoints/handlers/finisher/finisher.go:61 (v0.37.2, v0.34.2)"),
			Check: judge.Sequence{Of: HTTP, Want: judge.Numbers(k.trace.Codes()...), Window: Asking},
		})
	}
	return out
}

// reasons are those of the refusals, equal neighbours merged.
func (k key) reasons() []series.Value {
	var out []series.Value
	for _, row := range k.trace.Rows {
		if row.Answer.Code != disruption.Created {
			out = append(out, series.Text(why(row.Answer)))
		}
	}
	return slices.Compact(out)
}

// why is the cause of a refusal, or else its message.
func why(a disruption.Answer) string {
	if a.Cause != "" {
		return a.Cause
	}
	return a.Message
}

func (k key) promise() string {
	switch {
	case k.trace.Forever && granted(k.trace) == 0:
		return "; it would go on so for ever"
	case k.trace.Forever:
		return "; the last refusal would be repeated for ever"
	}
	return ""
}

// answerBasis are the rules that this cell's answers rest on.
func (k key) answerBasis() []string {
	var rules []disruption.Rule
	switch {
	case k.Budget == None:
		rules = append(rules, disruption.RuleNoBudget)
	case k.Budgets > 1:
		rules = append(rules, disruption.RuleMany)
	case k.Unready > 0 && k.Policy == string(disruption.AlwaysAllow):
		rules = append(rules, disruption.RuleAlways, disruption.RuleCharge)
	case k.Unready > 0:
		rules = append(rules, disruption.RuleIfHealthy, disruption.RuleCharge)
	default:
		rules = append(rules, disruption.RuleCharge)
	}
	if k.refuses() {
		rules = append(rules, disruption.RuleSpent, disruption.RuleCause)
	}
	return k.apiBasis(rules...)
}

func (k key) refuses() bool {
	for _, row := range k.trace.Rows {
		if row.Answer.Code == disruption.TooManyRequests {
			return true
		}
	}
	return false
}

// sequences are those of budget and pods, where the script sees to the order.
func (k key) sequences() []judge.Claim {
	deleting := k.apiBasis(disruption.RuleDelete)
	var out []judge.Claim
	if k.Budget != None {
		out = k.status()
	}
	return append(out,
		k.sequence("ready", "so many pods are ready", workload.Ready, ready, slices.Concat(deleting, k.answerBasis())),
		k.sequence("live", "a pod goes for each grant and for nothing else, and a new one takes its place", workload.Live, live,
			append(deleting, k.countBasis(disruption.RuleActive)...)),
	)
}

func (k key) sequence(id, sentence, of string, number func(disruption.Look) int, basis []string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: judge.Sequence{
		Of: of, Want: judge.Numbers(k.trace.Seen(number)...), Window: Drilled,
	}}
}

// status is what API server and controller write into the budget.
func (k key) status() []judge.Claim {
	out := []judge.Claim{
		k.sequence("allowed", "disruptionsAllowed: the API server takes one for each grant that the budget pays for, the controller gives it back for a ready pod",
			workload.Allowed, allowed, append(k.apiBasis(disruption.RuleCharge), k.countBasis(disruption.RuleAllowed)...)),
		k.sequence("healthy", "currentHealthy follows the ready pods, one by one", workload.Healthy, healthy, k.countBasis(disruption.RuleHealthy, disruption.RuleDisrupted)),
	}
	if k.steady() {
		out = append(out, k.sequence("desired", "desiredHealthy does not move: it comes of spec.replicas, or is the number itself", Desired, desired, k.countBasis(disruption.RuleExpected)))
	}
	return out
}

// steady says whether what the budget desires is the same when the only pod is
// away: for an instant there may be nothing that a share could be of, and whether
// the controller looks just then is a race.
func (k key) steady() bool {
	if k.Replicas > 1 || granted(k.trace) == 0 {
		return true
	}
	empty := k.budgets()[0].Sync(disruption.Status{}, nil, nil, 0)
	return empty.DesiredHealthy == k.trace.Start.DesiredHealthy
}

// pods: what the answers do to the pods.
func (k key) pods() []judge.Claim {
	deleting := k.apiBasis(disruption.RuleDelete)
	out := []judge.Claim{
		{
			ID: "no-surge", Sentence: "nothing surges, whatever was refused: a new pod is made only when another one is being deleted, though before that is gone",
			Basis: k.countBasis(disruption.RuleActive),
			Check: judge.Bound{Of: workload.Live, Extreme: judge.Greatest, Low: float64(k.Replicas), High: float64(k.Replicas), Unit: "pods", Window: Drilled},
		},
		{
			ID: "size", Sentence: "the ReplicaSet's wanted size does not move: an eviction is no business of the Deployment controller", Basis: deleting,
			Check: judge.Sequence{Of: workload.Total, Want: judge.Numbers(k.Replicas), Window: Drilled},
		},
	}
	if k.Budget != None {
		least := k.floor()
		out = append(out, judge.Claim{
			ID: "floor", Sentence: fmt.Sprintf("evictions never take the ready pods below %d, which the budget desires or the begin had", least),
			Basis: append(k.apiBasis(disruption.RuleSpent), k.countBasis(disruption.RuleAllowed)...),
			Check: judge.Bound{Of: workload.Ready, Extreme: judge.Least, Low: float64(least), High: math.Inf(1), Unit: "pods", Window: Drilled},
		})
	}
	if k.trace.ReadyAtStart > 0 && k.trace.LeastReady() == 0 && !k.racing() {
		out = append(out, k.outage())
	}
	return out
}

// racing: kubectl evicts while new pods become ready, and whether there is an
// instant without any is a matter of which is faster. The guard says what was.
func (k key) racing() bool { return k.How == Kubectl && k.Replacement == After }

// outage: nothing surges, so the gap is the whole start-up of a new pod.
func (k key) outage() judge.Claim {
	none := judge.Cond{Series: workload.Ready, Op: judge.Less, Value: series.Number(1)}
	if k.Replacement == Never {
		return judge.Claim{
			ID: "outage", Sentence: "no pod is ready, and none becomes so", Basis: k.answerBasis(),
			Check: workload.Worded{Check: judge.Final{Of: workload.Ready, Want: series.Number(0), Window: Drilled}, Words: workload.In("pods")},
		}
	}
	return judge.Claim{
		ID: "outage", Sentence: "there is an outage, from the first instant without a ready pod to the next ready one",
		Basis: append(k.answerBasis(), "the new pod's start-up, and what the control loops need"),
		Check: judge.Within{
			From: none, To: judge.Cond{Series: workload.Ready, Op: judge.GreaterEqual, Value: series.Number(1)},
			Min: k.Startup.Std(), Max: k.Startup.Std() + workload.Reaction, Window: Drilled,
		},
	}
}

// drained: what is left on the node.
func (k key) drained() []judge.Claim {
	pods := workload.In("pods")
	sentence := "the drain completes: no pod is left on the node"
	if n := k.left(); n > 0 {
		sentence = fmt.Sprintf("the drain never completes: %s left on the node", pods(fmt.Sprint(n)))
	}
	final := func(id, sentence, of string, n int) judge.Claim {
		return judge.Claim{ID: id, Sentence: sentence, Basis: k.answerBasis(), Check: workload.Worded{
			Check: judge.Final{Of: of, Want: series.Number(float64(n)), Window: Drilled}, Words: pods,
		}}
	}
	return []judge.Claim{
		final("left-on-node", sentence, OnNode, k.left()),
		final("on-other-node", "every pod that was evicted has another one in its place, on the other node", OffNode, granted(k.trace)),
	}
}

// still: the budget does not move after the end, and its controller lives.
func (k key) still() judge.Claim {
	return judge.Claim{
		ID: "quiet-budget", Sentence: "the budget's status does not move after the end, and the disruption controller answers when it is asked afterwards",
		Basis: k.countBasis(disruption.RuleObserved),
		Check: judge.Quiet{
			Of: []string{workload.Allowed, workload.Healthy, Desired}, For: k.Quiet.Std(), Window: series.Window{From: workload.StepQuiet, To: workload.StepQuiet},
			Proof: &judge.Proof{
				Cond:   judge.Cond{Series: Answered, Op: judge.Equal, Value: series.Number(1)},
				Window: series.Window{From: StepAskBudget, To: StepAskBudget},
			},
		},
	}
}

func (k key) chart() judge.Chart {
	line := func(of, label string, number func(disruption.Look) int) judge.Line {
		var predicted []float64
		for _, n := range k.trace.Seen(number) {
			predicted = append(predicted, float64(n))
		}
		return judge.Line{Series: of, Label: label, Predicted: predicted}
	}
	c := judge.Chart{Window: Drilled, Marks: []string{Answers}, Panels: []judge.Panel{{Title: "pods", Unit: "pods", Lines: []judge.Line{
		line(workload.Ready, "ready", ready), line(workload.Live, "live", live), {Series: workload.Existing, Label: "existing"},
	}}}}
	if k.Budget != None {
		c.Panels = append(c.Panels, judge.Panel{Title: "the budget's status", Unit: "pods", Lines: []judge.Line{
			line(workload.Allowed, "disruptionsAllowed", allowed), line(workload.Healthy, "currentHealthy", healthy), {Series: Desired, Label: "desiredHealthy"},
		}})
	}
	if k.drains() {
		c.Panels = append(c.Panels, judge.Panel{Title: "where they live", Unit: "pods", Lines: []judge.Line{
			{Series: OnNode, Label: "drained node"}, {Series: OffNode, Label: "other node"},
		}})
	}
	return c
}

// table is the model's run, one row for each eviction.
func (k key) table() judge.Table {
	t := judge.Table{Title: "one run of the model", Head: []string{"round", "pod", "answer", "ready", "currentHealthy", "desiredHealthy", "disruptionsAllowed", "why"}}
	for i, row := range k.trace.Rows {
		round := row.Round
		if round == 0 {
			round = i + 1
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(round), row.Pod, fmt.Sprint(row.Answer.Code), fmt.Sprint(row.Ready), fmt.Sprint(row.Status.CurrentHealthy),
			fmt.Sprint(row.Status.DesiredHealthy), fmt.Sprint(row.Status.DisruptionsAllowed), why(row.Answer),
		})
	}
	return t
}
