package workload

import (
	"encoding/json"
	"strconv"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Resources that the series are read from.
const (
	Deployments  = "deployments.apps"
	ReplicaSets  = "replicasets.apps"
	StatefulSets = "statefulsets.apps"
	Pods         = "pods"
	Budgets      = "poddisruptionbudgets.policy"
)

// Annotations that the Deployment controller keeps (pkg/controller/deployment/util/deployment_util.go:37-50, v1.37.2).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
)

// AskedLabel is set on a workload together with a change that its controller
// has to observe: whether it does says whether it lives.
const AskedLabel = "reckon.dev/asked"

// Series names. Those of one version take the version: Wanted("v1").
const (
	Replicas    = "replicas"    // spec.replicas of the Deployment
	Template    = "template"    // version of its template
	Revision    = "revision"    // its revision annotation
	Progressing = "progressing" // condition Progressing as status/reason
	Done        = "done"        // 1 while kubectl rollout status would say so of the last version
	Answered    = "answered"    // 1 once the controller observed what it was asked for last
	Total       = "total"       // pods that all ReplicaSets want
	Available   = "available"   // available pods by the ReplicaSets' status
	Live        = "live"        // pods that exist and do not terminate
	Terminating = "terminating" // pods that are being deleted
	Existing    = "existing"    // both
	Unfinished  = "unfinished"  // those of them that have not ended
	Ready       = "ready"       // live pods that are Ready
	Missing     = "missing"     // pods of v1 that were wanted at the begin and do not live any more
	Short       = "short"       // available pods that are missing below the lower fence
	Allowed     = "allowed"     // disruptions that the budget allows
	Healthy     = "healthy"     // pods that the budget counts as healthy
	Routable    = "routable"    // pods that are Ready, whether they terminate or not
	Unsettled   = "unsettled"   // 1 while a pod terminates or none is ready
)

// Series of one version's ReplicaSet and pods.
func Wanted(version string) string       { return "wanted." + version }
func Sized(version string) string        { return "pods." + version }
func AvailableOf(version string) string  { return "available." + version }
func desired(version string) string      { return "desired." + version }
func most(version string) string         { return "max." + version }
func LiveOf(version string) string       { return "live." + version }
func ReadyOf(version string) string      { return "ready." + version }
func RevisionOf(version string) string   { return "revision." + version }
func Sets(version string) string         { return "sets." + version }
func RoutableOf(version string) string   { return "routable." + version }
func unfinishedOf(version string) string { return "unfinished." + version }

// BudgetDefinitions are the series of the drill's PodDisruptionBudget.
func BudgetDefinitions() []series.Definition {
	budget := func(name, doc string, value func(*series.View) int) series.Definition {
		return series.Definition{Name: name, Unit: "pods", Doc: doc, Object: &series.FromObject{Resource: Budgets, Value: func(v *series.View) (series.Value, bool) {
			return series.Number(float64(value(v))), v.Status.ObservedGeneration != nil
		}}}
	}
	return []series.Definition{
		budget(Allowed, "status.disruptionsAllowed", func(v *series.View) int { return v.Status.DisruptionsAllowed }),
		budget(Healthy, "status.currentHealthy", func(v *series.View) int { return v.Status.CurrentHealthy }),
	}
}

