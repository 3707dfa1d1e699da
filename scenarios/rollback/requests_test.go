package rollback_test

import (
	"slices"
	"testing"
	"time"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/rollback"
)

// Recordings of real pods that real requests were sent to, on kind.
const (
	incident    = "testdata/requests/incident"     // [5, pause, 100]
	fivePercent = "testdata/requests/five-percent" // [5, pause]
)

// weights are the facts about the weight that istiod delivered to a target of the
// route that the controller writes.
func weights(tp *doctored.Tape, target string) []int {
	var out []int
	for i, f := range tp.Facts {
		if s := f.Sample; s != nil && s.Series == recording.DeliveredWeight && s.Labels["route"] == "primary" && s.Labels["target"] == target {
			out = append(out, i)
		}
	}
	return out
}

// ramp are the intervals of the client while the pods of v1 become ready: those
// before istiod delivered a weight for them, and those that a second later were
// under way.
func ramp(tp *doctored.Tape) (before, after []int) {
	at := tp.Facts[weights(tp, "drill-canary")[0]].Sample.AtNS
	for _, i := range tp.During(rollback.StepRamp, tp.Requests(stage.GRPC)) {
		switch tr := tp.Facts[i].Traffic; {
		case tr.ToNS < at:
			before = append(before, i)
		case tr.FromNS > at+int64(time.Second):
			after = append(after, i)
		}
	}
	return before, after
}

// keepBack leaves out what istiod delivered while the pods became ready.
func keepBack(tp *doctored.Tape) {
	tp.DropAll(append(weights(tp, "drill-canary"), weights(tp, "drill-stable")[1:]...))
}

func TestAlteredRequestsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording string
		alter     func(tp *doctored.Tape)
		claim     string
	}{
		"one request goes to v2 at a weight of 100": {incident, func(tp *doctored.Tape) {
			_, after := ramp(tp)
			tp.MoveAnswers(after[len(after)/2:][:1], rollback.Old, rollback.New, 1)
		}, "share"},
		"one request goes to v1 at a weight of 0": {incident, func(tp *doctored.Tape) {
			before, _ := ramp(tp)
			tp.MoveAnswers(before[:1], rollback.New, rollback.Old, 1)
		}, "share"},
		"one request goes to v2 when v2 is gone": {incident, func(tp *doctored.Tape) {
			tp.MoveAnswers(tp.During(rollback.StepQuiet, tp.Requests(stage.GRPC))[10:11], rollback.Old, rollback.New, 1)
		}, "share"},
		"v1 gets ten percent instead of five": {fivePercent, func(tp *doctored.Tape) {
			_, after := ramp(tp)
			tp.MoveAnswers(after, rollback.New, rollback.Old, 1)
		}, "share"},
		"v2 goes on answering for two seconds": {incident, func(tp *doctored.Tape) {
			_, after := ramp(tp)
			tp.MoveAnswers(after[len(after)-20:], rollback.Old, rollback.New, 20)
		}, "weights-agree"},
		"istiod delivers a weight that nobody has written": {incident, func(tp *doctored.Tape) {
			for _, i := range append(weights(tp, "drill-canary")[:1], weights(tp, "drill-stable")[1]) {
				sample := *tp.Facts[i].Sample
				sample.Value = 50
				tp.Facts[i].Sample = &sample
			}
		}, "weights-agree"},
		"istiod never delivers what is written": {incident, keepBack, "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tape := doctored.Load(t, c.recording)
			if v := tape.Verdict(); v.Outcome != judge.Pass {
				t.Fatalf("as it was recorded: %s: %q", v.Outcome, v.Reasons)
			}
			c.alter(tape)
			tape.Breaks(c.claim)
		})
	}
}

func TestWhatIsNotKnownOfRequestsNeverPasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter   func(tp *doctored.Tape)
		unclear []string
	}{
		"the client dies in the midst": {func(tp *doctored.Tape) {
			tp.Dies(stage.GRPC, len(tp.Requests(stage.GRPC))*2/3)
		}, []string{"share", "weights-agree"}},
		"an interval of the client is missing": {func(tp *doctored.Tape) {
			_, after := ramp(tp)
			tp.Drop(after[len(after)/2])
		}, []string{"share", "weights-agree"}},
		"the stream from istiod is down as the weight changes": {func(tp *doctored.Tape) {
			i := weights(tp, "drill-canary")[0]
			at := tp.Facts[i].Sample.AtNS
			keepBack(tp)
			tp.Facts = slices.Insert(tp.Facts, i, recording.Fact{T: tp.Facts[i].T, Gap: &recording.Gap{
				Resource: recording.Delivered, FromNS: at - int64(time.Second), ToNS: at + int64(20*time.Second), Reason: "doctored",
			}})
		}, []string{"delivered"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tape := doctored.Load(t, incident)
			c.alter(tape)
			v := tape.Verdict()
			if v.Outcome != judge.Undecided {
				t.Errorf("outcome %s: %q", v.Outcome, v.Reasons)
			}
			for _, claim := range v.Claims {
				if slices.Contains(c.unclear, claim.ID) && claim.Status != judge.Inconclusive {
					t.Errorf("claim %s is %s: %s", claim.ID, claim.Status, claim.Observed)
				}
			}
		})
	}
}

func TestFaultsOfTheClientAreNotBlamedOnAnybody(t *testing.T) {
	t.Parallel()
	tape := doctored.Load(t, incident)
	before := tape.Verdict()
	_, after := ramp(tape)
	race := recording.Failure{Cause: recording.ClientRace, Target: "drill-canary", Text: "unknown cluster selected for RPC"}
	if n := tape.Fail(after[:5], rollback.Old, race, 2); n != 10 {
		t.Fatalf("%d requests fail, want 10", n)
	}
	v := tape.Verdict()
	if v.Outcome != judge.Pass {
		t.Errorf("outcome %s: %q", v.Outcome, v.Reasons)
	}
	worst := func(v judge.Verdict) float64 {
		i := slices.IndexFunc(v.Guards, func(g judge.GuardResult) bool { return g.ID == judge.ErrorsGuard })
		return *v.Guards[i].Worst
	}
	if worst(v) > worst(before) {
		t.Errorf("errors reached %g %%, and %g %% without the races", worst(v), worst(before))
	}
}
