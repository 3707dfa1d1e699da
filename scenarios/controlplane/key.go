package controlplane

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// Model is what reports call the model.
const Model = "connection model"

// Series that the answer key adds to a recording: the band of the model's runs.
const (
	covLow, covHigh           = "model.cov.low", "model.cov.high"
	connectsLow, connectsHigh = "model.connects.low", "model.connects.high"
)

// percent makes a model's ratio of a series in percent, and back.
const percent = 0.01

// Key is the answer key of a fleet: what all scenarios claim of it.
type Key struct {
	fleet  Fleet
	replay *replay
	// led are the laws of what leads connections to replicas.
	led []mesh.Rule
}

// NewKey makes the key of one prediction.
func NewKey(f Fleet, in scenario.Input) Key {
	k := Key{fleet: f, replay: &replay{fleet: f}}
	if in.On.Has(cluster.Kubelet) {
		k.led = []mesh.Rule{mesh.RuleLed, mesh.RuleDial}
	}
	return k
}

// Prediction has what every scenario says, with the connections there are at the
// end. Claims of the stimulus go between: see the methods.
func (k Key) Prediction(limits map[string]float64, n Nominal) judge.Prediction {
	notes := []string{"The judge plays the model with the times at which replicas really were Ready: those are the machine's."}
	if k.led != nil {
		notes = append(notes, "And with the rules that kube-proxy wrote, and when it wrote them: they lead connections, and are behind.")
	}
	return judge.Prediction{
		Model:       Model,
		Notes:       notes,
		Definitions: append(series.FleetDefinitions(), withoutDefinition()),
		Computed:    k.replay.computed,
		Guards:      k.guards(limits, n.worst),
		Chart:       k.chart(),
	}
}

// Steady are claims about the fleet before anything is done to it, and of what stays
// as it is throughout.
func (k Key) Steady() []judge.Claim {
	f := mesh.Fleet{Connections: k.fleet.Connections, Replicas: k.fleet.Replicas, Lifetime: k.fleet.Lifetime()}
	out := []judge.Claim{{
		ID: "lives", Sentence: "a connection that istiod ends lived for its age, a tenth more or less, and the time that its proxy takes",
		Basis: basis(mesh.RuleLifetime), Check: lives{k.replay, k.fleet.Lifetime()},
	}}
	if k.fleet.Start == Together {
		return out
	}
	steady := series.Window{From: StepSteady, To: StepSteady}
	return append(out,
		k.curve("steady-spread", "before anything is done, the connections are as uneven as chance makes them", mesh.CoV, series.CoVName, percent, steady,
			fmt.Sprintf("%.1f ± %.1f %%", 100*f.Floor(), 100*f.FloorSpread()), mesh.RuleFloor),
		k.curve("steady-rate", "and as many begin as end for their age", mesh.Connects, series.ConnectRateName, 1, steady,
			fmt.Sprintf("%.2f 1/s", f.ReconnectRate()), mesh.RuleSteadyRate))
}

// Spread: how uneven the connections are, from a step to the end of the watch.
func (k Key) Spread(from, predicted string, rules ...mesh.Rule) judge.Claim {
	return k.curve("spread", "how uneven the connections are follows the model's course", mesh.CoV, series.CoVName, percent,
		series.Window{From: from, To: StepWatch}, predicted, k.laws(rules, mesh.RuleBand)...)
}

// laws are those of a claim about what follows the stimulus: its own, those of what
// leads connections, and more.
func (k Key) laws(own []mesh.Rule, more ...mesh.Rule) []mesh.Rule {
	return slices.Concat(own, k.led, more)
}

// Reconnects: how many connections begin in each second.
func (k Key) Reconnects(from, predicted string, rules ...mesh.Rule) judge.Claim {
	return k.curve("reconnects", "connections begin at the model's rate, echoes included", mesh.Connects, series.ConnectRateName, 1,
		series.Window{From: from, To: StepWatch}, predicted, k.laws(rules, mesh.RuleBand)...)
}

func (k Key) curve(id, sentence string, m mesh.Metric, name string, scale float64, w series.Window, predicted string, rules ...mesh.Rule) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: basis(rules...),
		Check: curve{replay: k.replay, metric: m, series: name, scale: scale, window: w, predicted: predicted}}
}

// Even: how long after a step began the connections are as even again as chance allows.
func (k Key) Even(since, predicted string, rules ...mesh.Rule) judge.Claim {
	return judge.Claim{ID: "even-again", Sentence: "the connections are as even again as chance makes them when the model's are", Basis: basis(k.laws(rules, mesh.RuleEven)...),
		Check: quantity{replay: k.replay, unit: "s", since: since, predicted: predicted, sample: func(b *mesh.Bands) mesh.Sample { return b.Even }, observe: k.replay.even}}
}

// even looks for the first of five even readings in a row, as mesh.Path.Even does.
func (r *replay) even(set *series.Set) (float64, string, int) {
	cov, err := set.Get(series.CoVName)
	if err != nil {
		return 0, err.Error(), 0
	}
	settled, limit := r.bands.Plan.Settled(), r.bands.Plan.Final().EvenBelow()
	seen := r.observed(cov, r.window, percent)
	first := mesh.FirstEven(len(seen), func(i int) bool { return seen[i].At >= settled && seen[i].Value <= limit })
	if first < 0 {
		return 0, "not by the end", len(seen)
	}
	return seen[first].At.Seconds(), "", first + mesh.EvenFor
}

