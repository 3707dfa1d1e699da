package workload

import (
	"fmt"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// ByHandLabel is on a pod that the script, and not a controller, deletes.
const ByHandLabel = "reckon.dev/deleted-by-hand"

// Series of a StatefulSet, beside Replicas, Template, Answered, Ready and Existing.
const (
	Partition      = "partition"       // of the update strategy
	Unavailability = "maxUnavailable"  // of the update strategy as it is stored
	SpecObserved   = "observed"        // 1 when the status speaks of the spec as it is
	CurrentName    = "currentRevision" // status.currentRevision, a name
	UpdateName     = "updateRevision"  // status.updateRevision, a name
	Completed      = "completed"       // 1 when both are the same
	Updated        = "updatedReplicas" // status.updatedReplicas
	StatusReplicas = "status.replicas" // status.replicas
)

// Missing pods and unset fields, in series of text.
const (
	NoPod = "none"
	Unset = "unset"
)

// Series of one ordinal: the state of its pod in full, its version, and 1 while a
// pod lives there.
func PodAt(ordinal int) string     { return fmt.Sprintf("pod.%d", ordinal) }
func VersionAt(ordinal int) string { return fmt.Sprintf("version.%d", ordinal) }
func LiveAt(ordinal int) string    { return fmt.Sprintf("live.%d", ordinal) }

// LiveBelow counts the live pods of v1 at ordinals below a partition.
func LiveBelow(partition int) string { return fmt.Sprintf("live.below.%d", partition) }

// Marks of a pod's state, after its version; a ready pod has none.
const (
	MarkUnready     = "?"
	MarkTerminating = "-"
	MarkFailed      = "!"
	ByHand          = " by hand"
)

// StatefulDefinitions are the series of a StatefulSet with so many ordinals, whose
// template takes these versions.
func StatefulDefinitions(ordinals int, partitions []int, versions ...string) []series.Definition {
	defs := ofStatefulSet()
	for i := range ordinals {
		defs = append(defs,
			ofPod(PodAt(i), i, "version of the pod, and ? unready, - terminating, ! failed", podState),
			ofPod(VersionAt(i), i, "version of the pod", podVersion),
			pods(LiveAt(i), "", "1 while the pod exists and does not terminate", func(v *series.View) bool {
				return v.Metadata.Name == PodName(i) && isLive(v)
			}),
		)
	}
	for _, p := range partitions {
		defs = append(defs, pods(LiveBelow(p), V1, fmt.Sprintf("live pods of v1 below ordinal %d", p), func(v *series.View) bool {
			return isLive(v) && ordinalOf(v.Metadata.Name) < p
		}))
	}
	for _, v := range versions {
		defs = append(defs, pods(LiveOf(v), v, "pods that do not terminate", isLive), pods(ReadyOf(v), v, "ready pods", isReady))
	}
	return append(defs,
		pods(Ready, "", "ready pods", isReady),
		pods(Existing, "", "pods that exist", func(*series.View) bool { return true }),
	)
}

func ofStatefulSet() []series.Definition {
	set := func(name, doc string, value func(*series.View) (series.Value, bool)) series.Definition {
		return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{Resource: StatefulSets, Value: func(v *series.View) (series.Value, bool) {
			if v.Metadata.Name != Name {
				return series.Value{}, false
			}
			return value(v)
		}}}
	}
	name := func(s string) (series.Value, bool) { return series.Text(s), s != "" }
	return []series.Definition{
		set(Replicas, "spec.replicas", func(v *series.View) (series.Value, bool) { return integer(v.Spec.Replicas), v.Spec.Replicas != nil }),
		set(Template, "version of the template", func(v *series.View) (series.Value, bool) {
			return series.Text(v.Spec.Template.Metadata.Labels[stage.VersionLabel]), true
		}),
		set(Partition, "the update's partition", func(v *series.View) (series.Value, bool) {
			return integer(v.Spec.UpdateStrategy.RollingUpdate.Partition), true
		}),
		set(Unavailability, "maxUnavailable as it is stored", func(v *series.View) (series.Value, bool) {
			stored := strings.Trim(string(v.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable), `"`)
			if stored == "" {
				stored = Unset
			}
			return series.Text(stored), true
		}),
		set(SpecObserved, "1 when the status speaks of the spec as it is", func(v *series.View) (series.Value, bool) { return truth(Observed(v)), true }),
		set(CurrentName, "status.currentRevision", func(v *series.View) (series.Value, bool) { return name(v.Status.CurrentRevision) }),
		set(UpdateName, "status.updateRevision", func(v *series.View) (series.Value, bool) { return name(v.Status.UpdateRevision) }),
		set(Completed, "1 when currentRevision and updateRevision are the same", func(v *series.View) (series.Value, bool) {
			return truth(v.Status.CurrentRevision == v.Status.UpdateRevision), v.Status.CurrentRevision != ""
		}),
		set(Updated, "status.updatedReplicas", func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Status.UpdatedReplicas)), true
		}),
		set(StatusReplicas, "status.replicas", func(v *series.View) (series.Value, bool) { return series.Number(float64(v.Status.Replicas)), true }),
		set(Answered, "1 once the controller observed what it was asked for last", answered),
	}
}

func ofPod(name string, ordinal int, doc string, value func(*series.View) string) series.Definition {
	return series.Definition{Name: name, Doc: doc, Object: &series.FromObject{
		Resource: Pods, Gone: new(series.Text(NoPod)), Value: func(v *series.View) (series.Value, bool) {
			return series.Text(value(v)), v.Metadata.Name == PodName(ordinal)
		},
	}}
}

func podVersion(v *series.View) string { return v.Metadata.Labels[stage.VersionLabel] }

func podState(v *series.View) string {
	state := podVersion(v)
	switch {
	case !isLive(v):
		state += MarkTerminating
	case v.Status.Phase == "Failed" || v.Status.Phase == "Succeeded":
		state += MarkFailed
	case !isReady(v):
		state += MarkUnready
	}
	if v.Metadata.Labels[ByHandLabel] != "" {
		state += ByHand
	}
	return state
}

// ordinalOf is the ordinal in a pod's name, or one that is below no partition.
func ordinalOf(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, Name+"-"))
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return n
}
