package controlplane

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/model/mesh"
	"reckon.dev/reckon/harness/series"
)

// silence is when a proxy notices that nobody answers: pilot-agent asks 30 s after the
// last word that it read, and waits for 10 s (pkg/istio-agent/xds_proxy.go; grpc's
// internal/transport/http2_client.go:1792, v1.82.1). That word is up to 30 s old, for
// istiod asks as often.
const (
	silenceFrom = 10 * time.Second
	silenceTo   = 40 * time.Second
)

// Ways in which replicas are taken away, as parameters and recordings name them.
const (
	SIGTERM  = "SIGTERM"
	SIGKILL  = "SIGKILL"
	SIGSTOP  = "SIGSTOP"
	Eviction = "eviction"
	Delete   = "delete"
	Force    = "force"
)

// Departure is how connections learn that their replica has left: with it, but for
// one that only falls silent. Everything else ends its process, and one that is
// asked to by SIGTERM takes no time for it (mesh.RuleTerm).
func Departure(how string) mesh.Departure {
	if how == SIGSTOP {
		return mesh.Silence(silenceFrom, silenceTo)
	}
	return mesh.Cut()
}

// plan is the model's of what befell a recorded fleet: the model is told when
// replicas came and went, and how many proxies there were. Time 0 is the begin of
// the window.
func (f Fleet) plan(fleet *series.Fleet, window series.Interval) (mesh.Plan, error) {
	out := mesh.Plan{
		Lifetime: f.Lifetime(), Start: mesh.Equilibrium, RequestLimit: f.Limit(), Gap: mesh.EnvoyGap,
		Readings: mesh.Every(reading, window.To-window.From),
	}
	replicas := f.numbered(fleet, window)
	for _, r := range replicas {
		if r.from <= window.From {
			out.Replicas++
		} else {
			out.Events = append(out.Events, mesh.Ready(r.from-window.From)...)
		}
	}
	for i, r := range replicas {
		if r.to < window.To {
			out.Events = append(out.Events, mesh.Leave(r.to-window.From, r.departure(fleet), i)...)
		}
	}
	at := arrivals(fleet)
	for _, t := range at {
		if t <= window.From {
			out.Connections++ // in equilibrium; a fleet that begins together does so inside the window
		} else {
			out.Events = append(out.Events, mesh.Arrive(1, t-window.From, t-window.From)...)
		}
	}
	if out.Replicas == 0 {
		return out, fmt.Errorf("no replica of istiod was Ready at %s", window.From)
	}
	if len(at) == 0 {
		return out, fmt.Errorf("no proxy began")
	}
	var err error
	if out.Rules, err = led(fleet, replicas, window); err != nil {
		return out, err
	}
	return out, out.Validate()
}

// reading is between two looks at the fleet.
const reading = time.Second

// presence is a time for which a replica was Ready.
type presence struct {
	name     string
	from, to time.Duration
	how      string
	cut      series.Interval // in which its connections end, of a pod that leaves
}

// numbered are the presences that the window has something of, in the order in which
// the model numbers them: those of the begin, then by when they became Ready.
func (f Fleet) numbered(fleet *series.Fleet, window series.Interval) []presence {
	var out []presence
	for _, r := range fleet.Replicas {
		for i, in := range r.Ready {
			if in.From > window.To || in.To <= window.From {
				continue
			}
			p := presence{name: r.Name, from: max(in.From, window.From), to: in.To, how: r.How}
			if i < len(r.Ready)-1 {
				p.how = Force // a pause in which connections stay is not in the model: the nearest is a cut
			}
			if fleet.Service != nil && p.to < window.To {
				p.cutBy(fleet)
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b presence) int { return int(a.from - b.from) })
	return out
}

// arrivals are when each proxy was there first.
func arrivals(fleet *series.Fleet) []time.Duration {
	seen := map[string]time.Duration{}
	note := func(proxy string, t time.Duration) {
		if at, ok := seen[proxy]; !ok || t < at {
			seen[proxy] = t
		}
	}
	for _, a := range fleet.Absences {
		note(a.Proxy, a.From)
	}
	for _, c := range fleet.Connections {
		note(c.Proxy, c.From)
	}
	var out []time.Duration
	for _, t := range seen {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}
