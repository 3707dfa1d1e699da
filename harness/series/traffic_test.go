package series_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// bin is an interval of 100 ms of the client grpc, the seq-th from 0 on.
func bin(seq int, answers map[string]int64, failures map[recording.Cause]int64) recording.Fact {
	tr := &recording.Traffic{Client: "grpc", Seq: int64(seq), FromNS: at(100 * seq), ToNS: at(100 * (seq + 1))}
	for version, n := range answers {
		tr.Answers = append(tr.Answers, recording.Answer{Version: version, Pod: version + "-0", N: n})
		tr.Latency = append(tr.Latency, recording.Bucket{US: 1000, N: n})
		tr.Due += n
	}
	for cause, n := range failures {
		tr.Failures = append(tr.Failures, recording.Failure{Cause: cause, N: n})
		tr.Due += n
	}
	return recording.Fact{T: tr.ToNS, Traffic: tr}
}

type (
	answers  = map[string]int64
	failures = map[recording.Cause]int64
)

func traffic(name string, over time.Duration, value series.TrafficValue) series.Definition {
	return series.Definition{Name: name, Traffic: &series.FromTraffic{Client: "grpc", Over: over, Value: value}}
}

func points(t *testing.T, set *series.Set, name string) string {
	t.Helper()
	s, err := set.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range s.Points {
		out = append(out, fmt.Sprintf("%s@%s", p.Value, p.T))
	}
	return strings.Join(out, " ")
}

