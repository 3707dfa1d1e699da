package canary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// A Key derives the answer key of a course.
type Key struct {
	Params
	Course *Course
	Rules  rollouts.Rules
	trace  rollouts.Trace
}

// NewKey makes the key of a course that was played on the rules.
func NewKey(p Params, course *Course) Key {
	return Key{Params: p, Course: course, Rules: course.Machine.Rules(), trace: course.Trace()}
}

// Prediction is what holds for every course: the weights and sizes, leg by leg; what the
// selectors do; how it ends, and that it stays so. known says whether the model was read
// from this very version.
func (k Key) Prediction(version string, known bool, limits map[string]float64) judge.Prediction {
	out := judge.Prediction{
		Model:       "rollouts " + string(k.Rules.Group),
		Claims:      k.claims(),
		Guards:      k.guards(limits),
		Definitions: k.Definitions(),
		Chart:       k.chart(),
		Tables:      []judge.Table{k.table()},
	}
	if !known {
		out.Notes = append(out.Notes, k.Rules.Nearest(version))
	}
	return out
}

// Basis are the places in the source of the rules that this version has.
func (k Key) Basis(rules ...rollouts.Rule) []string {
	var out []string
	for _, r := range rules {
		if r == rollouts.RuleSubsetGuard && !k.bySubsets() {
			continue
		}
		if b := k.Rules.Basis(r); b.Line > 0 && !slices.Contains(out, b.String()) {
			out = append(out, b.String())
		}
	}
	return out
}

func (k Key) claims() []judge.Claim {
	var out []judge.Claim
	if !k.basic() {
		out = append(out, k.sequence("weights", "the canary weight takes exactly these values, in this order", rollback.Weight, k.trace.WeightSequence(), k.Course.Drilled(), k.weightBasis(k.trace)))
	}
	out = append(out,
		k.sequence("canary-sizes", "the ReplicaSet of v2 takes exactly these sizes, in this order", rollback.Size(New), k.trace.SizeSequence(New), k.Course.Drilled(), k.sizeBasis()),
		k.sequence("stable-sizes", "the ReplicaSet of v1 takes exactly these sizes, in this order", rollback.Size(Old), k.trace.SizeSequence(Old), k.Course.Drilled(), k.sizeBasis()),
	)
	for _, leg := range k.Course.Legs {
		out = append(out, k.leg(leg)...)
	}
	out = append(out, k.selectors()...)
	if !k.basic() {
		out = append(out, k.final("final-weight", "the canary weight at the end", rollback.Weight, series.Number(float64(k.trace.Final().Weight)), rollouts.RuleBranchC, rollouts.RuleBranchB, rollouts.RuleStableGuard))
	}
	out = append(out, k.promotion(), k.final("final-phase", "the phase at the end", rollback.Phase, series.Text(k.trace.Final().Phase), rollouts.RulePhase))
	last := k.trace.Final()
	out = append(out, k.final("final-promoted", last.Current+" is the stable version at the end (1 = yes)", rollback.Promoted, rollback.Truth(last.Stable == last.Current), rollouts.RulePromote))
	if len(k.Steps) > 0 {
		out = append(out, k.final("final-index", "the step index at the end", rollback.Index, series.Number(float64(k.trace.Final().Index)), rollouts.RulePromote, rollouts.RuleRemoveAbort))
	}
	return append(out, k.rest()...)
}

// leg says what of weight and sizes changes in a leg; what does not is in the claims
// about the whole course. What time brings may come in the leg before, on a slow machine.
func (k Key) leg(leg Leg) []judge.Claim {
	if leg.Leg.Turn == rollouts.TurnElapse {
		return nil
	}
	var out []judge.Claim
	add := func(what, sentence, of string, want []int, basis []string) {
		if len(want) > 1 {
			out = append(out, k.sequence(Slug(leg.Name)+"-"+what, fmt.Sprintf("in the step %q %s takes exactly these values", leg.Name, sentence), of, want, leg.Window(), basis))
		}
	}
	add("weights", "the canary weight", rollback.Weight, leg.Trace.WeightSequence(), k.weightBasis(leg.Trace))
	add("v2", "the size of v2", rollback.Size(New), leg.Trace.SizeSequence(New), k.sizeBasis())
	add("v1", "the size of v1", rollback.Size(Old), leg.Trace.SizeSequence(Old), k.sizeBasis())
	return out
}

