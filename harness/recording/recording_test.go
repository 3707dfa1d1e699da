package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
)

var sample = []Fact{
	{T: 1, Object: &Object{Change: Listed, Resource: "pods", Namespace: "n", Name: "a", RV: 7, Body: json.RawMessage(`{"metadata":{"name":"a"},"data":{"x":"<&>,\"body\":1"}}`)}},
	{T: 2, Object: &Object{Change: Deleted, Resource: "pods", Name: `,"body":{}`, RV: 8, Body: json.RawMessage(`null`)}},
	{T: 3, Step: &Step{Name: "upgrade", Phase: "end", Error: "no"}},
	{T: 4, Sample: &Sample{Series: "s", Labels: map[string]string{"a": "b"}, Value: -1.5}},
	{T: 5, Call: &Call{Verb: "patch", Resource: "pods", Name: "a", Body: json.RawMessage(`{"a":{"b":[1]}}`), DurationNS: 9, RV: 9}},
	{T: 6, Call: &Call{Verb: "patch", Resource: `,"object":{`, Name: "a", Body: json.RawMessage(`{"a":{}}`)}},
	{T: 7, Log: &Log{Component: "istiod", Line: "line\nwith a newline and \x00"}},
	{T: 8, Gap: &Gap{Resource: "pods", FromNS: 1, ToNS: 2, Lossless: true, Reason: "cut"}},
	{T: 9, Late: &Late{Sampler: "s", ByNS: 3}},
	{T: 10, Fault: &Fault{What: "istiod", Detail: "exit"}},
	{T: 11, Connection: &Connection{Event: Closed, Proxy: "p", Replica: "istiod-0", AtNS: 10, AgeNS: 4, Code: "Unavailable", Text: `a "quoted" <text>`}},
	{T: 12, Connection: &Connection{Event: Begun, Proxy: `,"body":`}},
	{T: 13, Replica: &Replica{Name: "istiod-0", Event: ReplicaGone, AtNS: 12, How: "SIGKILL"}},
	{T: 14, Late: &Late{Sampler: FleetSampler, ByNS: 3, AtNS: 13}},
}

