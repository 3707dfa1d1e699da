package report

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

const gatewayClient = "grpc"

// canaryWeights are those of the rollout with traffic, by second.
var canaryWeights = []struct {
	at     float64
	weight int
}{{6, 5}, {14, 20}, {24, 50}, {40, 100}}

// measuredRun is a canary rollout under 300 requests per second: at 50 % the
// canary has no ready pod for 3 s, the stream from istiod is down over the last
// step, and nobody knows why the answers are off for 2 s.
func measuredRun(t testing.TB) Run {
	h := header("canary-traffic/argo-rollouts=v1.8.2", 1)
	h.Scenario, h.Drill, h.Params, h.Guards = "canary-traffic", "canary-traffic", nil, nil
	tp := newTape(t, h)
	tp.step(0.2, 4, "set up", "", func() {
		tp.replicaSet(0.3, "shop-v1", 20, 20)
		tp.replicaSet(0.4, "shop-v2", 0, 0)
		tp.weight(0.5, 0)
		tp.delivered(0.7, 0)
		tp.requests(rand.New(rand.NewPCG(7, 7)), 2, 4)
	})
	rng := rand.New(rand.NewPCG(1, 1))
	tp.step(4, 60, "release v2", "", func() {
		for i, w := range canaryWeights {
			if i == 3 {
				tp.replicaSet(29, "shop-v2", 10, 0)
				tp.replicaSet(32, "shop-v2", 10, 10)
			}
			tp.replicaSet(w.at-1, "shop-v2", w.weight/5, w.weight/5)
			tp.weight(w.at, w.weight)
			if i < 3 {
				tp.delivered(w.at+0.15+float64(i)/40, w.weight)
			}
		}
		tp.delivered(44.2, 100)
		tp.fact(recording.Fact{T: at9(44.3), Gap: &recording.Gap{Resource: recording.Delivered, FromNS: at9(39.8), ToNS: at9(44.2), Reason: "istiod closed it: max_age"}})
		tp.requests(rng, 4, 60)
	})
	tp.step(60, 64, "stay quiet", "", func() { tp.requests(rng, 60, 66) })
	return tp.run(66, measuredPrediction(), judge.Gate{Guards: "report"})
}

func (tp *tape) delivered(sec float64, weight int) {
	tp.fact(recording.Fact{T: at9(sec), Sample: &recording.Sample{Series: recording.DeliveredWeight, Labels: map[string]string{"target": "canary", "route": "primary"}, Value: float64(weight), AtNS: at9(sec)}})
}

// answeredShare is the share that v2 answers at a time.
func answeredShare(sec float64) float64 {
	share := 0.0
	for i, w := range canaryWeights {
		from := w.at + 0.3
		if i == 3 {
			from = 44.25
		}
		if sec >= from {
			share = float64(w.weight) / 100
		}
	}
	if sec >= 17 && sec < 19 {
		share = 0.5
	}
	return share
}

// requests are 30 in each tenth of a second.
func (tp *tape) requests(rng *rand.Rand, from, to float64) {
	for i := int(math.Round(from * 10)); i < int(math.Round(to*10)); i++ {
		sec, canary := float64(i)/10, int64(0)
		for range 30 {
			if rng.Float64() < answeredShare(sec) {
				canary++
			}
		}
		tr := &recording.Traffic{Client: gatewayClient, Seq: int64(i), FromNS: int64(i) * 1e8, ToNS: int64(i+1) * 1e8, Due: 30}
		if sec >= 29 && sec < 32 {
			tr.Failures = []recording.Failure{{Cause: recording.NoEndpoint, Text: "weighted-target: no targets to pick from", N: canary}}
			canary = 0
			tr.Answers = []recording.Answer{{Version: "v1", Pod: "shop-v1-a", N: 30 - tr.Failures[0].N}}
		} else {
			tr.Answers = []recording.Answer{{Version: "v1", Pod: "shop-v1-a", N: 30 - canary}, {Version: "v2", Pod: "shop-v2-b", N: canary}}
		}
		if sec > 24.1 && sec < 24.3 {
			tr.Failures, tr.Answers[0].N = append(tr.Failures, recording.Failure{Cause: recording.ClientRace, Target: "canary", Text: "unknown cluster selected for RPC", N: 2}), tr.Answers[0].N-2
		}
		slow := int64(0)
		for range 30 {
			us := int64(1000 * math.Exp(rng.NormFloat64()*0.8) * (1 + answeredShare(sec)))
			if slow++; slow == 30 {
				us *= 6
			}
			tr.Latency = append(tr.Latency, recording.Bucket{US: recording.BucketOf(us), N: 1})
		}
		tp.fact(recording.Fact{T: tr.ToNS, Traffic: tr})
	}
}

