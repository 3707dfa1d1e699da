package canarysizes_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/scenarios/canary"
	"reckon.dev/reckon/scenarios/canary/canarydoctored"
	"reckon.dev/reckon/scenarios/rollback"
)

const oneReplica = "testdata/real-v1.8.2-one-replica"

func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(tp *doctored.Tape)
		claim string
	}{
		"no floor": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "update to v2", rollback.ReplicaSets, canarydoctored.Sized(canary.New, 2), 1, "spec", "replicas")
		}, "canary-sizes"},
		"v1 keeps its pods": {func(tp *doctored.Tape) {
			canarydoctored.Each(tp, "update to v2", rollback.ReplicaSets, canarydoctored.Sized(canary.Old, 1), 2, "spec", "replicas")
		}, "update-to-v2-v1"},
		"it is promoted": {func(tp *doctored.Tape) {
			canarydoctored.SayInQuiet(tp, `{"msg":"Rollout completed update to revision 2 (x): done"}`)
		}, "quiet"},
		"the weight stays":    {func(tp *doctored.Tape) { canarydoctored.Forget(tp, "promote past step 2", rollback.VirtualServices) }, "weights"},
		"a ReplicaSet writes": {func(tp *doctored.Tape) { canarydoctored.WriteInQuiet(tp, rollback.ReplicaSets) }, "unwritten"},
	} {
		doctored.AlterBreaks(t, name, oneReplica, c.alter, c.claim)
	}
}

func TestRealRecordingsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, oneReplica)
}
