// Package doctored is for tests: it alters what a real recording says and asks
// for the verdict. A claim that no alteration breaks would claim nothing.
package doctored

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Tape is a recording in memory.
type Tape struct {
	Header recording.Header
	Facts  []recording.Fact

	t   testing.TB
	end int64
}

// Load reads the recording of a run directory.
func Load(t testing.TB, dir string) *Tape {
	t.Helper()
	f, err := os.Open(engine.RunDir(dir).File(engine.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recording.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tape := &Tape{Header: r.Header, t: t}
	for {
		fact, err := r.Next()
		if errors.Is(err, io.EOF) {
			tape.end = r.Trailer().EndNS
			return tape
		}
		if err != nil {
			t.Fatal(err)
		}
		if fact.Object != nil {
			fact.Object.Body = slices.Clone(fact.Object.Body)
		}
		tape.Facts = append(tape.Facts, fact)
	}
}

// AlterBreaks is a subtest: a recording that is altered breaks a claim.
func AlterBreaks(t *testing.T, name, dir string, alter func(*Tape), claim string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		tape := Load(t, dir)
		alter(tape)
		tape.Breaks(claim)
	})
}

// Pass wants every recording to pass as it is.
func Pass(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if v := Load(t, dir).Verdict(); v.Outcome != judge.Pass {
			t.Errorf("%s: %s: %q", dir, v.Outcome, v.Reasons)
		}
	}
}

// Find returns the index of the nth fact (from 0) about an object of the resource
// that matches. There must be one.
func (tp *Tape) Find(resource string, nth int, match func(o *recording.Object, v *series.View) bool) int {
	tp.t.Helper()
	for i := range tp.Facts {
		o := tp.Facts[i].Object
		if o == nil || o.Resource != resource {
			continue
		}
		if !tp.Is(i, match) {
			continue
		}
		if nth--; nth < 0 {
			return i
		}
	}
	tp.t.Fatalf("the recording has no such fact about %s", resource)
	return -1
}

// StepBegin returns the index of a step's begin.
func (tp *Tape) StepBegin(name string) int {
	tp.t.Helper()
	i := slices.IndexFunc(tp.Facts, func(f recording.Fact) bool { return f.Step != nil && f.Step.Name == name && f.Step.Phase == "begin" })
	if i < 0 {
		tp.t.Fatalf("the recording has no step %q", name)
	}
	return i
}

// Is says whether the object of fact i matches.
func (tp *Tape) Is(i int, match func(o *recording.Object, v *series.View) bool) bool {
	tp.t.Helper()
	var v series.View
	if err := json.Unmarshal(tp.Facts[i].Object.Body, &v); err != nil {
		tp.t.Fatal(err)
	}
	return match(tp.Facts[i].Object, &v)
}

// Version is the newest version of any object up to fact i: what comes next in
// the store's order has a greater one.
func (tp *Tape) Version(i int) uint64 {
	newest := uint64(0)
	for _, f := range tp.Facts[:i+1] {
		if f.Object != nil {
			newest = max(newest, f.Object.RV)
		}
	}
	return newest
}

// Set changes a field of the object of fact i.
func (tp *Tape) Set(i int, value any, path ...string) {
	tp.t.Helper()
	var body map[string]any
	if err := json.Unmarshal(tp.Facts[i].Object.Body, &body); err != nil {
		tp.t.Fatal(err)
	}
	at := body
	for _, key := range path[:len(path)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
	raw, err := json.Marshal(body)
	if err != nil {
		tp.t.Fatal(err)
	}
	tp.Facts[i].Object.Body = raw
}

// Drop leaves fact i out.
func (tp *Tape) Drop(i int) { tp.Facts = slices.Delete(tp.Facts, i, i+1) }

// Insert puts a copy of fact i, changed, right after fact at, as the next version
// in the store.
func (tp *Tape) Insert(at, i int, change func(o *recording.Object)) int {
	fact := tp.Facts[i]
	object := *fact.Object
	object.Body = slices.Clone(object.Body)
	fact.Object = &object
	fact.T = tp.Facts[at].T
	object.RV = tp.Version(at) + 1 // two objects may now have one version: as good as at once
	change(&object)
	tp.Facts = slices.Insert(tp.Facts, at+1, fact)
	return at + 1
}

// Verdict judges the recording as it is now.
func (tp *Tape) Verdict() judge.Verdict {
	tp.t.Helper()
	dir := engine.RunDir(tp.t.TempDir())
	f, err := os.Create(dir.File(engine.RecordingFile))
	if err != nil {
		tp.t.Fatal(err)
	}
	defer f.Close()
	w, err := recording.NewWriter(f, tp.Header)
	if err != nil {
		tp.t.Fatal(err)
	}
	for _, fact := range tp.Facts {
		if err := w.Append(fact); err != nil {
			tp.t.Fatal(err)
		}
	}
	if err := w.Close(tp.end); err != nil {
		tp.t.Fatal(err)
	}
	run, err := engine.Judge(dir, engine.Prediction)
	if err != nil {
		tp.t.Fatal(err)
	}
	return run.Verdict
}

// Breaks fails the test unless the recording breaks the claim.
func (tp *Tape) Breaks(claim string) {
	tp.t.Helper()
	for _, c := range tp.Verdict().Claims {
		if c.ID != claim {
			continue
		}
		if c.Status != judge.Broken {
			tp.t.Errorf("claim %s is %s: predicted %s, observed %s", claim, c.Status, c.Predicted, c.Observed)
		}
		return
	}
	tp.t.Errorf("there is no claim %s", claim)
}
