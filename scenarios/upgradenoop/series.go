package upgradenoop

import (
	"fmt"
	"regexp"
	"strings"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// Names of the series, each of which is a family with one for each object.
const (
	seriesRevision   = "revision"
	seriesHash       = "pod hash"
	seriesStable     = "stable hash"
	seriesIndex      = "step index"
	seriesGeneration = "generation"
	seriesPhase      = "phase"
	seriesWrites     = "rollout writes"
	seriesSet        = "replicaset"
	seriesSetSpec    = "replicaset generation"
	seriesSetSize    = "replicaset size"
	seriesDeadline   = "scale-down deadline"
	seriesPod        = "pod"
	seriesSelector   = "selector"
	seriesRoutes     = "routes"
	seriesSubsets    = "subsets"
	seriesRuns       = "analysis run"
	// seriesRejected and seriesLost are the script's own findings, line by line.
	seriesRejected = "rejected"
	seriesLost     = "lost"
	// seriesDisturbed and seriesLostSum are counted from the others.
	seriesDisturbed = "rollouts disturbed"
	seriesLostSum   = "fields lost"
)

// Components in whose names the script writes down what it finds.
const (
	logRejected = "reckon/rejected"
	logLost     = "reckon/lost"
)

// Resources that the series are read from.
const (
	rolloutResource = "rollouts.argoproj.io"
	setResource     = "replicasets.apps"
	podResource     = "pods"
)

// deadlineAnnotation is on a ReplicaSet that is about to go
// (pkg/apis/rollouts/v1alpha1/types.go, DefaultReplicaSetScaleDownDeadlineAnnotationKey, v1.8.3).
const deadlineAnnotation = "scale-down-deadline"

// definitions are the series of any fleet.
func definitions() []series.Definition {
	gone := series.Text("")
	rollout := func(name string, value func(*series.View) series.Value) series.Definition {
		return series.Definition{Name: name, Each: &series.EachObject{Resource: rolloutResource, Gone: &gone, Value: func(v *series.View) (series.Value, bool) { return value(v), true }}}
	}
	owned := func(name, resource, kind string, value func(*series.View, string) series.Value) series.Definition {
		return series.Definition{Name: name, Each: &series.EachObject{Resource: resource, Gone: &gone, Value: func(v *series.View) (series.Value, bool) {
			owner := ownerOf(v, kind)
			return value(v, owner), owner != ""
		}}}
	}
	route := func(name, resource string, value func(*series.View) string) series.Definition {
		return series.Definition{Name: name, Each: &series.EachObject{Resource: resource, Gone: &gone, Value: func(v *series.View) (series.Value, bool) {
			return series.Text(value(v)), true
		}}}
	}
	everything := regexp.MustCompile(`^(.*)$`)
	return []series.Definition{
		rollout(seriesRevision, func(v *series.View) series.Value {
			return series.Text(v.Metadata.Annotations[rollback.RevisionAnnotation])
		}),
		rollout(seriesHash, func(v *series.View) series.Value { return series.Text(v.Status.CurrentPodHash) }),
		rollout(seriesStable, func(v *series.View) series.Value { return series.Text(v.Status.StableRS) }),
		rollout(seriesIndex, func(v *series.View) series.Value { return series.Text(index(v)) }),
		rollout(seriesGeneration, func(v *series.View) series.Value { return series.Number(float64(v.Metadata.Generation)) }),
		rollout(seriesPhase, func(v *series.View) series.Value { return series.Text(v.Status.Phase) }),
		{Name: seriesWrites, Each: &series.EachObject{Resource: rolloutResource, Writes: true, Value: func(*series.View) (series.Value, bool) { return series.Number(1), true }}},
		owned(seriesSet, setResource, "Rollout", func(_ *series.View, owner string) series.Value { return series.Text(owner) }),
		owned(seriesSetSpec, setResource, "Rollout", func(v *series.View, _ string) series.Value { return series.Number(float64(v.Metadata.Generation)) }),
		owned(seriesSetSize, setResource, "Rollout", func(v *series.View, _ string) series.Value { return series.Number(size(v)) }),
		owned(seriesDeadline, setResource, "Rollout", func(v *series.View, _ string) series.Value {
			return series.Text(v.Metadata.Annotations[deadlineAnnotation])
		}),
		owned(seriesPod, podResource, "ReplicaSet", func(_ *series.View, owner string) series.Value { return series.Text(owner) }),
		owned(seriesRuns, "analysisruns.argoproj.io", "Rollout", func(_ *series.View, owner string) series.Value { return series.Text(owner) }),
		route(seriesSelector, "services", func(v *series.View) string { return string(v.Spec.Selector) }),
		route(seriesRoutes, "virtualservices.networking.istio.io", routes),
		route(seriesSubsets, "destinationrules.networking.istio.io", subsets),
		{Name: seriesRejected, Log: &series.FromLog{Component: logRejected, Match: everything}},
		{Name: seriesLost, Log: &series.FromLog{Component: logLost, Match: everything}},
		{Name: seriesDisturbed, Unit: "Rollouts", Doc: guardSentence, Sample: &series.FromSample{Series: seriesDisturbed}},
		{Name: seriesLostSum, Unit: "fields", Doc: lostSentence, Sample: &series.FromSample{Series: seriesLostSum}},
	}
}

func ownerOf(v *series.View, kind string) string {
	for _, o := range v.Metadata.OwnerReferences {
		if o.Controller && o.Kind == kind {
			return o.Name
		}
	}
	return ""
}

func index(v *series.View) string {
	if v.Status.CurrentStepIndex == nil {
		return ""
	}
	return fmt.Sprint(*v.Status.CurrentStepIndex)
}

func size(v *series.View) float64 {
	if v.Spec.Replicas == nil {
		return 1
	}
	return float64(*v.Spec.Replicas)
}

// routes are the routes of a VirtualService with their weights: "primary: stable 100, canary 0".
func routes(v *series.View) string {
	var out []string
	for _, r := range v.Spec.HTTP {
		var to []string
		for _, d := range r.Route {
			to = append(to, strings.TrimSuffix(fmt.Sprintf("%s %s", d.Destination.Host, d.Destination.Subset), " ")+fmt.Sprintf(" %d", d.Weight))
		}
		out = append(out, r.Name+": "+strings.Join(to, ", "))
	}
	return strings.Join(out, "; ")
}

// subsets are those of a DestinationRule with the hashes that they select.
func subsets(v *series.View) string {
	var out []string
	for _, s := range v.Spec.Subsets {
		out = append(out, s.Name+" "+s.Labels["rollouts-pod-template-hash"])
	}
	return strings.Join(out, ", ")
}
