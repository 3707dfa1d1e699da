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
	} `json:"metadata"`
	Spec struct {
		// Workloads.
		Replicas *int `json:"replicas"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		} `json:"template"`
		// VirtualService.
		HTTP []HTTPRoute `json:"http"`
		// DestinationRule.
		Subsets []Subset `json:"subsets"`
		// Service: a map of labels. Workloads: a LabelSelector.
		Selector json.RawMessage `json:"selector"`
	} `json:"spec"`
	Status struct {
		Replicas          int    `json:"replicas"`
		ReadyReplicas     int    `json:"readyReplicas"`
		AvailableReplicas int    `json:"availableReplicas"`
		Phase             string `json:"phase"`
		// Rollout.
		Abort            bool   `json:"abort"`
		PromoteFull      bool   `json:"promoteFull"`
		CurrentPodHash   string `json:"currentPodHash"`
		StableRS         string `json:"stableRS"`
		CurrentStepIndex *int   `json:"currentStepIndex"`
		PauseConditions  []struct {
			Reason string `json:"reason"`
		} `json:"pauseConditions"`
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