// written is a whole recording of the facts.
func written(t testing.TB, facts ...Fact) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{RunID: "r", Base: time.Unix(1, 0).UTC(), Params: json.RawMessage(`{"replicas":20}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(99); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// read reads until the first error, io.EOF for a whole recording.
func read(file []byte) ([]Fact, *Trailer, error) {
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var facts []Fact
	for {
		f, err := r.Next()
		if err != nil {
			return facts, r.Trailer(), err
		}
		facts = append(facts, f)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	facts, trailer, err := read(written(t, sample...))
	if err != io.EOF || trailer == nil || trailer.Facts != int64(len(sample)) || trailer.EndNS != 99 {
		t.Fatalf("%v, trailer %+v", err, trailer)
	}
	for i := range sample {
		if !reflect.DeepEqual(facts[i], sample[i]) {
			t.Errorf("fact %d: %+v, want %+v", i, facts[i], sample[i])
		}
	}
}

func TestLinesAreThoseOfEncodingJSON(t *testing.T) {
	facts := append(slices.Clone(sample),
		Fact{T: 15, Object: &Object{Name: "<&>\u2028\"\\"}},
		Fact{T: 16, Object: &Object{Body: json.RawMessage("{\n\t\"a\": \"<&>\"\r}")}},
		Fact{T: 17, Object: &Object{Body: json.RawMessage(`1`)}, Late: &Late{}},
		Fact{T: 18},
	)
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	for _, f := range facts {
		if err := enc.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	edit(t, written(t, facts...), func(text []byte) []byte {
		_, got, _ := bytes.Cut(text, []byte("\n"))
		if !bytes.HasPrefix(got, want.Bytes()) {
			t.Errorf("lines are\n%swant\n%s", got, want.Bytes())
		}
		return text
	})
}

func TestABodyThatIsNoJSONIsRefused(t *testing.T) {
	for _, body := range []string{"", "{", "{}}", "{}\n{}", "\"\n\""} {
		w, err := NewWriter(io.Discard, Header{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(Fact{Object: &Object{Body: json.RawMessage(body)}}); err == nil || w.Err() == nil {
			t.Errorf("%q was written", body)
		}
		if err := w.Close(0); err == nil {
			t.Errorf("%q left a whole recording", body)
		}
	}
}

func TestFactsOutliveTheNextLine(t *testing.T) {
	facts, _, _ := read(written(t, sample[0], sample[1], sample[0]))
	if string(facts[0].Object.Body) != string(sample[0].Object.Body) {
		t.Errorf("body became %s", facts[0].Object.Body)
	}
}

func TestACutFileIsKnownAtEveryByte(t *testing.T) {
	file := written(t, sample...)
	for n := range file {
		_, trailer, err := read(file[:n])
		if !errors.Is(err, ErrCut) && !errors.Is(err, ErrFormat) || trailer != nil {
			t.Errorf("cut at byte %d of %d: %v", n, len(file), err)
		}
	}
}

func TestADamagedFileIsRefusedAtEveryByte(t *testing.T) {
	file := written(t, sample...)
	for n := range file {
		damaged := bytes.Clone(file)
		damaged[n] ^= 0x10
		facts, _, err := read(damaged)
		if err == io.EOF && !reflect.DeepEqual(facts, sample) {
			t.Errorf("byte %d: read without an error, but differently", n)
		}
	}
}

// edit changes the text inside the compression.
func edit(t *testing.T, file []byte, change func(text []byte) []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	text, err := dec.DecodeAll(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(change(text), nil)
}

func TestAnEditedFileIsRefused(t *testing.T) {
	file := written(t, sample...)
	replace := func(old, new string) func([]byte) []byte {
		return func(text []byte) []byte {
			if !bytes.Contains(text, []byte(old)) {
				t.Errorf("%s is not in the recording", old)
			}
			return bytes.Replace(text, []byte(old), []byte(new), 1)
		}
	}
	dropLine := func(n int) func([]byte) []byte {
		return func(text []byte) []byte {
			lines := bytes.SplitAfter(text, []byte("\n"))
			return bytes.Join(append(lines[:n:n], lines[n+1:]...), nil)
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   error
	}{
		"a body":                {replace(`"name":"a"}`, `"name":"b"}`), ErrEdited},
		"a body made no JSON":   {replace(`{"name":"a"}`, `{"name":"a"]`), ErrEdited},
		"a time":                {replace(`{"t":3`, `{"t":4`), ErrEdited},
		"a parameter":           {replace(`"replicas":20`, `"replicas":21`), ErrEdited},
		"the end":               {replace(`"endNS":99`, `"endNS":98`), ErrEdited},
		"the number of facts":   {replace(`"facts":14`, `"facts":15`), ErrEdited},
		"a fact less":           {dropLine(3), ErrEdited},
		"no trailer":            {dropLine(len(sample) + 1), ErrCut},
		"no header":             {dropLine(0), ErrFormat},
		"another format":        {replace(Format, Format+"0"), ErrFormat},
		"something after it":    {func(text []byte) []byte { return append(text, "x"...) }, ErrEdited},
		"a newline after it":    {func(text []byte) []byte { return append(text, '\n') }, ErrEdited},
		"its last newline gone": {bytes.TrimSpace, ErrCut},
		"a blank first line":    {func(text []byte) []byte { return append([]byte("\n"), text...) }, ErrFormat},
	} {
		if _, _, err := read(edit(t, file, c.change)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestGarbageAfterTheCompressionIsRefused(t *testing.T) {
	if _, _, err := read(append(written(t, sample...), "garbage"...)); err == io.EOF || err == nil {
		t.Errorf("%v", err)
	}
}

func TestAnOverLongLineIsRefusedAndALongOneIsNot(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	facts, _, err := read(written(t, Fact{Object: &Object{Body: long}}))
	if err != io.EOF || !bytes.Equal(facts[0].Object.Body, long) {
		t.Errorf("a line of 1 MiB: %v", err)
	}
	file := edit(t, written(t), func(text []byte) []byte {
		end := bytes.IndexByte(text, '\n') + 1
		return append(text[:end:end], bytes.Repeat([]byte("x"), maxLine+1<<20)...)
	})
	if _, _, err := read(file); !errors.Is(err, ErrCut) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless line: %v", err)
	}
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	for _, file := range []string{"", "x", `{"header":{}}` + "\n"} {
		if _, err := NewReader(strings.NewReader(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// failing takes some bytes and then has no more room.
type failing struct{ room int }

var errFull = errors.New("no space left on device")

func (f *failing) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAWriteErrorStaysAndLeavesNoTrailer(t *testing.T) {
	w, err := NewWriter(&failing{room: 1000}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; w.Err() == nil && i < 1e6; i++ {
		_ = w.Append(Fact{T: int64(i), Log: &Log{Line: fmt.Sprint(i * i)}})
		_ = w.Flush()
	}
	written := w.Facts()
	for what, err := range map[string]error{
		"Append": w.Append(Fact{}), "Flush": w.Flush(), "Err": w.Err(), "Close": w.Close(0),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if w.Facts() != written {
		t.Error("a lost fact was counted")
	}
}

func TestAClosedRecordingTakesNothing(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(Fact{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := w.Close(0); !errors.Is(err, ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if err := w.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

func TestAFlushedFileCanBeReadUpToTheFlush(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(sample[0]), w.Append(sample[2]), w.Flush()); err != nil {
		t.Fatal(err)
	}
	facts, _, err := read(bytes.Clone(file.Bytes()))
	if !errors.Is(err, ErrCut) || len(facts) != 2 {
		t.Errorf("%d facts, then %v", len(facts), err)
	}
}

func TestNoGoroutineIsLeftWhereverReadingEnds(t *testing.T) {
	file := written(t, slices.Repeat(sample, 300)...) // several blocks of zstd
	for _, n := range []int{0, 1, 1500, 3000} {
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
			r, err := NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range n {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// FuzzReader: no file makes the reader panic or run on for ever.
func FuzzReader(f *testing.F) {
	f.Add(written(f, sample...))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, trailer, err := read(file)
		if (err == io.EOF) != (trailer != nil) {
			t.Fatalf("trailer %+v with %v", trailer, err)
		}
	})
}

// FuzzFacts: lines that are not what the writer writes are read as
// encoding/json reads them, or refused.
func FuzzFacts(f *testing.F) {
	for _, fact := range sample {
		text, err := json.Marshal(fact)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"t":1,"object":{},"late":{"x":1,"body":2}}`))
	f.Add([]byte(`{"t":1,"object":{"name":"a","body":1},"call":{"body":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = append(text, '\n')
		var fast, slow line
		if !new(Reader).object(text, &fast) {
			return
		}
		if err := json.Unmarshal(text, &slow); err != nil {
			t.Fatalf("%s: read, but %v", text, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%s: read as %+v, not as %+v", text, fast.Fact, slow.Fact)
		}
	})
}
