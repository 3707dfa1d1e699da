package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
)

const ms = time.Millisecond

// binRig collects what bins emit.
type binRig struct {
	*bins
	lines []traffic.Bin
}

func newBinRig() *binRig {
	r := &binRig{}
	r.bins = newBins(100*ms, time.Unix(0, 0), func(l traffic.Line) { r.lines = append(r.lines, *l.Bin) })
	return r
}

func TestBinsAreEmittedInOrderOnceTheirRequestsEnded(t *testing.T) {
	t.Parallel()
	r := newBinRig()
	ok := outcome{answer: recording.Answer{Version: "v1", Pod: "a"}}
	slow := r.due(10*ms, 0)
	quick := r.due(110*ms, 3*ms)
	r.end(quick, ok, 4*ms)
	r.passed(250 * ms)
	if len(r.lines) != 0 {
		t.Fatalf("emitted %+v while a request of bin 0 is in flight", r.lines)
	}
	r.end(slow, outcome{failure: recording.Failure{Cause: recording.TimedOut, Text: "late"}}, time.Second)
	if len(r.lines) != 2 {
		t.Fatalf("emitted %d bins, want those that are over", len(r.lines))
	}
	r.stop(250 * ms)
	want := []traffic.Bin{
		{Seq: 0, FromNS: 0, ToNS: 100e6, Due: 1, Failures: []recording.Failure{{Cause: recording.TimedOut, Text: "late", N: 1}}},
		{Seq: 1, FromNS: 100e6, ToNS: 200e6, Due: 1, LateNS: 3e6,
			Answers: []recording.Answer{{Version: "v1", Pod: "a", N: 1}}, Latency: []recording.Bucket{{US: 4000, N: 1}}},
		{Seq: 2, FromNS: 200e6, ToNS: 250e6},
	}
	if diff := cmp.Diff(want, r.lines); diff != "" {
		t.Error(diff)
	}
	if got := r.totals(); got != (traffic.End{Bins: 3, Due: 2, Answered: 1, Failed: 1}) {
		t.Errorf("totals %+v", got)
	}
}

func TestFailuresOfOneKindAreOneLineWithTheFirstText(t *testing.T) {
	t.Parallel()
	r := newBinRig()
	for _, f := range []recording.Failure{
		{Cause: recording.Refused, Text: "first"}, {Cause: recording.Refused, Text: "second"}, {Cause: recording.Refused, Target: "canary", Text: "third"},
	} {
		r.end(r.due(0, 0), outcome{failure: f}, 0)
	}
	r.stop(100 * ms)
	want := []recording.Failure{{Cause: recording.Refused, Text: "first", N: 2}, {Cause: recording.Refused, Target: "canary", Text: "third", N: 1}}
	if diff := cmp.Diff(want, r.lines[0].Failures); diff != "" {
		t.Error(diff)
	}
}

func TestLatenciesAreBucketsOfTwoDigits(t *testing.T) {
	t.Parallel()
	r := newBinRig()
	for _, d := range []time.Duration{0, 150 * time.Microsecond, 150 * time.Microsecond, 12345 * time.Microsecond, 3 * time.Hour} {
		r.end(r.due(0, 0), outcome{}, d)
	}
	r.stop(100 * ms)
	got := r.lines[0].Latency
	if len(got) != 4 || got[0] != (recording.Bucket{US: 1, N: 1}) || got[1] != (recording.Bucket{US: 150, N: 2}) {
		t.Fatalf("%+v", got)
	}
	if us := got[2].US; us > 12345 || us < 12345*99/100 {
		t.Errorf("12345 us are in the bucket from %d", us)
	}
}

func TestAStopAtTheEdgeOfABinLeavesNoEmptyOne(t *testing.T) {
	t.Parallel()
	r := newBinRig()
	r.passed(100 * ms)
	r.stop(200 * ms)
	if len(r.lines) != 2 || r.lines[1].ToNS != 200e6 {
		t.Errorf("%+v", r.lines)
	}
}
