package autoscaledupdate

import (
	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/scenarios/autoscaled"
)

// The target, as in manifests/workload/autoscaler.yaml, and what the controller
// makes of it: it computes in thousandths.
const (
	targetMi = 100
	milli    = 1000 << 20
)

// sizes are what the model says of spec.replicas.
type sizes struct {
	before  []int                 // from the autoscaler's creation to rest, no update being under way
	rest    autoscaler.Autoscaler // at its last
	during  autoscaler.Envelope   // what an update can make of it
	certain int                   // what it makes of it at least
}

func (p *Params) sizes() sizes {
	usage := autoscaler.Usage{Each: int64(usageMi(p.Usage)) * milli, Target: targetMi * milli}
	a := autoscaler.New(autoscaler.Bounds{Min: p.MinReplicas, Max: p.MaxReplicas}, usage, p.Replicas)
	var s sizes
	s.before, s.rest = a.Settle()
	s.during = s.rest.Explore(p.most)
	s.certain = s.rest.Climb(p.most, autoscaled.Syncs(p.Startup.Std()))
	return s
}

// most is the most pods at a size while it is updated.
func (p *Params) most(replicas int) int {
	_, most := p.at(replicas).Fences()
	return most
}

// known says whether the order of all sizes is certain, to the last.
func (s sizes) known() bool {
	return s.during.Constant() || s.during.Unique && s.certain == s.during.Greatest()
}
