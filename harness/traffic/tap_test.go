package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reckon.dev/reckon/harness/recording"
)

// testBase is t = 0 of the recording; the client starts one second later.
var testBase = time.Unix(1_800_000_000, 0)

const ms = int64(time.Millisecond)

func at(offsetMS int64) int64 { return testBase.UnixNano() + offsetMS*ms }

// script is a client that answers ten requests per bin of 100 ms.
type script struct {
	lines []Line
}

func (s *script) add(l Line) *script {
	l.N = int64(len(s.lines))
	s.lines = append(s.lines, l)
	return s
}

func (s *script) hello() *script {
	return s.add(Line{Hello: &Hello{Client: "grpc", PID: 7, StartNS: at(1000), Settings: Settings{Transport: "grpc", TimeoutNS: 1000 * ms, BinNS: 100 * ms}}})
}

func (s *script) bin(seq int64, change ...func(*Bin)) *script {
	b := &Bin{Seq: seq, FromNS: at(1000 + 100*seq), ToNS: at(1100 + 100*seq), Due: 10,
		Answers:  []recording.Answer{{Version: "v1", Pod: "a", N: 6}, {Version: "v2", Pod: "b", N: 1}},
		Failures: []recording.Failure{{Cause: recording.Refused, Text: "no", N: 3}},
		Latency:  []recording.Bucket{{US: 100, N: 7}}}
	for _, f := range change {
		f(b)
	}
	return s.add(Line{Bin: b})
}

func (s *script) stream(x Stream) *script { return s.add(Line{Stream: &x}) }

func (s *script) weights(atMS int64, percent map[string]float64) *script {
	return s.add(Line{Weights: &Weights{AtNS: at(atMS), Route: "primary", Percent: percent}})
}

func (s *script) end(bins int64) *script {
	return s.add(Line{End: &End{AtNS: at(1000 + 100*bins), Bins: bins, Due: 10 * bins, Answered: 7 * bins, Failed: 3 * bins}})
}

// log is what the pod's log holds, from line number from on.
func (s *script) log(from int) string {
	var out bytes.Buffer
	for _, l := range s.lines[from:] {
		raw, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		out.Write(append(raw, '\n'))
	}
	return out.String()
}

// tapRig is a Tap whose clock stands at an offset from the base.
type tapRig struct {
	*Tap
	nowMS int64
	facts []recording.Fact
}

func newTapRig(nowMS int64) *tapRig {
	r := &tapRig{nowMS: nowMS}
	r.Tap = NewTap(TapConfig{Client: "grpc", Base: testBase, Now: func() time.Time { return testBase.Add(time.Duration(r.nowMS * ms)) }},
		func(f recording.Fact) { r.facts = append(r.facts, f) })
	return r
}

