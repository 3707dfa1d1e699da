package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/cli"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
)

// done begins a campaign of the rollback on every version and gives it the runs of the
// committed baselines, as if it had come to its end. It returns the directory of results.
func done(t *testing.T, change func(m *campaign.Manifest)) string {
	t.Helper()
	const drill = "rollback-versions"
	d, err := drills.Find(drill)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, plan.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	m := campaign.Manifest{Began: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Reckon: "another", Drill: drill, Plan: p}
	if change != nil {
		change(&m)
	}
	results := t.TempDir()
	c, err := campaign.Begin(results, m, p.Cells)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	for _, cell := range p.Cells {
		of := engine.RunPlan{Campaign: c.ID, Repetition: 1, Cell: cell}
		dir, err := engine.NewRunDir(results, of, m.Began)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(filepath.Base(string(dir)), "-")
		for _, file := range []string{engine.RecordingFile, engine.VerdictFile} {
			text, err := os.ReadFile(filepath.Join("../../results/baselines", name, file))
			if err := errors.Join(err, os.WriteFile(dir.File(file), text, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return results
}

func TestACampaignOfWhichNothingIsLeftIsReportedAgain(t *testing.T) {
	t.Parallel()
	results := done(t, nil)
	for _, name := range []string{"--resume", "--resume=latest", "--resume=20261130T120000Z-rollback-versions", "--resume rollback-versions"} {
		args := append([]string{"run", "-o", "json", "--results", results}, strings.Fields(name)...)
		code, stdout, stderr := inProcess(t, args...)
		var out struct {
			Outcome string
			Runs    []struct{ Cell string }
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil {
			t.Fatalf("%v in %s%s", err, stdout, stderr)
		}
		if code != cli.ExitPass || out.Outcome != "pass" || len(out.Runs) != 10 || out.Runs[0].Cell != "rollback-window[argo-rollouts=v1.7.2,routing=services]" {
			t.Errorf("%s: code %d, %s, %d runs\n%s", name, code, out.Outcome, len(out.Runs), stderr)
		}
		for _, want := range []string{"10 of 10 runs are done", "reckon another began it"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: no %q in %s", name, want, stderr)
			}
		}
	}
}

func TestWhatCannotBeResumedIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	whole := done(t, nil)
	held := done(t, nil)
	c, err := campaign.Resume(held, campaign.Latest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	gone := filepath.Join(t.TempDir(), "gone.yaml")
	for name, c := range map[string]struct {
		results string
		args    string
		code    int
		want    string
	}{
		"no campaign at all":         {t.TempDir(), "--resume", 2, "no campaign has begun in "},
		"no campaign of the name":    {whole, "--resume rollback-version", 2, `no campaign "rollback-version" in `},
		"two campaigns":              {whole, "--resume=a b", 2, "--resume: a and b are two campaigns"},
		"an empty name":              {whole, "--resume=", 2, "--resume: the campaign is missing"},
		"another parameter":          {whole, "--resume --set replicas=3", 2, "--resume and --set: what is run stands in the campaign"},
		"another filter":             {whole, "--resume --label-filter x", 2, "--resume and --label-filter: what is run stands in the campaign"},
		"a campaign under way":       {held, "--resume", 6, "the campaign 20261130T120000Z-rollback-versions is being run by process "},
		"a drill that is gone":       {done(t, func(m *campaign.Manifest) { m.Drill = gone }), "--resume", 6, "the campaign 20261130T120000Z-rollback-versions cannot go on, begin another: reading the drill: open " + gone},
		"a drill that has changed":   {done(t, func(m *campaign.Manifest) { m.Overrides.Repeat = 2 }), "--resume", 6, "the campaign 20261130T120000Z-rollback-versions cannot go on, begin another: cell rollback-window[argo-rollouts=v1.7.2,routing=services]: repetitions was 1 and is 2 (and 9 more)"},
		"a verdict that has changed": {altered(t, done(t, nil)), "--resume", 6, "the campaign 20261130T120000Z-rollback-versions cannot go on, begin another: today's models give another verdict on "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inProcess(t, append([]string{"run", "--quiet", "--results", c.results}, strings.Fields(c.args)...)...)
			if code != c.code || stdout != "" || !strings.HasPrefix(stderr, "reckon: "+c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d, want %d; stdout %q, stderr\n got %swant reckon: %s", code, c.code, stdout, stderr, c.want)
			}
		})
	}
}

// altered changes one verdict, as another model would have.
func altered(t *testing.T, results string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "runs", "*", engine.VerdictFile))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err := errors.Join(err, os.WriteFile(files[0], bytes.Replace(text, []byte(`"pass"`), []byte(`"fail"`), 1), 0o644)); err != nil {
		t.Fatal(err)
	}
	return results
}

func TestCampaignsAreListedWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	if code, stdout, _ := inProcess(t, "campaigns", "--results", "no/such"); code != cli.ExitPass || stdout != "no campaign has begun in no/such\n" {
		t.Errorf("code %d, %s", code, stdout)
	}
	results := done(t, nil)
	list := func(want string) {
		t.Helper()
		code, stdout, stderr := inProcess(t, "campaigns", "--results", results)
		if code != cli.ExitPass || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("code %d, %s%s, want %s", code, stdout, stderr, want)
		}
	}
	list(`(?m)^20261130T120000Z-rollback-versions +10 of 10 +10 pass +complete$`)
	verdicts, err := filepath.Glob(filepath.Join(results, "runs", "*", engine.VerdictFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(verdicts[0]); err != nil {
		t.Fatal(err)
	}
	list(`(?m)^20261130T120000Z-rollback-versions +9 of 10 +9 pass +1 left$`)
	c, err := campaign.Resume(results, campaign.Latest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	list(`(?m)^20261130T120000Z-rollback-versions +9 of 10 +9 pass +being run by process [0-9]+$`)
}
