package istiodthrottle

import (
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/controlplane"
)

// Model is what reports call the model.
const Model = "CPU limits"

// ThrottledGuard is on the share of periods that are throttled.
const ThrottledGuard = "throttling"

const guardSentence = "periods of istiod's limit that are throttled, in percent of those that the kernel counts in a second"

// usualThrottled is what the alert CPUThrottlingHigh of the Kubernetes mixin allows.
const usualThrottled = 25

// Predict says what the limit makes of istiod. What is throttled depends on what is
// used: its claims hold the one against the other.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := key{params: p, pods: in.On.Has(cluster.Kubelet)}
	push := series.Window{From: StepPush, To: StepPush}
	return judge.Prediction{
		Model: Model,
		Notes: []string{
			"istiod tells nobody its PushThrottle: it follows from GOMAXPROCS by the formula of its request limit, which shows in how fast it admits proxies.",
		},
		Definitions: append(definitions(), series.FleetDefinitions()...),
		Computed:    computed,
		Claims:      k.claims(),
		Guards: []judge.Guard{{
			ID: ThrottledGuard, Sentence: guardSentence, Series: throttledShare,
			Limit: judge.LimitOf(in.Guards, ThrottledGuard, usualThrottled), Window: push,
		}},
		Chart:  chart(),
		Tables: p.tables(),
	}, nil
}

func (k key) claims() []judge.Claim {
	claim := func(id, sentence string, basis []string, predicted string, eval func(set *series.Set, in series.Interval) (judge.Finding, error), w series.Window, of ...string) judge.Claim {
		return judge.Claim{ID: id, Sentence: sentence, Basis: basis, Check: check{predicted: predicted, window: w, of: of, eval: eval}}
	}
	step := func(name string) series.Window { return series.Window{From: name, To: name} }
	all := []string{cpuUse, cpuPeriods, cpuThrottled, cpuLost, cpus}
	procsBasis := quota.ChartBasis()
	if k.params.Procs == Runtime {
		procsBasis = quota.RuntimeBasis()
	}
	return []judge.Claim{
		claim("gomaxprocs", "istiod runs Go code on as many CPUs at a time as its limit makes of it", procsBasis, k.procsText(), k.procs, step(StepPush), procs, cpus),
		claim("admissions", "and admits new streams at the rate that follows", quota.ThrottleBasis(), k.admissionsText(), k.admissions, step(controlplane.StepConnect), series.ConnectedName),
		claim("in-force", "the kernel enforces the limit in periods of 100 ms, and counts those in which istiod asks for time", quota.PeriodBasis(), "some, and 10 a second at most", k.inForce, step(StepPush), all...),
		claim("capped", "in no second istiod uses more than the limit lets pass", quota.PeriodBasis(), k.cappedText(), k.capped, series.Window{From: StepQuiet, To: StepPush}, all...),
		claim("throttled", "as many periods are throttled as the CPU time that was used, and the time that was lost, allow for", quota.SliceBasis(), k.throttledText(), k.throttled, step(StepPush), append(all, k.measured()...)...),
	}
}

func (k key) procsText() string {
	if k.params.Procs == Runtime {
		return fmt.Sprintf("%d, or the machine's CPUs if those are fewer", k.params.procs(mostCPUs))
	}
	return fmt.Sprintf("%d", k.params.procs(mostCPUs))
}

func (k key) cappedText() string {
	return fmt.Sprintf("%.3g cores, and what a period more and CPUs' slices add", k.params.CPU.Cores())
}

func (k key) throttledText() string {
	return fmt.Sprintf("each uses %s, less 5 ms for every other CPU", k.params.CPU.Quota())
}

func chart() judge.Chart {
	return judge.Chart{
		Window: series.Window{From: StepQuiet, To: StepPush},
		Panels: []judge.Panel{
			{Title: "CPU that istiod uses", Unit: "cores, in a second", Lines: []judge.Line{{Series: useRate, Label: "used"}}},
			{Title: "Periods that are throttled", Unit: "% of those counted in a second", Lines: []judge.Line{{Series: throttledShare, Label: "throttled"}}},
			{Title: "Proxies connected", Unit: "proxies", Lines: []judge.Line{{Series: series.ConnectedName, Label: "connected"}}},
		},
	}
}
