package workload

import (
	"fmt"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Requests adds to an answer key what is said of the requests, over a window
// that ends with the quiet period.
func (k Key) Requests(out *judge.Prediction, limits map[string]float64, window series.Window) {
	out.Definitions = append(out.Definitions, series.RequestDefinitions(stage.HTTP, k.Versions...)...)
	out.Guards = append(out.Guards, requestGuards(limits, window)...)
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

// Guards on requests, and their limits unless the drill sets any.
const (
	Errors  = "errors"
	Latency = "latency"

	errorLimit   = 0   // percent of one second's requests: an update should lose none
	latencyLimit = 500 // milliseconds
)

// RequestGuardNames says what each guard on requests limits, where pods are real.
func RequestGuardNames() map[string]string {
	return map[string]string{
		Errors:  "failed requests, in percent of those of one second, where pods are real",
		Latency: "the 99th percentile of one second's answers, in milliseconds from when they were due, where pods are real",
	}
}

func requestGuards(limits map[string]float64, window series.Window) []judge.Guard {
	limit := func(id string, normal float64) float64 {
		if l, ok := limits[id]; ok {
			return l
		}
		return normal
	}
	names := RequestGuardNames()
	return []judge.Guard{
		{ID: Errors, Sentence: names[Errors], Basis: []string{"an update that keeps its promise loses no request"}, Client: stage.HTTP, Series: series.PunctualName(series.FailedShareName(stage.HTTP)), Limit: limit(Errors, errorLimit), Window: window},
		{ID: Latency, Sentence: names[Latency], Basis: []string{"the time of a request and of its way"}, Client: stage.HTTP, Series: series.PunctualName(series.P99Name(stage.HTTP)), Limit: limit(Latency, latencyLimit), Window: window},
	}
}

// Bounds of what an update may lose.
const (
	// unrouted is how long requests may still be led to a pod that accepts none:
	// the endpoint controller and kube-proxy hear of the deletion when the kubelet
	// does, and kube-proxy writes its rules at most once a second
	// (iptables.minSyncPeriod, pkg/proxy/apis/config/v1alpha1/defaults.go, v1.37.2),
	// with as much again for a busy machine.
	unrouted = 2 * time.Second
	// notice is how long a kubelet may take to learn of a deletion and to have the
	// runtime send SIGTERM; requests that are sent in it are answered.
	notice = time.Second
)

// Lost is the claim about how many requests the end of one pod loses while
// another one is ready.
func (k Key) Lost(p Serving, window series.Window) judge.Claim { return k.LostBy(p, 1, window) }

// LostBy is Lost for as many pods, of which each loses its part of the requests.
func (k Key) LostBy(p Serving, pods int, window series.Window) judge.Claim {
	most := float64(p.Rate) * (unrouted + p.Work.Std()).Seconds()
	claim := judge.Claim{ID: "lost", Basis: []string{
		"kubelet: preStop, then SIGTERM (pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer); the endpoints lose the pod at its deletion, by another way",
	}}
	check := judge.Requests{Client: stage.HTTP, Count: judge.Failed, Window: window}
	switch {
	case p.PreStop.Std() >= unrouted && p.Shutdown == stage.Drain, k.Deployment.Linger.Std() >= unrouted:
		claim.Sentence = fmt.Sprintf("no request is lost: the pod serves on for longer than the %s in which it may still be led to", unrouted)
	case p.PreStop.Std() >= unrouted:
		claim.Sentence = "no request is lost: when the program exits nothing is led to it any more"
	default:
		claim.Sentence = fmt.Sprintf("at most the requests of %s are lost: those that are still led to a pod that accepts none, of %d pods one after the other", unrouted+p.Work.Std(), pods)
		check.Max = int64(most)
	}
	claim.Check = check
	return claim
}

// LostToOutage is the claim that what is sent while no pod is ready fails.
func (k Key) LostToOutage(p Serving, startup time.Duration, window series.Window) judge.Claim {
	least := float64(p.Rate) * (startup - unrouted).Seconds()
	return judge.Claim{
		ID: "lost", Sentence: fmt.Sprintf("what is sent while no pod is ready fails: at least the requests of the new pod's start-up, %s, less %s in which the old one may still answer", startup, unrouted),
		Basis: []string{"a Service without endpoints refuses connections (kube-proxy, REJECT)", "the new pod's start-up"},
		Check: judge.Requests{Client: stage.HTTP, Count: judge.Failed, Min: max(1, int64(least)), Max: judge.Unlimited, Window: window},
	}
}
