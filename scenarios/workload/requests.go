package workload

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Requests adds to an answer key what is said of the requests, over a window
// that ends with the quiet period, with pods that take so long to start up.
func (k Key) Requests(out *judge.Prediction, p Serving, startup time.Duration, limits map[string]float64, window series.Window) {
	out.Definitions = append(out.Definitions, series.RequestDefinitions(stage.HTTP, k.Versions...)...)
	out.Definitions = append(out.Definitions, k.requestSeries()...)
	out.Claims = append(out.Claims, k.Lost(p, startup, window)...)
	out.Guards = append(out.Guards, requestGuards(limits, p.failing(k.Deployment, startup), window)...)
	out.Measures = append(out.Measures, judge.Measure{
		Title: "requests", Client: stage.HTTP, Versions: k.Versions,
		Periods: []judge.Period{
			{Name: "before", Window: series.Window{From: StepBefore, To: StepBefore}},
			{Name: "update", Window: series.Window{From: window.From, To: StepSettle}},
			{Name: "while no pod is ready", While: []judge.Cond{{Series: Ready, Op: judge.Less, Value: series.Number(1)}}, Window: series.Window{From: window.From, To: StepSettle}},
			{Name: "after", Window: series.Window{From: StepQuiet, To: StepQuiet}},
		},
	})
	out.Chart.Panels = append(judge.RequestPanels(stage.HTTP, k.Versions), out.Chart.Panels...)
}

// errorLimit of the guard on errors, in percent, unless the drill sets another: an
// update should lose no request.
const errorLimit = 0

// RequestGuardNames says what each guard on requests limits, where pods are real.
func RequestGuardNames() map[string]string {
	return map[string]string{
		judge.ErrorsGuard:  "failed requests, in percent of those of one second, where pods are real",
		judge.LatencyGuard: "the 99th percentile of one second's answers, in milliseconds from when they were due, where pods are real",
	}
}

func requestGuards(limits map[string]float64, failing *float64, window series.Window) []judge.Guard {
	errors, latency := judge.RequestGuards(stage.HTTP, RequestGuardNames(), limits, errorLimit, window)
	errors.Basis, errors.Expected = []string{"an update that keeps its promise loses no request"}, failing
	return []judge.Guard{errors, latency}
}

// Bounds of what an update may lose.
const (
	// minSync is between two writes of kube-proxy's rules
	// (iptables.minSyncPeriod, pkg/proxy/apis/config/v1alpha1/defaults.go:66, v1.37.2).
	minSync = time.Second
	// propagation is what a write takes beyond that, on a busy machine: the
	// EndpointSlice, its watch, and iptables-restore. Real runs had 0.05 to 0.2 s.
	propagation = time.Second
	// unrouted is how long requests may still be led to a pod that accepts none.
	unrouted = minSync + propagation
	// notice is how long a kubelet may take to learn of a deletion and to have the
	// runtime send SIGTERM; requests that are sent in it are answered.
	notice = time.Second
	// receipt is how late the recorder may learn of what happened.
	receipt = 500 * time.Millisecond
)

// Sources of what becomes of requests.
const (
	killed   = "pkg/kubelet/kuberuntime/kuberuntime_container.go:896, 915 (v1.37.2): the preStop sleep, then SIGTERM"
	unready  = "k8s.io/endpointslice/utils.go:39 (v0.37.2): a pod that terminates is not ready from its deletion on, but serving as long as it is Ready"
	fallback = "pkg/proxy/topology.go:74 (v1.37.2): without a ready endpoint requests go to those that are serving and terminating"
	rejected = "pkg/proxy/iptables/proxier.go:889 (v1.37.2): a Service without endpoints rejects connections, by ICMP, of which Linux sends one client few (kubernetes#90810): others time out"
	writes   = "pkg/proxy/runner/bounded_frequency_runner.go:136 (v1.37.2): kube-proxy waits for minSyncPeriod, 1 s, after each write of its rules"
	noRetry  = "the client sends each request once"
)

