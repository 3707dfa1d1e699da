package canary

import (
	"strconv"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Series beside those of the rollback scenarios.
const (
	Wanted     = "wanted"     // spec.replicas of the Rollout
	Overload   = "overload"   // load on each available pod of the worse version, in units of its fair share
	Missing    = "missing"    // pods that are wanted and not available in either version, percent of the replicas
	Nowhere    = "nowhere"    // share of the traffic for a version without an available pod, percent
	Share      = "share.v2"   // share of the traffic that leads to v2, percent
	Switches   = "switches"   // log: selectors that the controller moved
	Reconciles = "reconciles" // passes of the controller over the Rollout
	Logged     = rollback.Logged
	written    = "written." // a resource's last written version
)

// Written names the series of a resource's writes: each is another number.
func Written(resource string) string { return written + resource }

// written of the controller's writes: what must not change while nothing moves.
func (p Params) writes() []string {
	out := []string{rollback.Rollouts, rollback.ReplicaSets}
	if !p.basic() {
		out = append(out, rollback.VirtualServices, p.targets())
	}
	return out
}

// targets is the resource that the controller points at the versions.
func (p Params) targets() string {
	if p.bySubsets() {
		return rollback.DestinationRules
	}
	return rollback.Services
}

// Definitions are the series that drills of a canary update read.
func (p Params) Definitions() []series.Definition {
	defs := p.base().Definitions()
	defs = append(defs[:len(defs)-1:len(defs)-1], p.routed()...) // without the overload of a rollback, which is v1's
	defs = append(defs,
		rollback.OfRollout(Wanted, "spec.replicas of the Rollout", func(v *series.View) (series.Value, bool) {
			if v.Spec.Replicas == nil {
				return series.Value{}, false
			}
			return series.Number(float64(*v.Spec.Replicas)), true
		}),
		rollback.OfLog(Switches, "selectors that the controller moved", `"event_reason":"SwitchService"`),
		series.Definition{Name: Reconciles, Doc: "passes of the controller over the Rollout", Sample: &series.FromSample{
			Series: "rollout_reconcile_count", Labels: map[string]string{"name": rollback.Name},
		}},
		derived(Overload, "x", "load on each available pod of the worse version, in units of its fair share", overload, served()...),
		derived(Nowhere, "%", "share of the traffic for a version without an available pod", nowhere, served()...),
		derived(Missing, "%", "pods that are wanted and not available in either version", missing, served()[1:]...),
	)
	for _, resource := range p.writes() {
		defs = append(defs, series.Definition{Name: Written(resource), Doc: "last written version of " + resource, Object: &series.FromObject{
			Resource: resource, Value: version,
		}})
	}
	return defs
}

func version(v *series.View) (series.Value, bool) {
	n, err := strconv.ParseFloat(v.Metadata.ResourceVersion, 64)
	return series.Number(n), err == nil
}

func derived(name, unit, doc string, value func([]float64) float64, inputs ...string) series.Definition {
	return series.Definition{Name: name, Unit: unit, Doc: doc, Derive: &series.Derived{Inputs: inputs, Value: value}}
}

// routed are the series of where the traffic goes.
func (p Params) routed() []series.Definition {
	if p.basic() {
		return []series.Definition{derived(Share, "%", "share of the traffic that leads to v2: its share of the pods", podShare, rollback.Available(Old), rollback.Available(New))}
	}
	return []series.Definition{
		rollback.TemplateHash(Old), rollback.TemplateHash(New), p.base().CanaryTarget(), p.base().StableTarget(),
		derived(Share, "%", "share of the traffic that leads to v2", share, rollback.Weight, rollback.CanaryHash, rollback.StableHash, rollback.Hash(New)),
	}
}

// podShare: without routing every available pod gets as much as any other.
func podShare(in []float64) float64 {
	if in[0]+in[1] == 0 {
		return 0
	}
	return in[1] / (in[0] + in[1]) * 100
}

// served is what overload and nowhere are computed of, and missing but for the share.
func served() []string {
	return []string{Share, rollback.Available(Old), rollback.Available(New), Wanted}
}

// share: weight, the two targets, and v2's hash.
func share(in []float64) float64 {
	weight, canary, stable, v2 := in[0], in[1], in[2], in[3]
	out := 0.0
	if canary == v2 {
		out += weight
	}
	if stable == v2 {
		out += 100 - weight
	}
	return out
}

func overload(in []float64) float64 {
	load := func(percent, available float64) float64 {
		return percent / 100 * in[3] / max(available, 1)
	}
	return max(load(100-in[0], in[1]), load(in[0], in[2]))
}

func nowhere(in []float64) float64 {
	out := 0.0
	if in[1] == 0 {
		out += 100 - in[0]
	}
	if in[2] == 0 {
		out += in[0]
	}
	return out
}

func missing(in []float64) float64 {
	v1, v2, replicas := in[0], in[1], in[2]
	if replicas == 0 {
		return 0
	}
	return max(0, replicas-v1-v2) / replicas * 100
}
