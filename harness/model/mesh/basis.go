package mesh

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/model/source"
)

// A Basis is where a law's assumption was read: a path in a Go module or a repository.
type Basis = source.Basis

// A Rule names one law of the model.
type Rule string

// The rules.
const (
	RuleLifetime     Rule = "lifetime"
	RuleSteadyRate   Rule = "steadyRate"
	RuleFloor        Rule = "floor"
	RuleEven         Rule = "even"
	RuleMaxOverMean  Rule = "maxOverMean"
	RuleEffective    Rule = "effectiveReplicas"
	RuleScaleOut     Rule = "scaleOut"
	RuleHardEnd      Rule = "hardEnd"
	RuleGrowth       Rule = "growth"
	RulePlateau      Rule = "plateau"
	RuleDeadTime     Rule = "deadTime"
	RuleWave         Rule = "wave"
	RuleEcho         Rule = "echo"
	RuleRequestLimit Rule = "requestLimit"
	RuleBackOff      Rule = "backOff"
	RuleChoice       Rule = "choice"
	RuleLed          Rule = "led"
	RuleDial         Rule = "dial"
	RuleTerm         Rule = "terminate"
	RuleGauge        Rule = "gaugeIncreases"
	RuleBand         Rule = "band"
	RulePushes       Rule = "pushes"
	RuleFirstRecord  Rule = "firstRecord"
	RuleBuckets      Rule = "histogramBuckets"
)

// A Law is a formula of the model and what it follows from in code; without bases it
// follows from other laws.
type Law struct {
	Rule    Rule
	Formula string // A age, g grace, L = A+g, N connections, k replicas
	Note    string
	Bases   []Basis
}

// String is what a claim cites: the formula, and where its assumptions were read.
func (l Law) String() string {
	out := fmt.Sprintf("connection model, %s: %s", l.Rule, l.Formula)
	var read []string
	for _, b := range l.Bases {
		read = append(read, b.String())
	}
	if len(read) > 0 {
		out += " [" + strings.Join(read, ", ") + "]"
	}
	return out
}

const (
	grpcTag   = "v1.82.1"
	istioTag  = "v0.0.0-20260827124520-eed52ebb66ad"
	envoyTag  = "4280ef77469b"
	kubeTag   = "v1.37.2"
	transport = "google.golang.org/grpc/internal/transport/http2_server.go"
	tuning    = "istio.io/istio/pilot/pkg/features/tuning.go"
	discovery = "istio.io/istio/pilot/pkg/xds/discovery.go"
	server    = "istio.io/istio/pilot/pkg/bootstrap/server.go"
	keepalive = "istio.io/istio/pkg/keepalive/options.go"
	monitor   = "istio.io/istio/pilot/pkg/xds/monitoring.go"
	proxier   = "k8s.io/kubernetes/pkg/proxy/iptables/proxier.go"
	backOff   = "github.com/envoyproxy/envoy/source/common/common/backoff_strategy.cc"
)

// age is what every law about the end of connections rests on.
func age() []Basis {
	return []Basis{
		{Source: transport, Line: 234, Tag: grpcTag, Note: "each connection's age is drawn once"},
		{Source: transport, Line: 1490, Tag: grpcTag, Note: "getJitter: uniform, a tenth either way"},
	}
}

