package canaryabort_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

const (
	aborted  = "testdata/real-v1.8.2-abort"
	dynamic  = "testdata/real-v1.8.2-dynamic"
	restless = "testdata/real-v1.8.2-zero-keeps-a-first-scale"
)

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir   string
		alter func(tp *doctored.Tape)
		claim string
	}{
		"the weight stays":           {aborted, func(tp *doctored.Tape) { canarydoctored.Forget(tp, "abort", rollback.VirtualServices) }, "abort-weights"},
		"nobody is told":             {aborted, func(tp *doctored.Tape) { canarydoctored.Unsay(tp, `"event_reason":"RolloutAborted"`) }, "abort-events"},
		"the Service rests":          {aborted, func(tp *doctored.Tape) { canarydoctored.Unsay(tp, `"event_reason":"SwitchService"`) }, "abort-switches"},
		"a Service is written":       {aborted, func(tp *doctored.Tape) { canarydoctored.WriteInQuiet(tp, rollback.Services) }, "unwritten"},
		"the controller cannot rest": {aborted, func(tp *doctored.Tape) { canarydoctored.LookInQuiet(tp, 100) }, "reconciles"},
		"it is Healthy": {aborted, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "abort", rollback.Rollouts, canarydoctored.Any, "Healthy", "status", "phase")
		}, "final-phase"},
		"the abort does not last": {aborted, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "abort delay", rollback.Rollouts, canarydoctored.Any, false, "status", "abort")
		}, "abort-status"},
		"the canary goes at once": {aborted, func(tp *doctored.Tape) {
			at := tp.Find(rollback.Rollouts, 0, canarydoctored.InPhase("Degraded"))
			tp.Insert(at, tp.Find(rollback.ReplicaSets, 0, canarydoctored.Sized(canary.New, 0)), func(*recording.Object) {})
		}, "abort-delay"},
		"one pod fewer of v1": {dynamic, func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "abort", rollback.ReplicaSets, canarydoctored.Sized(canary.Old, 10), 9, "spec", "replicas")
		}, "stable-sizes"},
		"it comes to rest":           {restless, func(tp *doctored.Tape) { canarydoctored.Unsay(tp, `"event_reason":"SwitchService"`) }, "restless"},
		"nobody looks after the end": {restless, canarydoctored.StopLooking, "reconciles"},
	} {
		doctored.AlterBreaks(t, name, c.dir, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, aborted, dynamic, restless)
}