// Outages are claims about proxies whose replica left: how long the typical one and
// the last one had no control plane.
func (k Key) Outages(typical, last string) []judge.Claim {
	ages := func(pick func([]outage) outage) func(set *series.Set) (float64, string, int) {
		return func(set *series.Set) (float64, string, int) {
			all := k.replay.outages(set.Fleet)
			if len(all) == 0 {
				return 0, "no proxy lost its replica", 0
			}
			o := pick(all)
			if !o.over {
				return 0, "not by the end", len(all)
			}
			return (o.to - o.from).Seconds(), "", len(all)
		}
	}
	laws := basis(k.laws([]mesh.Rule{mesh.RuleRequestLimit, mesh.RuleBackOff})...)
	return []judge.Claim{
		{ID: "outage", Sentence: "half of the proxies that lose their replica have a control plane again so soon", Basis: laws,
			Check: quantity{replay: k.replay, unit: "s", late: lateness.Seconds(), predicted: typical, sample: func(b *mesh.Bands) mesh.Sample { return b.OutageMedian },
				observe: ages(func(all []outage) outage { return byLength(all)[len(all)/2] })}},
		{ID: "last-outage", Sentence: "and the one that waits longest, so late", Basis: laws,
			Check: quantity{replay: k.replay, unit: "s", late: lateness.Seconds(), predicted: last, sample: func(b *mesh.Bands) mesh.Sample { return b.OutageHighest },
				observe: ages(func(all []outage) outage { return byLength(all)[len(all)-1] })}},
	}
}

// Back: every proxy has a control plane at the end.
func (k Key) Back(proxies int) judge.Claim {
	return judge.Claim{ID: "all-back", Sentence: "at the end every proxy is connected, but for those between two connections", Basis: basis(mesh.RuleSteadyRate),
		Check: back{k.replay, proxies}}
}

func basis(rules ...mesh.Rule) []string {
	var out []string
	for _, r := range rules {
		if law, ok := mesh.LawOf(r); ok {
			out = append(out, law.String())
		}
	}
	return out
}

// Guards on the fleet.
const (
	WithoutGuard = "without-control-plane"
	HottestGuard = "hottest-replica"
)

func sentences() map[string]string {
	return map[string]string{
		WithoutGuard: "proxies without a control plane, in percent: they go on with the configuration that they have, and no change reaches them",
		HottestGuard: "connections of the fullest replica, by the mean of those that are Ready",
	}
}

// Usual limits.
const (
	// usualWithout is what may be between two connections at any time, and no more.
	usualWithout = 5
	// usualHottest is how full the first replica was that broke in the incident that
	// the model explains: 154 connections where the mean was 77.
	usualHottest = 2
)

func (k Key) guards(limits map[string]float64, expected worst) []judge.Guard {
	guard := func(id, name string, usual, expected float64) judge.Guard {
		return judge.Guard{ID: id, Sentence: sentences()[id], Series: name, Limit: judge.LimitOf(limits, id, usual), Expected: &expected, Window: series.Window{From: StepSteady, To: StepWatch}}
	}
	return []judge.Guard{guard(WithoutGuard, withoutShare, usualWithout, expected.without), guard(HottestGuard, series.MaxMeanName, usualHottest, expected.hottest)}
}

// withoutShare is the series of the guard.
const withoutShare = "proxies.without.share"

// withoutDefinition is how many of the proxies have no control plane.
func withoutDefinition() series.Definition {
	return series.Definition{Name: withoutShare, Unit: "%", Doc: "proxies without a control plane", Fleet: &series.FromFleet{
		Value: func(s *series.FleetState) (float64, bool) {
			return 100 * float64(s.Without()) / float64(s.Proxies), s.Proxies > 0
		},
	}}
}

// ageClasses is how many rows the strip of ages has.
const ageClasses = 10

func (k Key) chart() judge.Chart {
	return judge.Chart{
		Window: k.fleet.window(),
		Ages:   k.fleet.Lifetime().Longest() / ageClasses,
		Panels: []judge.Panel{
			{Title: "Connections of each replica", Unit: "connections", Each: series.ConnectionsToName("")},
			{Title: "Unevenness (CoV)", Unit: "%, with the band of 5 to 95 % of the model's runs", Lines: []judge.Line{
				{Series: series.CoVName, Label: "observed", Band: &judge.Band{Low: covLow, High: covHigh}}}},
			{Title: "Connections that begin", Unit: "in a second, with the model's band", Lines: []judge.Line{
				{Series: series.ConnectRateName, Label: "observed", Band: &judge.Band{Low: connectsLow, High: connectsHigh}}}},
			{Title: "Proxies without a control plane", Unit: "proxies", Lines: []judge.Line{{Series: series.WithoutName, Label: "proxies"}}},
			{Title: "Replicas that are Ready", Unit: "replicas", Lines: []judge.Line{{Series: series.ReadyName, Label: "replicas"}}},
		},
	}
}

// computed are the bands, as series of the recording that they are played for.
func (r *replay) computed(set *series.Set) []*series.Series {
	ends := []*series.Series{{Name: covLow, Unit: "%"}, {Name: covHigh, Unit: "%"}, {Name: connectsLow, Unit: "1/s"}, {Name: connectsHigh, Unit: "1/s"}}
	if r.over(set) != nil {
		return ends
	}
	cov, connects := r.bands.Curve(mesh.CoV), r.bands.Curve(mesh.Connects)
	for i := range cov {
		for j, v := range []float64{cov[i].Low / percent, cov[i].High / percent, connects[i].Low, connects[i].High} {
			ends[j].Points = append(ends[j].Points, series.Point{T: r.at(i), Value: series.Number(v), Ref: Model})
		}
	}
	return ends
}
