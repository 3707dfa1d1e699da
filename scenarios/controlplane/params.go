package controlplane

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// How proxies begin.
const (
	Equilibrium = "equilibrium"
	Together    = "together"
)

// Fleet are the parameters of istiod and of the proxies that connect to it.
type Fleet struct {
	Replicas      int               `json:"replicas" min:"1" max:"40" doc:"replicas of istiod at the begin"`
	Connections   int               `json:"connections" min:"1" max:"5000" doc:"proxies, with one connection each"`
	ConnectionAge scenario.Duration `json:"connectionAge" doc:"keepaliveMaxServerConnectionAge: after about how long istiod asks a proxy to leave"`
	CloseOnGoAway bool              `json:"closeOnGoAway" doc:"proxies leave when they are asked to; pilot-agent waits until istiod cuts it off, 11 s later"`
	Start         string            `json:"start" enum:"equilibrium,together" doc:"together: all connections begin at once, and so end in waves; equilibrium: as if they had been there for long"`
	RequestLimit  float64           `json:"requestLimit" min:"0" max:"10000" doc:"PILOT_MAX_REQUESTS_PER_SECOND, new streams a second and replica; 0: istiod's own, which is 20 on one core"`
	Steady        scenario.Duration `json:"steady" doc:"how long the fleet is watched before anything is done to it"`
	Watch         scenario.Duration `json:"watch" doc:"how long it is watched after; 0: until the model's fleet is even again, and a margin"`
}

// DefaultFleet is small and fast: half a minute of age is as short as makes the
// 11 s that a proxy waits the smaller part of a life.
func DefaultFleet(replicas, connections int) Fleet {
	return Fleet{
		Replicas: replicas, Connections: connections, ConnectionAge: scenario.Duration(30 * time.Second),
		Start: Equilibrium, Steady: scenario.Duration(10 * time.Second),
	}
}

// cpus of each istiod: what the chart sets for a limit of up to one core.
const cpus = 1

// Lifetime is that of the fleet's connections.
func (f Fleet) Lifetime() mesh.Lifetime {
	l := mesh.Lifetime{Age: f.ConnectionAge.Std(), Grace: mesh.WaitsForCut}
	if f.CloseOnGoAway {
		l.Grace = mesh.ClosesOnGoAway
	}
	return l
}

// Limit is new streams a second and replica.
func (f Fleet) Limit() float64 {
	if f.RequestLimit > 0 {
		return f.RequestLimit
	}
	return mesh.RequestLimit(cpus)
}

// Istiod is how the replicas are run.
func (f Fleet) Istiod() stage.Istiod {
	return stage.Istiod{Replicas: f.Replicas, ConnectionAge: f.ConnectionAge.Std(), RequestLimit: f.RequestLimit, CPUs: cpus}
}

// Proxies are the fleet.
func (f Fleet) Proxies() stage.Fleet {
	l := f.Lifetime()
	return stage.Fleet{
		Proxies: f.Connections, Together: f.Start == Together,
		ConnectionAge: l.Age, Grace: l.Grace, CloseOnGoAway: f.CloseOnGoAway,
	}
}

// Bounds of the parameters that no tag can say.
const (
	// leastAge: with less, the 11 s that a proxy waits are most of a life.
	leastAge = 10 * time.Second
	// mostAge is istio's own default.
	mostAge = 30 * time.Minute
)

// Check refuses what leaves the scenario without meaning.
func (f Fleet) Check() error {
	if age := f.ConnectionAge.Std(); age < leastAge || age > mostAge {
		return scenario.Refuse("connectionAge", "%s is not between %s (istiod's grace of 10 s would be most of a life) and %s (the chart's default)", age, leastAge, mostAge)
	}
	if f.Start == Together && f.Steady.Std() >= f.Lifetime().Shortest() {
		return scenario.Refuse("steady", "%s is no shorter than the %s after which the first connections end, which all began together", f.Steady, f.Lifetime().Shortest())
	}
	if f.Connections < 2*f.Replicas {
		return scenario.Refuse("connections", "%d on %d replicas are less than two each: how even they are says nothing", f.Connections, f.Replicas)
	}
	return nil
}

// Needs is istiod, on any cluster that it runs against.
func (f Fleet) Needs() cluster.Capabilities { return cluster.Capabilities{cluster.ScriptedMesh} }

// Base is what is the same of every scenario.
type Base struct{}

// Components are istiod.
func (Base) Components(cluster.Capabilities) []string { return []string{scenario.Istiod} }

// Guards lists the guards with a sentence each.
func (Base) Guards() map[string]string { return sentences() }
