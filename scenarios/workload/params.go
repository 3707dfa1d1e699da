// Package workload holds what the scenarios of Deployments and StatefulSets
// share: their objects, the acts of their scripts, the series that are read
// from recordings, and the claims about the fences of a rolling update.
package workload

import (
	"slices"
	"time"

	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
)

// Strategies of a Deployment.
const (
	RollingUpdate = "RollingUpdate"
	Recreate      = "Recreate"
)

// Deployment are the parameters of a Deployment.
type Deployment struct {
	Replicas                int                     `json:"replicas" min:"0" max:"2000" doc:"replicas of the Deployment"`
	Strategy                string                  `json:"strategy" enum:"RollingUpdate,Recreate" doc:"strategy.type"`
	MaxSurge                deployment.IntOrPercent `json:"maxSurge" doc:"pods above replicas during an update, a number or a percentage, which is rounded up"`
	MaxUnavailable          deployment.IntOrPercent `json:"maxUnavailable" doc:"pods that may be missing below replicas, a number or a percentage, which is rounded down"`
	MinReadySeconds         int                     `json:"minReadySeconds" min:"0" max:"600" doc:"how long a pod must be ready to be available"`
	ProgressDeadlineSeconds int                     `json:"progressDeadlineSeconds" min:"1" max:"3600" doc:"how long an update may make no progress before it is reported as stuck"`
	RevisionHistoryLimit    int                     `json:"revisionHistoryLimit" min:"0" max:"100" doc:"old ReplicaSets that are kept"`
	Linger                  scenario.Duration       `json:"linger" doc:"how long a pod takes to terminate"`
}

// DefaultDeployment has the API's own defaults.
func DefaultDeployment(replicas int) Deployment {
	return Deployment{
		Replicas: replicas, Strategy: RollingUpdate,
		MaxSurge: deployment.Percent(25), MaxUnavailable: deployment.Percent(25),
		ProgressDeadlineSeconds: 600, RevisionHistoryLimit: 10,
	}
}

// Check refuses what the API server would refuse
// (pkg/apis/apps/validation/validation.go, ValidateDeploymentSpec, v1.37.2).
func (p Deployment) Check() error {
	if p.ProgressDeadlineSeconds <= p.MinReadySeconds {
		return scenario.Refuse("progressDeadlineSeconds", "%d is no deadline, expected more than minReadySeconds, which is %d", p.ProgressDeadlineSeconds, p.MinReadySeconds)
	}
	if p.Strategy == Recreate {
		return nil
	}
	if err := deployment.Validate(p.MaxSurge, p.MaxUnavailable); err != nil {
		return scenario.Refuse("maxUnavailable", "%v", err)
	}
	return nil
}

// Spec is the Deployment as the model has it.
func (p Deployment) Spec() deployment.Spec {
	return deployment.Spec{Replicas: p.Replicas, Surge: p.MaxSurge, Unavailable: p.MaxUnavailable, Recreate: p.Strategy == Recreate}
}

// Fences are the least that may be available and the most that may be wanted,
// in pods, while an update is under way.
func (p Deployment) Fences() (least, most int) {
	if p.Strategy == Recreate {
		return 0, p.Replicas
	}
	surge, unavailable := deployment.Fenceposts(p.Replicas, p.MaxSurge, p.MaxUnavailable)
	return max(0, p.Replicas-unavailable), p.Replicas + surge
}

// MostReplicas is the greatest Deployment that can be asked for.
const MostReplicas = 2000

// crowd is from how many pods on a run is alone on its cluster: the controllers
// are busy with it for seconds, which others would notice.
const crowd = 200

// Crowd says whether any of the sizes is too large to share a cluster.
func Crowd(sizes ...int) bool { return slices.Max(sizes) >= crowd }

// PodTime is about how long n pods take to be made or to go.
func PodTime(n int) time.Duration { return time.Duration(n) * 15 * time.Millisecond }

// Quiet is how long nothing may change after the end, unless a drill says otherwise.
const Quiet = scenario.Duration(5 * time.Second)
