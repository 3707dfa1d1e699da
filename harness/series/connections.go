package series

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/recording"
)

// Fleet is what became of proxies, of their connections to istiod and of its
// replicas.
type Fleet struct {
	// Connections are all that there ever were, in the order of their begins.
	Connections []Connection
	// Absences are the times for which a proxy had no connection, in the order of
	// their begins.
	Absences []Absence
	// Replicas are in the order in which they were first told of.
	Replicas []Replica
	// Service is what led connections to the replicas, where they are pods behind a
	// Service; nil where they are not.
	Service *kubeproxy.Record
	// Loads are the connections to each replica over time, by the names of the
	// replicas. A replica that was Ready and had none is there too.
	Loads []*Series
}

// Connection is a proxy's connection, from the first answer of its stream to its end.
type Connection struct {
	Proxy string
	// Replica is empty if it did not say who it is.
	Replica  string
	From, To time.Duration
	// Asked is when the server asked the proxy to leave, if it did.
	Asked   time.Duration
	Because Ending
	// Code is that of gRPC, of a connection that its proxy did not end.
	Code string
}

// Age is how old it became, or is at the end of the recording.
func (c *Connection) Age() time.Duration { return c.To - c.From }

// Ending is why a connection ended.
type Ending string

const (
	// StillOpen: it was there at the end of the recording.
	StillOpen Ending = "open"
	// WithProxy: it ended because the proxy left.
	WithProxy Ending = "proxy left"
	// AfterGoAway: the server had asked the proxy to leave, whoever of them ended it then.
	AfterGoAway Ending = "goaway"
	// ByProxy: the proxy ended it unasked, after the rest of a life that began before.
	ByProxy Ending = "by proxy"
	// Lost: it broke.
	Lost Ending = "lost"
)

// Absence is a time for which a proxy had no connection.
type Absence struct {
	Proxy    string
	From, To time.Duration
	// Over: it ended with a connection, and not with the proxy or the recording.
	Over bool
	// Rejects is how many attempts were in vain.
	Rejects int
}

// Replica is a replica of istiod.
type Replica struct {
	Name string
	// Ready are the times for which it was.
	Ready []Interval
	// Gone is when it ended, How it was taken away.
	Gone time.Duration
	How  string
	gone bool
	// Stopped is when its pod was said to have ended; 0 if that was not said.
	Stopped time.Duration
}

// Ended says whether it is gone at the end of the recording.
func (r *Replica) Ended() bool { return r.gone }

// Lifetimes are the ages of the connections that ended inside the interval for one
// of the reasons, sorted.
func (f *Fleet) Lifetimes(in Interval, because ...Ending) []time.Duration {
	var out []time.Duration
	for i := range f.Connections {
		if c := &f.Connections[i]; in.Contains(c.To) && slices.Contains(because, c.Because) {
			out = append(out, c.Age())
		}
	}
	slices.Sort(out)
	return out
}

// Without is how long each proxy had no connection inside the interval, of those
// that had none for any time.
func (f *Fleet) Without(in Interval) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, a := range f.Absences {
		if d := min(a.To, in.To) - max(a.From, in.From); d > 0 {
			out[a.Proxy] += d
		}
	}
	return out
}

// AgeColumn is how many connections have which age at an instant.
type AgeColumn struct {
	At time.Duration
	// Counts has the connections of at least i and less than i+1 times the width.
	Counts []int
}

// Ages are the ages of the open connections at the begin of the interval and every
// so often after it, in steps of width: the columns of a heat strip. All have as
// many counts as the oldest connection needs.
func (f *Fleet) Ages(in Interval, every, width time.Duration) []AgeColumn {
	if every <= 0 || width <= 0 || in.To < in.From {
		return nil
	}
	out := make([]AgeColumn, (in.To-in.From)/every+1)
	for i := range out {
		out[i].At = in.From + time.Duration(i)*every
	}
	rows := 0
	for i := range f.Connections {
		c := &f.Connections[i]
		first := max(0, (c.From-in.From+every-1)/every)
		for j := int(first); j < len(out) && out[j].At < c.To; j++ {
			row := int((out[j].At - c.From) / width)
			rows = max(rows, row+1)
			for len(out[j].Counts) <= row {
				out[j].Counts = append(out[j].Counts, 0)
			}
			out[j].Counts[row]++
		}
	}
	for i := range out {
		out[i].Counts = append(out[i].Counts, make([]int, rows-len(out[i].Counts))...)
	}
	return out
}

// fleetEvent is a fact about the fleet, at the time at which it happened.
type fleetEvent struct {
	t          time.Duration
	connection *recording.Connection
	replica    *recording.Replica
}

// account goes through the events of a fleet in order.
type account struct {
	fleet   Fleet
	changes []change
	gaps    []Gap

	proxies  map[string]*proxyAccount
	order    []*proxyAccount
	replicas map[string]int // place in fleet.Replicas
	ready    map[string]bool
}

// proxyAccount is one proxy as it is.
type proxyAccount struct {
	name    string
	there   bool
	current int // place of its connection, -1 for none
	absent  int // place of its absence, -1 for none
	last    time.Duration
}

func newAccount() *account {
	return &account{proxies: map[string]*proxyAccount{}, replicas: map[string]int{}, ready: map[string]bool{}}
}

func (a *account) take(e *fleetEvent) {
	if e.replica != nil {
		a.replica(e.t, e.replica)
		return
	}
	c := e.connection
	p := a.proxies[c.Proxy]
	if p == nil {
		p = &proxyAccount{name: c.Proxy, current: -1, absent: -1}
		a.proxies[c.Proxy] = p
		a.order = append(a.order, p)
	}
	ref := fmt.Sprintf("%s %s", c.Proxy, c.Event)
	if c.Replica != "" {
		ref += ", " + c.Replica
	}
	a.connection(p, e.t, c, ref)
	p.last = e.t
}

