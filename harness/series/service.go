package series

import (
	"encoding/json"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/recording"
)

// EndpointSlices is the resource that names the pods of Services.
const EndpointSlices = "endpointslices.discovery.k8s.io"

// The Service of istiod, in the namespace and with the name that its charts give it.
const (
	xdsNamespace = "istio-system"
	xdsService   = "istiod"
)

// slice is what an EndpointSlice says of a Service.
type slice struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	AddressType string `json:"addressType"`
	Endpoints   []struct {
		TargetRef struct {
			Name string `json:"name"`
		} `json:"targetRef"`
		// Nil is as good as true, but for Terminating (k8s.io/api/discovery/v1/types.go,
		// EndpointConditions, v0.37.2).
		Conditions struct {
			Ready       *bool `json:"ready"`
			Serving     *bool `json:"serving"`
			Terminating *bool `json:"terminating"`
		} `json:"conditions"`
	} `json:"endpoints"`
}

// xdsSlice takes in a slice of istiod's Service.
func (b *builder) xdsSlice(t time.Duration, o *recording.Object) error {
	if o.Resource != EndpointSlices || o.Namespace != xdsNamespace || !b.readsFleet {
		return nil
	}
	var s slice
	if err := json.Unmarshal(o.Body, &s); err != nil {
		return fmt.Errorf("%s %s@%d: %w", o.Resource, o.Name, o.RV, err)
	}
	if s.Metadata.Labels["kubernetes.io/service-name"] != xdsService || s.AddressType != "IPv4" {
		return nil
	}
	c := kubeproxy.Change{At: t, Slice: o.Name, Listed: o.Change == recording.Listed}
	if o.Change != recording.Deleted {
		for _, e := range s.Endpoints {
			is := func(condition *bool, unknown bool) bool {
				if condition == nil {
					return unknown
				}
				return *condition
			}
			c.Endpoints = append(c.Endpoints, kubeproxy.Endpoint{
				Pod: e.TargetRef.Name, Ready: is(e.Conditions.Ready, true), Serving: is(e.Conditions.Serving, true), Terminating: is(e.Conditions.Terminating, false),
			})
		}
	}
	b.service.Changes = append(b.service.Changes, c)
	return nil
}

// kubeProxy takes in a line of kube-proxy's log, at the time that it bears.
func (b *builder) kubeProxy(l *recording.Log) {
	if l.Component != kubeproxy.Component || !b.readsFleet {
		return
	}
	if said, ok := kubeproxy.Parse(l.Line, b.base); ok {
		b.service.Said = append(b.service.Said, said)
	}
}
