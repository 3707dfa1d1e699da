package canaryprogress_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

const deadlineAbort = "testdata/real-v1.8.3-deadline-abort"

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"the deadline comes early": {func(tp *doctored.Tape) {
			tp.Insert(tp.StepBegin("progress deadline"), tp.Find(rollback.Rollouts, 0, canarydoctored.InPhase("Degraded")), func(*recording.Object) {})
		}, "deadline"},
		"the deadline is not seen": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "progress deadline", rollback.Rollouts, canarydoctored.Any, "Progressing", "status", "phase")
		}, "deadline"},
		"it is told once": {func(tp *doctored.Tape) { canarydoctored.Unsay(tp, "has timed out progressing") }, "abort-events"},
		"the canary is kept": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "progress deadline", rollback.ReplicaSets, canarydoctored.Sized(canary.New, 0), 5, "spec", "replicas")
		}, "canary-sizes"},
	} {
		doctored.AlterBreaks(t, name, deadlineAbort, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, deadlineAbort)
}
