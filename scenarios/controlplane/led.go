package controlplane

import (
	"fmt"
	"slices"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/series"
)

// led are the rules that led connections to replicas behind a Service, in times since
// the begin of the window; none where a connection chooses among those that are Ready.
func led(fleet *series.Fleet, replicas []presence, window series.Interval) ([]mesh.Rules, error) {
	if fleet.Service == nil {
		return nil, nil
	}
	written, err := fleet.Service.Rules()
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(written, func(w kubeproxy.Rules) bool { return w.From > window.From }) - 1
	switch {
	case first == -1:
		return nil, fmt.Errorf("%s did not say what rules were in force at %s", kubeproxy.Component, window.From)
	case first < -1:
		first = len(written) - 1
	}
	written[first].From, written[first].To = window.From, window.From
	var out []mesh.Rules
	for _, w := range written[first:] {
		if w.From > window.To {
			break
		}
		rules, err := numbers(w, replicas, window)
		if err != nil {
			return nil, err
		}
		if n := len(out); n > 0 { // after those before, also where one of both was seen late
			rules.Since.From = max(rules.Since.From, out[n-1].Since.To)
			rules.Since.To = max(rules.Since.To, rules.Since.From)
		}
		out = append(out, rules)
	}
	return out, nil
}

// numbers are rules with the model's numbers for their pods. A pod is in none before it
// is Ready: where that was seen later than the rules were written, they are as late.
func numbers(w kubeproxy.Rules, replicas []presence, window series.Interval) (mesh.Rules, error) {
	out := mesh.Rules{Since: mesh.Span{From: w.From - window.From, To: w.To - window.From}}
	for _, pod := range w.Pods {
		number := -1
		for i, r := range replicas {
			if r.name == pod && (number < 0 || r.from <= w.To) {
				number = i
			}
		}
		if number < 0 {
			return out, fmt.Errorf("%s led to %s at %s, which was not Ready then nor later", kubeproxy.Component, pod, w.From)
		}
		out.Replicas = append(out.Replicas, number)
		out.Since.From = max(out.Since.From, replicas[number].from-window.From)
	}
	out.Since.To = max(out.Since.To, out.Since.From)
	return out, nil
}

// departure is how a replica left. When its kubelet gets to ending a pod is the
// machine's, as readiness is: so the pod's connections end when the first and the last
// of them did, and its network is gone when its kubelet has said so.
func (p presence) departure(fleet *series.Fleet) mesh.Departure {
	if fleet.Service == nil {
		return Departure(p.how)
	}
	stopped := p.cut.To
	for i := range fleet.Replicas {
		if r := &fleet.Replicas[i]; r.Name == p.name {
			stopped = max(stopped, r.Stopped)
			if r.Stopped == 0 { // nobody said more than that the pod is gone
				stopped = max(stopped, r.Gone)
			}
		}
	}
	return mesh.Departure{From: p.cut.From - p.to, To: p.cut.To - p.to, Stops: mesh.Span{From: p.cut.To - p.to, To: stopped - p.to}}
}

// cutBy finds between which times connections of a pod that left ended with it, and not
// for their age; when it left, if none did. That it left is seen through the API server,
// and so may be seen after that: then it left with the first of them.
func (p *presence) cutBy(fleet *series.Fleet) {
	seen := p.to
	p.cut = series.Interval{From: seen, To: seen}
	found := false
	for i := range fleet.Connections {
		c := &fleet.Connections[i]
		aged := c.Because == series.AfterGoAway && c.Asked < seen-notice
		if c.Replica != p.name || c.To < seen-notice || c.Code == "" || aged {
			continue
		}
		if !found {
			p.cut, found = series.Interval{From: c.To, To: c.To}, true
		}
		p.cut.From, p.cut.To = min(p.cut.From, c.To), max(p.cut.To, c.To)
	}
	p.to = min(p.to, p.cut.From)
}
