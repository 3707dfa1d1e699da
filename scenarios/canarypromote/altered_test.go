package canarypromote_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

const scaling = "testdata/real-v1.8.2-scaling-by-subsets"

// whole matches v2 with all six pods of the step available.
func whole(o *recording.Object, v *series.View) bool {
	return canarydoctored.Sized(canary.New, 6)(o, v) && v.Status.AvailableReplicas == 6
}

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"a pod is missing when the weight comes": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "v2 becomes ready after the command", rollback.ReplicaSets, whole, 5, "status", "availableReplicas")
		}, "exposure"},
		"the weight does not come": {func(tp *doctored.Tape) { canarydoctored.Forget(tp, "the command", rollback.VirtualServices) }, "weights"},
		"the subsets are written":  {func(tp *doctored.Tape) { canarydoctored.WriteInQuiet(tp, rollback.DestinationRules) }, "unwritten"},
		"the index is another": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "v2 becomes ready after the command", rollback.Rollouts, canarydoctored.Any, 4, "status", "currentStepIndex")
		}, "final-index"},
	} {
		doctored.AlterBreaks(t, name, scaling, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, scaling)
}