// Slug makes an id of a step's name.
func Slug(name string) string { return strings.ReplaceAll(name, " ", "-") }

func (k Key) sequence(id, sentence, of string, want []int, in series.Window, basis []string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: judge.Sequence{Of: of, Want: judge.Numbers(want...), Window: in}}
}

func (k Key) sizeBasis() []string {
	if k.basic() {
		return k.Basis(rollouts.RuleBasicCounts, rollouts.RuleApproximate, rollouts.RuleFences)
	}
	return k.Basis(rollouts.RuleCounts, rollouts.RuleShare, rollouts.RuleFloor, rollouts.RuleCanaryScale, rollouts.RuleDelaysAbort, rollouts.RuleSubsetGuard)
}

// weightBasis lists the rules that a trace's weights came from, in order.
func (k Key) weightBasis(t rollouts.Trace) []string {
	var out []string
	for _, r := range t.Rows {
		if s := r.Basis.String(); s != "" && r.Basis.Line > 0 && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return append(out, k.Basis(rollouts.RuleStableGuard, rollouts.RuleSubsetGuard)...)
}

// manyAtLeast is how often a controller that does not come to rest moves a selector in
// a step, at the least: in runs it was 10 to 40 times a second, on a machine with ten
// times more to do than it could once 13 times in all.
const manyAtLeast = 5

// selectors: how often the controller moves them. Where it does not come to rest only a
// lower bound can be told, for each such step.
func (k Key) selectors() []judge.Claim {
	if k.bySubsets() || k.basic() {
		return nil
	}
	basis := k.Basis(rollouts.RuleServices, rollouts.RuleCanaryService, rollouts.RuleServiceBack)
	if !k.Course.Restless() {
		n := k.trace.Count(rollouts.EventSwitch)
		most := n
		if k.aborted() { // until the pods of the aborted canary are gone, a pass or two
			most = judge.Unbounded
		}
		return []judge.Claim{{
			ID: "switches", Sentence: "how often the controller moves a Service's selector", Basis: basis,
			Check: judge.Count{Of: Switches, Min: n, Max: most, Witness: Logged, Window: k.Course.Drilled()},
		}}
	}
	var out []judge.Claim
	for _, leg := range k.Course.Legs {
		if leg.Trace.Restless() {
			out = append(out, judge.Claim{
				ID:       Slug(leg.Name) + "-switches",
				Sentence: fmt.Sprintf("in the step %q the canary Service goes to v2 and back, again and again", leg.Name), Basis: basis,
				Check: judge.Count{Of: Switches, Min: manyAtLeast, Max: judge.Unbounded, Witness: Logged, Window: leg.Window()},
			})
		}
	}
	return out
}

// aborted says that the update is aborted at some time.
func (k Key) aborted() bool {
	return slices.ContainsFunc(k.trace.Rows, func(r rollouts.Row) bool { return r.Abort })
}

func (k Key) promotion() judge.Claim {
	basis := k.Basis(rollouts.RulePromote, rollouts.RulePromoteCount)
	if reason, ok := k.trace.Completed(); ok {
		return judge.Claim{
			ID: "promotion", Sentence: "the controller logs this reason for the promotion, once", Basis: basis,
			Check: judge.Sequence{Of: rollback.Completed, Want: []series.Value{series.Text(reason)}, Witness: Logged, Window: k.Course.Drilled()},
		}
	}
	return judge.Claim{
		ID: "promotion", Sentence: "the controller never promotes", Basis: basis,
		Check: judge.Count{Of: rollback.Completed, Witness: Logged, Window: k.Course.Drilled()},
	}
}

func (k Key) final(id, sentence, of string, want series.Value, rules ...rollouts.Rule) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: k.Basis(rules...), Check: judge.Final{Of: of, Want: want, Window: k.Course.Drilled()}}
}