func TestTrafficSeries(t *testing.T) {
	t.Parallel()
	facts := []recording.Fact{
		bin(0, answers{"v1": 8, "v2": 2}, nil),
		bin(1, answers{"v1": 5}, failures{recording.NoEndpoint: 5}),
		bin(2, answers{"v1": 9}, failures{recording.ClientRace: 1}),
		bin(3, answers{"v2": 10}, nil),
	}
	for name, c := range map[string]struct {
		over  time.Duration
		value series.TrafficValue
		want  string
	}{
		"due so far":                {series.Cumulative, series.CountDue(), "0@0s 10@100ms 20@200ms 30@300ms 40@400ms"},
		"answered so far":           {series.Cumulative, series.CountAnswered(), "0@0s 10@100ms 15@200ms 24@300ms 34@400ms"},
		"answered by v2 so far":     {series.Cumulative, series.CountAnswered("v2"), "0@0s 2@100ms 12@400ms"},
		"failed so far, but races":  {series.Cumulative, series.CountFailed(), "0@0s 5@200ms"},
		"races so far":              {series.Cumulative, series.CountFailed(recording.ClientRace), "0@0s 1@300ms"},
		"failed in each interval":   {0, series.CountFailed(), "0@100ms 5@200ms 0@300ms"},
		"failed each second":        {0, series.PerSecond(series.CountFailed()), "0@100ms 50@200ms 0@300ms"},
		"share of v2 in 200 ms":     {ms(200), series.PercentAnswered("v2"), "10@200ms 0@300ms 50@400ms"},
		"failed in 200 ms, percent": {ms(200), series.PercentFailed(), "25@200ms 0@400ms"},
		"as long as two and a half": {ms(250), series.CountDue(), "20@200ms"},
		"longer than the recording": {time.Second, series.CountDue(), ""},
		"latency in milliseconds":   {ms(200), series.LatencyMS(0.99), "1@200ms"},
	} {
		set := read(t, 400, []series.Definition{traffic("s", c.over, c.value)}, facts...)
		if got := points(t, set, "s"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestShareOfHasItsInterval(t *testing.T) {
	t.Parallel()
	var facts []recording.Fact
	for i := range 10 {
		facts = append(facts, bin(i, answers{"v1": 24, "v2": 6}, nil))
	}
	set := read(t, 1000, series.ShareOf("v2", "grpc", "v2", time.Second, 0.95), facts...)
	for name, want := range map[string]string{"v2": "20@1s", "v2.low": "15.6231@1s", "v2.high": "24.9804@1s"} {
		if got := points(t, set, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestIntervalsAreReadInTheirOwnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var facts []recording.Fact
		for i := range rapid.IntRange(1, 20).Draw(rt, "bins") {
			facts = append(facts, bin(i, answers{"v1": rapid.Int64Range(0, 9).Draw(rt, "n")}, nil))
		}
		defs := []series.Definition{traffic("a", series.Cumulative, series.CountAnswered()), traffic("b", ms(300), series.CountDue())}
		want := read(t, 100*len(facts), defs, facts...)
		shuffled := rapid.Permutation(facts).Draw(rt, "order")
		for i := range shuffled {
			shuffled[i].T = at(100*len(facts) + i) // received late
		}
		got := read(t, 100*len(facts), defs, shuffled...)
		for _, name := range []string{"a", "b"} {
			if g, w := points(t, got, name), points(t, want, name); g != w {
				rt.Fatalf("%s is %s, want %s", name, g, w)
			}
		}
		if len(got.Gaps) > 0 {
			rt.Fatalf("gaps %v", got.Gaps)
		}
	})
}

func TestWhatIsNotKnownOfRequestsIsAGap(t *testing.T) {
	t.Parallel()
	unsound := bin(1, answers{"v1": 3}, nil)
	unsound.Traffic.Due = 5
	negative := bin(1, answers{"v1": 3}, failures{recording.Other: -3})
	apart := bin(1, answers{"v1": 3}, nil)
	apart.Traffic.FromNS += at(50)
	later := func(f recording.Fact) recording.Fact {
		f.Traffic.FromNS, f.Traffic.ToNS = f.Traffic.FromNS+at(1000), f.Traffic.ToNS+at(1000)
		return f
	}
	empty := bin(1, nil, nil)
	empty.Traffic.ToNS = empty.Traffic.FromNS
	whole := []recording.Fact{bin(0, answers{"v1": 3}, nil), bin(1, answers{"v1": 3}, nil), bin(2, answers{"v1": 3}, nil)}
	for name, c := range map[string]struct {
		facts []recording.Fact
		end   int
		want  string
	}{
		"whole":                      {whole, 300, ""},
		"the end is missing":         {whole, 500, "300.000001ms to 500ms: interval 2 was its last"},
		"the begin is missing":       {[]recording.Fact{later(bin(0, nil, nil))}, 1100, "0s to 999.999999ms: its first interval begins then"},
		"one is missing":             {[]recording.Fact{whole[0], whole[2]}, 300, "100ms to 200ms: intervals 1 to 1 are missing"},
		"one is there twice":         {[]recording.Fact{whole[0], whole[1], whole[1], whole[2]}, 300, "100ms to 200ms: interval 1 is there twice"},
		"sums do not fit":            {[]recording.Fact{whole[0], unsound, whole[2]}, 300, "100ms to 200ms: interval 1 has 5 requests due, and tells of 3"},
		"a number is below zero":     {[]recording.Fact{whole[0], negative, whole[2]}, 300, "100ms to 200ms: interval 1 has 0 requests due, and tells of -1"},
		"a hole between two":         {[]recording.Fact{whole[0], apart, whole[2]}, 300, "100ms to 150ms: interval 1 does not follow on interval 0"},
		"an interval without length": {[]recording.Fact{whole[0], empty}, 100, "100ms to 100ms: interval 1 has 0 requests due, and tells of 0"},
	} {
		set := read(t, c.end, []series.Definition{traffic("a", series.Cumulative, series.CountAnswered())}, c.facts...)
		var got []string
		for _, g := range set.GapsOf([]string{series.TrafficResource("grpc")}, series.Interval{To: set.End}) {
			got = append(got, fmt.Sprintf("%s to %s: %s", g.From, g.To, g.Reason))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "; "), c.want)
		}
	}
}

// anyBins draws sound intervals with answers, failures and latencies.
func anyBins(rt *rapid.T) []series.Bin {
	var out []series.Bin
	for i := range rapid.IntRange(1, 12).Draw(rt, "bins") {
		tr := recording.Traffic{Client: "grpc", Seq: int64(i), FromNS: at(100 * i), ToNS: at(100 * (i + 1))}
		for range rapid.IntRange(0, 4).Draw(rt, "answers") {
			n := rapid.Int64Range(1, 50).Draw(rt, "n")
			version := rapid.SampledFrom([]string{"v1", "v2"}).Draw(rt, "version")
			tr.Answers = append(tr.Answers, recording.Answer{Version: version, Pod: version + rapid.SampledFrom([]string{"-0", "-1"}).Draw(rt, "pod"), N: n})
			tr.Latency = append(tr.Latency, recording.Bucket{US: recording.BucketOf(rapid.Int64Range(0, 1e7).Draw(rt, "us")), N: n})
			tr.Due += n
		}
		for range rapid.IntRange(0, 2).Draw(rt, "failures") {
			n := rapid.Int64Range(1, 50).Draw(rt, "n")
			tr.Failures = append(tr.Failures, recording.Failure{Cause: rapid.SampledFrom([]recording.Cause{recording.NoEndpoint, recording.ClientRace}).Draw(rt, "cause"), N: n})
			tr.Due += n
		}
		out = append(out, series.Bin{Traffic: tr})
	}
	return out
}

var tallies = []gocmp.Option{gocmp.AllowUnexported(series.Tally{}), cmpopts.EquateEmpty(),
	gocmp.Comparer(func(a, b series.Histogram) bool { return slices.Equal(a.Buckets(), b.Buckets()) && a.N() == b.N() })}

func TestRequestsAreConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bins := anyBins(rt)
		tally := series.Sum(bins)
		if got := tally.Answered() + tally.Failed() + tally.Failed(recording.ClientRace); got != tally.Due {
			rt.Fatalf("%d answered or failed, %d were due", got, tally.Due)
		}
		var due, pods int64
		for i := range bins {
			if !bins[i].Sound() {
				rt.Fatalf("interval %d is not sound", i)
			}
			due += bins[i].Due
		}
		for _, n := range tally.Pods {
			pods += n
		}
		if due != tally.Due || pods != tally.Answered() || tally.Latency.N() != tally.Answered() {
			rt.Fatalf("%d due, %d by pods, %d latencies in %+v", due, pods, tally.Latency.N(), tally)
		}
	})
}

