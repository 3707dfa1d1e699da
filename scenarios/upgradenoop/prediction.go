package upgradenoop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// Guards.
const (
	GuardDisturbed = "disturbed"
	GuardLost      = "lost-fields"
	guardSentence  = "Rollouts that lose a pod, or whose traffic moves, by the change of the controller alone"
	lostSentence   = "fields of stored Rollouts that the other version's CRDs take away"
)

// mostWrites is how often a Rollout that nothing happens to may be written within the
// time that it is watched: its status once for each of the first passes, and once for
// each condition that the release words otherwise.
const mostWrites = 5

// singles is up to how many Rollouts have a claim each; of more, each namespace has one.
const singles = 100

// Predict says of each Rollout what the change of the version does to it.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := *in.Params.(*Params)
	if p.Inventory == nil && p.Fleet != "" {
		return judge.Prediction{}, errors.New("the parameters do not say what the fleet has: plan the run again")
	}
	if p.Inventory == nil {
		if err := (Scenario{}).Load(&p); err != nil {
			return judge.Prediction{}, err
		}
	}
	k := newKey(&p)
	out := judge.Prediction{
		Model: "rollouts " + string(k.from) + " and " + string(k.to), Claims: k.claims(), Guards: k.guards(in.Guards),
		Definitions: definitions(), Computed: k.computed, Tables: k.tables(), Notes: k.notes(),
		Chart: judge.Chart{Window: k.window(k.legs[0]), Panels: []judge.Panel{{
			Title: "Rollouts disturbed by the change of the version", Unit: "Rollouts", Lines: []judge.Line{{Series: seriesDisturbed, Label: "disturbed"}},
		}}},
	}
	return out, nil
}

// key is the answer key of a fleet.
type key struct {
	*Params
	from, to rollouts.Group
	legs     []leg
	fates    []course
}

// course is a Rollout with what is predicted of it, leg by leg, and then when its
// manifest is applied again.
type course struct {
	Member
	legs  []rollouts.Cause
	again rollouts.Cause
	// end is its life after all that.
	end rollouts.Life
}

func newKey(p *Params) *key {
	k := &key{Params: p, legs: p.legs(), from: groupOf(p.From), to: groupOf(p.To)}
	for _, m := range p.Inventory.Members {
		c := course{Member: m, end: rollouts.NewLife(m.Member, k.from)}
		for _, l := range k.legs {
			var cause rollouts.Cause
			c.end, cause = c.end.Change(groupOf(l.to))
			c.legs = append(c.legs, cause)
		}
		c.end, c.again = c.end.Reapply()
		k.fates = append(k.fates, c)
	}
	return k
}

func groupOf(version string) rollouts.Group {
	rules, _ := rollouts.RulesFor(scenario.ModelVersion(version))
	return rules.Group
}

func (k *key) notes() []string {
	var out []string
	for _, v := range []string{k.From, k.To} {
		if rules, known := rollouts.RulesFor(scenario.ModelVersion(v)); !known {
			out = append(out, rules.Nearest(v))
		}
	}
	if n := len(k.Inventory.Unknown); n > 0 {
		out = append(out, fmt.Sprintf("%d documents are of kinds that are not loaded, the first is %s", n, k.Inventory.Unknown[0]))
	}
	if k.Inventory.LeftOut > 0 {
		out = append(out, fmt.Sprintf("%d objects were left out, as simulated pods do without them", k.Inventory.LeftOut))
	}
	return out
}

// window is that in which a leg's version is watched.
func (k *key) window(l leg) series.Window {
	return series.Window{From: l.step(stepStart), To: l.step(stepWatch)}
}

// doubtful: nothing can be told of it here.
func (c course) doubtful() bool { return c.Doubt != "" }

func (k *key) claims() []judge.Claim {
	out := []judge.Claim{
		claim("loaded", "every document of the fleet was read, and refers to what is there", loaded{k}, "formula: the list of problems is empty"),
		claim("calm", "the fleet lies still under the first version", still{k}, "formula: every Rollout is Healthy, or Paused where it is to be, before the version is changed"),
	}
	for i, l := range k.legs {
		tag := " (" + scenario.ModelVersion(l.to) + ")"
		program := "cmd/rollouts-controller/main.go" + tag
		out = append(out,
			claim(l.step("accepted by"), "the version's CRDs accept every manifest", accepted{l}, "manifests/crds/rollout-crd.yaml"+tag),
			claim(l.step("starts"), "the version starts", judge.Done{Step: l.step(stepStart)}, program),
			claim(l.step("lives"), "the version runs until it has been watched", judge.Done{Step: l.step(stepWatch)}, program),
			claim(l.step("fleet under"), "no Rollout is touched but those that the model names", whole{k, i}, k.basis(k.fates, i)...),
		)
		out = append(out, k.memberClaims(i, l)...)
		if slices.ContainsFunc(k.fates, func(c course) bool { return c.legs[i].Effect == rollouts.Untouched }) {
			out = append(out, claim(l.step("status writes under"), fmt.Sprintf("a Rollout that is not touched is written %d times at most", mostWrites), writes{k, i},
				"formula: one write for each pass that finds a difference"))
		}
	}
	return append(out, k.probes()...)
}

func claim(id, sentence string, check judge.Check, basis ...string) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: check}
}

// memberClaims are one for each Rollout, or one for each namespace of a large fleet.
func (k *key) memberClaims(i int, l leg) []judge.Claim {
	suffix := ""
	if l.again {
		suffix = " again"
	}
	var names []string
	of := map[string][]course{}
	for _, c := range k.fates {
		name := c.Key()
		if len(k.fates) > singles {
			name = "namespace " + c.Namespace
		}
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], c)
	}
	var out []judge.Claim
	for _, name := range names {
		sentence := "what the change to " + l.to + " does to it"
		if c := of[name][0]; len(of[name]) == 1 && c.legs[i].Why != "" {
			sentence = c.legs[i].Why
		}
		out = append(out, claim(name+suffix, sentence, members{k, of[name], i}, k.basis(of[name], i)...))
	}
	return out
}

