package series_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

// sliceFact is a state of an EndpointSlice with one endpoint.
func sliceFact(at time.Duration, change recording.Change, namespace, service, addresses, conditions string) recording.Fact {
	body := fmt.Sprintf(`{"metadata":{"labels":{"kubernetes.io/service-name":%q}},"addressType":%q,"endpoints":[{"targetRef":{"name":"i0"},"conditions":%s}]}`, service, addresses, conditions)
	return recording.Fact{T: int64(at), Object: &recording.Object{Change: change, Resource: series.EndpointSlices, Namespace: namespace, Name: "s", Body: json.RawMessage(body)}}
}

func line(component, text string) recording.Fact {
	return recording.Fact{T: int64(3 * time.Second), Log: &recording.Log{Component: component, Line: text}}
}

func TestWhatLedConnectionsIsReadOfIstiodsServiceAndKubeProxy(t *testing.T) {
	t.Parallel()
	const s = time.Second
	const writes = `I0101 00:00:02.500000       1 proxier.go:1373] "Reloading service iptables data" ipFamily="IPv4" numServices=9`
	facts := recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0").Facts
	facts = append(facts,
		sliceFact(0, recording.Listed, "istio-system", "istiod", "IPv4", `{"ready":true,"serving":true,"terminating":false}`),
		sliceFact(s, recording.Modified, "istio-system", "istiod", "IPv4", `{"ready":false,"serving":true,"terminating":true}`),
		sliceFact(s, recording.Modified, "istio-system", "istiod", "IPv4", `{}`),
		sliceFact(s, recording.Modified, "istio-system", "istiod", "IPv6", `{}`),
		sliceFact(s, recording.Modified, "istio-system", "other", "IPv4", `{}`),
		sliceFact(s, recording.Modified, "other", "istiod", "IPv4", `{}`),
		sliceFact(2*s, recording.Deleted, "istio-system", "istiod", "IPv4", `{"ready":true}`),
		line("istiod", writes), line(kubeproxy.Component, "nothing"), line(kubeproxy.Component, writes),
	)
	want := &kubeproxy.Record{
		Changes: []kubeproxy.Change{
			{Slice: "s", Listed: true, Endpoints: []kubeproxy.Endpoint{{Pod: "i0", Ready: true, Serving: true}}},
			{At: s, Slice: "s", Endpoints: []kubeproxy.Endpoint{{Pod: "i0", Serving: true, Terminating: true}}},
			{At: s, Slice: "s", Endpoints: []kubeproxy.Endpoint{{Pod: "i0", Ready: true, Serving: true}}},
			{At: 2 * s, Slice: "s"},
		},
		Said: []kubeproxy.Saying{{At: 2500 * time.Millisecond, What: kubeproxy.Writes}},
	}
	if diff := cmp.Diff(want, read(t, 5000, series.FleetDefinitions(), facts...).Fleet.Service); diff != "" {
		t.Error(diff)
	}
	if _, err := tryRead(t, 5000, series.FleetDefinitions(), recording.Fact{Object: &recording.Object{Resource: series.EndpointSlices, Namespace: "istio-system", Name: "s", Body: json.RawMessage(`{"endpoints":1}`)}}); err == nil {
		t.Error("no error of a slice that cannot be read")
	}
}

func TestProcessesHaveNoService(t *testing.T) {
	t.Parallel()
	facts := append(recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0").Facts, sliceFact(0, recording.Listed, "drill", "web", "IPv4", `{}`))
	if got := read(t, 5000, series.FleetDefinitions(), facts...).Fleet.Service; got != nil {
		t.Errorf("%+v", got)
	}
}

func TestAPodsEndIsKnown(t *testing.T) {
	t.Parallel()
	const s = time.Second
	fleet := recordingtest.NewFleet().Replica(0, recording.ReplicaReady, "i0").Replica(s, recording.ReplicaUnready, "i0").Replica(2*s, recording.ReplicaStopped, "i0").Replica(3*s, recording.ReplicaGone, "i0")
	r := read(t, 5000, series.FleetDefinitions(), fleet.Facts...).Fleet.Replicas[0]
	if r.Stopped != 2*s || r.Gone != 3*s || r.Ready[0].To != s {
		t.Errorf("%+v", r)
	}
}
