package moves

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Guards that every plan has.
const (
	// OverloadLimit is half as much again as a pod's fair share, as in the rollback
	// scenarios.
	OverloadLimit = 1.5
	// NobodyLimit and MissingLimit: no request without a pod, no pod too few.
	NobodyLimit  = 0
	MissingLimit = 0
)

// GuardNames are the guards of every plan.
func GuardNames() map[string]string {
	return map[string]string{
		Overload: "load on each available pod of the busiest version, (share of the traffic x replicas) / max(available, 1), stays at or below the limit",
		Missing:  "pods that the versions with traffic lack, replicas - available, stay at or below the limit",
		Nobody:   "traffic that leads to a version without an available pod, in percent, stays at or below the limit",
	}
}

// Predict makes the answer key of a plan on a version of the controller.
func (p Plan) Predict(version string, limits map[string]float64) judge.Prediction {
	rules, known := rollouts.RulesFor(version)
	out := p.PredictOn(rules, limits)
	if !known {
		out.Notes = append(out.Notes, rules.Nearest(version))
	}
	return out
}

// PredictOn makes the answer key of a plan on given rules.
func (p Plan) PredictOn(rules rollouts.Rules, limits map[string]float64) judge.Prediction {
	play := p.Play(rules)
	k := key{Plan: p, trace: play.Trace, stops: play.Stops, rules: rules}
	return judge.Prediction{
		Model: "rollouts " + string(rules.Group), Claims: k.claims(), Guards: k.guards(limits), Definitions: p.Definitions(),
		Chart: k.chart(), Tables: []judge.Table{k.table()},
	}
}

// key derives claims from one trace.
type key struct {
	Plan
	trace rollouts.Trace
	stops []rollouts.Stop
	rules rollouts.Rules
}

// basis are the places of rules; those that the version does not have are left out.
func (k key) basis(rules ...rollouts.Rule) []string {
	var out []string
	for _, r := range rules {
		if b := k.rules.Basis(r); b.Line > 0 {
			out = append(out, b.String())
		}
	}
	return out
}

// rows are the start of the drill and its passes.
func (k key) rows() []rollouts.Row { return append([]rollouts.Row{k.trace.Start}, k.trace.Rows...) }

func (k key) claims() []judge.Claim {
	out := k.routing()
	sizes := []rollouts.Rule{rollouts.RuleCounts, rollouts.RuleFloor, rollouts.RuleScaling, rollouts.RuleScaleDown, rollouts.RuleIntermediate}
	pauses := []rollouts.Rule{rollouts.RuleReset, rollouts.RuleWindowSkips}
	if k.blueGreen() {
		sizes = []rollouts.Rule{rollouts.RulePreviewSize, rollouts.RuleCheckPoint, rollouts.RuleScaling, rollouts.RuleKeptAtFull, rollouts.RuleAbortDelay}
		pauses = []rollouts.Rule{rollouts.RuleApproval, rollouts.RulePauseOver, rollouts.RuleFastTrack, rollouts.RuleCheckPoint}
	}
	for _, v := range k.Versions {
		out = append(out, k.takes("size-"+v, "the ReplicaSet of "+v+" takes exactly these sizes, in this order", Size(v),
			func(r rollouts.Row) int { return r.Size[v] }, sizes...))
	}
	out = append(out,
		judge.Claim{
			ID: "most-pods", Sentence: "the greatest number of pods that all versions together are wanted to have", Basis: k.basis(sizes...),
			Check: judge.Bound{Of: Total, Extreme: judge.Greatest, Low: k.most(), High: k.most(), Unit: "pods", Window: k.Drilled()},
		},
		k.takes("paused", "the Rollout is paused and goes on exactly so (1 = paused)", Paused, func(r rollouts.Row) int { return number(r.Paused) },
			pauses...),
		k.takes("abort", "status.abort takes exactly these values (1 = aborted)", Abort, func(r rollouts.Row) int { return number(r.Abort) },
			rollouts.RuleBranchC, rollouts.RuleRemoveAbort),
		k.takes("stable", "these versions are the stable one, in this order (1 = v1)", Stable, func(r rollouts.Row) int { return k.number(r.Stable) },
			k.promotes()...),
		k.promotions())
	return append(out, k.ending()...)
}

