package rollback

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// Drilled is the part of the run that claims speak of.
var Drilled = series.Window{From: StepRollback, To: StepQuiet}

// Model plays the parameters on the model of a version.
func (p Params) Model(version string, opts rollouts.RollbackOptions) (trace rollouts.Trace, rules rollouts.Rules, known bool) {
	rules, known = rollouts.RulesFor(version)
	return p.Play(rules, opts), rules, known
}

// Play plays the parameters on given rules.
func (p Params) Play(rules rollouts.Rules, opts rollouts.RollbackOptions) rollouts.Trace {
	opts.OldStillUp = p.OldReplicaSet == OldRunning
	opts.PromotePauses = p.Steps.endless()
	return rollouts.RollbackWindow(rules, p.Spec(), opts)
}

// Predict makes the answer key that a trace of the model gives.
func (p Params) Predict(trace rollouts.Trace, version string, known bool, in scenario.Input) judge.Prediction {
	k := key{Params: p, trace: trace, rules: trace.Rules, on: in.On}
	out := judge.Prediction{
		Model:       "rollouts " + string(trace.Rules.Group),
		Claims:      k.claims(),
		Guards:      k.guards(in.Guards),
		Definitions: p.Definitions(),
		Chart:       k.chart(),
		Tables:      []judge.Table{k.table()},
	}
	if p.Sends(in.On) {
		out.Claims = append(out.Claims, k.requestClaims()...)
		out.Guards = append(out.Guards, k.requestGuards(in.Guards)...)
		out.Measures = k.measures()
		out.Definitions = append(out.Definitions, p.requestDefinitions()...)
		out.Chart.Panels = append(requestPanels(), out.Chart.Panels...)
	}
	if !known {
		out.Notes = append(out.Notes, trace.Rules.Nearest(version))
	}
	return out
}

// key derives claims from one trace.
type key struct {
	Params
	trace rollouts.Trace
	rules rollouts.Rules
	on    cluster.Capabilities
}

func (k key) basis(rules ...rollouts.Rule) []string {
	var out []string
	for _, r := range rules {
		if r == rollouts.RuleSubsetGuard && rollouts.Routing(k.Routing) != rollouts.RoutingSubsets {
			continue
		}
		if b := k.rules.Basis(r); b.Line > 0 { // 0: this version has no such rule
			out = append(out, b.String())
		}
	}
	return out
}

// claims: what the traffic did, what the ReplicaSets did, how it ended, and
// that it stayed so.
func (k key) claims() []judge.Claim {
	out := []judge.Claim{
		{
			ID: "weights", Sentence: "the canary weight takes exactly these values, in this order",
			Basis: k.weightBasis(),
			Check: judge.Sequence{Of: Weight, Want: judge.Numbers(k.trace.WeightSequence()...), Window: Drilled},
		},
		{
			ID: "canary-sizes", Sentence: "the ReplicaSet that is rolled back to takes exactly these sizes, in this order",
			Basis: k.basis(rollouts.RuleCounts, rollouts.RuleFloor, rollouts.RuleShare, rollouts.RuleSubsetGuard),
			Check: judge.Sequence{Of: Size(Old), Want: judge.Numbers(k.trace.SizeSequence(Old)...), Window: Drilled},
		},
		{
			ID: "stable-sizes", Sentence: "the ReplicaSet that is left takes exactly these sizes, in this order",
			Basis: k.basis(rollouts.RuleScaleDown),
			Check: judge.Sequence{Of: Size(New), Want: judge.Numbers(k.trace.SizeSequence(New)...), Window: Drilled},
		},
	}
	out = append(out, k.exposure()...)
	return append(out, k.ending()...)
}

// weightBasis lists the rules that the trace's weights came from, in order.
func (k key) weightBasis() []string {
	var out []string
	weight := k.trace.Start.Weight
	for _, r := range k.trace.Rows {
		written := !withheld(r) || r.Weight != weight
		if s := r.Basis.String(); s != "" && written && !slices.Contains(out, s) {
			out = append(out, s)
		}
		weight = r.Weight
	}
	return append(out, k.basis(rollouts.RuleStableGuard)...)
}