const (
	// maxSilence: an idle controller's CPU seconds, sampled each second and kept when
	// they changed, were silent for 2 to 4 s in the recordings of results/baselines.
	maxSilence = 6 * time.Second
	// calmPasses is how many passes over a Rollout that is at rest are calm: those of the
	// last move, which the sampler of the next second sees, and a few that pods wake.
	calmPasses = 15
)

// rest: nothing moves after the end, and nobody tries to move anything. Where the model
// says that the controller does not come to rest, that is the claim.
func (k Key) rest() []judge.Claim {
	quiet := series.Window{From: StepQuiet, To: StepQuiet}
	of := []string{rollback.Size(Old), rollback.Size(New), rollback.Available(Old), rollback.Available(New), rollback.Phase, rollback.Completed}
	if len(k.Steps) > 0 {
		of = append(of, rollback.Index)
	}
	if !k.basic() {
		of = append(of, rollback.Weight)
	}
	out := []judge.Claim{{
		ID: "quiet", Sentence: "nothing moves after the end", Basis: []string{"no rule of the model has anything left to do"},
		Check: judge.Quiet{Of: of, For: k.Quiet.Std(), Alive: rollback.Alive, MaxSilence: maxSilence, Window: quiet},
	}}
	if k.trace.Restless() {
		basis := k.Basis(rollouts.RuleCanaryService, rollouts.RuleServiceBack)
		return append(out, judge.Claim{
			ID: "restless", Sentence: "the controller goes on moving the canary Service to v2 and back after the end", Basis: basis,
			Check: judge.Count{Of: Switches, Min: manyAtLeast, Max: judge.Unbounded, Witness: Logged, Window: quiet},
		}, judge.Claim{
			ID: "reconciles", Sentence: "and passes over the Rollout as often", Basis: basis,
			Check: judge.Growth{Of: Reconciles, Min: manyAtLeast, Max: judge.Unbounded, Alive: rollback.Alive, MaxSilence: maxSilence, Window: quiet},
		})
	}
	var writes []string
	for _, resource := range k.writes() {
		writes = append(writes, Written(resource))
	}
	return append(out, judge.Claim{
		ID: "unwritten", Sentence: "no object of the Rollout is written after the end", Basis: []string{"no rule of the model has anything left to write"},
		Check: judge.Quiet{Of: writes, For: k.Quiet.Std(), Alive: rollback.Alive, MaxSilence: maxSilence, Window: quiet},
	}, judge.Claim{
		ID: "reconciles", Sentence: "the controller passes over the Rollout a few times at most after the end", Basis: []string{"no rule of the model wakes it"},
		Check: judge.Growth{Of: Reconciles, Max: calmPasses, Alive: rollback.Alive, MaxSilence: maxSilence, Window: quiet},
	})
}

// Limits of the guards unless the drill sets others: half as much again as a pod's fair
// share; what maxUnavailable lets go by default; nothing.
const (
	OverloadLimit = rollback.OverloadLimit
	MissingLimit  = 25
	NowhereLimit  = 0
)

// GuardNames are the guards of the scenarios.
func GuardNames() map[string]string {
	return map[string]string{
		Overload: "load on each available pod of the worse version: share of the traffic x replicas / available pods",
		Missing:  "pods that are wanted and not available in either version, in percent of the replicas",
		Nowhere:  "share of the traffic for a version without an available pod, in percent",
	}
}

