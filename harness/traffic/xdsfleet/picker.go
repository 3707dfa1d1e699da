package xdsfleet

import (
	"math/rand/v2"
	"sync/atomic"
)

// Picker chooses where a new connection goes. ok is false if it has nowhere to go;
// the name is empty where only the connection's answers can tell.
type Picker interface {
	Pick(random *rand.Rand) (name, addr string, ok bool)
}

// service is one address, behind which others choose.
type service string

func (s service) Pick(*rand.Rand) (name, addr string, ok bool) { return "", string(s), true }

// readySet chooses evenly among the replicas that are Ready now, as kube-proxy
// does with iptables or nftables.
type readySet struct{ now atomic.Pointer[[]replica] }

func (r *readySet) set(ready []replica) { r.now.Store(&ready) }

func (r *readySet) Pick(random *rand.Rand) (name, addr string, ok bool) {
	now := r.now.Load()
	if now == nil || len(*now) == 0 {
		return "", "", false
	}
	chosen := (*now)[random.IntN(len(*now))]
	return chosen.name, chosen.addr, true
}