// withheld says whether the pass left the weight that it had decided unwritten.
// The subset guard of some versions holds the DestinationRule only.
func withheld(r rollouts.Row) bool { return r.Err != "" || r.Held == "G" }

// exposure is the greatest weight before the canary is whole, where the model
// passes through such a state at all.
func (k key) exposure() []judge.Claim {
	if k.Replicas == 0 { // there is nothing to expose, and nothing to say
		return nil
	}
	short := judge.Cond{Series: Available(Old), Op: judge.Less, Value: series.Number(float64(k.Replicas))}
	if !slices.ContainsFunc(k.trace.Rows, func(r rollouts.Row) bool { return r.Available[Old] < k.Replicas }) {
		whole := judge.Cond{Series: Available(Old), Op: judge.GreaterEqual, Value: series.Number(float64(k.Replicas))}
		return []judge.Claim{{
			ID: "exposure", Sentence: fmt.Sprintf("the canary never has fewer than %d available pods", k.Replicas),
			Basis: k.basis(rollouts.RuleWindowActive), Check: judge.Always{Cond: whole, Window: Drilled},
		}}
	}
	weight, available, size := k.trace.MaxWeightWhile(Old, k.Replicas)
	claim := judge.Claim{
		ID: "exposure", Sentence: fmt.Sprintf("the greatest canary weight while fewer than %d canary pods are available", k.Replicas),
		Basis: k.basis(rollouts.RuleBranchD, rollouts.RuleBranchF1, rollouts.RuleStableGuard, rollouts.RuleSubsetGuard),
	}
	check := judge.Extremum{Of: Weight, While: short, Want: float64(weight), Window: Drilled}
	if weight == 0 || !k.on.Has(cluster.ScriptedReadiness) { // real pods may become available two at a time
		claim.Check = check
		return []judge.Claim{claim}
	}
	atSize := check
	check.First = &judge.FirstAt{Of: Available(Old), Want: float64(available), Unit: "available"}
	atSize.First = &judge.FirstAt{Of: Size(Old), Want: float64(size), Unit: "wanted"}
	claim.Check = check
	return []judge.Claim{claim, {
		ID: "exposure-size", Sentence: "the size of the canary ReplicaSet when that weight was first reached",
		Basis: claim.Basis, Check: atSize,
	}}
}

func (k key) ending() []judge.Claim {
	final := k.trace.Final()
	out := []judge.Claim{}
	if reason, ok := k.trace.Completed(); ok {
		out = append(out, judge.Claim{
			ID: "promotion", Sentence: "the controller logs this reason for the promotion, once",
			Basis: k.basis(rollouts.RulePromote, rollouts.RulePromoteCount, rollouts.RulePromoteWindow),
			Check: judge.Sequence{Of: Completed, Want: []series.Value{series.Text(reason)}, Witness: Logged, Window: Drilled},
		})
	} else {
		out = append(out, judge.Claim{
			ID: "promotion", Sentence: "the controller never promotes", Basis: k.basis(rollouts.RulePromote, rollouts.RulePromoteCount),
			Check: judge.Count{Of: Completed, Witness: Logged, Window: Drilled},
		})
	}
	out = append(out,
		k.final("final-weight", "the canary weight at the end", Weight, series.Number(float64(final.Weight)), rollouts.RuleBranchB),
		k.final("final-canary", "the wanted size of v1 at the end", Size(Old), series.Number(float64(final.Size[Old])), rollouts.RuleCounts),
		k.final("final-stable", "the wanted size of v2 at the end", Size(New), series.Number(float64(final.Size[New])), rollouts.RuleScaleDown),
		k.final("final-promoted", "v1 is the stable version at the end (1 = yes)", Promoted, Truth(final.Stable == final.Current), rollouts.RulePromote),
	)
	return append(out, judge.Claim{
		ID: "quiet", Sentence: "nothing moves after the end",
		Basis: []string{"no rule of the model has anything left to do"},
		Check: judge.Quiet{
			Of:  []string{Weight, Size(Old), Size(New), Available(Old), Phase, Completed},
			For: k.Quiet.Std(), Alive: Alive, MaxSilence: maxSilence, Window: series.Window{From: StepQuiet, To: StepQuiet},
		},
	})
}

