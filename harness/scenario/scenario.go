// Package scenario says what a scenario is: parameters, a prediction and a
// script. Scenarios themselves live in the repository's scenarios folder.
package scenario

import (
	"context"
	"slices"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/stage"
)

// Component names used over the whole project.
const (
	Kubernetes = "kubernetes"
	// ControllerManager is a component of its own only where its version
	// differs from that of Kubernetes; see ControllerManagerVersion.
	ControllerManager = "kube-controller-manager"
	ArgoRollouts      = "argo-rollouts"
	// Istiod takes part where pods can be reached and a scenario routes requests, and
	// where a scenario needs cluster.ScriptedMesh.
	Istiod = "istiod"
)

// ControllerManagerVersion is the version of the controller manager among the
// versions of a run: its own, or else that of Kubernetes.
func ControllerManagerVersion(versions map[string]string) string {
	if v, ok := versions[ControllerManager]; ok {
		return v
	}
	return versions[Kubernetes]
}

// Versioned lists the components whose versions a drill can choose for a
// scenario on such a cluster: those that take part and those of the cluster.
func Versioned(s Scenario, on cluster.Capabilities) []string {
	out := slices.Clone(s.Components(on))
	if u, ok := s.(Upgrader); ok {
		chosen := u.Releases(s.Defaults())
		out = slices.DeleteFunc(out, func(component string) bool { return chosen[component] != nil })
	}
	for _, name := range []string{Kubernetes, ControllerManager} {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Scenario knows one situation: how to bring it about and what must follow.
type Scenario interface {
	Name() string
	// Summary is one line.
	Summary() string
	// Needs are what a cluster must offer for the scenario to mean anything with
	// these parameters.
	Needs(params any) cluster.Capabilities
	// Components are the components that take part beside the cluster itself, on
	// a cluster that offers so much.
	Components(on cluster.Capabilities) []string
	// Defaults returns a pointer to a fresh parameter struct with its defaults.
	// Field tags: json (name), doc, and min, max or enum for the bounds.
	Defaults() any
	// Check refuses parameters that the components would refuse, or that leave
	// the scenario without meaning, before anything starts. Versions are by component.
	Check(params any, versions map[string]string) error
	// Predict computes the answer key. It is pure and takes milliseconds.
	Predict(in Input) (judge.Prediction, error)
	// Script brings the situation about. An error means that the run is invalid;
	// what the components do wrong is for the judge, not for the script.
	Script(ctx context.Context, params any, st *stage.Stage) error
	// Expected is how long the script takes when all goes as predicted.
	Expected(params any) time.Duration
}

// Input is what a prediction depends on, all of it in the recording's header.
type Input struct {
	Params   any
	Versions map[string]string
	// On is what the cluster of the run offers.
	On cluster.Capabilities
	// Guards are the drill's limits by guard id; a scenario knows the ids it offers.
	Guards map[string]float64
}

// GuardNames is implemented by scenarios that offer guards.
type GuardNames interface {
	// Guards lists the guard ids with a sentence each.
	Guards() map[string]string
}

// Sized is implemented by scenarios whose parameters can ask for more pods than
// real nodes take.
type Sized interface {
	// MostPods is how many pods the script has at most at a time.
	MostPods(params any) int
}

// Exclusive is implemented by scenarios of which some runs need a cluster of
// their own, because they disturb it or load it so that others would notice.
type Exclusive interface {
	Exclusive(params any) bool
}

// Upgrader is implemented by scenarios that put other versions of a component in
// the place of the first one while their script plays. Their parameters say which.
type Upgrader interface {
	// Releases are the versions by component in the order in which the script comes to
	// them, each once: versions, or directories as in a drill's matrix. An empty first
	// one is the cell's own. Nil: with these parameters nothing is replaced.
	Releases(params any) map[string][]string
}

// Elector is implemented by an Upgrader whose releases may run beside each other: they
// then agree on who works by leader election.
type Elector interface {
	Elects(params any) bool
}

// Loader is implemented by scenarios with parameters that name files.
type Loader interface {
	// Load reads the files into the parameters, when a run is planned. From then on the
	// parameters say all that a prediction depends on.
	Load(params any) error
}

// Clusterwide is implemented by scenarios whose script makes namespaces of its own:
// every namespace is recorded.
type Clusterwide interface {
	Clusterwide() bool
}
