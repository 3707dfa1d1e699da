package rollback

import (
	"regexp"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Resources that the series are read from.
const (
	Rollouts        = "rollouts.argoproj.io"
	ReplicaSets     = "replicasets.apps"
	VirtualServices = "virtualservices.networking.istio.io"

	Services         = "services"
	DestinationRules = "destinationrules.networking.istio.io"
)

// Series names.
const (
	Weight    = "weight"          // canary weight of the VirtualService, percent
	Index     = "index"           // status.currentStepIndex
	Phase     = "phase"           // status.phase
	Promoted  = "promoted"        // 1 when the wanted ReplicaSet is the stable one
	Abort     = "abort"           // status.abort
	Condition = "abort-condition" // 1 while Progressing has the reason RolloutAborted
	Completed = "completed"       // log: reason of a completed update
	Aborted   = "aborted"         // log: RolloutAborted events
	Events    = "events"          // log: messages of the controller's events
	Alive     = "alive"           // CPU seconds of the controller: it answers and works
	Logged    = "logged"          // log: any line, the witness of the two above
	Overload  = "overload"        // load on each available canary pod, in units of its fair share
)

// Size and Available name the series of one version's ReplicaSet.
func Size(version string) string      { return "size." + version }
func Available(version string) string { return "available." + version }

// Definitions are the series that rollback drills read.
func (p Params) Definitions() []series.Definition {
	defs := []series.Definition{
		{Name: Weight, Unit: "%", Doc: "canary weight of the VirtualService", Object: &series.FromObject{Resource: VirtualServices, Value: p.CanaryWeight}},
		OfRollout(Index, "status.currentStepIndex", func(v *series.View) (series.Value, bool) {
			if v.Status.CurrentStepIndex == nil {
				return series.Value{}, false
			}
			return series.Number(float64(*v.Status.CurrentStepIndex)), true
		}),
		OfRollout(Phase, "status.phase", func(v *series.View) (series.Value, bool) { return series.Text(v.Status.Phase), v.Status.Phase != "" }),
		OfRollout(Promoted, "1 when the wanted ReplicaSet is the stable one", func(v *series.View) (series.Value, bool) {
			return Truth(v.Status.StableRS == v.Status.CurrentPodHash), v.Status.CurrentPodHash != ""
		}),
		OfRollout(Abort, "status.abort", func(v *series.View) (series.Value, bool) { return Truth(v.Status.Abort), true }),
		OfRollout(Condition, "1 while the condition Progressing has the reason RolloutAborted", abortCondition),
		OfLog(Completed, "reason of a completed update", `"msg":"Rollout completed update to revision \d+ \([^)]*\): ([^"]+)"`),
		OfLog(Aborted, "RolloutAborted events", `"event_reason":"RolloutAborted"`),
		OfLog(Events, "messages of the controller's events", `"event_reason":"[^"]*","level":"[^"]*","msg":"([^"]*)"`),
		{Name: Alive, Unit: "s", Doc: "CPU seconds of the controller", Sample: &series.FromSample{Series: "process_cpu_seconds_total"}},
		OfLog(Logged, "lines of the controller's log", `^.`),
	}
	for _, version := range []string{Old, New} {
		defs = append(defs,
			replicaSet(Size(version), version, "spec.replicas", func(v *series.View) int { return *v.Spec.Replicas }),
			replicaSet(Available(version), version, "status.availableReplicas", func(v *series.View) int { return v.Status.AvailableReplicas }))
	}
	return append(defs, series.Definition{
		Name: Overload, Unit: "x", Doc: "load on each available canary pod, in units of its fair share",
		Derive: &series.Derived{Inputs: []string{Weight, Available(Old)}, Value: p.overload},
	})
}

// overload is (weight/100 x replicas) / max(available, 1).
func (p Params) overload(in []float64) float64 {
	weight, available := in[0], in[1]
	return weight / 100 * float64(p.Replicas) / max(available, 1)
}

// CanaryWeight reads the canary weight off a VirtualService.
func (p Params) CanaryWeight(v *series.View) (series.Value, bool) {
	return WeightIn(Name, rollouts.Routing(p.Routing))(v)
}

// WeightIn reads the canary weight off the VirtualService of a name.
func WeightIn(name string, routing rollouts.Routing) func(*series.View) (series.Value, bool) {
	return func(v *series.View) (series.Value, bool) {
		if v.Metadata.Name != name {
			return series.Value{}, false
		}
		return canaryWeight(v, routing)
	}
}

func canaryWeight(v *series.View, routing rollouts.Routing) (series.Value, bool) {
	for _, http := range v.Spec.HTTP {
		for _, r := range http.Route {
			isCanary := r.Destination.Host == CanaryService
			if routing == rollouts.RoutingSubsets {
				isCanary = r.Destination.Subset == CanarySubset
			}
			if http.Name == Route && isCanary {
				return series.Number(float64(r.Weight)), true
			}
		}
	}
	return series.Value{}, false
}

// Wrote matches the lines in which the controller says what it wrote.
const Wrote = `"msg":"((?:Patched: |Patched conditions|Switched selector|Scaled (?:up|down) ReplicaSet|Set '|Removed '|Created ReplicaSet|Updating replica set)[^"{]*)`

// OfRollout is a series of the Rollout.
func OfRollout(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: Rollouts, Value: value}}
}

func replicaSet(name, version, doc string, value func(*series.View) int) series.Definition {
	gone := series.Number(0)
	return series.Definition{Name: name, Unit: "pods", Doc: doc + " of " + version, Object: &series.FromObject{
		Resource: ReplicaSets, Gone: &gone,
		Value: func(v *series.View) (series.Value, bool) {
			if v.Spec.Template.Metadata.Labels[stage.VersionLabel] != version || v.Spec.Replicas == nil {
				return series.Value{}, false
			}
			return series.Number(float64(value(v))), true
		},
	}}
}

// OfLog is a series of the controller's log lines that match the expression.
func OfLog(name, doc, expression string) series.Definition {
	return series.Definition{Name: name, Doc: doc, Log: &series.FromLog{Component: argorollouts.Name, Match: regexp.MustCompile(expression)}}
}

func abortCondition(v *series.View) (series.Value, bool) {
	for _, c := range v.Status.Conditions {
		if c.Type == "Progressing" {
			return Truth(c.Reason == "RolloutAborted"), true
		}
	}
	return Truth(false), true
}

// Truth is 1 or 0.
func Truth(b bool) series.Value {
	if b {
		return series.Number(1)
	}
	return series.Number(0)
}