func measuredPrediction() judge.Prediction {
	window := series.Window{From: "release v2", To: "stay quiet"}
	aim := judge.Aim{Client: gatewayClient, Version: "v2", Targets: []string{"canary"}}
	defs := definitions()[:5]
	defs = append(defs, series.Definition{Name: "delivered", Unit: "%", Sample: &series.FromSample{
		Series: recording.DeliveredWeight, Labels: map[string]string{"target": "canary"}, Resource: recording.Delivered}})
	defs = append(defs, series.RequestDefinitions(gatewayClient, "v1", "v2")...)
	missing := judge.Cond{Series: "available{v2}", Op: judge.Equal, Value: series.Number(0)}
	chart := judge.Chart{Window: window, Panels: append(
		judge.RequestPanels(gatewayClient, []string{"v2"}, judge.Line{Series: "weight", Label: "VirtualService"}, judge.Line{Series: "delivered", Label: "istiod"}),
		judge.Panel{Title: "Available", Unit: "pods", Lines: []judge.Line{{Series: "available{v1}", Label: "v1"}, {Series: "available{v2}", Label: "v2"}}})}
	return judge.Prediction{
		Model: "rollouts 1.8.0-1.8.2", Definitions: defs, Chart: chart,
		Claims: []judge.Claim{
			{ID: "shares", Sentence: "Requests are answered in proportion to the delivered weights.", Basis: []string{"docs/features/traffic-management/istio.md"},
				Check: judge.Share{Aim: aim, Weight: "delivered", Propagation: 500 * time.Millisecond, PropagationBasis: "measured: 7 to 190 ms", Window: window}},
			{ID: "none-lost", Sentence: "No request fails.", Basis: []string{"formula: available > 0"}, Check: judge.Lost(gatewayClient, window)},
			{ID: "delivery", Sentence: "Each weight is delivered within a second.", Basis: []string{"measured"}, Check: judge.Propagated{From: "weight", To: "delivered", Within: time.Second, Window: window}},
			{ID: "weights-agree", Sentence: "The weights and the answers agree, or the recording says why.", Basis: []string{"measured"},
				Check: judge.Agree{Aim: aim, Stored: "weight", Delivered: "delivered", Limits: judge.Limits{Write: time.Second, Deliver: time.Second, Answer: time.Second}, Window: window}},
		},
		Guards: []judge.Guard{
			{ID: "errors", Sentence: "At most 5 % of the requests of a second fail.", Series: series.FailedShareName(gatewayClient), Limit: 5, Window: window},
			{ID: "p99", Sentence: "Of a hundred answers one takes longer than 100 ms at most.", Series: series.P99Name(gatewayClient), Limit: 100, Window: window},
		},
		Measures: []judge.Measure{{
			Title: "rollout", Client: gatewayClient, Busiest: 1,
			Periods: []judge.Period{
				{Name: "all of it", Window: window},
				{Name: "while v2 has no pods", While: []judge.Cond{missing, {Series: "weight", Op: judge.Greater, Value: series.Number(0)}}, Window: window},
				{Name: "after", Window: series.Window{From: "stay quiet", To: "stay quiet"}},
			},
			Delays: []judge.Delay{
				{Name: "VirtualService to istiod", From: "weight", To: "delivered", Within: 10 * time.Second, Window: window},
				{Name: "istiod to the first answer", From: "delivered", Answers: &aim, Within: 5 * time.Second, Window: window},
			},
		}},
	}
}