func TestMergedIntervalsAreOneInterval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bins := anyBins(rt)
		one := series.Bin{Traffic: recording.Traffic{Client: "grpc", FromNS: bins[0].FromNS, ToNS: bins[len(bins)-1].ToNS}}
		for _, b := range bins {
			one.Due += b.Due
			one.Answers = append(one.Answers, b.Answers...)
			one.Failures = append(one.Failures, b.Failures...)
			one.Latency = append(one.Latency, b.Latency...)
		}
		want := series.Sum([]series.Bin{one})
		want.Bins = len(bins)
		if diff := gocmp.Diff(want, series.Sum(bins), tallies...); diff != "" {
			rt.Fatalf("many intervals are not what one is:\n%s", diff)
		}
	})
}

func TestATallyThatSlidIsOneMadeAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		bins := anyBins(rt)
		from := rapid.IntRange(0, len(bins)).Draw(rt, "from")
		tally := series.Sum(bins)
		for i := range from {
			tally.Remove(&bins[i])
		}
		if diff := gocmp.Diff(series.Sum(bins[from:]), tally, tallies...); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestQuantilesAreWithinTheirBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1e8), 1, 200).Draw(rt, "values")
		var h series.Histogram
		for _, v := range values {
			h.Add(recording.BucketOf(v), 1)
		}
		slices.Sort(values)
		rank := rapid.IntRange(1, len(values)).Draw(rt, "rank")
		// A rank is asked for by the middle of the parts that lead to it.
		got, ok := h.Quantile((float64(rank) - 0.5) / float64(len(values)))
		truth := values[rank-1]
		if !ok || truth < got.US || truth >= got.US+got.Width {
			rt.Fatalf("value %d of %d is %d, told is %d and %d wide", rank, len(values), truth, got.US, got.Width)
		}
		if got.Width > 1 && got.Width*128 > got.US {
			rt.Fatalf("%d is known to %d only", got.US, got.Width)
		}
		if most, _ := h.Quantile(1); recording.BucketOf(slices.Max(values)) != most.US {
			rt.Fatalf("the greatest is %d, told is %d", slices.Max(values), most.US)
		}
	})
}

