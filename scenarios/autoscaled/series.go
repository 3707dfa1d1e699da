package autoscaled

import (
	"time"

	"reckon.dev/reckon/harness/series"
)

// SyncPeriod is how often the autoscaler looks, as harness/cluster/embedded sets it.
const SyncPeriod = 5 * time.Second

// AtMost is the time from one sync to the next with what a sync itself takes. On a busy
// machine 5.4 s were seen.
const AtMost = SyncPeriod + time.Second

// Syncs is how many syncs fall into a time at least.
func Syncs(d time.Duration) int { return int((d - 100*time.Millisecond) / AtMost) }

// Autoscalers is the resource.
const Autoscalers = "horizontalpodautoscalers.autoscaling"

// Series of an autoscaler.
const (
	Desired = "desired" // status.desiredReplicas of the autoscaler
	Active  = "active"  // its condition ScalingActive as status/reason
	Pulse   = "pulse"   // the counter that it last read
)

// Valid is the condition Active of an autoscaler that works.
const Valid = "True/ValidMetricFound"

// Definitions are the series of an autoscaler, whose counter is read as given. The
// controller writes a status only when it differs, so that without a counter among its
// metrics a sync that changes nothing would leave no trace.
func Definitions(pulse func(series.CurrentMetric) (text string, ok bool)) []series.Definition {
	return []series.Definition{
		Of(Desired, "status.desiredReplicas of the autoscaler", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.DesiredReplicas)), len(v.Status.Conditions) > 0
		}),
		Of(Active, "condition ScalingActive of the autoscaler, status and reason", active),
		Of(Pulse, "the counter as the autoscaler computed it", Reading(pulse)),
	}
}

// Of is a series of the autoscaler.
func Of(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: Autoscalers, Value: value}}
}

// Reading is the first of an autoscaler's readings that is the one that is meant, as text.
func Reading(of func(series.CurrentMetric) (text string, ok bool)) func(*series.View) (series.Value, bool) {
	return func(v *series.View) (series.Value, bool) {
		for _, m := range v.Status.CurrentMetrics {
			if text, ok := of(m); ok {
				return series.Text(text), true
			}
		}
		return series.Value{}, false
	}
}

// Rests matches an autoscaler that works and wants so many replicas.
func Rests(replicas int) func(*series.View) bool {
	return func(v *series.View) bool {
		condition, _ := active(v)
		return v.Status.DesiredReplicas == replicas && condition.Text == Valid
	}
}

func active(v *series.View) (series.Value, bool) {
	for _, c := range v.Status.Conditions {
		if c.Type == "ScalingActive" {
			return series.Text(c.Status + "/" + c.Reason), true
		}
	}
	return series.Value{}, false
}
