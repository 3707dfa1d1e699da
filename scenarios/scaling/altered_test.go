package scaling_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	empty := func(_ *recording.Object, v *series.View) bool { return *v.Spec.Replicas == 0 }
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"a step between": {func(tp *doctored.Tape) {
			tp.Set(tp.Find(workload.ReplicaSets, 0, empty), 2, "spec", "replicas")
		}, "sizes"},
		"a size that nobody asked for": {func(tp *doctored.Tape) {
			tp.Set(tp.Find(workload.ReplicaSets, 0, empty), 2, "spec", "replicas")
		}, "moves"},
		"a new revision": {func(tp *doctored.Tape) {
			i := tp.Find(workload.Deployments, 0, empty)
			tp.Set(i, "2", "metadata", "annotations", "deployment.kubernetes.io/revision")
		}, "no-revision"},
	} {
		doctored.AlterBreaks(t, name, "testdata/to-nothing-and-back", c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/to-nothing-and-back")
}