// basis says where what is predicted of Rollouts was read, in the version that comes
// and, where it is another one, in the version that goes.
func (k *key) basis(of []course, i int) []string {
	var out []string
	add := func(b rollouts.Basis) {
		if text := b.String(); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, c := range of {
		causes := c.legs[i].Basis
		if len(causes) == 0 {
			causes = groupOf(k.legs[i].to).UnchangedBasis()
		}
		for _, b := range causes {
			add(b)
		}
	}
	for _, b := range groupOf(k.legs[i].from).UnchangedBasis() {
		add(b)
	}
	return out
}

// probes are what is asked of the fleet at the end: it must behave as ever.
func (k *key) probes() []judge.Claim {
	last := groupOf(k.legs[len(k.legs)-1].to)
	var unchanged []string
	for _, b := range last.UnchangedBasis() {
		unchanged = append(unchanged, b.String())
	}
	return []judge.Claim{
		claim("apply again", "applying every manifest again makes no revision", reapplied{k}, unchanged...),
		claim("scale", "one replica more is one pod more, and no revision", scaled{k}, unchanged...),
		claim("promote", "every Rollout can be promoted", promoted{k}, last.Basis(rollouts.RulePromote).String()),
	}
}

// guards: how much the change of the version alone disturbs, and takes away.
func (k *key) guards(limits map[string]float64) []judge.Guard {
	disturbed, none := 0.0, 0.0
	for _, c := range k.fates {
		if slices.ContainsFunc(c.legs, func(c rollouts.Cause) bool {
			return c.Effect != rollouts.Untouched && c.Effect != rollouts.Rewritten
		}) {
			disturbed++
		}
	}
	first, last := k.legs[0], k.legs[len(k.legs)-1]
	// While the CRDs change no controller runs, and their watches are cut.
	started := series.Window{From: first.step(stepStart), To: last.step(stepWatch)}
	all := series.Window{From: first.step(stepStop), To: last.step(stepWatch)}
	out := []judge.Guard{
		{ID: GuardDisturbed, Sentence: guardSentence, Series: seriesDisturbed, Limit: limits[GuardDisturbed], Expected: &disturbed, Window: started},
		{ID: GuardLost, Sentence: lostSentence, Series: seriesLostSum, Limit: limits[GuardLost], Window: all},
	}
	if k.from == k.to && !k.Back {
		out[1].Expected = &none
	}
	return out
}

// computed counts the Rollouts that were disturbed, and the fields that were lost.
func (k *key) computed(set *series.Set) []*series.Series {
	disturbed := &series.Series{Name: seriesDisturbed, Unit: "Rollouts", Doc: guardSentence, Resources: []string{rolloutResource, setResource, podResource}}
	lost := &series.Series{Name: seriesLostSum, Unit: "fields", Doc: lostSentence}
	begin, ok := set.Resolve(series.Window{From: k.legs[0].step(stepStop), To: k.legs[0].step(stepStop)})
	if !ok {
		return []*series.Series{disturbed, lost}
	}
	r := newReader(set)
	var at []time.Duration
	for _, c := range k.fates {
		first := time.Duration(0)
		for _, l := range k.legs {
			in, ok := set.Resolve(k.window(l))
			if !ok || c.doubtful() {
				continue
			}
			if d := r.observe(c.Member, in).disturbed; d > 0 && (first == 0 || d < first) {
				first = d
			}
		}
		if first > 0 {
			at = append(at, first)
		}
	}
	count(disturbed, begin.From, at)
	at = nil
	if lines, err := set.Get(seriesLost); err == nil {
		for _, p := range lines.Points {
			at = append(at, p.T)
		}
	}
	count(lost, begin.From, at)
	return []*series.Series{disturbed, lost}
}

// count makes a series that begins with 0 and is one more at each of the times.
func count(s *series.Series, begin time.Duration, at []time.Duration) {
	s.Points = []series.Point{{T: begin}}
	slices.Sort(at)
	for i, t := range at {
		s.Points = append(s.Points, series.Point{T: t, Value: series.Number(float64(i + 1))})
	}
}

// tables are the members with what is predicted, and what is not part of the run.
func (k *key) tables() []judge.Table {
	t := judge.Table{Title: "Rollouts of the fleet", Head: []string{"rollout", "strategy", "features", "state"}}
	for _, l := range k.legs {
		t.Head = append(t.Head, l.step("by"))
	}
	t.Head = append(t.Head, "applied again", "why")
	for _, c := range k.fates {
		row := []string{c.Key(), c.Strategy, strings.Join(c.Features, ", "), state(c.Member)}
		why := c.Doubt
		for _, cause := range append(slices.Clone(c.legs), c.again) {
			row = append(row, string(cause.Effect))
			if why == "" {
				why = cause.Why
			}
		}
		t.Rows = append(t.Rows, append(row, why))
	}
	out := []judge.Table{t}
	if rows := append(slices.Clone(k.Inventory.Problems), k.Inventory.Unknown...); len(rows) > 0 {
		not := judge.Table{Title: "Not part of the run", Head: []string{"place", "what"}}
		for _, r := range rows {
			not.Rows = append(not.Rows, []string{r.Place, r.Text})
		}
		out = append(out, not)
	}
	return out
}

func state(m Member) string {
	switch {
	case m.Paused:
		return "paused"
	case m.Updated:
		return "updated"
	}
	return "first revision"
}
