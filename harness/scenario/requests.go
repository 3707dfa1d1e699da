package scenario

import (
	"time"

	"reckon.dev/reckon/harness/cluster"
)

// Requests are the parameters of scenarios that send requests to their workload
// where pods can be reached. Elsewhere they mean nothing.
type Requests struct {
	Rate        int      `json:"rate" min:"0" max:"2000" doc:"requests a second to the workload, where pods are real; 0: none"`
	Concurrency int      `json:"concurrency" min:"0" max:"1000" doc:"requests that a pod serves at once, where pods are real; it refuses more; 0: any number"`
	Work        Duration `json:"work" doc:"how long a pod works on a request, where pods are real"`
}

// AnswerLimit is how long a request may take before it counts as failed: far
// longer than Work, far shorter than any phase of a scenario.
const AnswerLimit = time.Second

// Sends says whether requests are sent on such a cluster.
func (r Requests) Sends(on cluster.Capabilities) bool { return r.Rate > 0 && on.Has(cluster.Traffic) }

// Check refuses work that most answers would come too late of.
func (r Requests) Check() error {
	if r.Work.Std() > AnswerLimit/2 {
		return Refuse("work", "expected at most %s, as a request that takes longer than %s counts as failed, got %s", AnswerLimit/2, AnswerLimit, r.Work)
	}
	return nil
}
