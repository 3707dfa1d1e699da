package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

// canary is what the requests of the tests are meant for.
var canary = judge.Aim{Client: "grpc", Version: "v2", Targets: []string{"canary"}}

// delivered reads the weight that is delivered.
var delivered = series.Definition{Name: "w", Sample: &series.FromSample{Series: "w", Resource: recording.Delivered}}

// rollout is a client's requests during a rollout: 100 ms intervals of n
// requests, and a weight that changes every second. share is the part that v2
// answers at a weight, 0 to 1.
func rollout(t testing.TB, rng *rand.Rand, weights []int, n int64, share func(weight int) float64) *series.Set {
	t.Helper()
	var facts []recording.Fact
	for i, w := range weights {
		facts = append(facts, recording.Fact{T: int64(secs(float64(i))), Sample: &recording.Sample{Series: "w", Value: float64(w), AtNS: int64(secs(float64(i))) + 1}})
		for j := range 10 {
			k := int64(0)
			for range n {
				if rng.Float64() < share(w) {
					k++
				}
			}
			from := secs(float64(i) + float64(j)/10)
			facts = append(facts, recording.Fact{T: int64(from + 100*time.Millisecond), Traffic: &recording.Traffic{
				Client: "grpc", Seq: int64(10*i + j), FromNS: int64(from), ToNS: int64(from + 100*time.Millisecond), Due: n,
				Answers: []recording.Answer{{Version: "v1", Pod: "a", N: n - k}, {Version: "v2", Pod: "b", N: k}},
			}})
		}
	}
	return readFacts(t, facts, secs(float64(len(weights))), delivered)
}

func readFacts(t testing.TB, facts []recording.Fact, end time.Duration, defs ...series.Definition) *series.Set {
	t.Helper()
	slices.SortStableFunc(facts, func(a, b recording.Fact) int { return int(a.T - b.T) })
	set, err := series.Read(recordingtest.Of(t, end, facts...), defs)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func eval(t testing.TB, c judge.Check, set *series.Set) judge.Finding {
	t.Helper()
	f, err := c.Eval(set)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func inProportion(weight int) float64 { return float64(weight) / 100 }

// TestShareRarelyBreaksOnTheTrueShare: of 400 rollouts that are as the weights
// say, at a level of 90 % at most 40 may break. That 60 do has a probability
// below 1e-3 even where each breaks with the full 10 %; the seed is fixed.
func TestShareRarelyBreaksOnTheTrueShare(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	broken := 0
	for range 400 {
		var weights []int
		for range 1 + rng.IntN(6) {
			weights = append(weights, rng.IntN(101))
		}
		set := rollout(t, rng, weights, 1+rng.Int64N(60), inProportion)
		if eval(t, judge.Share{Aim: canary, Weight: "w", Level: 0.9, Tell: 100}, set).Status == judge.Broken {
			broken++
		}
	}
	if broken > 60 {
		t.Errorf("%d of 400 true rollouts break the claim, at a level of 90 %%", broken)
	}
}

// TestShareBreaksOnAShareThatIsOff: with twice the requests that it takes to tell
// a share that is off by some points, one that is off by twice as much breaks it.
func TestShareBreaksOnAShareThatIsOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		points := float64(rapid.IntRange(3, 10).Draw(rt, "points"))
		weight := rapid.IntRange(0, 100).Draw(rt, "weight")
		off := float64(weight) + 2*points
		if off > 100 || rapid.Bool().Draw(rt, "below") && float64(weight) >= 2*points {
			off = float64(weight) - 2*points
		}
		n := 2 * judge.RequestsToTell(float64(weight), points, judge.DefaultLevel) / 10
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		set := rollout(t, rng, []int{weight}, n+1, func(int) float64 { return off / 100 })
		if f := eval(t, judge.Share{Aim: canary, Weight: "w", Tell: points}, set); f.Status != judge.Broken {
			rt.Errorf("a share of %g %% at a weight of %d is %s: %s", off, weight, f.Status, f.Observed)
		}
	})
}

func TestRequestsToTellReachJustThatFar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weight, points float64
		want           int64
	}{{0, 5, 149}, {100, 5, 149}, {20, 5, 791}, {50, 5, 1083}, {50, 0.5, 108_333}, {5, 5, 358}} {
		got := judge.RequestsToTell(c.weight, c.points, judge.DefaultLevel)
		if got < c.want-c.want/50-2 || got > c.want+c.want/50+2 {
			t.Errorf("%g points at %g %% take %d requests, want about %d", c.points, c.weight, got, c.want)
		}
	}
}

func TestNoNumberOfRequestsTellsNothingApart(t *testing.T) {
	t.Parallel()
	if got := judge.RequestsToTell(50, 0, judge.DefaultLevel); got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
}