// Cost is what is predicted of the requests of an update.
type Cost struct {
	// Least and Most are how many requests fail.
	Least, Most int64
	// Outage: for this long at least no pod serves. 0: there need be none.
	Outage time.Duration
	Why    string
	Basis  []string
}

// serves is how long a pod goes on serving after its deletion, at least.
func (p Serving) serves(d Deployment) time.Duration { return p.PreStop.Std() + d.Linger.Std() }

// Cost of an update of one or more pods, whose new pods become ready so long after they run.
func (p Serving) Cost(d Deployment, startup time.Duration) Cost {
	least, _ := d.Fences()
	switch {
	case d.Strategy == Recreate:
		return p.costOfRecreate(d, startup)
	case least == 0:
		return p.costOfOutage(d, startup)
	case p.serves(d) >= p.unrouted():
		return Cost{Why: fmt.Sprintf("no request is lost: each pod serves on for longer than the %s in which it may still be led to", unrouted), Basis: []string{killed, unready, writes}}
	}
	each := ledTo(d) + p.Work.Std()
	return Cost{
		Most: p.requests(each) * int64(d.Replicas) / int64(least),
		Why:  fmt.Sprintf("at most the requests of %s are lost, each pod its part of them: those that are still led to a pod that accepts none", each), Basis: []string{killed, unready, writes},
	}
}

// unrouted is after how long a pod can end without a loss: what is under way may
// be cut off.
func (p Serving) unrouted() time.Duration {
	if p.Shutdown == stage.Exit {
		return unrouted + p.Work.Std()
	}
	return unrouted
}

// ledTo is how long requests may be led to a pod that accepts none. A lone pod goes
// as soon as its successor is available. Without minReadySeconds that is when it
// is ready, which kube-proxy has just written, so that it waits; afterwards it does not.
func ledTo(d Deployment) time.Duration {
	if d.Replicas == 1 && deployment.AvailableBounds(d.MinReadySeconds).NotBefore >= unrouted {
		return propagation
	}
	return unrouted
}

// costOfOutage: all old pods are told to go before any new one is there. They go on
// serving until SIGTERM, since no ready endpoint is preferred to theirs.
func (p Serving) costOfOutage(d Deployment, startup time.Duration) Cost {
	outage := max(0, startup-p.serves(d)-notice)
	most := max(0, startup+PodStart+Reaction+unrouted+p.Work.Std()-p.serves(d))
	least := p.requests(outage)
	if outage > 0 {
		least += p.cut()
	}
	return Cost{
		Least: least, Most: p.requests(most), Outage: outage,
		Why:   fmt.Sprintf("the old pods answer until SIGTERM, %s after their deletion, and the new ones only after their start-up, %s: what is sent between fails", p.serves(d), startup),
		Basis: []string{killed, unready, fallback, rejected, noRetry},
	}
}

// costOfRecreate: the new pods are made when the old ones have ended.
func (p Serving) costOfRecreate(d Deployment, startup time.Duration) Cost {
	return Cost{
		Least: p.requests(startup) + p.cut(), Most: p.requests(startup + PodStart + Reaction + p.Ending() - p.PreStop.Std() + unrouted), Outage: startup,
		Why:   fmt.Sprintf("the new pods are made only when the old ones have ended: what is sent during their start-up, %s, fails, and more", startup),
		Basis: []string{"pkg/controller/deployment/recreate.go:99 (v1.37.2): nothing is made until all old pods have ended", fallback, rejected, noRetry},
	}
}

// cut is how many requests are under way when the last pod exits at once.
func (p Serving) cut() int64 {
	if p.Shutdown != stage.Exit {
		return 0
	}
	return max(0, p.requests(p.Work.Std())-1) // one may be due as another is answered
}

func (p Serving) requests(d time.Duration) int64 { return int64(float64(p.Rate) * d.Seconds()) }

// failing is the worst share of failed requests in a second, in percent, where
// that follows. Pods that refuse some by themselves have others.
func (p Serving) failing(d Deployment, startup time.Duration) *float64 {
	cost := p.Cost(d, startup)
	switch {
	case cost.Outage >= time.Second:
		return new(100.0)
	case cost.Most == 0 && p.Concurrency == 0:
		return new(0.0)
	}
	return nil
}

