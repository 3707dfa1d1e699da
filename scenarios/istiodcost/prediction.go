package istiodcost

import (
	"errors"
	"fmt"
	"math"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// Model is what reports call the model.
const Model = "memory laws"

// MemoryGuard is the limit on what is resident of any replica, in MB.
const MemoryGuard = "memory"

// usualMemory is what the chart asks for each istiod: 2048 Mi (manifests/charts/
// istio-control/istio-discovery/values.yaml, 1.31). It sets no limit.
const usualMemory = 2048 << 20 / mega

// Guards lists the guards with a sentence each.
func (Scenario) Guards() map[string]string {
	return map[string]string{MemoryGuard: "memory of an istiod in MB, the program's own text included: what a limit of its pod has to leave room for"}
}

// Basis of claims.
const (
	basisLaw    = "fitted law: istiod 1.31, least squares of relative errors over the committed recordings of istiod-cost, with the interval for one more measurement"
	basisAnswer = "pilot/pkg/xds/delta.go:310 (1.31): a proxy that connects is sent what it asks for at once"
	basisPush   = "pilot/pkg/xds/ads.go:590 (1.31): a change of configuration is pushed to every connection that it may concern, once"
	basisHeap   = "pilot/pkg/xds/delta.go:247 (1.31): of what was sent to a connection, its names stay"
)

// Predict makes the answer key: counts that the script decides, and memory by the laws.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	laws, err := committed()
	if err != nil && !errors.Is(err, footprint.ErrTooFew) {
		return judge.Prediction{}, err
	}
	return in.Params.(*Params).key(in.Guards, laws), nil
}

// laws are those of all quantities, nil if there are none.
type laws map[footprint.Quantity]footprint.Law

// key is the answer key, with claims about memory where there are laws.
func (p *Params) key(limits map[string]float64, laws laws) judge.Prediction {
	out := judge.Prediction{
		Model: Model, Definitions: definitions(), Chart: chart(),
		Claims: []judge.Claim{
			p.connected("connected", "every proxy that comes one by one is connected", StepRampHeap),
			{ID: "services", Sentence: "istiod knows the services of the mesh, and next to none beside", Basis: []string{basisPush},
				Check: judge.Bound{Of: servicesName, Extreme: judge.Greatest, Low: float64(p.services()), High: float64(p.services() + clusterServices), Window: series.Window{From: StepIdle, To: StepPush}}},
			{ID: "answers", Sentence: "a proxy is sent its clusters when it connects, and once by a change that concerns all", Basis: []string{basisAnswer, basisPush}, Check: answers{p.Connections}},
			p.connected("connected-again", "and every one is connected again after the first istiod was lost", StepBackHeap),
		},
	}
	out.Guards = []judge.Guard{p.guard(limits, laws)}
	if laws == nil {
		out.Notes = []string{"Nothing is claimed of memory: too few measurements are committed for a law."}
		return out
	}
	out.Claims = append(out.Claims, p.memoryClaims(laws)...)
	out.Tables = p.tables(laws)
	out.Notes = p.notes()
	return out
}

// clusterServices is how many services an empty cluster may have.
const clusterServices = 3

func (p *Params) connected(id, sentence, step string) judge.Claim {
	n := float64(p.Connections)
	return judge.Claim{ID: id, Sentence: sentence, Basis: []string{basisAnswer},
		Check: judge.Bound{Of: series.ConnectedName, Extreme: judge.Least, Low: n, High: n, Unit: "proxies", Window: series.Window{From: step, To: step}}}
}

// committed are the laws of the committed measurements.
func committed() (laws, error) {
	all, err := footprint.Measurements()
	if err != nil {
		return nil, err
	}
	return lawsOf(all)
}

func lawsOf(all []footprint.Measurement) (laws, error) {
	out := laws{}
	for _, q := range footprint.Quantities() {
		l, err := footprint.FitOf(q, all)
		if err != nil {
			return nil, err
		}
		out[q] = l
	}
	return out, nil
}

