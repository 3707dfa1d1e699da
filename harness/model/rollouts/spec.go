package rollouts

import (
	"fmt"
	"strings"
)

// Routing is how traffic finds the canary pods.
type Routing string

const (
	// RoutingServices names a canary and a stable Service.
	RoutingServices Routing = "services"
	// RoutingSubsets names DestinationRule subsets and no Service.
	RoutingSubsets Routing = "subsets"
	// RoutingNone leaves the shares to the numbers of pods: the basic canary.
	RoutingNone Routing = "none"
)

// A Pause is a pause step. Indefinite ones wait for a promote.
type Pause struct {
	Seconds    int
	Indefinite bool
}

// A CanaryScale is a setCanaryScale step.
type CanaryScale struct {
	Replicas           *int
	Weight             *int
	MatchTrafficWeight bool
}

// A Step is a canary step; exactly one field is set.
type Step struct {
	SetWeight      *int
	Pause          *Pause
	SetCanaryScale *CanaryScale
	Analysis       bool
	// Header is a setHeaderRoute step. Like setMirrorRoute it completes at once, whether
	// or not the route was written. rollout/canary.go:348 (v1.8.2)
	Header HeaderRoute
}

// A HeaderRoute is what a setHeaderRoute step does to its managed route.
type HeaderRoute string

const (
	// HeaderSet makes the route.
	HeaderSet HeaderRoute = "set"
	// HeaderRemoved removes it: a step without a match.
	HeaderRemoved HeaderRoute = "removed"
)

// SetWeight returns a setWeight step.
func SetWeight(weight int) Step { return Step{SetWeight: &weight} }

// PauseFor returns a pause of some seconds.
func PauseFor(seconds int) Step { return Step{Pause: &Pause{Seconds: seconds}} }

// PauseForever returns an indefinite pause.
func PauseForever() Step { return Step{Pause: &Pause{Indefinite: true}} }

// ScaleTo returns a setCanaryScale step with a number of replicas.
func ScaleTo(replicas int) Step { return Step{SetCanaryScale: &CanaryScale{Replicas: &replicas}} }

// ScaleToWeight returns a setCanaryScale step with a weight.
func ScaleToWeight(weight int) Step { return Step{SetCanaryScale: &CanaryScale{Weight: &weight}} }

// ScaleMatchWeight returns a setCanaryScale step with matchTrafficWeight.
func ScaleMatchWeight() Step { return Step{SetCanaryScale: &CanaryScale{MatchTrafficWeight: true}} }

// AnalysisStep returns an analysis step.
func AnalysisStep() Step { return Step{Analysis: true} }

// String writes the step as in a corpus file.
func (s Step) String() string {
	switch {
	case s.SetWeight != nil:
		return fmt.Sprint(*s.SetWeight)
	case s.Pause != nil && s.Pause.Indefinite:
		return "pause=forever"
	case s.Pause != nil:
		return fmt.Sprintf("pause=%ds", s.Pause.Seconds)
	case s.SetCanaryScale != nil && s.SetCanaryScale.Replicas != nil:
		return fmt.Sprintf("scale=%d", *s.SetCanaryScale.Replicas)
	case s.SetCanaryScale != nil && s.SetCanaryScale.Weight != nil:
		return fmt.Sprintf("scale=%d%%", *s.SetCanaryScale.Weight)
	case s.SetCanaryScale != nil:
		return "scale=match"
	case s.Analysis:
		return "analysis"
	case s.Header == HeaderRemoved:
		return "header=off"
	case s.Header == HeaderSet:
		return "header"
	}
	return "empty"
}

// ThresholdType is the unit of a Threshold.
type ThresholdType string

const (
	// ThresholdPercent compares available/desired*100.
	ThresholdPercent ThresholdType = "percent"
	// ThresholdPods compares available, whatever is desired.
	ThresholdPods ThresholdType = "pods"
)

// A Threshold is replicaProgressThreshold.
type Threshold struct {
	Type  ThresholdType
	Value int
}