func (k key) promotes() []rollouts.Rule {
	if k.blueGreen() {
		return []rollouts.Rule{rollouts.RuleBlueGreenDone}
	}
	return []rollouts.Rule{rollouts.RulePromote, rollouts.RulePromoteCount, rollouts.RulePromoteWindow}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// most is the greatest number of wanted pods.
func (k key) most() float64 {
	most := 0
	for _, r := range k.rows() {
		total := 0
		for _, n := range r.Size {
			total += n
		}
		most = max(most, total)
	}
	return float64(most)
}

// takes claims that a series has exactly the values of the trace's rows.
func (k key) takes(id, sentence, of string, value func(rollouts.Row) int, rules ...rollouts.Rule) judge.Claim {
	return judge.Claim{
		ID: id, Sentence: sentence, Basis: k.basis(rules...),
		Check: judge.Sequence{Of: of, Want: judge.Numbers(k.trace.Sequence(value)...), Window: k.Drilled()},
	}
}

// routing claims where the traffic goes.
func (k key) routing() []judge.Claim {
	if k.blueGreen() {
		return []judge.Claim{
			k.takes("active", "the active Service selects exactly these versions, in this order (1 = v1)", Active,
				func(r rollouts.Row) int { return k.number(r.Active) }, rollouts.RuleActive, rollouts.RuleFastTrack),
			k.takes("preview", "the preview Service selects exactly these versions, in this order", Preview,
				func(r rollouts.Row) int { return k.number(r.Preview) }, rollouts.RulePreview),
			k.to(rollouts.RuleActive),
		}
	}
	canary := func(r rollouts.Row) int { return k.number(r.CanaryService) }
	stable := func(r rollouts.Row) int { return k.number(r.StableService) }
	rule := rollouts.RuleServices
	if k.subsets() {
		canary = func(r rollouts.Row) int { return k.number(r.Subsets.Canary) }
		stable = func(r rollouts.Row) int { return k.number(r.Subsets.Stable) }
		rule = rollouts.RuleSubsetGuard
	}
	out := []judge.Claim{
		k.takes("weights", "the canary weight takes exactly these values, in this order", Weight, func(r rollouts.Row) int { return r.Weight },
			rollouts.RuleBranchF1, rollouts.RuleBranchF2, rollouts.RuleBranchD, rollouts.RuleBranchC, rollouts.RuleStableGuard,
			rollouts.RuleRoute, rollouts.RuleSetWeightIn),
		k.takes("steps", "the step index takes exactly these values, in this order", Index, func(r rollouts.Row) int { return r.Index },
			rollouts.RuleReset, rollouts.RuleAtDesired, rollouts.RuleWindowSkips),
		k.takes("canary-to", "the canary "+k.target()+" leads to exactly these versions, in this order (1 = v1)", CanaryTo, canary, rule),
		k.takes("stable-to", "the stable "+k.target()+" leads to exactly these versions, in this order", StableTo, stable, rule),
		k.to(rollouts.RuleBranchD, rollouts.RuleEarlyZero, rollouts.RuleSubsetGuard),
	}
	if k.Spec.SecondService {
		out = append(out, k.takes("weights-second", "the second VirtualService's canary weight takes exactly these values, in this order", Second,
			func(r rollouts.Row) int { return r.Second }, rollouts.RuleSetWeightIn))
	}
	if k.header() {
		out = append(out, k.takes("header", "the managed route is there and gone exactly so (1 = there)", Header,
			func(r rollouts.Row) int { return number(r.Header) }, rollouts.RuleHeader, rollouts.RuleHeaderLost, rollouts.RuleStableGuard),
			judge.Claim{
				ID: "header-at-pause", Sentence: "whether the managed route is there before the first promotion (1 = there)",
				Basis: k.basis(rollouts.RuleHeader, rollouts.RuleHeaderLost, rollouts.RuleStableGuard),
				Check: judge.Final{Of: Header, Want: rollback.Truth(k.stops[k.AtPause].Row.Header), Window: series.Window{From: k.step(0), To: k.step(k.AtPause)}},
			})
	}
	return out
}

// to claims how much of the traffic leads to nobody, at worst.
func (k key) to(rules ...rollouts.Rule) judge.Claim {
	worst := k.worst(load.nobody)
	return judge.Claim{
		ID: "to-nobody", Sentence: "the greatest share of the traffic, in percent, that leads to a version without an available pod", Basis: k.basis(rules...),
		Check: judge.Bound{Of: Nobody, Extreme: judge.Greatest, Low: worst, High: worst, Unit: "%", Window: k.Drilled()},
	}
}

// promotions claims the reasons of what was promoted.
func (k key) promotions() judge.Claim {
	var reasons []series.Value
	for _, r := range k.trace.Rows {
		for _, e := range r.Events {
			if reason, ok := strings.CutPrefix(e, rollouts.EventCompleted+": "); ok {
				reasons = append(reasons, series.Text(reason))
			}
		}
	}
	return judge.Claim{
		ID: "promotions", Sentence: "the controller logs exactly these reasons for promotions", Basis: k.basis(k.promotes()...),
		Check: judge.Sequence{Of: Completed, Want: reasons, Witness: Logged, Window: k.Drilled()},
	}
}

// passesASecond: an idle controller passes now and then, for its informers or a timer
// that is left; more is a loop.
const passesASecond = 1

// ending claims where all of it ends, and that it stays so.
func (k key) ending() []judge.Claim {
	final := k.trace.Final()
	quiet := series.Window{From: StepQuiet, To: StepQuiet}
	calm := []string{Total, Stable, Current, Paused, Abort, Phase, Completed, Writes}
	for _, v := range k.Versions {
		calm = append(calm, Size(v), Available(v))
	}
	out := []judge.Claim{}
	for _, v := range k.Versions {
		out = append(out, judge.Claim{
			ID: "final-" + v, Sentence: "the available pods of " + v + " at the end", Basis: k.basis(rollouts.RuleScaleDown),
			Check: judge.Final{Of: Available(v), Want: series.Number(float64(final.Available[v])), Window: k.Drilled()},
		})
	}
	if k.blueGreen() {
		calm = append(calm, Active, Preview)
	} else {
		calm = append(calm, Weight, Index, CanaryTo, StableTo)
	}
	if k.Spec.SecondService {
		calm = append(calm, Second)
	}
	if k.header() {
		calm = append(calm, Header)
	}
	return append(out,
		judge.Claim{
			ID: "quiet", Sentence: "after the end nothing changes: no size, no selector, no weight, no write of the controller",
			Basis: []string{"no rule of the model has anything left to do"},
			Check: judge.Quiet{Of: calm, For: k.Quiet, Alive: Alive, MaxSilence: maxSilence, Window: quiet},
		},
		judge.Claim{
			ID: "calm", Sentence: "after the end the controller's passes are few",
			Basis: []string{"a pass that changes nothing is only followed by another where a timer is left"},
			Check: judge.Count{Of: Reconciles, Max: passesASecond * int(k.Quiet/time.Second), Witness: Alive, Window: quiet},
		})
}

// maxSilence is how long an idle controller's CPU seconds may not change, as in the
// rollback scenarios.
const maxSilence = 6 * time.Second

// states are what the rows pass through: in a pass services are moved first, then the
// subsets, then the weight, unless the weight is first; then ReplicaSets are sized.
func (k key) states(yield func(load)) {
	last := k.trace.Start
	yield(k.loadOf(last))
	for _, r := range k.trace.Rows {
		mid := last
		mid.Available = beforeSizing(last, r)
		mid.Active = r.Active
		mid.CanaryService, mid.StableService = r.CanaryService, r.StableService
		if r.WeightFirst {
			mid.Weight = r.Weight
			yield(k.loadOf(mid))
		}
		mid.Subsets = r.Subsets
		yield(k.loadOf(mid))
		yield(k.loadOf(r))
		last = r
	}
}

// beforeSizing are the available pods of a row before its pass took any away.
func beforeSizing(last, r rollouts.Row) map[string]int {
	out := maps.Clone(r.Available)
	for v, n := range last.Available {
		if r.Size[v] < last.Size[v] {
			out[v] = n
		}
	}
	return out
}

// loadOf is how the traffic of a row falls on the versions.
func (k key) loadOf(r rollouts.Row) load {
	l := load{replicas: float64(r.Replicas), share: make([]float64, len(k.Versions)), available: make([]float64, len(k.Versions))}
	for i, v := range k.Versions {
		l.available[i] = float64(r.Available[v])
	}
	give := func(version string, percent int) {
		if i := k.number(version) - 1; i >= 0 {
			l.share[i] += float64(percent)
		}
	}
	switch {
	case k.blueGreen():
		give(r.Active, 100)
	case k.subsets():
		give(r.Subsets.Stable, 100-r.Weight)
		give(r.Subsets.Canary, r.Weight)
	default:
		give(r.StableService, 100-r.Weight)
		give(r.CanaryService, r.Weight)
	}
	return l
}

// worst is the greatest value of a load that the trace passes through.
func (k key) worst(of func(load) float64) float64 {
	worst := 0.0
	k.states(func(l load) { worst = max(worst, of(l)) })
	return worst
}

func (k key) guards(limits map[string]float64) []judge.Guard {
	guard := func(id string, usual float64, of func(load) float64, formula string) judge.Guard {
		worst := k.worst(of)
		return judge.Guard{ID: id, Sentence: GuardNames()[id], Basis: []string{formula}, Series: id, Limit: judge.LimitOf(limits, id, usual),
			Expected: &worst, Window: k.Drilled()}
	}
	return []judge.Guard{
		guard(Overload, OverloadLimit, load.overload, "(share of the traffic x replicas) / max(available, 1)"),
		guard(Missing, MissingLimit, load.missing, "replicas - available pods of the versions with traffic"),
		guard(Nobody, NobodyLimit, load.nobody, "share of the traffic of versions with 0 available pods"),
	}
}

func (k key) chart() judge.Chart {
	out := judge.Chart{Window: k.Drilled(), Marks: []string{Events}}
	if k.blueGreen() {
		out.Panels = append(out.Panels, judge.Panel{Title: "version that is selected", Lines: []judge.Line{
			{Series: Active, Label: "active", Predicted: k.floats(func(r rollouts.Row) int { return k.number(r.Active) })},
			{Series: Preview, Label: "preview"},
		}})
	} else {
		out.Panels = append(out.Panels,
			judge.Panel{Title: "canary weight", Unit: "%", Lines: []judge.Line{{Series: Weight, Label: "VirtualService", Predicted: k.floats(func(r rollouts.Row) int { return r.Weight })}}},
			judge.Panel{Title: "version that traffic leads to", Lines: []judge.Line{{Series: CanaryTo, Label: "canary"}, {Series: StableTo, Label: "stable"}}})
	}
	for _, v := range k.Versions {
		out.Panels = append(out.Panels, judge.Panel{Title: "ReplicaSet of " + v, Unit: "pods", Lines: []judge.Line{
			{Series: Size(v), Label: "wanted", Predicted: k.floats(func(r rollouts.Row) int { return r.Size[v] })},
			{Series: Available(v), Label: "available"},
		}})
	}
	out.Panels = append(out.Panels, judge.Panel{Title: "load per available pod of the busiest version", Unit: "x", Lines: []judge.Line{{Series: Overload, Label: "overload"}}})
	return out
}

func (k key) floats(of func(rollouts.Row) int) []float64 {
	var out []float64
	for _, n := range k.trace.Sequence(of) {
		out = append(out, float64(n))
	}
	return out
}

// table is the trace as people read it: one row for each pass that changed something.
func (k key) table() judge.Table {
	t := judge.Table{Title: fmt.Sprintf("what the model of %s does, pass by pass", k.rules.Group), Head: []string{"after"}}
	for _, v := range k.Versions {
		t.Head = append(t.Head, v+" available / wanted")
	}
	if k.blueGreen() {
		t.Head = append(t.Head, "active", "preview")
	} else {
		t.Head = append(t.Head, "weight", "canary to", "stable to", "step")
	}
	t.Head = append(t.Head, "stable", "decided by", "events")
	last := ""
	for i, r := range k.rows() {
		cells := k.cells(r)
		text := strings.Join(cells, "|")
		if text == last && len(r.Events) == 0 && r.Err == "" {
			continue
		}
		last = text
		what := r.Move
		if i == 0 {
			what = "start"
		}
		t.Rows = append(t.Rows, slices.Concat([]string{what}, cells, []string{decidedBy(r), strings.Join(r.Events, "; ")}))
	}
	return t
}

// cells are a row's state.
func (k key) cells(r rollouts.Row) []string {
	var out []string
	for _, v := range k.Versions {
		out = append(out, fmt.Sprintf("%d / %d", r.Available[v], r.Size[v]))
	}
	switch {
	case k.blueGreen():
		out = append(out, r.Active, r.Preview)
	case k.subsets():
		out = append(out, strconv.Itoa(r.Weight), r.Subsets.Canary, r.Subsets.Stable, strconv.Itoa(r.Index))
	default:
		out = append(out, strconv.Itoa(r.Weight), r.CanaryService, r.StableService, strconv.Itoa(r.Index))
	}
	return append(out, r.Stable)
}

// decidedBy is the source of what a pass did, and of what it did not.
func decidedBy(r rollouts.Row) string {
	var by []string
	if s := r.Basis.String(); s != "" {
		by = append(by, s)
	}
	if s := r.HeldBasis.String(); s != "" {
		by = append(by, "held: "+s)
	}
	if r.Err != "" {
		by = append(by, "pass fails: "+r.Err)
	}
	return strings.Join(by, "; ")
}