// memoryClaims hold what was measured against the intervals of the laws. Of an istiod
// that is held back they give the upper end only.
func (p *Params) memoryClaims(laws laws) []judge.Claim {
	claim := func(id, sentence string, q footprint.Quantity, of, step string, basis ...string) judge.Claim {
		in := laws[q].Predict(p.load(), judge.DefaultLevel)
		low, high := math.Floor(in.Low/mega), math.Ceil(in.High/mega)
		if q != footprint.Live && !p.unhindered() {
			low = math.Inf(-1)
		}
		return judge.Claim{ID: id, Sentence: sentence, Basis: append(basis, basisLaw),
			Check: judge.Bound{Of: of, Extreme: judge.Greatest, Low: low, High: high, Unit: "MB", Window: series.Window{From: step, To: step}}}
	}
	return []judge.Claim{
		claim("live-heap", "what the heap holds follows from connections and endpoints", footprint.Live, liveName(heapRamp), StepRampHeap, basisHeap),
		claim("live-heap-again", "and is the same whether they came one by one or at once", footprint.Live, liveName(heapBack), StepBackHeap, basisHeap),
		claim("ramp", "proxies that come one by one take little memory beside it", footprint.Ramp, peakName(first), StepRamp),
		claim("push", "a push to all at once takes more, for as long as what it sends is not garbage that was collected", footprint.Push, peakName(first), StepPush),
		claim("burst", "and so does the connecting of all at once", footprint.Burst, peakName(second), StepBurst),
	}
}

func (p *Params) guard(limits map[string]float64, laws laws) judge.Guard {
	usual := usualMemory
	if p.Limit > 0 {
		usual = float64(p.Limit) * (1 << 20) / mega
	}
	g := judge.Guard{
		ID: MemoryGuard, Sentence: Scenario{}.Guards()[MemoryGuard], Series: heldName, Limit: judge.LimitOf(limits, MemoryGuard, usual),
		Window: series.Window{From: StepStart, To: StepBackHeap},
	}
	if laws != nil {
		worst := 0.0
		for _, q := range []footprint.Quantity{footprint.Push, footprint.Burst} {
			worst = max(worst, math.Round(laws[q].At(p.load())/mega))
		}
		g.Expected = &worst
	}
	return g
}

func (p *Params) notes() []string {
	out := []string{"The laws of memory are of " + footprint.Source + ". Of another istiod, machine or mesh they are an extrapolation."}
	if !p.unhindered() {
		out = append(out, "They are of istiods that admit all proxies at once and have no memory limit: of this one they say the most that it takes.")
	}
	return out
}

// confidence is the level of intervals of coefficients, which people read.
const confidence = 0.95

// tables are the laws, and what they say of the parameters.
func (p *Params) tables(laws laws) []judge.Table {
	names := footprint.TermNames()
	terms := judge.Table{Title: "the laws, with intervals at 95 %", Head: append([]string{"law"}, append(names[:], "exponent", "scatter")...)}
	load := p.load()
	here := judge.Table{
		Title: fmt.Sprintf("memory for %d connections, %d endpoints of which a proxy sees %d", load.Connections, load.Endpoints, load.Visible),
		Head:  []string{"law", "expected", "one run in 20 is outside", "one in 1000"},
	}
	for _, q := range footprint.Quantities() {
		row, l := []string{string(q)}, laws[q]
		for i := range names {
			row = append(row, interval(l.Term(i, confidence)))
		}
		terms.Rows = append(terms.Rows, append(row, fmt.Sprint(l.Exponent), fmt.Sprintf("%.0f %%", 100*l.Scatter)))
		often, rarely := l.Predict(load, confidence), l.Predict(load, judge.DefaultLevel)
		here.Rows = append(here.Rows, []string{string(q), footprint.Bytes(often.Value), span(often), span(rarely)})
	}
	reported := footprint.Bytes(footprint.Reported().At(load))
	here.Rows = append(here.Rows, []string{"240 MB + 400 B x connections x endpoints", reported, "-", "-"})
	return []judge.Table{here, terms}
}

func interval(i footprint.Interval) string {
	return fmt.Sprintf("%s (%s)", footprint.Bytes(i.Value), span(i))
}

func span(i footprint.Interval) string {
	return footprint.Bytes(i.Low) + " to " + footprint.Bytes(i.High)
}

func chart() judge.Chart {
	lines := func(name func(string) string) []judge.Line {
		return []judge.Line{{Series: name(first), Label: first}, {Series: name(second), Label: second}}
	}
	return judge.Chart{
		Window: series.Window{From: StepStart, To: StepBackHeap},
		Panels: []judge.Panel{
			{Title: "Memory that is resident", Unit: "MB", Lines: lines(residentName)},
			{Title: "Proxies that are connected", Unit: "proxies", Lines: []judge.Line{{Series: series.ConnectedName, Label: "connected"}}},
			{Title: "Answers with clusters", Unit: "answers", Lines: lines(clustersName)},
		},
	}
}
