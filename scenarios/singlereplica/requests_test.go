package singlereplica_test

import (
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// refused is a request that was led to a pod which accepts none.
var refused = recording.Failure{Cause: recording.Refused, Text: "connection refused"}

// settling are the client's intervals from the update to its end.
func settling(tp *doctored.Tape) []int {
	return tp.During(workload.StepSettle, tp.Requests(stage.HTTP))
}

// answered are those of the intervals that a version answered without a failure.
func answered(tp *doctored.Tape, intervals []int, version string) []int {
	var out []int
	for _, i := range intervals {
		tr := tp.Facts[i].Traffic
		if len(tr.Failures) == 0 && len(tr.Answers) == 1 && tr.Answers[0].Version == version {
			out = append(out, i)
		}
	}
	return out
}

// lost are those of the intervals in which every request failed.
func lost(tp *doctored.Tape, intervals []int) []int {
	var out []int
	for _, i := range intervals {
		if tr := tp.Facts[i].Traffic; len(tr.Answers) == 0 && len(tr.Failures) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// mend has a version answer what failed.
func mend(tp *doctored.Tape, intervals []int, version string) {
	for _, i := range intervals {
		tr := *tp.Facts[i].Traffic
		for _, f := range tr.Failures {
			tr.Answers = append(tr.Answers, recording.Answer{Version: version, Pod: version + "-doctored", N: f.N})
		}
		tr.Failures = nil
		tp.Facts[i].Traffic = &tr
	}
}

// neverEnded drops what says that the pods of v1 have ended, until they are gone.
func neverEnded(tp *doctored.Tape) {
	for i := len(tp.Facts) - 1; i >= 0; i-- {
		o := tp.Facts[i].Object
		if o != nil && o.Resource == workload.Pods && o.Change == recording.Modified && tp.Is(i, of("v1", func(v *series.View) bool { return v.Status.Phase == "Succeeded" })) {
			tp.Drop(i)
		}
	}
}

func TestAlteredRequestsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"a request is lost although the pod served on": {"kind-preStop", func(tp *doctored.Tape) {
			tp.Fail(answered(tp, settling(tp), "v2")[:1], "v2", refused, 1)
		}, "lost"},
		"more are lost than are led to a pod that ends": {"kind-drain", func(tp *doctored.Tape) {
			tp.Fail(settling(tp), "v1", refused, 10)
			tp.Fail(settling(tp), "v2", refused, 10)
		}, "lost"},
		"a request is lost before the pod is deleted": {"kind-drain", func(tp *doctored.Tape) {
			tp.Fail(answered(tp, settling(tp), "v1")[:1], "v1", refused, 1)
		}, "lost-only-then"},
		"a request is lost long after the pod is gone": {"kind-drain", func(tp *doctored.Tape) {
			tp.Fail(tp.During(workload.StepQuiet, tp.Requests(stage.HTTP))[40:41], "v2", refused, 1)
		}, "lost-only-then"},
		"a request is lost while the pod sleeps before SIGTERM": {"kind-preStop-and-no-surge", func(tp *doctored.Tape) {
			tp.Fail(answered(tp, settling(tp), "v1")[5:6], "v1", refused, 1)
		}, "lost-only-then"},
		"too few are lost in an outage": {"kind-exit-and-no-surge", func(tp *doctored.Tape) {
			mend(tp, settling(tp), "v1")
		}, "lost"},
		"a request is answered while no pod serves": {"kind-exit-and-no-surge", func(tp *doctored.Tape) {
			gone := lost(tp, settling(tp))
			mend(tp, gone[len(gone)/2:len(gone)/2+1], "v2")
		}, "unserved"},
		"v2 answers before it has a ready pod": {"kind-drain", func(tp *doctored.Tape) {
			tp.MoveAnswers(answered(tp, settling(tp), "v1")[:1], "v1", "v2", 1)
		}, "answers-v2"},
		"v1 answers after its pod has ended": {"kind-drain", func(tp *doctored.Tape) {
			tp.MoveAnswers(tp.During(workload.StepQuiet, tp.Requests(stage.HTTP))[:1], "v2", "v1", 1)
		}, "answers-v1"},
		"Recreate makes a new pod while the old one runs": {"kind-Recreate-and-lingering", neverEnded, "moves"},
		"more pods run than Recreate allows":              {"kind-Recreate-and-lingering", neverEnded, "existing"},
	} {
		doctored.AlterBreaks(t, name, "testdata/"+c.recording, c.alter, c.claim)
	}
}

// A client that died may have missed what was lost.
func TestAClientThatDiesProvesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kind-preStop", "kind-drain", "kind-preStop-and-no-surge"} {
		tp := doctored.Load(t, "testdata/"+name)
		tp.Dies(stage.HTTP, len(tp.Requests(stage.HTTP))/2)
		v := tp.Verdict()
		if v.Outcome != judge.Undecided {
			t.Errorf("%s: %s: %q", name, v.Outcome, v.Reasons)
		}
		for _, c := range v.Claims {
			if c.ID == "lost" && c.Status != judge.Inconclusive {
				t.Errorf("%s: lost is %s: %s", name, c.Status, c.Observed)
			}
		}
	}
}

func TestRecordingsOfRealPodsPass(t *testing.T) {
	t.Parallel()
	doctored.Pass(t, "testdata/kind-drain", "testdata/kind-preStop", "testdata/kind-exit-and-no-surge", "testdata/kind-preStop-and-no-surge", "testdata/kind-Recreate-and-lingering")
}