// maxSilence: an idle controller's CPU seconds, sampled each second and kept
// when they changed, were silent for 2 to 4 s in the recordings of results/baselines.
const maxSilence = 6 * time.Second

func (k key) final(id, sentence, of string, want series.Value, rule rollouts.Rule) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: k.basis(rule), Check: judge.Final{Of: of, Want: want, Window: Drilled}}
}

// OverloadLimit is the guard's limit unless the drill sets one: half as much
// again as a pod's fair share, what a service sized for peak plus a third of
// headroom can take for a while.
const OverloadLimit = 1.5

// GuardNames are the guards of the rollback scenarios.
func GuardNames() map[string]string {
	names := requestGuardNames()
	names[Overload] = "load on each available canary pod, (weight/100 x replicas) / max(available, 1), stays at or below the limit"
	return names
}

func (k key) guards(limits map[string]float64) []judge.Guard {
	worst := 0.0
	for _, r := range k.trace.Rows {
		worst = max(worst, k.overload([]float64{float64(r.Weight), float64(r.Available[Old])}))
	}
	return []judge.Guard{{
		ID: Overload, Sentence: GuardNames()[Overload], Basis: []string{"(weight/100 x replicas) / max(available, 1)"},
		Series: Overload, Limit: judge.LimitOf(limits, Overload, OverloadLimit), Expected: &worst, Window: Drilled,
	}}
}

func (k key) chart() judge.Chart {
	return judge.Chart{
		Window: Drilled,
		Panels: []judge.Panel{
			{Title: "canary weight", Unit: "%", Lines: []judge.Line{{Series: Weight, Label: "VirtualService", Predicted: floats(k.trace.WeightSequence())}}},
			{Title: "ReplicaSet of v1", Unit: "pods", Lines: []judge.Line{
				{Series: Size(Old), Label: "wanted", Predicted: floats(k.trace.SizeSequence(Old))},
				{Series: Available(Old), Label: "available"},
			}},
			{Title: "ReplicaSet of v2", Unit: "pods", Lines: []judge.Line{
				{Series: Size(New), Label: "wanted", Predicted: floats(k.trace.SizeSequence(New))},
				{Series: Available(New), Label: "available"},
			}},
			{Title: "load per available canary pod", Unit: "x", Lines: []judge.Line{{Series: Overload, Label: "overload"}}},
		},
		Marks: []string{Events},
	}
}

func floats(ns []int) []float64 {
	out := make([]float64, len(ns))
	for i, n := range ns {
		out[i] = float64(n)
	}
	return out
}

// table is the trace as people read it: one row for each pass that changed something.
func (k key) table() judge.Table {
	t := judge.Table{
		Title: fmt.Sprintf("what the model of %s does, pass by pass", k.rules.Group),
		Head:  []string{"after", "weight", "v1 wanted", "v1 available", "v2 wanted", "step", "decided by", "events"},
	}
	last := k.trace.Start
	add := func(what string, r rollouts.Row) {
		t.Rows = append(t.Rows, []string{what, strconv.Itoa(r.Weight), strconv.Itoa(r.Size[Old]), strconv.Itoa(r.Available[Old]),
			strconv.Itoa(r.Size[New]), strconv.Itoa(r.Index), DecidedBy(r, r.Weight != last.Weight), strings.Join(r.Events, "; ")})
	}
	add("start", last)
	for _, r := range k.trace.Rows {
		if r.Weight != last.Weight || r.Size[Old] != last.Size[Old] || r.Size[New] != last.Size[New] || r.Stable != last.Stable ||
			len(r.Events) > 0 || r.Err != last.Err {
			add(r.Move, r)
		}
		last = r
	}
	return t
}

// DecidedBy is the source of what a pass did, and of what it did not.
func DecidedBy(r rollouts.Row, moved bool) string {
	var by []string
	if s := r.Basis.String(); s != "" && (moved || !withheld(r)) {
		by = append(by, s)
	}
	held := r.HeldBasis.String()
	switch {
	case r.Err != "" && held == "":
		by = append(by, "pass fails: "+r.Err)
	case r.Err != "":
		by = append(by, "pass fails: "+held)
	case withheld(r):
		by = append(by, "routing held: "+held)
	case r.Held != "":
		by = append(by, "subsets held: "+held)
	}
	return strings.Join(by, "; ")
}
