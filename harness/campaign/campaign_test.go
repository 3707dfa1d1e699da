package campaign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/process"
)

// began is when campaigns of tests begin.
var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	drill = "rollback-versions"
	cell  = "rollback-window[argo-rollouts=v1.8.2,routing=services]"
	// baseline is a run of that cell by a real controller.
	baseline = "../../results/baselines/rollback-versions-rollback-window-argo-rollouts-v1.8.2-routing-services-1"
)

func planOf(t *testing.T, o plan.Overrides) *plan.Plan {
	t.Helper()
	d, err := drills.Find(drill)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// begin begins a campaign with one cell of the drill.
func begin(t *testing.T, results string) *campaign.Campaign {
	t.Helper()
	p := planOf(t, plan.Overrides{})
	i := slices.IndexFunc(p.Cells, func(c plan.Cell) bool { return c.Name == cell })
	if i < 0 {
		t.Fatalf("the drill %s has no cell %s", drill, cell)
	}
	c, err := campaign.Begin(results, campaign.Manifest{Began: began, Reckon: "test", Drill: drill, Plan: p}, p.Cells[i:i+1])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add makes a directory of a run of the campaign with files of the baseline.
func add(t *testing.T, results string, c *campaign.Campaign, name string, files ...string) engine.RunDir {
	t.Helper()
	dir := engine.RunDir(filepath.Join(results, engine.RunsDir, name))
	raw, err := json.Marshal(engine.RunPlan{Campaign: c.ID, Repetition: 1, Cell: c.Cells()[0]})
	if err := errors.Join(err, os.MkdirAll(string(dir), 0o755), os.WriteFile(dir.File(engine.PlanFile), raw, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(baseline, file))
		if err := errors.Join(err, os.WriteFile(dir.File(file), text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rewrite changes a file of a run.
func rewrite(t *testing.T, dir engine.RunDir, file string, change func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(dir.File(file))
	if err == nil {
		err = os.WriteFile(dir.File(file), change(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsRunAgain(t *testing.T) {
	t.Parallel()
	all := []string{engine.RecordingFile, engine.VerdictFile}
	half := func(text []byte) []byte { return text[:len(text)/2] }
	outcome := func(o string) func([]byte) []byte {
		return func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"outcome": "pass"`), []byte(`"outcome": "`+o+`", "reasons": ["etcd ended"]`), 1)
		}
	}
	for name, c := range map[string]struct {
		runs func(t *testing.T, results string, c *campaign.Campaign)
		done bool
		// again is what is said of a run that does not count, differs of a refusal.
		again, differs string
	}{
		"what never began": {runs: func(*testing.T, string, *campaign.Campaign) {}},
		"not what passed": {done: true, runs: func(t *testing.T, results string, c *campaign.Campaign) {
			add(t, results, c, "1", all...)
		}},
		"what was interrupted": {again: "it was interrupted", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			add(t, results, c, "1", engine.RecordingFile)
		}},
		"not what was interrupted first and passed then": {done: true, runs: func(t *testing.T, results string, c *campaign.Campaign) {
			add(t, results, c, "1", engine.RecordingFile)
			add(t, results, c, "2", all...)
		}},
		"not what passed before somebody ran it again in vain": {done: true, runs: func(t *testing.T, results string, c *campaign.Campaign) {
			add(t, results, c, "1", all...)
			add(t, results, c, "2", engine.RecordingFile)
		}},
		"what the environment made invalid": {again: "it was invalid: etcd ended", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.VerdictFile, outcome("invalid"))
		}},
		"what has an outcome that nobody knows": {again: `its outcome is "fine"`, runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.VerdictFile, outcome("fine"))
		}},
		"what has half a verdict": {again: "its verdict cannot be read: ", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.VerdictFile, half)
		}},
		"what has half a recording": {again: "its recording cannot be judged: ", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.RecordingFile, half)
		}},
		"what has no recording": {again: "its recording cannot be judged: no recording in ", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			add(t, results, c, "1", engine.VerdictFile)
		}},
		"what another campaign did": {runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.PlanFile, func(text []byte) []byte {
				return bytes.Replace(text, []byte(c.ID), []byte(c.ID+".2"), 1)
			})
		}},
		"what was killed before it said what it is": {runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.PlanFile, half)
		}},
		"nothing, where models judge otherwise today": {differs: "today's models give another verdict on ", runs: func(t *testing.T, results string, c *campaign.Campaign) {
			rewrite(t, add(t, results, c, "1", all...), engine.VerdictFile, outcome("fail"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := t.TempDir()
			held := begin(t, results)
			c.runs(t, results, held)
			done, left, err := held.Survey(results)
			if c.differs != "" {
				if _, ok := errors.AsType[*campaign.DiffersError](err); !ok || !strings.Contains(err.Error(), c.differs) {
					t.Errorf("error %v, want %s", err, c.differs)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.done {
				if len(done) != 1 || len(left) != 0 || done[0].Repetition != 1 || done[0].Report.Verdict.Cell != cell {
					t.Fatalf("done %v, left %v", done, left)
				}
				for _, file := range []string{engine.HTMLFile, engine.JUnitFile} { // which the baseline has not
					if _, err := os.Stat(done[0].Dir.File(file)); err != nil {
						t.Error(err)
					}
				}
				return
			}
			if len(done) != 0 || len(left) != 1 || left[0].Repetition != 1 || !strings.HasPrefix(left[0].Again, c.again) || (c.again == "") != (left[0].Again == "") {
				t.Errorf("done %v, left %v", done, left)
			}
		})
	}
}

func TestAPeekCountsWhatASurveyFinds(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	c := begin(t, results)
	for want, files := range [][]string{{engine.RecordingFile}, {engine.RecordingFile, engine.VerdictFile}} {
		add(t, results, c, "1", files...)
		outcomes, err := c.Peek(results)
		if err != nil || outcomes.Done() != want {
			t.Errorf("%v, %v, want %d done", outcomes, err, want)
		}
	}
}

func TestOneProcessHoldsACampaign(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	c := begin(t, results)
	_, err := campaign.Resume(results, campaign.Latest)
	held, ok := errors.AsType[*campaign.HeldError](err)
	if !ok || held.By.PID != os.Getpid() || held.ID != c.ID {
		t.Errorf("a campaign under way was resumed: %v", err)
	}
	if by, running := campaign.RunBy(results, c.ID); !running || by.PID != os.Getpid() {
		t.Errorf("run by %v, %v", by, running)
	}
	c.Release()
	if by, running := campaign.RunBy(results, c.ID); running {
		t.Errorf("run by %v after its end", by)
	}
	again, err := campaign.Resume(results, campaign.Latest)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

// The name of a dead holder stays in the lock, and keeps nobody out.
func TestADeadHolderHoldsNothing(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	c := begin(t, results)
	c.Release()
	self, err := process.Self()
	if err != nil {
		t.Skip(err)
	}
	self.Start++ // another process that had this id
	if err := os.WriteFile(filepath.Join(results, "campaigns", c.ID, "lock"), []byte(self.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if by, running := campaign.RunBy(results, c.ID); running {
		t.Errorf("%v is dead, and said to run the campaign", by)
	}
	again, err := campaign.Resume(results, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestACampaignIsFound(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	if _, err := campaign.Resume(results, campaign.Latest); err == nil || err.Error() != "no campaign has begun in "+results {
		t.Errorf("error %v", err)
	}
	first, second := begin(t, results), begin(t, results)
	first.Release()
	second.Release()
	if first.ID != "20261130T120000Z-rollback-versions" || second.ID != first.ID+".2" {
		t.Errorf("ids %s and %s", first.ID, second.ID)
	}
	if err := os.Mkdir(filepath.Join(results, "campaigns", "20991231T235959Z-killed-as-it-began"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{campaign.Latest: second.ID, drill: second.ID, first.ID: first.ID, second.ID: second.ID} {
		c, err := campaign.Resume(results, name)
		if err != nil {
			t.Fatal(err)
		}
		c.Release()
		if c.ID != want {
			t.Errorf("%s is %s, want %s", name, c.ID, want)
		}
	}
	const want = `no campaign "rollback-version" in `
	if _, err := campaign.Resume(results, "rollback-version"); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `did you mean "rollback-versions"?`) {
		t.Errorf("error %v", err)
	}
}

func TestAManifestOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	c := begin(t, results)
	c.Release()
	file := filepath.Join(results, "campaigns", c.ID, "campaign.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("campaign/v1"), []byte("campaign/v9"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := campaign.Resume(results, campaign.Latest); err == nil || !strings.Contains(err.Error(), `has the format "reckon/campaign/v9", expected reckon/campaign/v1`) {
		t.Errorf("error %v", err)
	}
}