// TestAgreeRarelyBreaksOnTrueShares: sliding windows are many, and their level is
// shared among them.
func TestAgreeRarelyBreaksOnTrueShares(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		set := rollout(t, rng, []int{0, 5, 5, 40, 40, 80, 100, 100}, 30, inProportion)
		check := judge.Agree{Aim: canary, Delivered: "w", Limits: judge.Limits{}}
		if f := eval(t, check, set); f.Status == judge.Broken {
			t.Fatalf("%s: %+v", f.Why, f.Disagreements)
		}
	}
}

func TestAgreeFindsHowLongAnswersLag(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		from, to := rapid.SampledFrom([]int{0, 20, 100}).Draw(rt, "from"), rapid.SampledFrom([]int{60, 50}).Draw(rt, "to")
		weights, lag, i := []int{from, from, to, to, to, to, to, to}, rapid.IntRange(15, 35).Draw(rt, "lag"), 0
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		perBin := int64(100)
		set := rollout(t, rng, weights, perBin, func(w int) float64 {
			at := i / int(perBin)
			if i++; at < 20+lag {
				return float64(from) / 100
			}
			return float64(w) / 100
		})
		f := eval(t, judge.Agree{Aim: canary, Delivered: "w", Limits: judge.Limits{Answer: 500 * time.Millisecond}}, set)
		if len(f.Disagreements) != 1 || f.Status != judge.Broken {
			rt.Fatalf("%s, %+v", f.Observed, f.Disagreements)
		}
		d := f.Disagreements[0]
		// Its end is known to the grain of the window only, which is 1 s.
		if want := float64(lag) / 10; math.Abs(d.FromSec-2) > 0.01 || d.ForSec > want+0.01 || d.ForSec < want-1 || d.Cause != judge.Unexplained {
			rt.Errorf("%+v, want 2 s and %g s", d, want)
		}
	})
}