func TestSamplesAreInTheOrderOfTheirMeasurement(t *testing.T) {
	t.Parallel()
	sample := func(receivedMS, measuredMS int, value float64) recording.Fact {
		return recording.Fact{T: at(receivedMS), Sample: &recording.Sample{Series: "delivered_weight", Value: value, AtNS: at(measuredMS)}}
	}
	defs := []series.Definition{{Name: "w", Sample: &series.FromSample{Series: "delivered_weight", Resource: recording.Delivered}}}
	set := read(t, 100, defs, sample(10, 3, 5), sample(11, 2, 5), sample(12, 1, 0), sample(20, 15, 20), sample(21, 14, 5))
	if got, want := points(t, set, "w"), "0@1ms 5@2ms 20@15ms"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var facts []recording.Fact
		for i := range rapid.IntRange(1, 20).Draw(rt, "samples") {
			facts = append(facts, sample(100+i, rapid.IntRange(1, 50).Draw(rt, "at"), float64(rapid.IntRange(0, 2).Draw(rt, "value"))))
		}
		set := read(t, 200, defs, facts...)
		s, err := set.Get("w")
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.IsSortedFunc(s.Points, func(a, b series.Point) int { return cmp.Compare(a.T, b.T) }) {
			rt.Fatalf("%v", s.Points)
		}
		// At any time, the value is that of the last sample measured up to it.
		when := rapid.IntRange(1, 60).Draw(rt, "when")
		var last *recording.Sample
		for _, f := range facts {
			if f.Sample.AtNS <= at(when) && (last == nil || f.Sample.AtNS >= last.AtNS) {
				last = f.Sample
			}
		}
		p, ok := s.At(ms(when))
		if ok != (last != nil) || ok && p.Value.Num != last.Value {
			rt.Fatalf("at %d ms the value is %v, want that of %+v", when, p.Value, last)
		}
	})
}

func TestGapsOfASamplesSourceAreThoseOfItsSeries(t *testing.T) {
	t.Parallel()
	gap := recording.Fact{T: at(30), Gap: &recording.Gap{Resource: recording.Delivered, FromNS: at(20), ToNS: at(30), Reason: "max_age"}}
	defs := []series.Definition{
		{Name: "with", Sample: &series.FromSample{Series: "s", Resource: recording.Delivered}},
		{Name: "without", Sample: &series.FromSample{Series: "s"}},
	}
	set := read(t, 100, defs, gap)
	for name, want := range map[string]int{"with": 1, "without": 0} {
		s, err := set.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(set.GapsOf(s.Resources, series.Interval{To: set.End})); got != want {
			t.Errorf("%s a resource there are %d gaps, want %d", name, got, want)
		}
	}
	for resource, want := range map[string]string{recording.Delivered: "stream from istiod", "pods": "watch of pods", series.TrafficResource("http"): "count of the requests of client http"} {
		if got := (series.Gap{Resource: resource}).Source(); got != want {
			t.Errorf("the gap of %s is one of the %s, want %s", resource, got, want)
		}
	}
}
