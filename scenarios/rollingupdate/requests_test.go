package rollingupdate_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// reset is a request that a pod had taken when it ended.
var reset = recording.Failure{Cause: recording.Reset, Text: "connection reset by peer"}

// settling are the client's intervals from the update to its end.
func settling(tp *doctored.Tape) []int {
	return tp.During(workload.StepSettle, tp.Requests(stage.HTTP))
}

func TestAlteredRequestsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"a request is lost although the pods served on": {"kind-four-preStop", func(tp *doctored.Tape) {
			tp.Fail(settling(tp)[20:21], "v2", reset, 1)
		}, "lost"},
		"more are lost than are led to pods that end": {"kind-four", func(tp *doctored.Tape) {
			tp.Fail(settling(tp), "v1", reset, 2)
			tp.Fail(settling(tp), "v2", reset, 2)
		}, "lost"},
		"requests are lost after the update": {"kind-four", func(tp *doctored.Tape) {
			tp.Fail(tp.During(workload.StepQuiet, tp.Requests(stage.HTTP))[40:], "v2", reset, 1)
		}, "lost-only-then"},
		"v2 answers before it has a ready pod": {"kind-four", func(tp *doctored.Tape) {
			tp.MoveAnswers(settling(tp)[:1], "v1", "v2", 1)
		}, "answers-v2"},
		"v1 answers after its last pod has ended": {"kind-four", func(tp *doctored.Tape) {
			tp.MoveAnswers(tp.During(workload.StepQuiet, tp.Requests(stage.HTTP)), "v2", "v1", 1)
		}, "answers-v1"},
		"new pods are made while one old pod has not ended": {"kind-Recreate", func(tp *doctored.Tape) {
			name := tp.Facts[readyPod(tp, "v1", 0)].Object.Name
			for i := len(tp.Facts) - 1; i >= 0; i-- {
				o := tp.Facts[i].Object
				if o != nil && o.Name == name && tp.Is(i, func(_ *recording.Object, v *series.View) bool { return v.Status.Phase == "Succeeded" }) {
					tp.Drop(i)
				}
			}
		}, "moves"},
	} {
		doctored.AlterBreaks(t, name, "testdata/"+c.recording, c.alter, c.claim)
	}
}

// A client that died may have missed what was lost.
func TestAClientThatDiesProvesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kind-four", "kind-four-preStop"} {
		tp := doctored.Load(t, "testdata/"+name)
		tp.Dies(stage.HTTP, len(tp.Requests(stage.HTTP))/2)
		if v := tp.Verdict(); v.Outcome != judge.Undecided {
			t.Errorf("%s: %s: %q", name, v.Outcome, v.Reasons)
		}
	}
}

func TestRecordingsOfRealPodsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/kind-four", "testdata/kind-four-preStop", "testdata/kind-Recreate")
}
