package rollback

import (
	"encoding/json"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Series of runs with requests.
const (
	StatusWeight = "status-weight" // canary weight in the Rollout's status, percent
	Delivered    = "delivered"     // canary weight as istiod delivered it, percent
	Serves       = "serves"        // 1 while v1 is what the stable Service or subset leads to
	Meant        = "meant"         // share of the requests that is meant for v1, percent
)

// requestDefinitions are the series of requests and of the weight on its way to them.
func (p Params) requestDefinitions() []series.Definition {
	defs := []series.Definition{
		rollout(StatusWeight, "canary weight in the status", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.Canary.Weights.Canary.Weight)), v.Status.CurrentPodHash != ""
		}),
		{Name: Delivered, Unit: "%", Doc: "canary weight as istiod delivered it", Sample: &series.FromSample{
			Series: recording.DeliveredWeight, Labels: map[string]string{"route": route, "target": p.canaryTarget()}, Resource: recording.Delivered,
		}},
		rollout(Serves, "1 while the stable Service or subset leads to v1", servesOld),
		{Name: Meant, Unit: "%", Doc: "share of the requests that is meant for v1", Derive: &series.Derived{
			Inputs: []string{Delivered, Serves}, Value: func(in []float64) float64 { return max(in[0], 100*in[1]) },
		}},
	}
	return append(defs, series.RequestDefinitions(stage.GRPC, Old, New)...)
}

// canaryTarget is what the client calls the canary.
func (p Params) canaryTarget() string {
	if rollouts.Routing(p.Routing) == rollouts.RoutingServices {
		return canaryService
	}
	return canarySubset
}

// servesOld: a Rollout whose controller has seen the template of v1 and calls
// its ReplicaSet stable.
func servesOld(v *series.View) (series.Value, bool) {
	var observed string
	if json.Unmarshal(v.Status.ObservedGeneration, &observed) != nil || observed != fmt.Sprint(v.Metadata.Generation) {
		return series.Value{}, false
	}
	old := v.Spec.Template.Metadata.Labels[stage.VersionLabel] == Old
	return truth(old && v.Status.StableRS == v.Status.CurrentPodHash), true
}

// old are the requests that are meant for v1.
func (p Params) old() judge.Aim {
	return judge.Aim{Client: stage.GRPC, Version: Old, Targets: []string{p.canaryTarget()}}
}

// Times that the weight may take on its way, and where they are from.
const (
	// writeLimit: a pass writes the VirtualService before the status
	// (rollout/canary.go:57 and 95, v1.8.2), with everything else between.
	writeLimit = 2 * time.Second
	// deliverLimit: istiod waits until nothing has changed for 100 ms, and for 10 s
	// at most (PILOT_DEBOUNCE_AFTER, PILOT_DEBOUNCE_MAX), then pushes.
	deliverLimit = 10*time.Second + time.Second
	// answerLag: an answer of the new weight came up to 0.2 s after the delivery in
	// 40 changes; a machine with all pods on it takes longer.
	answerLag = time.Second
)

const answerLagBasis = "0.2 s were measured between a delivery and the first answer that follows it"

// requestClaims: what was decided is what was delivered, and what was delivered
// is what was answered.
func (k key) requestClaims() []judge.Claim {
	debounce := []string{"istiod: PILOT_DEBOUNCE_AFTER 100 ms, PILOT_DEBOUNCE_MAX 10 s (pilot/pkg/features/tuning.go)"}
	picks := []string{"grpc-go picks the target of each request at random by its weight (internal/wrr/random.go, v1.85.0): the share is binomial"}
	out := []judge.Claim{
		{
			ID: "share", Sentence: "v1 is sent the share of the requests that the delivered weight says", Basis: picks,
			Check: judge.Share{Aim: k.old(), Weight: Meant, Propagation: answerLag, PropagationBasis: answerLagBasis, Window: Drilled},
		},
		{
			ID: "weights-agree", Sentence: "the weight in the status, in the VirtualService, as delivered and as answered are the same, or the recording says why not",
			Basis: append(debounce, picks...),
			Check: judge.Agree{
				Aim: k.old(), Status: StatusWeight, Stored: Weight, Delivered: Delivered, Meant: Meant,
				Limits: judge.Limits{Write: writeLimit, Deliver: deliverLimit, Answer: answerLag}, Window: Drilled,
			},
		},
	}
	if len(k.trace.WeightSequence()) < 2 { // nothing to deliver
		return out
	}
	return append(out, judge.Claim{
		ID: "delivered", Sentence: "istiod delivers every weight that the controller writes", Basis: debounce,
		Check: judge.Propagated{From: Weight, To: Delivered, Within: deliverLimit, Window: Drilled},
	})
}