// connection takes an event of a proxy. One that cannot have been leaves a gap since
// the proxy's last, and the proxy as the event says that it is.
func (a *account) connection(p *proxyAccount, t time.Duration, c *recording.Connection, ref string) {
	if why := p.impossible(a, c); why != "" {
		a.gaps = append(a.gaps, Gap{Resource: recording.Connections, From: p.last, To: t, Reason: fmt.Sprintf("%s is said to be %s, and %s", c.Proxy, c.Event, why)})
	}
	if !p.there && c.Event != recording.Left {
		p.there = true
		p.absent = a.absence(p.name, t)
		a.change(change{t: t, ref: ref, proxies: 1})
	}
	switch c.Event {
	case recording.Connected:
		a.end(p, t, Lost, "", ref)
		a.fleet.Absences[p.absent].To, a.fleet.Absences[p.absent].Over = t, true
		p.absent, p.current = -1, len(a.fleet.Connections)
		a.fleet.Connections = append(a.fleet.Connections, Connection{Proxy: p.name, Replica: c.Replica, From: t, Because: StillOpen})
		a.change(change{t: t, ref: ref, kind: c.Event, open: 1, replica: c.Replica})
	case recording.GoAway:
		if p.current >= 0 {
			a.fleet.Connections[p.current].Asked = t
		}
		a.change(change{t: t, ref: ref, kind: c.Event})
	case recording.Closed:
		a.change(change{t: t, ref: ref, kind: c.Event})
		a.end(p, t, a.ending(p, c), c.Code, ref)
	case recording.Rejected:
		a.end(p, t, Lost, "", ref)
		a.fleet.Absences[p.absent].Rejects++
		a.change(change{t: t, ref: ref, kind: c.Event})
	case recording.Left:
		a.end(p, t, WithProxy, "", ref)
		if p.there {
			a.fleet.Absences[p.absent].To = t
			a.change(change{t: t, ref: ref, proxies: -1})
		}
		p.there, p.absent = false, -1
	}
}

// impossible says why an event cannot have happened to a proxy as it is.
func (p *proxyAccount) impossible(a *account, c *recording.Connection) string {
	open := p.current >= 0
	switch c.Event {
	case recording.Begun:
		if p.there {
			return "it was there before"
		}
		return ""
	case recording.Connected, recording.Rejected:
		if open {
			return "it has a connection"
		}
	case recording.GoAway, recording.Closed:
		if !open {
			return "it has no connection"
		}
	case recording.Left:
	default:
		return "there is no such event"
	}
	switch {
	case !p.there:
		return "it has not begun"
	case open && a.fleet.Connections[p.current].Replica != c.Replica:
		return "its connection is to " + a.fleet.Connections[p.current].Replica
	}
	return ""
}

func (a *account) ending(p *proxyAccount, c *recording.Connection) Ending {
	switch {
	case p.current >= 0 && a.fleet.Connections[p.current].Asked > 0:
		return AfterGoAway
	case c.Code == "":
		return ByProxy
	}
	return Lost
}

// end ends a proxy's connection, if it has one.
func (a *account) end(p *proxyAccount, t time.Duration, because Ending, code, ref string) {
	if p.current < 0 {
		return
	}
	c := &a.fleet.Connections[p.current]
	c.To, c.Because, c.Code = t, because, code
	p.current, p.absent = -1, a.absence(p.name, t)
	a.change(change{t: t, ref: ref, open: -1, replica: c.Replica})
}

func (a *account) absence(proxy string, t time.Duration) int {
	a.fleet.Absences = append(a.fleet.Absences, Absence{Proxy: proxy, From: t})
	return len(a.fleet.Absences) - 1
}

func (a *account) change(c change) { a.changes = append(a.changes, c) }

func (a *account) replica(t time.Duration, e *recording.Replica) {
	i, known := a.replicas[e.Name]
	if !known {
		i = len(a.fleet.Replicas)
		a.replicas[e.Name] = i
		a.fleet.Replicas = append(a.fleet.Replicas, Replica{Name: e.Name})
	}
	r := &a.fleet.Replicas[i]
	if e.How != "" {
		r.How = e.How
	}
	c := change{t: t, ref: fmt.Sprintf("%s %s", e.Name, e.Event)}
	switch e.Event {
	case recording.ReplicaReady:
		if !a.ready[e.Name] {
			a.ready[e.Name] = true
			r.Ready = append(r.Ready, Interval{From: t, To: -1})
			r.gone = false
		}
		c.ready = e.Name
	case recording.ReplicaUnready, recording.ReplicaGone:
		if a.ready[e.Name] {
			delete(a.ready, e.Name)
			r.Ready[len(r.Ready)-1].To = t
		}
		c.unready = e.Name
		if e.Event == recording.ReplicaGone {
			r.Gone, r.gone = t, true
		}
	case recording.ReplicaStarted:
		r.gone = false
	case recording.ReplicaStopped:
		r.Stopped = t
	}
	a.change(c)
}

// close ends what is still under way at the end of the recording.
func (a *account) close(end time.Duration) {
	for _, p := range a.order {
		if p.current >= 0 {
			a.fleet.Connections[p.current].To = end
		}
		if p.absent >= 0 {
			a.fleet.Absences[p.absent].To = end
		}
	}
	a.fleet.Absences = slices.DeleteFunc(a.fleet.Absences, func(x Absence) bool { return x.To <= x.From })
	for i := range a.fleet.Replicas {
		r := &a.fleet.Replicas[i]
		if n := len(r.Ready); n > 0 && a.ready[r.Name] {
			r.Ready[n-1].To = end
		}
	}
}
