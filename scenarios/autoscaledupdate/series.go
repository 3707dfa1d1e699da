package autoscaledupdate

import (
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/workload"
)

// Series of this scenario, beside those of the Deployment and of the autoscaler.
const (
	Reading = "reading" // the average that it last computed
	Running = "running" // pods that run and are not being deleted
	Pending = "pending" // pods that do not run yet
	Excess  = "excess"  // replicas above those before the update
)

// Resources of the autoscaler's metrics, in their order.
const (
	memory = "memory"
	pulse  = "reckon.dev/pulse"
)

func definitions(before int) []series.Definition {
	return append(autoscaled.Definitions(average(pulse)),
		autoscaled.Of(Reading, "average memory of a pod as the autoscaler computed it", autoscaled.Reading(average(memory))),
		pods(Running, "pods that run and are not being deleted", "Running"),
		pods(Pending, "pods that do not run yet", "Pending"),
		series.Definition{Name: Excess, Unit: "pods", Doc: "replicas above those before the update", Derive: &series.Derived{
			Inputs: []string{workload.Replicas}, Value: func(in []float64) float64 { return max(0, in[0]-float64(before)) },
		}},
	)
}

// average is the reading of a resource.
func average(resource string) func(series.CurrentMetric) (string, bool) {
	return func(m series.CurrentMetric) (string, bool) {
		return m.Resource.Current.AverageValue, m.Resource.Name == resource
	}
}

func pods(name, doc, phase string) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc, Sum: &series.SumOfObjects{
		Resource: workload.Pods, Value: func(v *series.View) (float64, bool) {
			return 1, v.Status.Phase == phase && v.Metadata.DeletionTimestamp == ""
		},
	}}
}
