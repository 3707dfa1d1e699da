package disruption

import (
	"fmt"
	"maps"
	"time"
)

// HTTP codes that an eviction is answered with.
const (
	Created             = 201
	Forbidden           = 403
	Conflict            = 409
	TooManyRequests     = 429
	InternalServerError = 500
)

// maxDisrupted is MaxDisruptedPodSize. eviction.go:55
const maxDisrupted = 2000

// A Guard is a budget that selects the pod, with its status.
type Guard struct {
	Budget Budget
	Status Status
}

// A Request is a POST to pods/NAME/eviction.
type Request struct {
	Pod    Pod
	Guards []Guard
	Now    time.Duration
	DryRun bool
	// OtherUID is a precondition that the pod does not meet. The answer for a pod that
	// budgets do not guard takes ten seconds then: conflicts are tried again.
	// eviction.go:60, :167
	OtherUID bool
}

// An Answer is what comes back, and what was done.
type Answer struct {
	// Code is that of the Status object and of the response. More than one budget is a
	// Status in place of an error in eviction.go:224, under which the handler would write
	// 201, but FinishRequest makes an error of it.
	// apiserver v0.37.2, pkg/endpoints/handlers/finisher/finisher.go:61
	Code int
	// Deleted says that the pod is now being deleted.
	Deleted bool
	// Charged says that the budget's allowance went down by one.
	Charged bool
	// RetryAfter is the header, in seconds. A refusal by a spent budget has none.
	RetryAfter int
	Message    string
	// Cause is details.causes[0].message, if there is one.
	Cause string
}

// Evict answers a request, and returns the status of the budget as it is then.
// eviction.go:130
func (r Rules) Evict(q Request) (Answer, Status) {
	var status Status
	if len(q.Guards) == 1 {
		status = q.Guards[0].Status
	}
	if !q.Pod.guarded() {
		return q.remove(Answer{}, Conflict), status
	}
	switch len(q.Guards) {
	case 0:
		return q.remove(Answer{}, Conflict), status
	case 1:
	default:
		return Answer{Code: InternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}, status
	}
	budget := q.Guards[0].Budget
	if !q.Pod.Ready && budget.lets(status) {
		// A pod that changed meanwhile could be ready: that is for the client to retry,
		// and another UID cannot be told from it. eviction.go:304
		return q.remove(stillProcessed(budget), TooManyRequests), status
	}
	if refused, ok := r.refuse(budget, status); ok {
		return refused, status
	}
	answer := q.remove(Answer{Charged: !q.DryRun}, Conflict)
	if !q.DryRun {
		status.DisruptionsAllowed--
		status.Disrupted = maps.Clone(status.Disrupted)
		if status.Disrupted == nil {
			status.Disrupted = map[string]time.Duration{}
		}
		status.Disrupted[q.Pod.Name] = q.Now
	}
	return answer, status
}

// guarded says whether budgets matter at all: not for a pod that has not started, has
// ended, or is being deleted. eviction.go:392
func (p Pod) guarded() bool {
	return p.Phase != Pending && p.Phase != Succeeded && p.Phase != Failed && !p.Deleting
}

// lets says whether a pod that is not ready may go free of charge. With nothing desired
// it may not, and then needs an allowance that only healthy pods give. eviction.go:241
func (b Budget) lets(s Status) bool {
	return b.Policy == AlwaysAllow || s.CurrentHealthy >= s.DesiredHealthy && s.DesiredHealthy > 0
}

// remove deletes the pod. A failed precondition comes only now, after the charge, and the
// allowance is lost until DeletionTimeout. eviction.go:302
func (q Request) remove(a Answer, onConflict int) Answer {
	if q.OtherUID {
		a.Code = onConflict
		if a.Message == "" {
			a.Message = "the UID in the precondition does not match"
		}
		return a
	}
	return Answer{Code: Created, Charged: a.Charged, Deleted: !q.DryRun}
}

const violates = "Cannot evict pod as it would violate the pod's disruption budget."

// stillProcessed is createTooManyRequestsError. eviction.go:414
func stillProcessed(b Budget) Answer {
	return Answer{
		Code: TooManyRequests, RetryAfter: 10, Message: violates,
		Cause: fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name),
	}
}

// refuse is the first half of checkAndDecrement. eviction.go:425
func (r Rules) refuse(b Budget, s Status) (Answer, bool) {
	switch {
	case s.Unobserved:
		return stillProcessed(b), true
	case s.DisruptionsAllowed < 0:
		return r.forbid(b, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative"), true
	case len(s.Disrupted) > maxDisrupted:
		return r.forbid(b, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller"), true
	case s.DisruptionsAllowed == 0:
		return Answer{Code: TooManyRequests, Message: violates, Cause: r.cause(b, s)}, true
	}
	return Answer{}, false
}

func (r Rules) forbid(b Budget, message, cause string) Answer {
	a := Answer{Code: Forbidden, Message: fmt.Sprintf("poddisruptionbudget.policy %q is forbidden: %s", b.Name, message)}
	if r.CauseOnForbidden {
		a.Cause = fmt.Sprintf("The disruption budget %s does not allow evicting pods currently: %s", b.Name, cause)
	}
	return a
}

// cause says why nothing is allowed. eviction.go:450
func (r Rules) cause(b Budget, s Status) string {
	switch {
	case r.TellsReason && s.SyncFailed != "":
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, s.SyncFailed)
	case !r.TellsReason || s.CurrentHealthy <= s.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, s.DesiredHealthy, s.CurrentHealthy)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
}
