// Package kubeproxy says among which pods of a Service a connection is led when:
// those of the rules that kube-proxy wrote last, from what it knew when it began
// to write them. Both are behind the pods' readiness: the first change after a
// pause is written at once, and those that follow a second after that was done
// (minSyncPeriod), as long as writing takes later.
//
// What it was told is in the EndpointSlices, when it wrote in its log.
package kubeproxy

import (
	"fmt"
	"slices"
	"time"
)

// Component is the name of kube-proxy's log in recordings.
const Component = "kube-proxy"

// MinSyncPeriod is between the end of one writing and the begin of the next: the
// default, and kind's own (pkg/proxy/apis/config/v1alpha1/defaults.go:66, v1.37.2;
// pkg/cluster/internal/kubeadm/config.go:309, kind v0.33.0).
const MinSyncPeriod = time.Second

// Endpoint is a pod as an EndpointSlice has it.
type Endpoint struct {
	Pod                         string
	Ready, Serving, Terminating bool
}

// Change is an EndpointSlice of the Service as it was from an instant on, without
// endpoints once it is deleted.
type Change struct {
	At        time.Duration
	Slice     string
	Endpoints []Endpoint
	// Listed: it was so before that.
	Listed bool
}

// Rules are the pods among which a connection chooses evenly, since some time
// between From and To and until the next are written. None refuse it.
type Rules struct {
	From, To time.Duration
	Pods     []string
}

// Record is what is known of a Service, each in order of its receipt.
type Record struct {
	Changes []Change
	Said    []Saying
}

// Usable are the pods that rules lead to: those that are Ready, and if there are
// none those that end but serve yet (CategorizeEndpoints, pkg/proxy/topology.go:74,
// v1.37.2; without hints of topology).
func Usable(all []Endpoint) []string {
	var ready, ending []string
	for _, e := range all {
		if e.Ready {
			ready = append(ready, e.Pod)
		}
		if e.Serving && e.Terminating {
			ending = append(ending, e.Pod)
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	slices.Sort(ready)
	return slices.Compact(ready)
}

// Rules are those that were ever written, one after the other.
func (r Record) Rules() ([]Rules, error) {
	changes, err := r.told()
	if err != nil {
		return nil, err
	}
	slicesNow := map[string][]Endpoint{}
	var out []Rules
	next := 0
	for _, w := range r.writings() {
		for ; next < len(changes) && changes[next].At <= w.begin; next++ {
			slicesNow[changes[next].Slice] = changes[next].Endpoints
		}
		var all []Endpoint
		for _, endpoints := range slicesNow {
			all = append(all, endpoints...)
		}
		if pods := Usable(all); len(out) == 0 || !slices.Equal(pods, out[len(out)-1].Pods) {
			out = append(out, Rules{w.writes, w.done, pods})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s did not say when it wrote rules", Component)
	}
	return out, nil
}

// writing is one round of syncProxyRules. It takes in what it was told of as soon as it
// begins (pkg/proxy/iptables/proxier.go:653, v1.37.2).
type writing struct{ begin, writes, done time.Duration }

// writings are the rounds that were done and did not fail.
func (r Record) writings() []writing {
	var out []writing
	var writes time.Duration
	begun := false
	for _, s := range r.Said {
		switch s.What {
		case Writes:
			writes, begun = s.At, true
		case Fails:
			begun = false
		case Done:
			if begun {
				out = append(out, writing{s.At - s.Took, writes, s.At})
			}
			begun = false
		}
	}
	return out
}

// apart is more than lies between kube-proxy and the recorder's learning of one change.
const apart = time.Second

// told are the changes at the times at which kube-proxy said that it was told of
// one. It does not say of which, and is told of other Services too.
func (r Record) told() ([]Change, error) {
	out := slices.Clone(r.Changes)
	for i := 0; i < len(out); i++ {
		if out[i].Listed { // kube-proxy has long been told
			continue
		}
		end := i + 1
		for end < len(out) && !out[end].Listed && out[end].At-out[end-1].At <= apart {
			end++
		}
		burst := out[i:end]
		heard := r.heard(burst[0].At-apart, burst[len(burst)-1].At+apart)
		if !pair(burst, heard) {
			return nil, fmt.Errorf("the recorder was told of %d changes from %s to %s, and %s of %d", len(burst), burst[0].At, burst[len(burst)-1].At, Component, len(heard))
		}
		i = end - 1
	}
	return out, nil
}

// heard are the times at which kube-proxy was told of a change.
func (r Record) heard(from, to time.Duration) []time.Duration {
	var out []time.Duration
	for _, s := range r.Said {
		if s.What == Told && s.At >= from && s.At <= to {
			out = append(out, s.At)
		}
	}
	slices.Sort(out) // lines of two goroutines may change places
	return out
}

// pair gives each change its time in heard: one after the other, and where more were
// heard the nearest that leaves enough for the rest.
func pair(changes []Change, heard []time.Duration) bool {
	if len(heard) < len(changes) {
		return false
	}
	j := 0
	for i := range changes {
		at := changes[i].At
		for spare := len(heard) - (len(changes) - i); j < spare && (heard[j+1]-at).Abs() < (heard[j]-at).Abs(); j++ {
		}
		changes[i].At = heard[j]
		j++
	}
	return true
}