// Lost is the claim about how many requests the update loses, and those about when.
func (k Key) Lost(p Serving, startup time.Duration, window series.Window) []judge.Claim {
	cost := p.Cost(k.Deployment, startup)
	out := []judge.Claim{{ID: "lost", Sentence: cost.Why, Basis: cost.Basis,
		Check: judge.Requests{Client: stage.HTTP, Count: judge.Failed, Causes: p.causes(), Min: cost.Least, Max: cost.Most, Window: window}}}
	if cost.Most > 0 {
		out = append(out, k.lostOnlyThen(p, window))
	}
	if cost.Outage >= time.Second {
		out = append(out, unserved(window))
	}
	return append(out, k.answering(startup, window)...)
}

// causes are those of which the end of a pod makes requests fail, where pods
// refuse some of them by themselves. Otherwise any cause counts.
func (p Serving) causes() []recording.Cause {
	if p.Concurrency == 0 {
		return nil
	}
	return []recording.Cause{recording.Refused, recording.Reset, recording.TimedOut, recording.Other}
}

// answering: a version answers only while a pod of it is there to. What a
// recording says of a new one's start-up that is shorter than receipt is too little.
func (k Key) answering(startup time.Duration, window series.Window) []judge.Claim {
	var out []judge.Claim
	for _, v := range k.Versions {
		if v != V1 && startup < receipt {
			continue
		}
		out = append(out, judge.Claim{
			ID: "answers-" + v, Sentence: v + " answers only while a pod of it is ready, terminating or not", Basis: []string{unready, fallback},
			Check: judge.Requests{Client: stage.HTTP, Count: judge.Answered, Versions: []string{v}, Window: window, Part: &judge.Part{
				While: []judge.Cond{{Series: RoutableOf(v), Op: judge.Less, Value: series.Number(1)}}, To: -receipt,
			}},
		})
	}
	return out
}

// lostOnlyThen: before a pod gets SIGTERM nothing is lost, ready or not.
func (k Key) lostOnlyThen(p Serving, window series.Window) judge.Claim {
	serves := p.serves(k.Deployment)
	return judge.Claim{
		ID: "lost-only-then", Sentence: fmt.Sprintf("no request fails but from SIGTERM, %s after the first deletion, to %s after pods are ready and none terminates", serves, unrouted),
		Basis: []string{killed, unready, fallback, writes},
		Check: judge.Requests{Client: stage.HTTP, Count: judge.Failed, Causes: p.causes(), Window: window, Part: &judge.Part{
			While: []judge.Cond{{Series: Unsettled, Op: judge.Equal, Value: series.Number(1)}},
			From:  serves - p.Work.Std() - receipt, To: unrouted, Outside: true,
		}},
	}
}

// unserved: where no pod serves nothing is answered. The recorder may learn late
// that one does again.
func unserved(window series.Window) judge.Claim {
	return judge.Claim{
		ID: "unserved", Sentence: "no request is answered from the end of the last old pod to the readiness of the first new one",
		Basis: []string{fallback, rejected, noRetry},
		Check: judge.Requests{Client: stage.HTTP, Count: judge.Answered, Window: window, Part: &judge.Part{
			While: []judge.Cond{{Series: Routable, Op: judge.Less, Value: series.Number(1)}}, To: -receipt,
		}},
	}
}

// requestSeries are those that claims on requests read of pods.
func (k Key) requestSeries() []series.Definition {
	const doc = "pods that are ready, terminating ones included"
	routable := func(v *series.View) bool { return v.Is("Ready", "True") }
	var out []series.Definition
	for _, v := range k.Versions {
		out = append(out, pods(RoutableOf(v), v, doc, routable))
	}
	return append(out, pods(Routable, "", doc, routable),
		series.Definition{Name: Unsettled, Doc: "1 while a pod terminates or none is ready", Derive: &series.Derived{
			Inputs: []string{Terminating, Ready}, Value: func(in []float64) float64 {
				if in[0] > 0 || in[1] < 1 {
					return 1
				}
				return 0
			},
		}})
}
