package istiodcost

import (
	"fmt"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// mega makes MB of bytes.
const mega = 1e6

// Names of series.
const (
	// heldName is what is resident of whichever replica was sampled last, in MB.
	heldName     = "memory"
	servicesName = "services"
)

func peakName(replica string) string     { return "memory.peak." + replica }
func residentName(replica string) string { return "memory.resident." + replica }
func cpuName(replica string) string      { return "cpu." + replica }
func clustersName(replica string) string { return "answers.clusters." + replica }
func liveName(occasion string) string    { return "heap.live." + occasion }

func sentName(replica, typ string) string { return fmt.Sprintf("sent.%s.%s", typ, replica) }

// sentTypes are the types of configuration that a proxy asks for, as metrics call them.
var sentTypes = map[string]string{
	"clusters":  "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	"endpoints": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	"listeners": "type.googleapis.com/envoy.config.listener.v3.Listener",
	"routes":    "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
}

// definitions are all that the answer key reads.
func definitions() []series.Definition {
	var out []series.Definition
	for _, d := range series.FleetDefinitions() {
		if d.Name == series.ConnectedName || d.Name == series.ProxiesName {
			out = append(out, d)
		}
	}
	of := func(metric string, labels ...string) *series.FromSample {
		from := &series.FromSample{Series: metric, Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			from.Labels[labels[i]] = labels[i+1]
		}
		return from
	}
	// inMB are two series: bytes as they were sampled, and MB of them.
	inMB := func(name, doc string, from *series.FromSample) {
		raw := name + ".bytes"
		out = append(out,
			series.Definition{Name: raw, Unit: "B", Doc: doc, Sample: from},
			series.Definition{Name: name, Unit: "MB", Doc: doc, Derive: &series.Derived{Inputs: []string{raw}, Value: func(in []float64) float64 { return in[0] / mega }}})
	}
	inMB(heldName, "memory that is resident of the istiod that was sampled last", of(recording.ResidentMemory))
	for _, replica := range []string{first, second} {
		inMB(peakName(replica), "the most memory that was ever resident of "+replica, of(recording.PeakMemory, "replica", replica))
		inMB(residentName(replica), "memory that is resident of "+replica, of(recording.ResidentMemory, "replica", replica))
		out = append(out,
			series.Definition{Name: cpuName(replica), Unit: "s", Doc: "CPU that " + replica + " has used", Sample: of("process_cpu_seconds_total", "replica", replica)},
			series.Definition{Name: clustersName(replica), Unit: "answers", Doc: "answers with clusters that " + replica + " has sent", Sample: of("pilot_xds_pushes", "replica", replica, "type", "cds")})
		for _, typ := range sentOrder {
			out = append(out, series.Definition{Name: sentName(replica, typ), Unit: "B", Doc: "configuration of " + typ + " that " + replica + " has sent",
				Sample: of("pilot_xds_config_size_bytes_sum", "replica", replica, "type", sentTypes[typ])})
		}
	}
	for _, occasion := range []string{heapIdle, heapRamp, heapBack} {
		inMB(liveName(occasion), "what the heap holds once garbage is collected, "+occasion, of(recording.LiveHeap, "at", occasion))
	}
	return append(out, series.Definition{Name: servicesName, Unit: "services", Doc: "services that " + first + " knows", Sample: of("pilot_services", "replica", first)})
}

// sentOrder is the order in which a proxy asks.
var sentOrder = []string{"clusters", "endpoints", "listeners", "routes"}
