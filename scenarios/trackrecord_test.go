package scenarios_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"reckon.dev/reckon/harness/catalogue"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/trackrecord"
)

// TestTrackRecord holds results/track-record.md against the public issues and the
// committed verdicts, which TestBaselines holds against their recordings.
func TestTrackRecord(t *testing.T) {
	t.Parallel()
	const list, record = "../results/public-issues.yaml", "../results/track-record.md"
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	issues, err := trackrecord.Load(list, text)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := trackrecord.Write(&got, issues, committed(t)); err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, record, got.Bytes())
}

// TestCatalogue holds results/catalogue.md against the drills and the committed
// verdicts, and those that are not as predicted against their explanations.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	const list, page = "../results/catalogue.yaml", "../results/catalogue.md"
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(list, text)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := c.Write(&got, committed(t)); err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, page, got.Bytes())
}

// wantCurrent compares a committed page with what is made today, and with -update
// writes it anew.
func wantCurrent(t *testing.T, page string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: `make track-record` writes it anew", page)
	}
}

// committed are all baselines.
func committed(t *testing.T) []trackrecord.Recorded {
	t.Helper()
	files, err := filepath.Glob("../results/baselines/*/" + engine.VerdictFile)
	if err != nil || len(files) == 0 {
		t.Fatalf("no baselines: %v", err)
	}
	out := make([]trackrecord.Recorded, len(files))
	for i, file := range files {
		out[i].Dir = "baselines/" + filepath.Base(filepath.Dir(file))
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &out[i].Verdict)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