// Laws returns all laws.
func Laws() []Law {
	return []Law{
		{RuleLifetime, "life = A*U(0.9, 1.1) + g, g = 10 s grace + 1 s if the client waits for the cut, 0 if it closes on GOAWAY", "A of 0 is for ever, and so is an age that istiod was not given", append(age(),
			Basis{Source: transport, Line: 1234, Tag: grpcTag, Note: "GOAWAY, then the grace"},
			Basis{Source: transport, Line: 362, Tag: grpcTag, Note: "a second before the connection is closed"},
			Basis{Source: keepalive, Line: 75, Tag: istioTag, Note: "grace 10 s, without a flag"})},
		{RuleSteadyRate, "N/(A+g) reconnects a second", "not N/A: halving A does not quite double it", age()},
		{RuleFloor, "CoV sqrt((k-1)/N), standard deviation of one reading floor/sqrt(2(k-1))", "what uniform choice alone leaves; no age makes it less", nil},
		{RuleEven, "CoV <= floor*(1 + 2/sqrt(2(k-1))) in five readings in a row", "a fixed percentage, or 1.25 times the floor, is too tight for few replicas", nil},
		{RuleMaxOverMean, "1 + z*sqrt((k-1)/N), z the expected largest of k normals", "", nil},
		{RuleEffective, "k/(1+CoV^2) replicas carry the load", "", nil},
		{RuleScaleOut, "CoV(t)^2 = R(t)^2*(k2-k1)/k1 + (k2-1)/N, R = 1-t/L until 0.9A+g, then (1.1A+g-t)^2/(0.4A*L)", "a fleet in equilibrium moves linearly", age()},
		{RuleHardEnd, "1.1A+g after the last replica became Ready", "97.5 % have moved by A+g", age()},
		{RuleGrowth, "R(t)*N1/(N1+N2): connections that join choose among all replicas and dilute", "", nil},
		{RulePlateau, "((1-q) + q*R(t))*sqrt((k2-c)/c), q the share that survived, c the replicas Ready when the orphans chose", "it shows when the replacements become Ready, not when the others leave", age()},
		{RuleDeadTime, "0.9A+g after an orphan reconnected nothing moves it", "", age()},
		{RuleWave, "(1-q)*N/(0.2A) a second within [0.9A, 1.1A]+g, q*N/L before and beside", "", age()},
		{RuleEcho, "again at each n*[0.9A+g, 1.1A+g], first harmonic times sin(x)/x a generation, x = 0.2*pi*A/L", "0.937 at 15 and 30 minutes: half after 10.7 generations", age()},
		{RuleRequestLimit, "min(15 + 5*GOMAXPROCS, 100) new streams per second and replica, burst 1, refused after a wait of 1 s", "k_ready times that for a fleet; the age runs from the acceptance of the connection, before the wait", []Basis{
			{Source: tuning, Line: 74, Tag: istioTag}, {Source: discovery, Line: 153, Tag: istioTag, Note: "burst 1"}, {Source: discovery, Line: 607, Tag: istioTag, Note: "waits a second"}}},
		{RuleBackOff, "U(0, 500 ms) after an end, U(0, 1 s) after a refusal, doubled up to 30 s", "", []Basis{{Source: backOff, Line: 13, Tag: envoyTag, Note: "full jitter"}}},
		{RuleChoice, "uniform among the replicas Ready at that moment", "kube-proxy's iptables and nftables modes; IPVS in turn would be smoother", nil},
		{RuleLed, "behind a Service, among the pods that kube-proxy's rules name: those that were Ready when it began to write them, at once after a change, or 1 s after it wrote the last time", "if none is Ready, those that end and serve yet; if none does either, refused", []Basis{
			{Source: "k8s.io/kubernetes/pkg/proxy/runner/bounded_frequency_runner.go", Line: 127, Tag: kubeTag, Note: "minSyncPeriod from end to begin"},
			{Source: "k8s.io/kubernetes/pkg/proxy/topology.go", Line: 74, Tag: kubeTag, Note: "Ready, or else terminating"},
			{Source: proxier, Line: 653, Tag: kubeTag, Note: "takes in the EndpointSlices"},
			{Source: proxier, Line: 1467, Tag: kubeTag, Note: "each with the same probability"}}},
		{RuleDial, "a pod that has ended refuses connections until its network is gone, and then does not answer: 5 s until the attempt fails", "a refusal and a failed attempt are both followed by back-off", []Basis{
			{Source: "k8s.io/kubernetes/pkg/kubelet/kuberuntime/kuberuntime_manager.go", Line: 2134, Tag: kubeTag, Note: "the sandbox is stopped after the containers"},
			{Source: "istio.io/istio/pkg/istio-agent/xds_proxy_delta.go", Line: 64, Tag: istioTag, Note: "5 s"}}},
		{RuleTerm, "SIGTERM cuts every connection within 0.2 s", "istiod begins a graceful stop of up to shutdownDuration, and its process does not wait for it", []Basis{
			{Source: server, Line: 737, Tag: istioTag, Note: "GracefulStop, in a goroutine"},
			{Source: server, Line: 540, Tag: istioTag, Note: "the process waits for what is registered for that, and the stop is not"}}},
		{RuleGauge, "k*u*exp(-2u)*(I0(2u)+I1(2u))/dt, u = rate*dt/k: the positive part of a Skellam number", "grows with the root of the rate", nil},
		{RuleBand, "5 to 95 % of simulated runs; a run is inside if its distance from the mean, both the root mean square and the greatest, is that of 99.9 % of the runs", "readings of one run are correlated", nil},
		{RulePushes, "pilot_xds_pushes counts every response by type; without changes of configuration the rate of type cds is that of reconnects", "", []Basis{{Source: monitor, Line: 182, Tag: istioTag}}},
		{RuleFirstRecord, "a counter is exported only after its first record", "so a name that is missing says nothing about whether it exists", []Basis{
			{Source: "istio.io/istio/pkg/monitoring/counter.go", Line: 35, Tag: istioTag, Note: "a synchronous counter"},
			{Source: "istio.io/istio/pkg/xds/monitoring.go", Line: 68, Tag: istioTag, Note: "pilot_total_xds_rejects"},
			{Source: "istio.io/istio/pkg/xds/monitoring.go", Line: 73, Tag: istioTag, Note: "pilot_xds_write_timeout"}}},
		{RuleBuckets, "a quantile under the first bucket is interpolated from 0: 0.99 times the bucket's bound", "compare counts per bucket, or sum and count", []Basis{{Source: monitor, Line: 72, Tag: istioTag, Note: "pilot_xds_push_time begins at 10 ms"}, {Source: monitor, Line: 89, Tag: istioTag, Note: "pilot_proxy_convergence_time begins at 100 ms"}}},
	}
}

// LawOf is the law of a rule.
func LawOf(rule Rule) (Law, bool) {
	for _, l := range Laws() {
		if l.Rule == rule {
			return l, true
		}
	}
	return Law{}, false
}
