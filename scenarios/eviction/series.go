package eviction

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// evictions is how the recorder calls what we POST.
const evictions = "pods/eviction"

// Series of this scenario alone.
const (
	Answers  = "answers"                // code of each answer, which is that of its Status
	Granted  = "granted"                // answers that are 201
	Refused  = "refused"                // answers that are 429
	HTTP     = "http"                   // code of each HTTP response
	Cause    = "cause"                  // why the last refusal was one
	Desired  = "desired"                // healthy pods that the budget wants
	Answered = "budget answered"        // 1 once the disruption controller observed what it was asked for last
	OnNode   = "pods on the node"       // pods that live on the drained node
	OffNode  = "pods on the other node" // pods that live on the other one
)

// How the names of the two nodes of a drain end.
const (
	drainedSuffix = "-drained"
	refugeSuffix  = "-refuge"
)

func (p *Params) definitions() []series.Definition {
	defs := append(workload.Definitions(workload.V1),
		call(Answers, "code of each answer", func(c *recording.Call) (series.Value, bool) {
			return series.Number(float64(code(c))), code(c) != 0
		}),
		only(Granted, created),
		only(Refused, disruption.TooManyRequests),
		call(HTTP, "code of each HTTP response", func(c *recording.Call) (series.Value, bool) {
			return series.Number(float64(c.Code)), c.Code != 0
		}),
		call(Cause, "why the last refusal was one", func(c *recording.Call) (series.Value, bool) {
			text := reason(c)
			return series.Text(text), text != ""
		}),
	)
	defs[len(defs)-1].Call.Holds = true
	if p.Budget != None {
		defs = append(defs, workload.BudgetDefinitions()...)
		defs = append(defs, ofBudget(Desired, "status.desiredHealthy", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.DesiredHealthy)), v.Status.ObservedGeneration != nil
		}), ofBudget(Answered, "1 once the disruption controller observed what it was asked for last", func(v *series.View) (series.Value, bool) {
			if v.Metadata.Labels[workload.AskedLabel] != "" && workload.Observed(v) {
				return series.Number(1), true
			}
			return series.Number(0), true
		}))
	}
	if p.drains() {
		defs = append(defs, onNode(OnNode, drainedSuffix), onNode(OffNode, refugeSuffix))
	}
	return defs
}

func call(name, doc string, value func(*recording.Call) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Call: &series.FromCall{Resource: evictions, Value: value}}
}

func only(name string, wanted int) series.Definition {
	return call(name, fmt.Sprintf("answers of code %d", wanted), func(c *recording.Call) (series.Value, bool) {
		return series.Number(float64(wanted)), code(c) == wanted
	})
}

// code is what clients should go by: that of the Status object.
func code(c *recording.Call) int {
	if failure, ok := failureOf(c); ok && failure.Code != 0 {
		return int(failure.Code)
	}
	return c.Code
}

// reason is the cause of a refusal, or else its message.
func reason(c *recording.Call) string {
	failure, ok := failureOf(c)
	if !ok {
		return ""
	}
	if failure.Details != nil && len(failure.Details.Causes) > 0 {
		return failure.Details.Causes[0].Message
	}
	return failure.Message
}

func failureOf(c *recording.Call) (metav1.Status, bool) {
	var st metav1.Status
	return st, len(c.Failure) > 0 && json.Unmarshal(c.Failure, &st) == nil
}

func ofBudget(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: workload.Budgets, Value: func(v *series.View) (series.Value, bool) {
		if v.Metadata.Name != workload.Name {
			return series.Value{}, false
		}
		return value(v)
	}}}
}

func onNode(name, suffix string) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: "pods that live on the node " + suffix[1:], Sum: &series.SumOfObjects{
		Resource: workload.Pods, Value: func(v *series.View) (float64, bool) {
			return 1, v.Metadata.DeletionTimestamp == "" && strings.HasSuffix(v.Spec.NodeName, suffix)
		},
	}}
}