func (k Key) guards(limits map[string]float64) []judge.Guard {
	names := GuardNames()
	guard := func(id string, limit float64, worst func(rollouts.Row) float64, basis ...string) judge.Guard {
		expected := 0.0
		for _, r := range k.trace.Rows {
			expected = max(expected, worst(r))
		}
		return judge.Guard{ID: id, Sentence: names[id], Basis: basis, Series: id, Limit: judge.LimitOf(limits, id, limit), Expected: &expected, Window: k.Course.Drilled()}
	}
	return []judge.Guard{
		guard(Overload, OverloadLimit, func(r rollouts.Row) float64 { return overload(k.inputs(r)) }, "share of the traffic x replicas / max(available, 1)"),
		guard(Missing, MissingLimit, func(r rollouts.Row) float64 {
			return missing(k.inputs(r)[1:])
		}, "(replicas - available pods of both versions) / replicas"),
		guard(Nowhere, NowhereLimit, func(r rollouts.Row) float64 { return nowhere(k.inputs(r)) }, "the weight of a version, while it has no available pod"),
	}
}

// inputs are share, available pods and replicas of a row, as in served.
func (k Key) inputs(r rollouts.Row) []float64 {
	v1, v2, replicas := float64(r.Available[Old]), float64(r.Available[New]), float64(r.Replicas)
	if k.basic() {
		return []float64{podShare([]float64{v1, v2}), v1, v2, replicas}
	}
	canary, stable := r.CanaryService, r.StableService
	if k.bySubsets() {
		canary, stable = r.Subsets.Canary, r.Subsets.Stable
	}
	number := map[string]float64{Old: 1, New: 2}
	return []float64{share([]float64{float64(r.Weight), number[canary], number[stable], number[New]}), v1, v2, replicas}
}

func (k Key) chart() judge.Chart {
	return judge.Chart{
		Window: k.Course.Drilled(),
		Panels: []judge.Panel{
			{Title: "share of v2", Unit: "%", Lines: k.shares()},
			{Title: "ReplicaSet of v2", Unit: "pods", Lines: []judge.Line{
				{Series: rollback.Size(New), Label: "wanted", Predicted: floats(k.trace.SizeSequence(New))}, {Series: rollback.Available(New), Label: "available"},
			}},
			{Title: "ReplicaSet of v1", Unit: "pods", Lines: []judge.Line{
				{Series: rollback.Size(Old), Label: "wanted", Predicted: floats(k.trace.SizeSequence(Old))}, {Series: rollback.Available(Old), Label: "available"},
			}},
			{Title: "load per available pod of the worse version", Unit: "x", Lines: []judge.Line{{Series: Overload, Label: "overload"}}},
		},
		Marks: []string{rollback.Events},
	}
}

func (k Key) shares() []judge.Line {
	out := []judge.Line{{Series: Share, Label: "of the traffic"}}
	if !k.basic() {
		out = append(out, judge.Line{Series: rollback.Weight, Label: "VirtualService", Predicted: floats(k.trace.WeightSequence())})
	}
	return out
}

func floats(ns []int) []float64 {
	out := make([]float64, len(ns))
	for i, n := range ns {
		out[i] = float64(n)
	}
	return out
}

// table is the course as people read it: a row for each pass that changed something.
func (k Key) table() judge.Table {
	t := judge.Table{
		Title: fmt.Sprintf("what the model of %s does, pass by pass", k.Rules.Group),
		Head:  []string{"step", "after", "weight", "v1", "v2", "index", "phase", "decided by", "events"},
	}
	pods := func(r rollouts.Row, version string) string {
		return fmt.Sprintf("%d of %d", r.Available[version], r.Size[version])
	}
	last := k.Course.Start
	add := func(step, after string, r rollouts.Row) {
		t.Rows = append(t.Rows, []string{step, after, strconv.Itoa(r.Weight), pods(r, Old), pods(r, New), strconv.Itoa(r.Index), r.Phase, rollback.DecidedBy(r, r.Weight != last.Weight), strings.Join(r.Events, "; ")})
	}
	add("", "start", last)
	for _, leg := range k.Course.Legs {
		for _, r := range leg.Trace.Rows {
			if r.Weight != last.Weight || pods(r, Old) != pods(last, Old) || pods(r, New) != pods(last, New) || r.Index != last.Index ||
				r.Phase != last.Phase || len(r.Events) > 0 || r.Err != last.Err {
				add(leg.Name, r.Move, r)
			}
			last = r
		}
	}
	return t
}