func (r *tapRig) read(t *testing.T, text string) {
	t.Helper()
	if err := r.Read(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

func TestARecordBecomesFacts(t *testing.T) {
	t.Parallel()
	s := new(script).stream(Stream{AtNS: at(900), Up: true}).weights(900, map[string]float64{"stable": 95, "canary": 5}).hello().bin(0).bin(1).end(2)
	r := newTapRig(1300)
	r.read(t, s.log(0))
	if err := r.Close(); err != nil || !r.Ended() || r.Hello().PID != 7 {
		t.Errorf("%v, ended %t", err, r.Ended())
	}
	<-r.Started()
	const now = 1300 * int64(time.Millisecond)
	traffic := func(seq int64) recording.Fact {
		return recording.Fact{T: now, Traffic: &recording.Traffic{
			Client: "grpc", Seq: seq, FromNS: (1000 + 100*seq) * ms, ToNS: (1100 + 100*seq) * ms, Due: 10,
			Answers:  []recording.Answer{{Version: "v1", Pod: "a", N: 6}, {Version: "v2", Pod: "b", N: 1}},
			Failures: []recording.Failure{{Cause: recording.Refused, Text: "no", N: 3}},
			Latency:  []recording.Bucket{{US: 100, N: 7}},
		}}
	}
	sample := func(target string, percent float64) recording.Fact {
		return recording.Fact{T: now, Sample: &recording.Sample{
			Series: recording.DeliveredWeight, Labels: map[string]string{"route": "primary", "target": target}, Value: percent, AtNS: 900 * ms,
		}}
	}
	if diff := cmp.Diff([]recording.Fact{sample("canary", 5), sample("stable", 95), traffic(0), traffic(1)}, r.facts); diff != "" {
		t.Error(diff)
	}
}

func TestAResumedLogIsReadOn(t *testing.T) {
	t.Parallel()
	s := new(script).hello().bin(0).bin(1).bin(2).end(3)
	whole := s.log(0)
	for from := range s.lines {
		for cut := range len(whole) {
			if strings.Count(whole[:cut], "\n") < from {
				continue // resumed too late: another test
			}
			r := newTapRig(1400)
			r.read(t, whole[:cut])
			r.read(t, s.log(from))
			if err := r.Close(); err != nil || len(r.facts) != 3 {
				t.Fatalf("cut at %d, resumed from line %d: %v, %d facts", cut, from, err, len(r.facts))
			}
		}
	}
}

func TestWhatAPodWritesBesideItsRecordIsKeptAsLog(t *testing.T) {
	t.Parallel()
	r := newTapRig(1400)
	s := new(script).hello()
	r.read(t, "2026/11/29 ERROR: [xds]\r\n"+s.log(0)+"\n")
	if len(r.facts) != 2 || *r.facts[0].Log != (recording.Log{Component: "traffic-grpc", Line: "2026/11/29 ERROR: [xds]"}) {
		t.Errorf("%+v", r.facts)
	}
}

func TestRecordsThatAreNotWholeAreRefused(t *testing.T) {
	t.Parallel()
	bin := func(change func(*Bin)) string { return new(script).hello().bin(0, change).log(0) }
	good := new(script).hello().bin(0).bin(1).end(2)
	for _, tt := range []struct{ name, text, want string }{
		{"a line is missing", good.log(0)[:strings.Index(good.log(0), "\n")+1] + good.log(2), "line 2 follows line 0"},
		{"the beginning is missing", good.log(1), "lines 0 to 0 are missing"},
		{"a line comes twice", new(script).hello().bin(0).log(0) + new(script).hello().bin(0).log(1), "line 1 follows line 1"},
		{"a bin is missing", new(script).hello().bin(1).log(0), "bin 1 follows bin -1"},
		{"a hole between bins", bin(func(b *Bin) { b.FromNS += ms }), "begins 1ms after the last one ended"},
		{"a bin without length", bin(func(b *Bin) { b.ToNS = b.FromNS }), "bin 0 lasts 0s"},
		{"a request without an end", bin(func(b *Bin) { b.Due++ }), "11 requests were due, 7 were answered and 3 failed"},
		{"an answer without latency", bin(func(b *Bin) { b.Latency[0].N = 6 }), "7 requests were answered, 6 have a latency"},
		{"a negative count", bin(func(b *Bin) { b.Failures[0].N = -3; b.Due = 4 }), "counts -3"},
		{"sent before it was due", bin(func(b *Bin) { b.LateNS = -ms }), "sent 1ms before it was due"},
		{"bins before hello", new(script).bin(0).log(0), "before the client said hello"},
		{"hello twice", new(script).hello().hello().log(0), "hello twice"},
		{"another client", strings.Replace(good.log(0), `"client":"grpc"`, `"client":"http"`, 1), `the client is "http", want "grpc"`},
		{"other totals", new(script).hello().bin(0).end(2).log(0), "the client counts"},
		{"more after the end", new(script).hello().bin(0).end(1).bin(1).log(0), "line 3 comes after the last one"},
		{"weights without a stream", new(script).weights(900, nil).log(0), "without a stream"},
		{"a stream that comes twice", new(script).stream(Stream{Up: true}).stream(Stream{Up: true}).log(0), "twice"},
		{"an unknown field", `{"n":0,"hullo":{}}` + "\n", "unknown field"},
		{"nothing", `{"n":0}` + "\n", "0 messages, want one"},
		{"two values", `{"n":0,"end":{}} {}` + "\n", "more than one value"},
		{"half a line", `{"n":0,` + "\n", "unexpected EOF"},
		{"a line without end", strings.Repeat("x", maxLine+1), "a line of more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := newTapRig(1400).Read(strings.NewReader(tt.text))
			if !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAClientThatStartedAgainIsRefused(t *testing.T) {
	t.Parallel()
	r := newTapRig(1400)
	s := new(script).hello().bin(0)
	r.read(t, s.log(0))
	other := strings.Replace(s.log(0), `"pid":7`, `"pid":8`, 1)
	if err := r.Read(strings.NewReader(other)); !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), "it was process 7, it is process 8") {
		t.Errorf("error %v", err)
	}
}

func TestClocksThatDisagreeAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		began, nowMS int64
		want         string
	}{
		{"at once", 1000, 1100, ""},
		{"within what clocks of one machine differ", 1000, 1085, ""},
		{"before it ended", 1000, 1079, "received 21ms before it ended"},
		{"after the time limit of a request and the delay of a log", 1000, 1100 + 6000, ""},
		{"too late", 1000, 1100 + 6001, "received 6.001s after it ended, the limit is 6s"},
		{"from the past of a log", 60_000, 65_000, ""},
		{"long after the past of a log", 60_000, 65_001, "the limit is 6s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newTapRig(tt.began)
			s := new(script).hello().bin(0)
			lines := strings.SplitAfter(s.log(0), "\n")
			// The clock moves between the lines.
			err := r.Read(io.MultiReader(strings.NewReader(lines[0]), onRead(func() { r.nowMS = tt.nowMS }), strings.NewReader(lines[1])))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// onRead is an empty reader that does something.
type onRead func()

func (f onRead) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func TestGapsOfTheStreamAreLosslessOnlyIfNothingCanHaveBeenMissed(t *testing.T) {
	t.Parallel()
	planned, broke := Stream{AtNS: at(2000), Planned: true, Reason: "max_age"}, Stream{AtNS: at(2000), Reason: "EOF"}
	for _, tt := range []struct {
		name     string
		down     Stream
		backMS   int64
		same     bool
		lossless bool
		reason   string
	}{
		{"a planned end, soon back, same weights", planned, 2052, true, true, "max_age; back after 52ms with the same weights"},
		{"other weights", planned, 2052, false, false, "max_age; back after 52ms with other weights"},
		{"a second later", planned, 3000, true, false, "max_age; back after 1s with the same weights"},
		{"no planned end", broke, 2010, true, false, "EOF; back after 10ms with the same weights"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newTapRig(3500)
			r.read(t, new(script).stream(Stream{AtNS: at(0), Up: true}).stream(tt.down).stream(Stream{AtNS: at(tt.backMS), Up: true, Same: tt.same}).log(0))
			want := &recording.Gap{Resource: recording.Delivered, FromNS: 2000 * ms, ToNS: tt.backMS * ms, Lossless: tt.lossless, Reason: tt.reason}
			if len(r.facts) != 1 || cmp.Diff(want, r.facts[0].Gap) != "" {
				t.Errorf("%+v", r.facts)
			}
		})
	}
}

func TestAStreamThatDoesNotComeBackIsAGapToTheEnd(t *testing.T) {
	t.Parallel()
	s := new(script).hello().stream(Stream{Up: true}).bin(0).stream(Stream{AtNS: at(1050), Reason: "EOF"})
	r := newTapRig(1700)
	r.read(t, s.log(0))
	if err := r.Close(); !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), "did not say that it ended") {
		t.Errorf("error %v", err)
	}
	last := r.facts[len(r.facts)-1].Gap
	if want := (recording.Gap{Resource: recording.Delivered, FromNS: 1050 * ms, ToNS: 1700 * ms, Reason: "EOF; not back when the record ended"}); last == nil || *last != want {
		t.Errorf("%+v", last)
	}
	r = newTapRig(1700)
	r.read(t, s.end(1).log(0))
	if last := r.facts[len(r.facts)-1].Gap; last == nil || last.ToNS != 1100*ms || last.Lossless {
		t.Errorf("%+v", last)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestAReaderThatFailsIsNotABrokenRecord(t *testing.T) {
	t.Parallel()
	why := errors.New("connection lost")
	if err := newTapRig(0).Read(iotest.ErrReader(why)); !errors.Is(err, why) || errors.Is(err, ErrNotWhole) {
		t.Errorf("error %v", err)
	}
}

// FuzzTap: whatever a log holds, facts are of a whole record.
func FuzzTap(f *testing.F) {
	s := new(script).stream(Stream{AtNS: at(0), Up: true}).weights(900, map[string]float64{"stable": 95}).hello().bin(0).
		stream(Stream{AtNS: at(1100)}).stream(Stream{AtNS: at(1150), Up: true}).bin(1).end(2)
	f.Add(s.log(0), s.log(3))
	f.Add(life().log(0), life().log(2))
	f.Add("x\n{\n", "{}\n")
	f.Add(`{"n":0,"hello":{"client":"grpc","startNS":9223372036854775807}}`+"\n", `{"n":1,"bin":{"toNS":-9223372036854775808}}`+"\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		r := newTapRig(1400)
		for _, text := range []string{first, second} {
			if err := r.Read(strings.NewReader(text)); err != nil && !errors.Is(err, ErrNotWhole) {
				t.Errorf("error %v of another kind", err)
			}
		}
		_ = r.Close()
		if err := errors.Join(whole(r.facts), wholeFleet(r.facts)); err != nil {
			t.Error(err)
		}
	})
}

// whole checks what the facts of a record have in common.
func whole(facts []recording.Fact) error {
	var last *recording.Traffic
	for _, f := range facts {
		b := f.Traffic
		if b == nil {
			continue
		}
		answered, failed := Bin{Answers: b.Answers, Failures: b.Failures}.Counts()
		switch {
		case last == nil && b.Seq != 0, last != nil && (b.Seq != last.Seq+1 || b.FromNS != last.ToNS):
			return fmt.Errorf("%+v after %+v", b, last)
		case answered+failed != b.Due:
			return fmt.Errorf("%+v does not add up", b)
		}
		last = b
	}
	return nil
}
