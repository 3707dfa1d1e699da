package moves

import (
	"encoding/json"
	"slices"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Series names. Versions are numbers: 1 is v1, 0 none.
const (
	Wanted     = "wanted"        // spec.replicas
	Total      = "total"         // wanted pods of all versions together
	Stable     = "stable"        // the stable version
	Current    = "current"       // the version that is wanted
	Paused     = "paused"        // 1 while the status has a pause condition
	Abort      = "abort"         // status.abort
	Index      = "index"         // status.currentStepIndex
	Phase      = "phase"         // status.phase
	Active     = "active"        // the version that the active Service selects
	Preview    = "preview"       // the version that the preview Service selects
	Weight     = "weight"        // canary weight of the VirtualService, percent
	Second     = "weight-second" // that of the second one
	Header     = "header"        // 1 while the VirtualService has the managed route
	CanaryTo   = "canary"        // the version that the canary Service or subset leads to
	StableTo   = "stable-to"     // the version that the stable one leads to
	Completed  = "completed"     // log: reason of a completed update
	Events     = "events"        // log: messages of the controller's events
	Writes     = "writes"        // log: what the controller wrote
	Reconciles = "reconciles"    // log: passes
	Logged     = "logged"        // log: any line
	Alive      = "alive"         // CPU seconds of the controller

	Overload = "overload"  // load on each available pod of the busiest version, in units of its fair share
	Missing  = "missing"   // pods that the versions with traffic lack
	Nobody   = "to-nobody" // percent of the traffic that leads to a version without an available pod
)

// Size and Available name the series of one version's ReplicaSet.
func Size(version string) string      { return "size." + version }
func Available(version string) string { return "available." + version }

func hashOf(version string) string { return "hash." + version }

// leads are the series of hashes that something leads to.
const (
	stableHash  = "hash-stable"
	currentHash = "hash-current"
	activeHash  = "hash-active"
	previewHash = "hash-preview"
	canaryTo    = "hash-canary"
	stableTo    = "hash-stable-to"
)

// hashLabel is what the controller tells the pods of two versions apart by.
const hashLabel = v1alpha1.DefaultRolloutUniqueLabelKey

// Definitions are the series of a plan.
func (p Plan) Definitions() []series.Definition {
	defs := []series.Definition{
		rollback.OfRollout(Wanted, "spec.replicas", func(v *series.View) (series.Value, bool) {
			if v.Spec.Replicas == nil {
				return series.Value{}, false
			}
			return series.Number(float64(*v.Spec.Replicas)), true
		}),
		rollback.OfRollout(Paused, "1 while the status has a pause condition", func(v *series.View) (series.Value, bool) {
			return rollback.Truth(len(v.Status.PauseConditions) > 0), true
		}),
		rollback.OfRollout(Abort, "status.abort", func(v *series.View) (series.Value, bool) { return rollback.Truth(v.Status.Abort), true }),
		rollback.OfRollout(Phase, "status.phase", func(v *series.View) (series.Value, bool) { return series.Text(v.Status.Phase), v.Status.Phase != "" }),
		rollback.OfRollout(stableHash, "hash of the stable version, as a number", func(v *series.View) (series.Value, bool) { return digest(v.Status.StableRS), true }),
		rollback.OfRollout(currentHash, "hash of the wanted version, as a number", func(v *series.View) (series.Value, bool) {
			return digest(v.Status.CurrentPodHash), true
		}),
		rollback.OfLog(Completed, "reason of a completed update", `"msg":"Rollout completed update to revision \d+ \([^)]*\): ([^"]+)"`),
		rollback.OfLog(Events, "messages of the controller's events", `"event_reason":"[^"]*","level":"[^"]*","msg":"([^"]*)"`),
		rollback.OfLog(Writes, "what the controller wrote", rollback.Wrote),
		rollback.OfLog(Reconciles, "passes", `"msg":"(Reconciliation completed)"`),
		rollback.OfLog(Logged, "lines of the controller's log", `^.`),
		{Name: Alive, Unit: "s", Doc: "CPU seconds of the controller", Sample: &series.FromSample{Series: "process_cpu_seconds_total"}},
	}
	for _, v := range p.Versions {
		defs = append(defs, ofVersion(Size(v), v, "spec.replicas", func(v *series.View) float64 { return float64(*v.Spec.Replicas) }),
			ofVersion(Available(v), v, "status.availableReplicas", func(v *series.View) float64 { return float64(v.Status.AvailableReplicas) }),
			ofVersion(hashOf(v), v, "hash, as a number,", func(v *series.View) float64 { return digest(v.Metadata.Labels[hashLabel]).Num }))
	}
	defs = append(defs, series.Definition{Name: Total, Unit: "pods", Doc: "wanted pods of all versions", Sum: &series.SumOfObjects{
		Resource: rollback.ReplicaSets, Value: sizeOf,
	}}, p.versionOf(Stable, "the stable version", stableHash), p.versionOf(Current, "the wanted version", currentHash))
	if p.blueGreen() {
		return append(defs, p.blueGreenDefinitions()...)
	}
	return append(defs, p.canaryDefinitions()...)
}

func (p Plan) blueGreenDefinitions() []series.Definition {
	defs := []series.Definition{selects(activeHash, activeService), selects(previewHash, previewService),
		p.versionOf(Active, "the version that the active Service selects", activeHash),
		p.versionOf(Preview, "the version that the preview Service selects", previewHash)}
	return append(defs, p.loads(Active)...)
}

func (p Plan) canaryDefinitions() []series.Definition {
	defs := []series.Definition{
		rollback.OfRollout(Index, "status.currentStepIndex", func(v *series.View) (series.Value, bool) {
			if v.Status.CurrentStepIndex == nil { // there are no steps
				return series.Number(0), true
			}
			return series.Number(float64(*v.Status.CurrentStepIndex)), true
		}),
		{Name: Weight, Unit: "%", Doc: "canary weight of the VirtualService", Object: &series.FromObject{Resource: rollback.VirtualServices, Value: rollback.WeightIn(rollback.Name, p.Spec.Routing)}},
	}
	if p.Spec.SecondService {
		defs = append(defs, series.Definition{Name: Second, Unit: "%", Doc: "canary weight of the second VirtualService",
			Object: &series.FromObject{Resource: rollback.VirtualServices, Value: rollback.WeightIn(secondName, p.Spec.Routing)}})
	}
	if p.header() {
		defs = append(defs, series.Definition{Name: Header, Doc: "1 while the VirtualService has the managed route",
			Object: &series.FromObject{Resource: rollback.VirtualServices, Value: func(v *series.View) (series.Value, bool) {
				return rollback.Truth(hasHeader(v)), v.Metadata.Name == rollback.Name
			}}})
	}
	if p.subsets() {
		defs = append(defs, inSubset(canaryTo, rollback.CanarySubset), inSubset(stableTo, rollback.StableSubset))
	} else {
		defs = append(defs, selects(canaryTo, rollback.CanaryService), selects(stableTo, rollback.StableService))
	}
	defs = append(defs, p.versionOf(CanaryTo, "the version that the canary "+p.target()+" leads to", canaryTo),
		p.versionOf(StableTo, "the version that the stable "+p.target()+" leads to", stableTo))
	return append(defs, p.loads(StableTo, CanaryTo, Weight)...)
}

// target is what a weight leads to.
func (p Plan) target() string {
	if p.subsets() {
		return "subset"
	}
	return "Service"
}

// loads are the series of the guards: over the version that gets all of the traffic, or
// over two with a weight between them.
func (p Plan) loads(to ...string) []series.Definition {
	inputs := append([]string{Wanted}, to...)
	for _, v := range p.Versions {
		inputs = append(inputs, Available(v))
	}
	of := func(value func(load) float64) func([]float64) float64 {
		return func(in []float64) float64 { return value(p.load(in, len(to))) }
	}
	return []series.Definition{
		derived(Overload, "x", "load on each available pod of the busiest version, in units of its fair share", of(load.overload), inputs...),
		derived(Missing, "pods", "pods that the versions with traffic lack", of(load.missing), inputs...),
		derived(Nobody, "%", "traffic that leads to a version without an available pod", of(load.nobody), inputs...),
	}
}

// load makes sense of the inputs of a series of loads.
func (p Plan) load(in []float64, targets int) load {
	l := load{replicas: in[0], share: make([]float64, len(p.Versions)), available: in[1+targets:]}
	give := func(version, percent float64) {
		if i := int(version) - 1; i >= 0 && i < len(l.share) {
			l.share[i] += percent
		}
	}
	if targets == 1 {
		give(in[1], 100)
		return l
	}
	give(in[1], 100-in[3])
	give(in[2], in[3])
	return l
}

// A load is what share of the traffic each version gets, in percent, and how many of its
// pods are available.
type load struct {
	replicas         float64
	share, available []float64
}

func (l load) overload() float64 {
	worst := 0.0
	for i, share := range l.share {
		worst = max(worst, share/100*l.replicas/max(l.available[i], 1))
	}
	return worst
}

func (l load) missing() float64 {
	serving := 0.0
	for i, share := range l.share {
		if share > 0 {
			serving += l.available[i]
		}
	}
	return max(0, l.replicas-serving)
}

func (l load) nobody() float64 {
	lost := 0.0
	for i, share := range l.share {
		if l.available[i] == 0 && l.replicas > 0 {
			lost += share
		}
	}
	return lost
}

// versionOf turns a hash into the number of a version.
func (p Plan) versionOf(name, doc, hash string) series.Definition {
	inputs := []string{hash}
	for _, v := range p.Versions {
		inputs = append(inputs, hashOf(v))
	}
	return derived(name, "", doc+" (1 = v1, 0 = none)", func(in []float64) float64 {
		if in[0] == 0 {
			return 0
		}
		return float64(slices.Index(in[1:], in[0]) + 1)
	}, inputs...)
}

// hasHeader says whether a VirtualService has the managed route.
func hasHeader(v *series.View) bool {
	return slices.ContainsFunc(v.Spec.HTTP, func(r series.HTTPRoute) bool { return r.Name == HeaderRoute })
}

func derived(name, unit, doc string, value func([]float64) float64, inputs ...string) series.Definition {
	return series.Definition{Name: name, Unit: unit, Doc: doc, Derive: &series.Derived{Inputs: inputs, Value: value}}
}

// ofVersion is read off the ReplicaSet of a version; 0 while there is none.
func ofVersion(name, version, doc string, value func(*series.View) float64) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc + " of " + version, Sum: &series.SumOfObjects{
		Resource: rollback.ReplicaSets, Value: func(v *series.View) (float64, bool) {
			if !rollback.IsVersion(v, version) {
				return 0, false
			}
			return value(v), true
		},
	}}
}

