package scenarios_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/report"
)

var update = flag.Bool("update", false, "write the verdicts that today's models give")

// TestBaselines judges the recordings of real controllers again: the verdict
// must be, byte for byte, the one that the run gave.
func TestBaselines(t *testing.T) {
	recordings, err := filepath.Glob("../results/baselines/*/" + engine.RecordingFile)
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no baselines: %v", err)
	}
	for _, recording := range recordings {
		dir := engine.RunDir(filepath.Dir(recording))
		t.Run(filepath.Base(string(dir)), func(t *testing.T) {
			t.Parallel()
			run, err := engine.Judge(dir, engine.Prediction)
			if err != nil {
				t.Fatal(err)
			}
			if run.Verdict.Outcome != judge.Pass {
				t.Errorf("outcome %s: %v", run.Verdict.Outcome, run.Verdict.Reasons)
			}
			var got bytes.Buffer
			if err := report.JSON(&got, run.Verdict); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(dir.File(engine.VerdictFile), got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(dir.File(engine.VerdictFile))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("the verdict differs from %s; if that is intended, run with -update and read the diff", dir.File(engine.VerdictFile))
			}
		})
	}
}
