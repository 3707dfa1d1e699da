package cluster

import (
	"slices"
	"strings"
)

// Capability is something that a scenario may need of a cluster.
type Capability string

// What scenarios may need.
const (
	// Kubelet: pods are real processes with probes, signals and sockets.
	Kubelet Capability = "kubelet"
	// Traffic: pods can be reached over the network.
	Traffic Capability = "traffic"
	// Mesh: istiod can run against the cluster.
	Mesh Capability = "mesh"
	// ScriptedMesh: the script decides over istiod's replicas and over proxies that
	// connect to them. A run that needs it has a cluster of its own: there is one
	// istiod in a cluster.
	ScriptedMesh Capability = "scripted-mesh"
	// Processes: istiod's replicas are processes, which can be sent any signal, and of
	// which the script says when others take their place.
	Processes Capability = "processes"
	// StartupTime: pods can be given the time that they take to become Ready.
	StartupTime Capability = "start-up-time"
	// ScriptedReadiness: the script decides which pods are Ready, with the
	// condition ReadinessGate.
	ScriptedReadiness Capability = "scripted-readiness"
)

// Names of providers, as drills call them.
const (
	Embedded = "embedded"
	Kind     = "kind"
)

// Providers lists the providers that a drill can name.
func Providers() []string { return []string{Embedded, Kind} }

// Capabilities are what a cluster offers.
type Capabilities []Capability

// Offered is what a provider of that name offers, nil if there is none.
func Offered(provider string) Capabilities {
	switch provider {
	case Embedded:
		return Capabilities{Mesh, ScriptedMesh, Processes, StartupTime, ScriptedReadiness}
	case Kind:
		return Capabilities{Kubelet, Traffic, Mesh, ScriptedMesh, StartupTime}
	}
	return nil
}

// Everything is what any provider offers.
func Everything() Capabilities {
	var out Capabilities
	for _, p := range Providers() {
		out = append(out, Offered(p)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Has says whether the capability is among them.
func (c Capabilities) Has(want Capability) bool { return slices.Contains(c, want) }

// Missing is what of the needs they lack.
func (c Capabilities) Missing(needs Capabilities) Capabilities {
	return slices.DeleteFunc(slices.Clone(needs), c.Has)
}

func (c Capabilities) String() string {
	names := make([]string, len(c))
	for i, name := range c {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}
