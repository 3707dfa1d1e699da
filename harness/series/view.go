package series

import "encoding/json"

// View is the part of an API object that series are read from, over all kinds
// that Reckon records. Reading one shape once is what keeps judging fast.
type View struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		// ResourceVersion is another one after every write.
		ResourceVersion string   `json:"resourceVersion"`
		Generation      int      `json:"generation"`
		OwnerReferences []Owner  `json:"ownerReferences"`
		Finalizers      []string `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		// Workloads.
		Replicas *int `json:"replicas"`
		Paused   bool `json:"paused"`
		// Pod.
		NodeName string `json:"nodeName"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		} `json:"template"`
		// StatefulSet.
		UpdateStrategy struct {
			RollingUpdate struct {
				Partition *int `json:"partition"`
				// MaxUnavailable is a number or a percentage, absent where the API
				// server does not know it.
				MaxUnavailable json.RawMessage `json:"maxUnavailable"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
		// VirtualService.
		HTTP []HTTPRoute `json:"http"`
		// DestinationRule.
		Subsets []Subset `json:"subsets"`
		// Lease.
		HolderIdentity string `json:"holderIdentity"`
		// Service: a map of labels. Workloads: a LabelSelector.
		Selector json.RawMessage `json:"selector"`
	} `json:"spec"`
	Status struct {
		Replicas          int    `json:"replicas"`
		ReadyReplicas     int    `json:"readyReplicas"`
		AvailableReplicas int    `json:"availableReplicas"`
		UpdatedReplicas   int    `json:"updatedReplicas"`
		Phase             string `json:"phase"`
		// ObservedGeneration is a number, and a text in a Rollout.
		ObservedGeneration json.RawMessage `json:"observedGeneration"`
		// TerminatingReplicas is absent where the API server does not know it.
		TerminatingReplicas *int `json:"terminatingReplicas"`
		// StatefulSet.
		CurrentRevision string `json:"currentRevision"`
		UpdateRevision  string `json:"updateRevision"`
		// PodDisruptionBudget.
		CurrentHealthy     int `json:"currentHealthy"`
		DesiredHealthy     int `json:"desiredHealthy"`
		DisruptionsAllowed int `json:"disruptionsAllowed"`
		ExpectedPods       int `json:"expectedPods"`

		// HorizontalPodAutoscaler.
		DesiredReplicas int             `json:"desiredReplicas"`
		CurrentMetrics  []CurrentMetric `json:"currentMetrics"`
		// Rollout.
		Abort            bool   `json:"abort"`
		PromoteFull      bool   `json:"promoteFull"`
		CurrentPodHash   string `json:"currentPodHash"`
		StableRS         string `json:"stableRS"`
		CurrentStepIndex *int   `json:"currentStepIndex"`
		PauseConditions  []struct {
			Reason string `json:"reason"`
		} `json:"pauseConditions"`
		Canary struct {
			Weights struct {
				Canary struct {
					Weight int `json:"weight"`
				} `json:"canary"`
			} `json:"weights"`
		} `json:"canary"`
		Message    string `json:"message"`
		Conditions []struct {
			Type, Status, Reason, Message string
		} `json:"conditions"`
	} `json:"status"`
	// Event.
	Reason         string `json:"reason"`
	Message        string `json:"message"`
	Count          int    `json:"count"`
	InvolvedObject struct {
		Kind, Name string
	} `json:"involvedObject"`
}

// Owner is one owner reference.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// CurrentMetric is one reading of a HorizontalPodAutoscaler, in the order of its metrics:
// a resource of the pods, or something outside of the cluster.
type CurrentMetric struct {
	Resource struct {
		Name    string `json:"name"`
		Current struct {
			AverageValue string `json:"averageValue"`
		} `json:"current"`
	} `json:"resource"`
	External struct {
		Metric struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
		} `json:"metric"`
		Current struct {
			AverageValue string `json:"averageValue"`
			Value        string `json:"value"`
		} `json:"current"`
	} `json:"external"`
}

// Is says whether a condition of the type has the status ("True", "False", "Unknown").
func (v *View) Is(condition, status string) bool {
	for _, c := range v.Status.Conditions {
		if c.Type == condition {
			return c.Status == status
		}
	}
	return false
}

// HTTPRoute is one route of a VirtualService.
type HTTPRoute struct {
	Name  string `json:"name"`
	Route []struct {
		Destination struct {
			Host   string `json:"host"`
			Subset string `json:"subset"`
		} `json:"destination"`
		Weight int `json:"weight"`
	} `json:"route"`
}

// Subset is one subset of a DestinationRule.
type Subset struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}