// Definitions are the series of a Deployment whose template takes these versions.
func Definitions(versions ...string) []series.Definition {
	defs := []series.Definition{
		ofDeployment(Replicas, "spec.replicas of the Deployment", func(v *series.View) (series.Value, bool) {
			return integer(v.Spec.Replicas), v.Spec.Replicas != nil
		}),
		ofDeployment(Template, "version of the Deployment's template", func(v *series.View) (series.Value, bool) {
			return series.Text(v.Spec.Template.Metadata.Labels[stage.VersionLabel]), true
		}),
		ofDeployment(Revision, "revision of the Deployment", func(v *series.View) (series.Value, bool) {
			text := v.Metadata.Annotations[revisionAnnotation]
			return series.Text(text), text != ""
		}),
		ofDeployment(Progressing, "condition Progressing, status and reason", progressing),
		ofDeployment(Done, "1 while the rollout of the last version is complete", func(v *series.View) (series.Value, bool) {
			return truth(Complete(v, versions[len(versions)-1])), true
		}),
		ofDeployment(Answered, "1 once the controller observed what it was asked for last", answered),
	}
	var wanted, available, live []string
	for _, v := range versions {
		defs = append(defs,
			replicaSets(Wanted(v), v, "spec.replicas", func(w *series.View) float64 { return number(w.Spec.Replicas) }),
			replicaSets(Sized(v), v, "status.replicas", func(w *series.View) float64 { return float64(w.Status.Replicas) }),
			replicaSets(AvailableOf(v), v, "status.availableReplicas", func(w *series.View) float64 { return float64(w.Status.AvailableReplicas) }),
			replicaSets(desired(v), v, "annotation desired-replicas", annotation(desiredAnnotation)),
			replicaSets(most(v), v, "annotation max-replicas", annotation(maxAnnotation)),
			replicaSets(RevisionOf(v), v, "annotation revision", annotation(revisionAnnotation)),
			replicaSets(Sets(v), v, "number", func(*series.View) float64 { return 1 }),
			pods(unfinishedOf(v), v, "pods that have not ended", isUnfinished),
			pods(LiveOf(v), v, "pods that do not terminate", isLive),
			pods(ReadyOf(v), v, "ready pods", isReady),
		)
		wanted, available, live = append(wanted, Wanted(v)), append(available, AvailableOf(v)), append(live, LiveOf(v))
	}
	return append(defs,
		total(Total, "pods that all ReplicaSets want", wanted),
		total(Available, "available pods by the ReplicaSets' status", available),
		total(Live, "pods that exist and do not terminate", live),
		pods(Terminating, "", "pods that are being deleted", func(v *series.View) bool { return v.Metadata.DeletionTimestamp != "" }),
		pods(Ready, "", "ready pods", isReady),
		pods(Existing, "", "pods that exist", func(*series.View) bool { return true }),
		pods(Unfinished, "", "pods that have not ended", isUnfinished),
		series.Definition{Name: Missing, Unit: "pods", Doc: "pods of v1 that its ReplicaSet no longer has", Derive: &series.Derived{
			Inputs: []string{Replicas, LiveOf(V1)}, Value: func(in []float64) float64 { return max(0, in[0]-in[1]) },
		}},
	)
}

func ofDeployment(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: Deployments, Value: func(v *series.View) (series.Value, bool) {
		if v.Metadata.Name != Name {
			return series.Value{}, false
		}
		return value(v)
	}}}
}

func integer(n *int) series.Value { return series.Number(number(n)) }

func number(n *int) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}

func progressing(v *series.View) (series.Value, bool) {
	for _, c := range v.Status.Conditions {
		if c.Type == "Progressing" {
			return series.Text(c.Status + "/" + c.Reason), true
		}
	}
	return series.Value{}, false
}

// answered is 1 when the workload carries what was asked last and its
// controller has observed the generation that came with it.
func answered(v *series.View) (series.Value, bool) {
	return truth(v.Metadata.Labels[AskedLabel] != "" && Observed(v)), true
}

// Observed says whether the controller's status speaks of the spec as it is. A
// status that does not must never be read as success (kubernetes#49637).
func Observed(v *series.View) bool {
	var seen int
	return json.Unmarshal(v.Status.ObservedGeneration, &seen) == nil && seen >= v.Metadata.Generation
}

func truth(b bool) series.Value {
	if b {
		return series.Number(1)
	}
	return series.Number(0)
}

func replicaSets(name, version, doc string, value func(*series.View) float64) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc + " of the ReplicaSets of " + version, Sum: &series.SumOfObjects{
		Resource: ReplicaSets, Value: func(v *series.View) (float64, bool) {
			return value(v), v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version
		},
	}}
}

func annotation(name string) func(*series.View) float64 {
	return func(v *series.View) float64 {
		n, err := strconv.Atoi(v.Metadata.Annotations[name])
		if err != nil {
			return 0
		}
		return float64(n)
	}
}

// pods counts pods, of a version or of all (""), without those of the harness.
func pods(name, version, doc string, counts func(*series.View) bool) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc, Sum: &series.SumOfObjects{
		Resource: Pods, Value: func(v *series.View) (float64, bool) {
			labels := v.Metadata.Labels
			return 1, labels[stage.HarnessLabel] == "" && (version == "" || labels[stage.VersionLabel] == version) && counts(v)
		},
	}}
}

func isLive(v *series.View) bool { return v.Metadata.DeletionTimestamp == "" }

// isUnfinished is what Recreate waits for to be over: a pod whose containers have
// all ended is there until the kubelet removes it, and counts no more
// (pkg/controller/deployment/recreate.go:110, v1.37.2). Simulated pods go at once.
func isUnfinished(v *series.View) bool {
	return v.Status.Phase != "Succeeded" && v.Status.Phase != "Failed"
}

func isReady(v *series.View) bool { return isLive(v) && v.Is("Ready", "True") }

func total(name, doc string, of []string) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc, Derive: &series.Derived{Inputs: of, Value: func(in []float64) float64 {
		sum := 0.0
		for _, v := range in {
			sum += v
		}
		return sum
	}}}
}