func TestMeasuresTellOfPeriods(t *testing.T) {
	t.Parallel()
	set := corpusSet(t,
		"state pods 3@0.5 1@4 3@6", "delivered w 0@0.1 20@5 100@8",
		"requests grpc 1..4 every 0.5 v1=100", "requests grpc 4..6 every 0.5 v1=90 overloaded:v1=9 client-race=1",
		"requests grpc 6..8.5 every 0.5 v1=80 v2=20", "requests grpc 8.5..12 every 0.5 v2=100",
		"step drill 2..11", "end 12")
	window := series.Window{From: "drill", To: "drill"}
	short := judge.Cond{Series: "pods", Op: judge.Less, Value: series.Number(3)}
	m := judge.Measure{
		Title: "requests", Client: "grpc", Busiest: 1,
		Periods: []judge.Period{
			{Name: "drill", Window: window},
			{Name: "while pods are missing", While: []judge.Cond{short}, Window: window},
			{Name: "never", While: []judge.Cond{{Series: "pods", Op: judge.Greater, Value: series.Number(9)}}, Window: window},
			{Name: "not there", Window: series.Window{From: "later"}},
			{Name: "to the end"},
		},
		Delays: []judge.Delay{
			{Name: "to the first answer", From: "w", Answers: &canary, Within: 2 * time.Second, Window: window},
			{Name: "from the pods to the weight", From: "pods", To: "w", Within: time.Second, Window: window},
		},
	}
	v, err := judge.Judge(recording.Header{}, judge.Prediction{Measures: []judge.Measure{m}}, set, judge.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	want := `grpc
drill: 9 s, 1800 due, 1760 answered, 40 failed [{overloaded 36} {client-race 4}] v1: 1160 of 1800, 64.44 % (62.18 to 66.66 %) v2: 600 of 1800, 33.33 % (31.16 to 35.56 %) p99 2 of 1760 [{v1-0 v1 1160 128.89}] 
while pods are missing: 2 s, 400 due, 360 answered, 40 failed [{overloaded 36} {client-race 4}] v1: 360 of 400, 90 % (86.63 to 92.76 %) v2: 0 of 400, 0 % (0 to 0.92 %) p99 2 of 360 [{v1-0 v1 360 180}] 
never: 0 s, 0 due, 0 answered, 0 failed [] [] never so
not there: 0 s, 0 due, 0 answered, 0 failed [] [] the script did not get there
to the end: 11 s, 2200 due, 2160 answered, 40 failed [{overloaded 36} {client-race 4}] v1: 1360 of 2200, 61.82 % (59.75 to 63.85 %) v2: 800 of 2200, 36.36 % (34.35 to 38.41 %) p99 2 of 2160 [{v1-0 v1 1360 123.64}] the count of the requests of client grpc was cut from 0.000 s to 1.000 s (its first interval begins then)
to the first answer: 1 of 2 changes, 1.5 to 1.5 (1.5), error 0.614: 1 change at neither 0 nor 100 % before: no single answer shows them
from the pods to the weight: 0 of 2 changes, 0 to 0 (0), error 0: nothing to measure
`
	if diff := cmp.Diff(want, tell(v.Measures[0])); diff != "" {
		t.Error(diff)
	}
	m.Periods[1].While[0].Series = "no such"
	if _, err := judge.Judge(recording.Header{}, judge.Prediction{Measures: []judge.Measure{m}}, set, judge.Gate{}); err == nil {
		t.Error("a measure of an unknown series is no error")
	}
	if !slices.Contains(m.Series(), "no such") {
		t.Errorf("%q", m.Series())
	}
}

func tell(m judge.MeasureResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", m.Client)
	for _, p := range m.Periods {
		fmt.Fprintf(&b, "%s: %g s, %d due, %d answered, %d failed %v ", p.Name, p.Seconds, p.Due, p.Answered, p.Failed, p.Causes)
		for _, v := range p.Versions {
			fmt.Fprintf(&b, "%s: %s ", v.Version, v.Estimate)
		}
		if p.Latency != nil {
			fmt.Fprintf(&b, "p99 %g of %d ", p.Latency.P99, p.Latency.N)
		}
		fmt.Fprintf(&b, "%v %s\n", p.Pods, p.Note)
	}
	for _, d := range m.Delays {
		fmt.Fprintf(&b, "%s: %d of %d changes, %g to %g (%g), error %g: %s\n", d.Name, d.N, d.Changes, d.Min, d.Max, d.Median, d.Error, d.Note)
	}
	return b.String()
}

// corpusSet reads a recording that is told in the language of the corpus.
func corpusSet(t testing.TB, lines ...string) *series.Set {
	t.Helper()
	p := &parser{file: "f", cases: []*corpusCase{{seq: map[string]int64{}}}}
	for _, line := range lines {
		p.parse(line)
	}
	return p.cases[0].set(t)
}

func TestDisagreementsAndDetailsReachTheVerdict(t *testing.T) {
	t.Parallel()
	set := corpusSet(t, "state vs 0@1 20@5", "delivered w 0@1 20@9", "requests grpc 2..9 every 0.1 v1=100", "requests grpc 9..14 every 0.1 v1=80 v2=20", "step drill 3..13", "end 14")
	window := series.Window{From: "drill", To: "drill"}
	v, err := judge.Judge(recording.Header{}, judge.Prediction{Claims: []judge.Claim{
		{ID: "weights-agree", Check: judge.Agree{Aim: canary, Stored: "vs", Delivered: "w", Limits: judge.Limits{Deliver: time.Second, Answer: time.Second}, Window: window}},
		{ID: "shares", Check: judge.Share{Aim: canary, Weight: "w", Propagation: 200 * time.Millisecond, PropagationBasis: "measured", Window: window}},
	}}, set, judge.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != judge.Pass || len(v.Disagreements) != 1 || v.Disagreements[0].Claim != "weights-agree" {
		t.Errorf("%s %q %+v", v.Outcome, v.Reasons, v.Disagreements)
	}
	title := "share of v2 for each stretch of a constant weight, with binomial intervals at 99.9 % over all; 0.200 s after each change are left out (measured)"
	if d := v.Claims[1].Detail; d == nil || len(d.Rows) != 2 || len(d.Rows[0]) != len(d.Head) || d.Title != title {
		t.Errorf("%+v", d)
	}
}

func TestPredictionsOfTrafficReadWell(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]judge.Check{
		"v2 in proportion to w, at 99.9 %":          judge.Share{Aim: canary, Weight: "w", Propagation: 500 * time.Millisecond, PropagationBasis: "measured"},
		"0 failed":                                  judge.Lost("grpc", series.Window{}),
		"0 failed of reset, refused":                judge.Lost("grpc", series.Window{}, recording.Reset, recording.Refused),
		"at least 5 answered by v2":                 judge.Requests{Client: "grpc", Count: judge.Answered, Versions: []string{"v2"}, Min: 5, Max: judge.Unlimited},
		"at most 5 failed":                          judge.Requests{Client: "grpc", Count: judge.Failed, Max: 5},
		"2 to 5 due":                                judge.Requests{Client: "grpc", Count: judge.Due, Min: 2, Max: 5},
		"each change of a reaches b within 1.000 s": judge.Propagated{From: "a", To: "b", Within: time.Second},
		"agree, but for 0.500 s (writing), 1.000 s (delivery) and 2.000 s (answers), or explained": judge.Agree{
			Limits: judge.Limits{Write: 500 * time.Millisecond, Deliver: time.Second, Answer: 2 * time.Second}},
	} {
		if got := c.Predicted(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