func sizeOf(v *series.View) (float64, bool) {
	if v.Spec.Replicas == nil {
		return 0, false
	}
	return float64(*v.Spec.Replicas), true
}

// selects is the hash in a Service's selector, 0 while the controller has not written any.
func selects(name, service string) series.Definition {
	return series.Definition{Name: name, Doc: "hash that " + service + " selects, as a number", Object: &series.FromObject{
		Resource: rollback.Services, Value: func(v *series.View) (series.Value, bool) { return digest(selected(v)), v.Metadata.Name == service },
	}}
}

// selected is the hash in the selector of a Service, empty if there is none.
func selected(v *series.View) string {
	var selector map[string]string
	if json.Unmarshal(v.Spec.Selector, &selector) != nil {
		return ""
	}
	return selector[hashLabel]
}

// inSubset is the hash in a subset of the DestinationRule.
func inSubset(name, subset string) series.Definition {
	return series.Definition{Name: name, Doc: "hash of the subset " + subset + ", as a number", Object: &series.FromObject{
		Resource: rollback.DestinationRules, Value: func(v *series.View) (series.Value, bool) {
			i := slices.IndexFunc(v.Spec.Subsets, func(s series.Subset) bool { return s.Name == subset })
			if i < 0 {
				return series.Value{}, false
			}
			return digest(v.Spec.Subsets[i].Labels[hashLabel]), true
		},
	}}
}

// digest is a hash as a value of a series.
func digest(hash string) series.Value { return series.Number(float64(rollback.Digest(hash))) }
