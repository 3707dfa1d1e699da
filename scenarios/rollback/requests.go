package rollback

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Series of runs with requests.
const (
	StatusWeight = "status-weight"    // canary weight in the Rollout's status, percent
	Rest         = "delivered-stable" // stable weight as istiod delivered it, percent
	Delivered    = "delivered"        // canary weight as istiod delivered it, percent
	Meant        = "meant"            // share of the requests that is meant for v1, percent

	CanaryHash = "hash.canary" // hash of what the canary Service or subset leads to, as a number
	StableHash = "hash.stable" // of what the stable one leads to

	canaryIs = "canary-is-v1" // 1 while the canary Service or subset leads to v1
	stableIs = "stable-is-v1" // 1 while the stable one does
)

// requestDefinitions are the series of requests and of the weight on its way to them.
func (p Params) requestDefinitions() []series.Definition {
	defs := []series.Definition{
		OfRollout(StatusWeight, "canary weight in the status", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.Canary.Weights.Canary.Weight)), v.Status.CurrentPodHash != ""
		}),
		{Name: Rest, Unit: "%", Doc: "stable weight as istiod delivered it", Sample: &series.FromSample{
			Series: recording.DeliveredWeight, Labels: map[string]string{"route": Route, "target": p.target(StableService, StableSubset)}, Resource: recording.Delivered,
		}},
		// What the stable target does not get: istiod leaves a target of weight 0 out.
		derived(Delivered, "%", "canary weight as istiod delivered it", func(in []float64) float64 { return 100 - in[0] }, Rest),
		TemplateHash(Old),
	}
	same := func(in []float64) float64 { return Truth(in[0] == in[1]).Num }
	defs = append(defs,
		p.CanaryTarget(),
		p.StableTarget(),
		derived(canaryIs, "", "1 while the canary Service or subset leads to v1", same, CanaryHash, Hash(Old)),
		derived(stableIs, "", "1 while the stable Service or subset leads to v1", same, StableHash, Hash(Old)),
		derived(Meant, "%", "share of the requests that is meant for v1", func(in []float64) float64 { return in[0]*in[1] + (100-in[0])*in[2] }, Delivered, canaryIs, stableIs))
	return append(defs, series.RequestDefinitions(stage.GRPC, Old, New)...)
}

func derived(name, unit, doc string, value func([]float64) float64, inputs ...string) series.Definition {
	return series.Definition{Name: name, Unit: unit, Doc: doc, Derive: &series.Derived{Inputs: inputs, Value: value}}
}

// target is what the client calls one of the two that the controller routes to.
func (p Params) target(service, subset string) string {
	if rollouts.Routing(p.Routing) == rollouts.RoutingServices {
		return service
	}
	return subset
}

// hashLabel is what the controller tells the pods of two versions apart by.
const hashLabel = v1alpha1.DefaultRolloutUniqueLabelKey

// Hash names the series of a version's hash.
func Hash(version string) string { return "hash." + version }

// TemplateHash is the hash by which the controller tells a version's pods apart, as a number.
func TemplateHash(version string) series.Definition {
	return replicaSet(Hash(version), version, "the template's hash, as a number,", func(v *series.View) int { return Digest(v.Metadata.Labels[hashLabel]) })
}

// CanaryTarget is the hash that the canary Service or subset leads to.
func (p Params) CanaryTarget() series.Definition {
	return p.leadsTo(CanaryHash, p.target(CanaryService, CanarySubset))
}

// StableTarget is the hash that the stable Service or subset leads to.
func (p Params) StableTarget() series.Definition {
	return p.leadsTo(StableHash, p.target(StableService, StableSubset))
}

// leadsTo is the hash in a Service's selector or in a subset's labels, as a
// number; 0 while the controller has not written any.
func (p Params) leadsTo(name, target string) series.Definition {
	from := &series.FromObject{Resource: Services, Value: func(v *series.View) (series.Value, bool) {
		var selector map[string]string
		err := json.Unmarshal(v.Spec.Selector, &selector)
		return series.Number(float64(Digest(selector[hashLabel]))), err == nil && v.Metadata.Name == target
	}}
	if rollouts.Routing(p.Routing) == rollouts.RoutingSubsets {
		from = &series.FromObject{Resource: DestinationRules, Value: func(v *series.View) (series.Value, bool) {
			i := slices.IndexFunc(v.Spec.Subsets, func(s series.Subset) bool { return s.Name == target })
			if i < 0 {
				return series.Value{}, false
			}
			return series.Number(float64(Digest(v.Spec.Subsets[i].Labels[hashLabel]))), true
		}}
	}
	return series.Definition{Name: name, Doc: "hash that " + target + " leads to, as a number", Object: from}
}

// Digest makes a number of a hash, as series are computed from numbers.
func Digest(hash string) int {
	if hash == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(hash))
	return int(h.Sum32())
}

// old are the requests that are meant for v1.
func (p Params) old() judge.Aim {
	return judge.Aim{Client: stage.GRPC, Version: Old, Targets: []string{p.target(CanaryService, CanarySubset)}}
}

