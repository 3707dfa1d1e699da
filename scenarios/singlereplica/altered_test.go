package singlereplica_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/singlereplica"
	"reckon.dev/reckon/scenarios/workload"
)

func of(version string, match func(v *series.View) bool) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool {
		labels := v.Metadata.Labels
		if len(v.Spec.Template.Metadata.Labels) > 0 {
			labels = v.Spec.Template.Metadata.Labels
		}
		return labels[stage.VersionLabel] == version && match(v)
	}
}

func ready(v *series.View) bool { return v.Is("Ready", "True") && v.Metadata.DeletionTimestamp == "" }

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"the old pod is removed early": {"defaults", func(tp *doctored.Tape) {
			i := tp.Insert(tp.StepBegin(workload.StepSettle), tp.Find(workload.Pods, 0, of("v1", ready)), func(o *recording.Object) { o.Change = recording.Modified })
			tp.Set(i, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		}, "old-goes-last"},
		"the old pod is gone before the new one is ready": {"defaults", func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(workload.StepSettle), tp.Find(workload.Pods, 0, of("v1", ready)), func(o *recording.Object) { o.Change = recording.Deleted })
		}, "floor-pods"},
		"two new pods are wanted": {"defaults", func(tp *doctored.Tape) {
			tp.Set(tp.Find(workload.ReplicaSets, 0, of("v2", func(v *series.View) bool { return *v.Spec.Replicas == 1 })), 2, "spec", "replicas")
		}, "ceiling"},
		"the old ReplicaSet is scaled down first": {"defaults", func(tp *doctored.Tape) {
			at := tp.Find(workload.ReplicaSets, 0, of("v2", func(v *series.View) bool { return true }))
			tp.Insert(at, tp.Find(workload.ReplicaSets, 0, of("v1", func(v *series.View) bool { return *v.Spec.Replicas == 0 })), func(*recording.Object) {})
		}, "moves"},
		"the outage is over too soon": {"no-surge", func(tp *doctored.Tape) {
			i := tp.Find(workload.Pods, 0, of("v2", func(*series.View) bool { return true }))
			tp.Insert(i, tp.Find(workload.Pods, 0, of("v2", ready)), func(*recording.Object) {})
		}, "outage"},
		"there is no outage": {"no-surge", func(tp *doctored.Tape) {
			for i := len(tp.Facts) - 1; i >= 0; i-- {
				if o := tp.Facts[i].Object; o != nil && o.Resource == workload.Pods && o.Change == recording.Deleted {
					tp.Drop(i)
				}
			}
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.Pods {
					tp.Set(i, nil, "metadata", "deletionTimestamp")
				}
			}
		}, "none-ready"},
		"Recreate does not wait for the old pod": {"Recreate-and-lingering", func(tp *doctored.Tape) {
			at := tp.Find(workload.Pods, 0, of("v1", func(v *series.View) bool { return v.Metadata.DeletionTimestamp != "" }))
			tp.Insert(at, tp.Find(workload.Pods, 0, of("v2", ready)), func(*recording.Object) {})
		}, "outage"},
		"a flapping pod is available": {"flapping", func(tp *doctored.Tape) {
			i := tp.Find(workload.ReplicaSets, 0, of("v2", func(v *series.View) bool { return v.Status.ReadyReplicas == 1 }))
			tp.Set(i, 1, "status", "availableReplicas")
		}, "flap-available"},
		"a pod that is ready for good is available at once": {"flapping", func(tp *doctored.Tape) {
			i, n := -1, 0
			for begin := tp.StepBegin(singlereplica.StepSteady); i < begin; n++ {
				i = tp.Find(workload.ReplicaSets, n, of("v2", func(v *series.View) bool { return v.Status.ReadyReplicas == 1 }))
			}
			tp.Set(i, 1, "status", "availableReplicas")
		}, "steady-available"},
		"the budget allows a disruption": {"a-budget-beside-it", func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.Budgets {
					tp.Set(i, 1, "status", "disruptionsAllowed")
				}
			}
		}, "budget"},
	} {
		doctored.AlterBreaks(t, name, "testdata/"+c.recording, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/defaults", "testdata/no-surge", "testdata/flapping", "testdata/Recreate-and-lingering", "testdata/a-budget-beside-it")
}
