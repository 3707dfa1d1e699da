package doctored

import (
	"testing"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// tape has three intervals of a client and one of another, during a step and after it.
func tape(t *testing.T) *Tape {
	tp := &Tape{t: t, end: 400}
	step := func(at int64, phase string) {
		tp.Facts = append(tp.Facts, recording.Fact{T: at, Step: &recording.Step{Name: "act", Phase: phase}})
	}
	requests := func(client string, seq int64) {
		tp.Facts = append(tp.Facts, recording.Fact{T: 100 * (seq + 1), Traffic: &recording.Traffic{
			Client: client, Seq: seq, FromNS: 100 * seq, ToNS: 100 * (seq + 1), Due: 10,
			Answers: []recording.Answer{{Version: "v1", Pod: "a", N: 4}, {Version: "v1", Pod: "b", N: 4}, {Version: "v2", Pod: "c", N: 2}},
			Latency: []recording.Bucket{{US: 100, N: 3}, {US: 200, N: 7}},
		}})
	}
	step(0, "begin")
	requests("grpc", 0)
	requests("grpc", 1)
	requests("http", 1)
	step(210, "end")
	requests("grpc", 2)
	return tp
}

// tally is what the facts say now, all of it sound.
func tally(t *testing.T, tp *Tape, facts []int) *series.Tally {
	t.Helper()
	sum := series.NewTally()
	for _, i := range facts {
		b := series.Bin{Traffic: *tp.Facts[i].Traffic}
		if !b.Sound() {
			t.Errorf("interval %d does not add up", b.Seq)
		}
		sum.Add(&b)
	}
	return sum
}

func TestRequestsAreThoseOfTheClientAndTheStep(t *testing.T) {
	tp := tape(t)
	all := tp.Requests("grpc")
	if got := tp.During("act", all); len(all) != 3 || len(got) != 2 {
		t.Errorf("%d of %d are during the step, want 2 of 3", len(got), len(all))
	}
}

func TestMovedAnswersAreConserved(t *testing.T) {
	tp := tape(t)
	all := tp.Requests("grpc")
	before := tp.Facts[all[0]].Traffic
	if moved := tp.MoveAnswers(all, "v1", "v2", 5); moved != 15 {
		t.Errorf("%d were moved, want 15", moved)
	}
	if got := tally(t, tp, all); got.Answered("v1") != 9 || got.Answered("v2") != 21 || got.Latency.N() != 30 {
		t.Errorf("%+v", got)
	}
	if before.Answers[0].N != 4 {
		t.Error("the fact that was read was changed in place")
	}
	if moved := tp.MoveAnswers(all, "v1", "v2", 100); moved != 9 {
		t.Errorf("%d were moved of the 9 that are left", moved)
	}
}

func TestFailuresTakeTheirAnswersAndLatencies(t *testing.T) {
	tp := tape(t)
	all := tp.Requests("grpc")
	if failed := tp.Fail(all, "v1", recording.Failure{Cause: recording.Reset, Text: "reset"}, 4); failed != 12 {
		t.Errorf("%d failed, want 12", failed)
	}
	got := tally(t, tp, all)
	if got.Failed(recording.Reset) != 12 || got.Answered() != 18 || got.Latency.N() != 18 {
		t.Errorf("%+v", got)
	}
}

func TestAClientThatDiesSaysNothingMore(t *testing.T) {
	tp := tape(t)
	tp.Dies("grpc", 1)
	if got := tp.Requests("grpc"); len(got) != 1 || len(tp.Requests("http")) != 1 || len(tp.Facts) != 4 {
		t.Errorf("%d intervals are left of %d facts", len(got), len(tp.Facts))
	}
}