// Times that the weight may take on its way, and where they are from.
const (
	// writeLimit: a pass writes the VirtualService before the status
	// (rollout/canary.go:57 and 95, v1.8.2), with everything else between.
	writeLimit = 2 * time.Second
	// deliverLimit: istiod waits until nothing has changed for 100 ms, then pushes
	// (PILOT_DEBOUNCE_AFTER; at most 10 s, PILOT_DEBOUNCE_MAX). Here changes come in
	// bursts of less than a second, and 0.05 to 0.3 s were measured. A longer limit
	// would take a weight that never comes for one that the next has overtaken.
	deliverLimit = 3 * time.Second
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
	// At the promotion all of these move, and the share that is meant for v1 does not.
	moves := []string{Delivered, canaryIs, stableIs}
	out := []judge.Claim{
		{
			ID: "share", Sentence: "v1 is sent the share of the requests that the delivered weight says", Basis: picks,
			Check: judge.Share{Aim: k.old(), Weight: Meant, Also: moves, Propagation: answerLag, PropagationBasis: answerLagBasis, Window: Drilled},
		},
		{
			ID: "weights-agree", Sentence: "the weight in the status, in the VirtualService, as delivered and as answered are the same, or the recording says why not",
			Basis: append(debounce, picks...),
			Check: judge.Agree{
				Aim: k.old(), Status: StatusWeight, Stored: Weight, Delivered: Delivered, Meant: Meant, Also: moves,
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

// promoted holds from the promotion of v1 until v2 has no pod.
func promoted() []judge.Cond {
	return []judge.Cond{
		{Series: Promoted, Op: judge.Equal, Value: series.Number(1)},
		{Series: Available(New), Op: judge.Greater, Value: series.Number(0)},
	}
}

// measures are what the requests tell, before, during and after.
func (k key) measures() []judge.Measure {
	aim := k.old()
	during := series.Window{From: StepRollback, To: StepSettle}
	return []judge.Measure{{
		Title: "rollback", Client: stage.GRPC, Versions: []string{Old, New}, Busiest: 3,
		Periods: []judge.Period{
			{Name: "before", Window: series.Window{From: StepBefore, To: StepBefore}},
			{Name: "rollback", Window: during},
			{Name: "while v1 is sent some and short of pods", While: k.short(), Window: during},
			{Name: "v1 promoted, v2 still there", While: promoted(), Window: during},
			{Name: "after", Window: series.Window{From: StepQuiet, To: StepQuiet}},
		},
		Delays: []judge.Delay{
			{Name: "VirtualService to istiod's delivery", From: Weight, To: Delivered, Within: deliverLimit, Window: Drilled},
			{Name: "VirtualService to the first answer that follows it", From: Weight, Answers: &aim, Within: deliverLimit, Window: Drilled},
		},
	}}
}

// errorLimit of the guard on errors, in percent, unless the drill sets another.
const errorLimit = 1

func requestGuardNames() map[string]string {
	return map[string]string{
		judge.ErrorsGuard:  "failed requests, in percent of those of one second",
		judge.LatencyGuard: "the 99th percentile of one second's answers, in milliseconds from when they were due",
	}
}

func (k key) requestGuards(limits map[string]float64) []judge.Guard {
	errors, latency := judge.RequestGuards(stage.GRPC, requestGuardNames(), limits, errorLimit, Drilled)
	errors.Basis = []string{"what the available pods cannot take of what is sent to them, if they cannot take it all: rate x weight/100 - available x concurrency x (1 s/work - 1), in one second"}
	if expected, ok := k.refused(); ok {
		errors.Expected = &expected
	}
	if k.Work > 0 { // a pod refuses what it cannot serve at once: nothing waits
		work := float64(k.Work.Std().Milliseconds())
		latency.Expected = &work
	}
	return []judge.Guard{errors, latency}
}

// refused is the greatest part of one second's requests, in percent, that the
// available pods of v1 cannot take. Without a limit in the pods there is none.
// A pod takes concurrency/work a second; where more are sent, one second of them
// may see as many less as a pod serves at once, as it begins in their midst.
func (k key) refused() (float64, bool) {
	if k.Concurrency == 0 || k.Work <= 0 {
		return 0, false
	}
	perPod := float64(k.Concurrency) / k.Work.Std().Seconds()
	worst := 0.0
	for _, r := range k.trace.Rows {
		pods, sent := float64(r.Available[Old]), float64(k.Rate)*float64(r.Weight)/100
		if sent > pods*perPod {
			worst = max(worst, 100*(sent-pods*(perPod-float64(k.Concurrency)))/float64(k.Rate))
		}
	}
	return worst, true
}

// requestPanels come before the others: what users saw.
func requestPanels() []judge.Panel {
	return judge.RequestPanels(stage.GRPC, []string{Old, New},
		judge.Line{Series: Weight, Label: "VirtualService"}, judge.Line{Series: Delivered, Label: "istiod"})
}
