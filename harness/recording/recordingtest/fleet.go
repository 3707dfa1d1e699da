package recordingtest

import (
	"time"

	"reckon.dev/reckon/harness/recording"
)

// Fleet makes the facts of proxies that a test makes up, with the ages of their
// connections. Times are those of the events and of their receipt.
type Fleet struct {
	Facts []recording.Fact

	since   map[string]time.Duration
	replica map[string]string
}

// NewFleet has no proxies yet.
func NewFleet() *Fleet {
	return &Fleet{since: map[string]time.Duration{}, replica: map[string]string{}}
}

// Begin makes proxies.
func (f *Fleet) Begin(at time.Duration, proxies ...string) *Fleet {
	for _, proxy := range proxies {
		f.add(at, recording.Connection{Event: recording.Begun, Proxy: proxy})
	}
	return f
}

// Connect connects proxies to a replica.
func (f *Fleet) Connect(at time.Duration, replica string, proxies ...string) *Fleet {
	for _, proxy := range proxies {
		f.add(at, recording.Connection{Event: recording.Connected, Proxy: proxy, Replica: replica})
		f.since[proxy], f.replica[proxy] = at, replica
	}
	return f
}

// GoAway asks proxies to leave their replicas.
func (f *Fleet) GoAway(at time.Duration, proxies ...string) *Fleet {
	return f.ofOpen(at, recording.Connection{Event: recording.GoAway}, proxies)
}

// Close ends the connections of proxies, with gRPC's code or by the proxy if empty.
func (f *Fleet) Close(at time.Duration, code string, proxies ...string) *Fleet {
	f.ofOpen(at, recording.Connection{Event: recording.Closed, Code: code}, proxies)
	f.forget(proxies)
	return f
}

// Reject refuses proxies.
func (f *Fleet) Reject(at time.Duration, code string, proxies ...string) *Fleet {
	for _, proxy := range proxies {
		f.add(at, recording.Connection{Event: recording.Rejected, Proxy: proxy, Code: code})
	}
	return f
}

// Leave ends proxies.
func (f *Fleet) Leave(at time.Duration, proxies ...string) *Fleet {
	f.ofOpen(at, recording.Connection{Event: recording.Left}, proxies)
	f.forget(proxies)
	return f
}

// Replica tells of replicas of istiod.
func (f *Fleet) Replica(at time.Duration, event recording.ReplicaEvent, names ...string) *Fleet {
	for _, name := range names {
		f.Facts = append(f.Facts, recording.Fact{T: int64(at), Replica: &recording.Replica{Name: name, Event: event, AtNS: int64(at)}})
	}
	return f
}

func (f *Fleet) ofOpen(at time.Duration, e recording.Connection, proxies []string) *Fleet {
	for _, proxy := range proxies {
		e.Proxy, e.Replica, e.AgeNS = proxy, f.replica[proxy], 0
		if since, open := f.since[proxy]; open {
			e.AgeNS = int64(at - since)
		}
		f.add(at, e)
	}
	return f
}

func (f *Fleet) forget(proxies []string) {
	for _, proxy := range proxies {
		delete(f.since, proxy)
		delete(f.replica, proxy)
	}
}

func (f *Fleet) add(at time.Duration, e recording.Connection) {
	e.AtNS = int64(at)
	f.Facts = append(f.Facts, recording.Fact{T: int64(at), Connection: &e})
}
