package traffic

import (
	"fmt"
	"sync"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// FleetSettings is what a fleet of proxies was told to do.
type FleetSettings struct {
	// Proxies is how many begin, not counting growth.
	Proxies int `json:"proxies"`
	// Cohort is the version that they tell istiod they have.
	Cohort string `json:"cohort"`
	// Istiod is the address that all connect to; empty: each time one of those that
	// are Ready, which the fleet is told.
	Istiod string `json:"istiod,omitempty"`
	// OverNS is how long it takes until the last has begun.
	OverNS int64 `json:"overNS,omitempty"`
	// Together: no connection is ended by its proxy. Otherwise the first one of each
	// is, after the rest of a life that began before.
	Together bool `json:"together,omitempty"`
	// AgeNS and GraceNS are what those lives are drawn from.
	AgeNS   int64 `json:"ageNS,omitempty"`
	GraceNS int64 `json:"graceNS,omitempty"`
	// CloseOnGoAway: proxies leave when they are asked to.
	CloseOnGoAway bool   `json:"closeOnGoAway,omitempty"`
	Seed          uint64 `json:"seed"`
}

// Connections is what became of a fleet's connections in (FromNS, ToNS], in the
// order of their times. Intervals follow each other without a hole; there is one
// at least every second.
type Connections struct {
	Seq    int64 `json:"seq"`
	FromNS int64 `json:"fromNS"`
	ToNS   int64 `json:"toNS"`
	// Events have their times since the Unix epoch.
	Events []recording.Connection `json:"events,omitempty"`
	// LateNS is by how much the interval ended later than it should have: as late
	// the fleet may have noticed what happened.
	LateNS int64 `json:"lateNS,omitempty"`
}

// FleetTotals counts all that became of a fleet's connections.
type FleetTotals struct {
	Intervals int64 `json:"intervals"`
	// Proxies is how many ever began.
	Proxies  int64 `json:"proxies"`
	Connects int64 `json:"connects"`
	GoAways  int64 `json:"goaways"`
	Closes   int64 `json:"closes"`
	Rejects  int64 `json:"rejects"`
	// Open is how many connections are open, or were when their proxies left.
	Open int64 `json:"open"`
}

// Add counts an event.
func (t *FleetTotals) Add(e recording.ConnectionEvent) {
	switch e {
	case recording.Begun:
		t.Proxies++
	case recording.Connected:
		t.Connects++
		t.Open++
	case recording.GoAway:
		t.GoAways++
	case recording.Closed:
		t.Closes++
		t.Open--
	case recording.Rejected:
		t.Rejects++
	}
}

// tardy is how late an interval may end to count as in time: half of a fleet's
// tick of 100 ms.
const tardy = 50 * time.Millisecond

// book is what is known of a fleet's proxies.
type book struct {
	proxies map[string]*proxy

	mu     sync.Mutex // the totals are asked for while lines are read
	totals FleetTotals
}

// proxy is one proxy and its connection.
type proxy struct {
	open, asked, left bool
	replica           string
	sinceNS           int64
}

func newBook() *book { return &book{proxies: map[string]*proxy{}} }

// Fleet counts what became of a fleet's connections so far. It may be called
// while lines are read.
func (t *Tap) Fleet() FleetTotals {
	select {
	case <-t.started: // what it reads was written before
	default:
		return FleetTotals{}
	}
	if t.fleet == nil {
		return FleetTotals{}
	}
	t.fleet.mu.Lock()
	defer t.fleet.mu.Unlock()
	return t.fleet.totals
}

func (t *Tap) connections(c *Connections) error {
	if err := t.checkConnections(c); err != nil {
		return err
	}
	totals := t.Fleet()
	totals.Intervals++
	for i := range c.Events {
		if err := t.fleet.take(&c.Events[i]); err != nil {
			return err
		}
		totals.Add(c.Events[i].Event)
	}
	t.seq++
	t.edgeNS = c.ToNS
	t.fleet.mu.Lock()
	t.fleet.totals = totals
	t.fleet.mu.Unlock()
	for _, e := range c.Events {
		e.AtNS = t.offset(e.AtNS)
		t.send(recording.Fact{Connection: &e})
	}
	if c.LateNS > int64(tardy) {
		t.send(recording.Fact{Late: &recording.Late{Sampler: recording.FleetSampler, ByNS: c.LateNS, AtNS: t.offset(c.ToNS)}})
	}
	return nil
}

// checkConnections refuses an interval that does not follow the last one, was not
// received when it should have been, or holds what did not happen in it.
func (t *Tap) checkConnections(c *Connections) error {
	switch {
	case t.hello == nil:
		return broken("connections before the client said hello")
	case t.fleet == nil:
		return broken("connections of a client that is no fleet")
	case c.Seq != t.seq:
		return broken("interval %d follows interval %d", c.Seq, t.seq-1)
	case c.FromNS != t.edgeNS:
		return broken("interval %d begins %v after the last one ended", c.Seq, time.Duration(c.FromNS-t.edgeNS))
	case c.ToNS < c.FromNS:
		return broken("interval %d lasts %v", c.Seq, time.Duration(c.ToNS-c.FromNS))
	case c.LateNS < 0:
		return broken("interval %d ended %v before it was due", c.Seq, time.Duration(-c.LateNS))
	}
	last := c.FromNS
	for _, e := range c.Events {
		if e.AtNS < last || e.AtNS > c.ToNS {
			return broken("interval %d has an event of %s out of its order", c.Seq, e.Proxy)
		}
		last = e.AtNS
	}
	return t.checkAge(fmt.Sprintf("interval %d", c.Seq), c.ToNS, time.Duration(c.LateNS)+t.cfg.Delay)
}

// take refuses an event that cannot happen to its proxy as it is, and keeps what
// the proxy is then.
func (b *book) take(e *recording.Connection) error {
	p := b.proxies[e.Proxy]
	if err := p.refuse(e); err != nil {
		return err
	}
	switch e.Event {
	case recording.Begun:
		b.proxies[e.Proxy] = &proxy{}
	case recording.Connected:
		*p = proxy{open: true, replica: e.Replica, sinceNS: e.AtNS}
	case recording.GoAway:
		p.asked = true
	case recording.Closed:
		*p = proxy{}
	case recording.Left:
		*p = proxy{left: true}
	}
	return nil
}

// refuse says why an event cannot happen to a proxy; p is nil before it began.
func (p *proxy) refuse(e *recording.Connection) error {
	impossible := func(format string, args ...any) error {
		return broken("proxy %q is said to be %s: %s", e.Proxy, e.Event, fmt.Sprintf(format, args...))
	}
	begins := e.Event == recording.Begun
	switch {
	case e.Proxy == "":
		return impossible("it has no name")
	case begins && p != nil:
		return impossible("it was there before")
	case begins:
		return nil
	case p == nil:
		return impossible("it has not begun")
	case p.left:
		return impossible("it has left")
	}
	open, closed := true, true // what it may be
	switch e.Event {
	case recording.Connected, recording.Rejected:
		open = false
	case recording.GoAway, recording.Closed:
		closed = false
	case recording.Left:
	default:
		return impossible("there is no such event")
	}
	switch {
	case p.open && !open:
		return impossible("it has a connection")
	case !p.open && !closed:
		return impossible("it has no connection")
	case e.Event == recording.GoAway && p.asked:
		return impossible("it was asked to leave before")
	case p.open && e.Replica != p.replica:
		return impossible("its connection is to %q, not to %q", p.replica, e.Replica)
	case p.open && e.AgeNS != e.AtNS-p.sinceNS, !p.open && e.AgeNS != 0:
		return impossible("with an age of %v, for a connection since %d at %d", time.Duration(e.AgeNS), p.sinceNS, e.AtNS)
	}
	return nil
}

// over says which proxy is still there when the fleet has ended.
func (b *book) over() error {
	for name, p := range b.proxies {
		if !p.left {
			return broken("proxy %q has not left, and the fleet has ended", name)
		}
	}
	return nil
}

// lost emits from when on nothing is known of a fleet that did not end.
func (t *Tap) lost() {
	if t.fleet == nil {
		return
	}
	t.send(recording.Fact{Gap: &recording.Gap{
		Resource: recording.Connections, FromNS: t.offset(t.edgeNS), ToNS: t.cfg.Now().Sub(t.cfg.Base).Nanoseconds(),
		Reason: "the record of the proxies' connections broke off",
	}})
}
