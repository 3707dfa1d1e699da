// Package istiodcost is the scenario istiod-cost: how much memory and CPU a replica of
// istiod takes for its connections and for the endpoints of the mesh, when proxies come
// one by one, when all are sent everything at once, and when all come at once.
package istiodcost

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/controlplane"
)

// What proxies are told of.
const (
	// All: every service of the mesh, as without a Sidecar resource.
	All = "all"
	// Namespace: those of their own namespace, by a Sidecar resource.
	Namespace = "namespace"
)

// Params are the scenario's parameters.
type Params struct {
	Connections  int     `json:"connections" min:"1" max:"2000" doc:"proxies, with one connection each"`
	Endpoints    int     `json:"endpoints" min:"0" max:"50000" doc:"endpoints in the mesh"`
	PerService   int     `json:"perService" min:"1" max:"1000" doc:"endpoints of a service"`
	Namespaces   int     `json:"namespaces" min:"1" max:"100" doc:"namespaces over which the services are spread evenly; the first is that of the proxies"`
	Scope        string  `json:"scope" enum:"all,namespace" doc:"services that proxies are told of: all, or those of their own namespace, by a Sidecar resource"`
	Ramp         int     `json:"ramp" min:"1" max:"1000" doc:"connections that begin in a second, while they come one by one"`
	RequestLimit float64 `json:"requestLimit" min:"0" max:"10000" doc:"PILOT_MAX_REQUESTS_PER_SECOND, new streams a second and replica; 0: istiod's own, which is 20 on one core"`
	Limit        int     `json:"limit" min:"0" max:"65536" doc:"memory limit in MiB, of which istiod is told as in a pod (GOMEMLIMIT is nine tenths of it); 0: none"`
}

// atOnce is a request limit that lets all proxies of a burst in at once.
const atOnce = 1000

// Scenario is istiod-cost.
type Scenario struct{}

var (
	_ scenario.Scenario   = Scenario{}
	_ scenario.GuardNames = Scenario{}
)

func (Scenario) Name() string { return "istiod-cost" }

func (Scenario) Summary() string {
	return "connect proxies to one istiod slowly, push everything, then let all come at once: what memory and CPU does it take?"
}

// Needs hands on processes: nobody can ask a pod for its live heap.
func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedMesh, cluster.Processes}
}

func (Scenario) Components(cluster.Capabilities) []string { return []string{scenario.Istiod} }

func (Scenario) Defaults() any {
	return &Params{Connections: 200, Endpoints: 2000, PerService: 10, Namespaces: 10, Scope: All, Ramp: 10, RequestLimit: atOnce}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if p.Scope == Namespace && p.Namespaces == 1 {
		return scenario.Refuse("scope", "with one namespace a proxy's own has all services: set namespaces to 2 or more")
	}
	return nil
}

// services is how many services have the endpoints.
func (p *Params) services() int { return (p.Endpoints + p.PerService - 1) / p.PerService }

// endpointsOf is how many endpoints a service has: the last may have fewer.
func (p *Params) endpointsOf(service int) int {
	return min(p.PerService, p.Endpoints-service*p.PerService)
}

// load is what the first istiod's memory is for, once all proxies are connected.
func (p *Params) load() footprint.Load {
	l := footprint.Load{Connections: p.Connections, Endpoints: p.Endpoints, Visible: p.Endpoints}
	if p.Scope == Namespace {
		l.Visible = 0
		for i := 0; i < p.services(); i += p.Namespaces {
			l.Visible += p.endpointsOf(i)
		}
	}
	return l
}

// unhindered says whether istiod does what the laws were measured of: it admits all
// proxies at once, and collects garbage when it likes to.
func (p *Params) unhindered() bool { return p.Limit == 0 && p.RequestLimit >= atOnce }

// istiod is how the replicas are run. Connections stay until the script ends them.
func (p *Params) istiod() stage.Istiod {
	return stage.Istiod{Replicas: 1, RequestLimit: p.RequestLimit, MemoryLimit: int64(p.Limit) << 20}
}

// rampTime is how long the proxies take to come one by one.
func (p *Params) rampTime() time.Duration {
	return time.Duration(p.Connections) * time.Second / time.Duration(p.Ramp)
}

// Costs of nominal runs, of which only the length of the script is told.
const (
	writeTime  = 3 * time.Millisecond  // of a service and its endpoints
	answerTime = 10 * time.Microsecond // of CPU, of a connection and an endpoint
)

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	l := p.load()
	sent := time.Duration(l.Connections*l.Visible) * answerTime
	return time.Duration(p.services())*writeTime + 2*controlplane.Start + p.rampTime() + 2*sent + p.admission() + 4*quiet + 3*sampled
}

// admission is how long istiod takes to admit all proxies at once.
func (p *Params) admission() time.Duration {
	limit := p.RequestLimit
	if limit == 0 {
		limit = mesh.RequestLimit(1)
	}
	return time.Duration(float64(p.Connections) / limit * float64(time.Second))
}
