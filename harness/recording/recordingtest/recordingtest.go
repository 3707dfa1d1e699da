// Package recordingtest is for tests: recordings of facts that a test makes up.
package recordingtest

import (
	"bytes"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
)

// Of writes the facts to a recording of that length and opens it, until the test ends.
func Of(t testing.TB, end time.Duration, facts ...recording.Fact) *recording.Reader {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if err := w.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(int64(end)); err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
