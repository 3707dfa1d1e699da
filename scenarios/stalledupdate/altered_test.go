package stalledupdate_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/stalledupdate"
	"reckon.dev/reckon/scenarios/workload"
)

func size(version string, n int) func(*recording.Object, *series.View) bool {
	return func(_ *recording.Object, v *series.View) bool {
		return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version && *v.Spec.Replicas == n
	}
}

func stuck(_ *recording.Object, v *series.View) bool { return v.Is("Progressing", "False") }

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"one more old pod is given up": {func(tp *doctored.Tape) {
			i := tp.Insert(tp.Find(workload.ReplicaSets, 0, size("v1", 8)), tp.Find(workload.ReplicaSets, 0, size("v1", 8)), func(*recording.Object) {})
			tp.Set(i, 7, "spec", "replicas")
		}, "moves"},
		"the stall is elsewhere": {func(tp *doctored.Tape) {
			for i, f := range tp.Facts {
				if f.Object != nil && f.Object.Resource == workload.ReplicaSets && tp.Is(i, size("v2", 5)) {
					tp.Set(i, 4, "spec", "replicas")
				}
			}
		}, "stalled-v2"},
		"the deadline comes early": {func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin(stalledupdate.StepStall), tp.Find(workload.Deployments, 0, stuck), func(*recording.Object) {})
		}, "deadline"},
		"it rolls back by itself": {func(tp *doctored.Tape) {
			at := tp.StepBegin(stalledupdate.StepNoRollback)
			i := tp.Insert(at, tp.Find(workload.ReplicaSets, 0, size("v1", 8)), func(*recording.Object) {})
			tp.Facts[i].T++ // after the begin of the step
			tp.Set(i, 10, "spec", "replicas")
		}, "no-rollback"},
		"a revision number is used twice": {func(tp *doctored.Tape) {
			for i := tp.StepBegin(stalledupdate.StepUndo); i < len(tp.Facts); i++ {
				if f := tp.Facts[i]; f.Object != nil && f.Object.Resource == workload.ReplicaSets && tp.Is(i, func(_ *recording.Object, v *series.View) bool {
					return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == "v1"
				}) {
					tp.Set(i, "2", "metadata", "annotations", "deployment.kubernetes.io/revision")
				}
			}
		}, "revisions-v1"},
		"the undo does not complete": {func(tp *doctored.Tape) {
			for i := tp.StepBegin(stalledupdate.StepUndo); i < len(tp.Facts); i++ {
				if f := tp.Facts[i]; f.Object != nil && f.Object.Resource == workload.ReplicaSets && tp.Is(i, size("v1", 10)) {
					tp.Set(i, 9, "spec", "replicas")
				}
			}
		}, "final-v1"},
	} {
		doctored.AlterBreaks(t, name, "testdata/none-ready", c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/none-ready")
}
