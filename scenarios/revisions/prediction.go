package revisions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Whole is the run from the creation of the Deployment on, Drilled what follows
// the first rollout.
var (
	Whole   = series.Window{From: workload.StepDeploy, To: workload.StepQuiet}
	Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}
)

// key makes this scenario's claims.
type key struct {
	workload.Key
	p *Params
}

// Predict asks the model of revisions, or the rules of ownership.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := key{workload.NewKey(p.Deployment, in, p.versions()...), p}
	k.NoPods = p.Replicas == 0
	out := k.Prediction()
	out.Definitions = append(out.Definitions, definitions(p.versions())...)
	switch p.Act {
	case Adopt:
		k.adoption(&out)
	case Delete:
		k.deletion(&out)
	default:
		k.undo(&out)
	}
	out.Claims = append(out.Claims, k.Still(p.Quiet.Std()))
	return out, nil
}

// sources are places at the tag of the model's group.
func (k key) sources(of ...source) []string { return sources(k.Rules.Group, of...) }

// sequence makes a claim that a series takes exactly these values.
func sequence(id, sentence, of string, want []series.Value, window series.Window, basis []string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: judge.Sequence{Of: of, Want: want, Window: window}}
}

// final makes a claim about the value of a series at the end of a window.
func final(id, sentence, of string, want series.Value, window series.Window, basis []string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: judge.Final{Of: of, Want: want, Window: window}}
}

// inWords says the values of a claim in words.
func inWords(words func(string) string, c judge.Claim) judge.Claim {
	c.Check = workload.Worded{Check: c.Check, Words: words}
	return c
}

// greatest makes a claim about the greatest value of a series.
func greatest(id, sentence, of string, want int, unit string, window series.Window, basis []string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: judge.Bound{
		Of: of, Extreme: judge.Greatest, Low: float64(want), High: float64(want), Unit: unit, Window: window,
	}}
}

func texts(of ...string) []series.Value {
	var out []series.Value
	for _, s := range of {
		out = append(out, series.Text(s))
	}
	return out
}

// undo: the numbers in order, what is kept, and what kubectl says.
func (k key) undo(out *judge.Prediction) {
	h := k.p.history()
	out.Claims = append(out.Claims, sequence("answer", "what kubectl rollout undo says", Answer, texts(h.answer),
		series.Window{From: StepUndo, To: StepUndo}, []string{rollback, whichOne, whenSame}))
	out.Claims = append(out.Claims, k.numbers(h)...)
	out.Claims = append(out.Claims, k.kept(h)...)
	out.Claims = append(out.Claims, k.Moves(Drilled, 1))
	current := h.current()
	out.Claims = append(out.Claims, k.Ended(current.Template, k.p.Replicas, current.Number, Drilled)...)
	out.Tables = append(out.Tables, table(h))
}

// numbers: a template that comes again takes the newest number, and its old one
// is gone from the list.
func (k key) numbers(h history) []judge.Claim {
	var out []judge.Claim
	for _, v := range k.Versions {
		out = append(out, sequence("revisions-"+v, "the ReplicaSet of "+v+" has exactly these revisions, 0 while there is none",
			workload.RevisionOf(v), judge.Numbers(h.numbers(v)...), Whole, k.Basis(deployment.RuleRevision, deployment.RuleCleanup)))
	}
	var newest []string
	for _, n := range h.newest() {
		newest = append(newest, strconv.Itoa(n))
	}
	out = append(out, sequence("revisions", "the Deployment has exactly these revisions", workload.Revision, texts(newest...), Whole,
		k.Basis(deployment.RuleRevision)))
	for _, r := range h.end.Revisions() {
		if len(r.Past) > 0 {
			out = append(out, final("past-"+r.Template, "the numbers that the ReplicaSet of "+r.Template+" had before are kept in its annotation revision-history",
				PastOf(r.Template), series.Text(join(r.Past)), Whole, k.sources(past)))
		}
	}
	return out
}

func join(numbers []int) string {
	var out []string
	for _, n := range numbers {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

// kept: which ReplicaSets are left, how many there are at the most, and that the
// one of the wanted template is never among those that go.
func (k key) kept(h history) []judge.Claim {
	cleanup := append(k.Basis(deployment.RuleCleanup), k.sources(byRevision, afterRollout)...)
	left := h.end.Revisions()
	var out []judge.Claim
	for _, v := range k.Versions {
		n := 0
		if slices.ContainsFunc(left, func(r deployment.Revision) bool { return r.Template == v }) {
			n = 1
		}
		out = append(out, inWords(workload.Instead("removed", "kept"), final("kept-"+v,
			fmt.Sprintf("what becomes of the ReplicaSet of %s, with a limit of %d old ones", v, k.p.RevisionHistoryLimit),
			workload.Sets(v), series.Number(float64(n)), Whole, cleanup)))
	}
	return append(out,
		greatest("most-kept", "ReplicaSets at the same time: the old ones of the limit, the one that is left and the new one",
			Kept, h.most(), "ReplicaSets", Whole, cleanup),
		k.currentStays(),
	)
}

// currentStays: once the ReplicaSet of the Deployment's template is there, it
// stays for as long as that is the template.
func (k key) currentStays() judge.Claim {
	of := []string{workload.Template}
	for _, v := range k.Versions {
		of = append(of, workload.Sets(v))
	}
	return judge.Claim{
		ID: "current-stays", Sentence: "the ReplicaSet of the Deployment's own template is never removed, whatever the limit",
		Basis: append(k.sources(oldOnly), k.Basis(deployment.RuleCleanup)...),
		Check: judge.Path{
			Of: of, Rule: "the current one stays", Least: len(k.Versions), Window: Whole,
			Begin: func() judge.Walk { return (&currents{versions: k.Versions}).next },
			Saw:   templates,
		},
	}
}

// currents walks along the Deployment's template and the ReplicaSets of each version.
type currents struct {
	versions []string
	template string
	seen     bool
}

func (c *currents) next(state []series.Value) error {
	if state[0].Text != c.template {
		c.template, c.seen = state[0].Text, false
	}
	i := slices.Index(c.versions, c.template)
	if i < 0 {
		return fmt.Errorf("the template is %s, which the drill does not apply", c.template)
	}
	there := state[1+i].Num > 0
	if c.seen && !there {
		return fmt.Errorf("the ReplicaSet of %s went while that was the Deployment's template", c.template)
	}
	c.seen = there
	return nil
}

// templates are those that the Deployment had, one after the other.
func templates(states [][]series.Value) string {
	var of []string
	for _, s := range states {
		of = append(of, s[0].Text)
	}
	return strings.Join(slices.Compact(of), ", ") + ": each stayed"
}

// table is the list of revisions, event by event.
func table(h history) judge.Table {
	t := judge.Table{Title: "the revisions after each event, the current one marked", Head: []string{"event", "revisions", "removed"}}
	for _, r := range h.rows {
		var removed []string
		for _, one := range r.removed {
			removed = append(removed, fmt.Sprintf("%d %s", one.Number, one.Template))
		}
		t.Rows = append(t.Rows, []string{r.event, r.String(), strings.Join(removed, ", ")})
	}
	return t
}
