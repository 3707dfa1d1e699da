package autoscaledupdate

import (
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// Autoscalers is the resource.
const Autoscalers = "horizontalpodautoscalers.autoscaling"

// Series of this scenario, beside those of the Deployment.
const (
	Desired = "desired" // status.desiredReplicas of the autoscaler
	Active  = "active"  // its condition ScalingActive as status/reason
	Reading = "reading" // the average that it last computed
	Pulse   = "pulse"   // the counter that it last read
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
	return []series.Definition{
		ofAutoscaler(Desired, "status.desiredReplicas of the autoscaler", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.DesiredReplicas)), len(v.Status.Conditions) > 0
		}),
		ofAutoscaler(Active, "condition ScalingActive of the autoscaler, status and reason", active),
		ofAutoscaler(Reading, "average memory of a pod as the autoscaler computed it", average(memory)),
		ofAutoscaler(Pulse, "average of the pods' counters as the autoscaler computed it", average(pulse)),
		pods(Running, "pods that run and are not being deleted", "Running"),
		pods(Pending, "pods that do not run yet", "Pending"),
		{Name: Excess, Unit: "pods", Doc: "replicas above those before the update", Derive: &series.Derived{
			Inputs: []string{workload.Replicas}, Value: func(in []float64) float64 { return max(0, in[0]-float64(before)) },
		}},
	}
}

func ofAutoscaler(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: Autoscalers, Value: value}}
}

func active(v *series.View) (series.Value, bool) {
	for _, c := range v.Status.Conditions {
		if c.Type == "ScalingActive" {
			return series.Text(c.Status + "/" + c.Reason), true
		}
	}
	return series.Value{}, false
}

func average(resource string) func(*series.View) (series.Value, bool) {
	return func(v *series.View) (series.Value, bool) {
		for _, m := range v.Status.CurrentMetrics {
			if m.Resource.Name == resource {
				return series.Text(m.Resource.Current.AverageValue), true
			}
		}
		return series.Value{}, false
	}
}

func pods(name, doc, phase string) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Doc: doc, Sum: &series.SumOfObjects{
		Resource: workload.Pods, Value: func(v *series.View) (float64, bool) {
			return 1, v.Status.Phase == phase && v.Metadata.DeletionTimestamp == ""
		},
	}}
}