// A Spec is the part of a Rollout that decides weights and sizes.
type Spec struct {
	Replicas int
	// MinPods is minPodsPerReplicaSet; 0 means unset.
	MinPods int
	Steps   []Step
	Routing Routing
	// WindowRevisions is rollbackWindow.revisions; 0 means no rollbackWindow.
	WindowRevisions int
	// ScaleDownDelaySeconds 0 means unset, that is 30.
	ScaleDownDelaySeconds int
	// AbortScaleDownDelaySeconds nil means unset, that is 30; 0 means never.
	AbortScaleDownDelaySeconds *int
	DynamicStableScale         bool
	// MaxTrafficWeight 0 means unset, that is 100. Istio allows nothing else.
	MaxTrafficWeight int
	Threshold        *Threshold
	// RoutesOmitted is a Rollout that names no route of its VirtualService, which has one,
	// with a name.
	RoutesOmitted bool
	// SecondService is a Rollout with a second VirtualService like the first.
	SecondService bool
	// BlueGreen is the blue-green strategy, nil for the canary. Steps, routing and what
	// else is the canary's mean nothing then.
	BlueGreen *BlueGreen
	// ProgressDeadlineSeconds 0 means unset, that is 600.
	ProgressDeadlineSeconds int
	ProgressDeadlineAbort   bool
	// MaxSurge and MaxUnavailable in pods; nil means unset, that is 25 %.
	MaxSurge, MaxUnavailable *int
}

// BlueGreen is what a blue-green Rollout has beside the fields that both strategies know.
// An active and a preview Service are always named.
type BlueGreen struct {
	// PreviewReplicas is previewReplicaCount, nil for unset.
	PreviewReplicas *int
	// Approval is autoPromotionEnabled: false.
	Approval bool
	// AutoPromotionSeconds is how long an update waits before it is promoted by itself, 0
	// for unset.
	AutoPromotionSeconds int
}

// pauses is needsBlueGreenControllerPause. rollout/bluegreen.go:189 (v1.8.2)
func (b BlueGreen) pauses() bool { return b.Approval || b.AutoPromotionSeconds > 0 }

// utils/defaults/defaults.go:28, :30 and :32, controller/controller.go:65 (v1.8.2)
const (
	defaultScaleDownDelay = 30
	defaultResync         = 900
	defaultDeadline       = 600
)

func (s Spec) maxWeight() int {
	if s.MaxTrafficWeight == 0 {
		return 100
	}
	return s.MaxTrafficWeight
}

func (s Spec) progressDeadline() int {
	if s.ProgressDeadlineSeconds == 0 {
		return defaultDeadline
	}
	return s.ProgressDeadlineSeconds
}

func (s Spec) scaleDownDelay() int {
	if s.ScaleDownDelaySeconds == 0 {
		return defaultScaleDownDelay
	}
	return s.ScaleDownDelaySeconds
}

// abortDelay mirrors GetAbortScaleDownDelaySecondsOrDefault: never is "leave the canary
// up" and set tells whether the user wrote the field.
// utils/defaults/defaults.go:208 (v1.8.2)
func (s Spec) abortDelay() (seconds int, never, set bool) {
	switch d := s.AbortScaleDownDelaySeconds; {
	case d == nil:
		return defaultScaleDownDelay, false, false
	case *d == 0:
		return 0, true, true
	default:
		return *d, false, true
	}
}

// LastWeight is the value of the last setWeight step, 0 if there is none.
func (s Spec) LastWeight() int {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if w := s.Steps[i].SetWeight; w != nil {
			return *w
		}
	}
	return 0
}

// StepsString writes the steps as in a corpus file.
func (s Spec) StepsString() string {
	if len(s.Steps) == 0 {
		return "none"
	}
	parts := make([]string, len(s.Steps))
	for i, step := range s.Steps {
		parts[i] = step.String()
	}
	return strings.Join(parts, ",")
}