// short holds while v1 gets requests and has not all of its pods.
func (k key) short() []judge.Cond {
	return []judge.Cond{
		{Series: Available(Old), Op: judge.Less, Value: series.Number(float64(k.Replicas))},
		{Series: Delivered, Op: judge.Greater, Value: series.Number(0)},
	}
}

// measures are what the requests tell, before, during and after.
func (k key) measures() []judge.Measure {
	aim := k.old()
	during := series.Window{From: StepRollback, To: StepSettle}
	return []judge.Measure{{
		Title: "requests", Client: stage.GRPC, Versions: []string{Old, New}, Busiest: 3,
		Periods: []judge.Period{
			{Name: "before", Window: series.Window{From: StepBefore, To: StepBefore}},
			{Name: "rollback", Window: during},
			{Name: "while v1 is sent some and short of pods", While: k.short(), Window: during},
			{Name: "after", Window: series.Window{From: StepQuiet, To: StepQuiet}},
		},
		Delays: []judge.Delay{
			{Name: "VirtualService to istiod's delivery", From: Weight, To: Delivered, Within: deliverLimit, Window: Drilled},
			{Name: "VirtualService to the first answer that follows it", From: Weight, Answers: &aim, Within: deliverLimit, Window: Drilled},
		},
	}}
}

// Guards on requests, and their limits unless the drill sets any.
const (
	Errors  = "errors"
	Latency = "latency"

	errorLimit   = 1   // percent of one second's requests
	latencyLimit = 500 // milliseconds
)

func requestGuardNames() map[string]string {
	return map[string]string{
		Errors:  "failed requests, in percent of those of one second",
		Latency: "the 99th percentile of one second's answers, in milliseconds from when they were due",
	}
}

func (k key) requestGuards(limits map[string]float64) []judge.Guard {
	limit := func(id string, normal float64) float64 {
		if l, ok := limits[id]; ok {
			return l
		}
		return normal
	}
	names := requestGuardNames()
	guards := []judge.Guard{
		{ID: Errors, Sentence: names[Errors], Basis: []string{"what the available pods cannot take of what is sent to them: rate x weight/100 - available x concurrency x (1 s/work - 1), in one second"},
			Client: stage.GRPC, Series: series.PunctualName(series.FailedShareName(stage.GRPC)), Limit: limit(Errors, errorLimit), Window: Drilled},
		{ID: Latency, Sentence: names[Latency], Basis: []string{"the time of a request and of its way"}, Client: stage.GRPC, Series: series.PunctualName(series.P99Name(stage.GRPC)), Limit: limit(Latency, latencyLimit), Window: Drilled},
	}
	if expected, ok := k.refused(); ok {
		guards[0].Expected = &expected
	}
	return guards
}

// refused is the greatest part of one second's requests, in percent, that the
// available pods of v1 cannot take. Without a limit in the pods there is none.
// A pod takes concurrency/work a second, and as many less as it serves at once
// where the second begins and ends in the midst of them.
func (k key) refused() (float64, bool) {
	if k.Concurrency == 0 || k.Work <= 0 {
		return 0, false
	}
	each := float64(k.Concurrency) * (1/k.Work.Std().Seconds() - 1)
	worst := 0.0
	for _, r := range k.trace.Rows {
		sent := float64(k.Rate) * float64(r.Weight) / 100
		worst = max(worst, 100*(sent-each*float64(r.Available[Old]))/float64(k.Rate))
	}
	return worst, true
}

// requestPanels come before the others: what users saw.
func requestPanels() []judge.Panel {
	return judge.RequestPanels(stage.GRPC, []string{Old, New},
		judge.Line{Series: Weight, Label: "VirtualService"}, judge.Line{Series: Delivered, Label: "istiod"})
}
