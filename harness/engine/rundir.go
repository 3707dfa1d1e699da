package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reckon.dev/reckon/harness/durable"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
)

// Files of a run directory.
const (
	RecordingFile = "recording.jsonl.zst"
	PlanFile      = "plan.json"
	VerdictFile   = "verdict.json"
	HTMLFile      = "report.html"
	JUnitFile     = "junit.xml"
	LogDir        = "logs"
	latestLink    = "latest"
)

// TimeFormat begins the names of directories, in UTC, so that they sort by time.
const TimeFormat = "20060102T150405Z"

// RunDir is the directory of one run.
type RunDir string

// File is the path of a file in the directory.
func (d RunDir) File(name string) string { return filepath.Join(string(d), name) }

// RunsDir holds the directories of runs below that of the results.
const RunsDir = "runs"

// RunPlan is plan.json: what a run is one repetition of.
type RunPlan struct {
	// Campaign is the id of the campaign that the run belongs to, if it does.
	Campaign   string `json:"campaign,omitempty"`
	Repetition int    `json:"repetition"`
	plan.Cell
}

// NewRunDir makes results/runs/<utc>-<drill>-<cell>-<n>. Two runs that begin in
// the same second get different directories. plan.json is written at once, so
// that even a run that dies says what it was.
func NewRunDir(results string, p RunPlan, now time.Time) (RunDir, error) {
	runs := filepath.Join(results, RunsDir)
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return "", fmt.Errorf("making the results directory: %w", err)
	}
	base := fmt.Sprintf("%s-%s-%d", now.UTC().Format(TimeFormat), slug(p.Cell), p.Repetition)
	for n := 1; ; n++ {
		path := filepath.Join(runs, base)
		if n > 1 {
			path = fmt.Sprintf("%s.%d", path, n)
		}
		err := os.Mkdir(path, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("making the run directory: %w", err)
		}
		dir := RunDir(path)
		return dir, dir.writePlan(p)
	}
}

// slug keeps run directories readable: the drill, then what tells the cell apart.
func slug(c plan.Cell) string {
	const longest = 120
	s := c.Slug()
	if !strings.HasPrefix(s, c.Drill) {
		s = c.Drill + "-" + s
	}
	return strings.TrimRight(s[:min(len(s), longest)], "-.")
}

func (d RunDir) writePlan(p RunPlan) error {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(d.File(PlanFile), append(raw, '\n')); err != nil {
		return fmt.Errorf("the run's plan: %w", err)
	}
	return os.MkdirAll(d.File(LogDir), 0o755)
}

// Plan reads plan.json.
func (d RunDir) Plan() (RunPlan, error) {
	var p RunPlan
	raw, err := os.ReadFile(d.File(PlanFile))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("%s: %w", d.File(PlanFile), err)
	}
	return p, nil
}

// LinkLatest points results/runs/latest to the directory. The link is replaced
// in one step, so a second run beside this one never sees it missing.
func (d RunDir) LinkLatest() error {
	runs := filepath.Dir(string(d))
	temp := filepath.Join(runs, fmt.Sprintf(".latest-%d-%s", os.Getpid(), filepath.Base(string(d))))
	if err := os.Symlink(filepath.Base(string(d)), temp); err != nil {
		return fmt.Errorf("linking the latest run: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(runs, latestLink)); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("linking the latest run: %w", err)
	}
	return nil
}

// ReadHeader reads what a run directory's recording says of itself, and no more.
func ReadHeader(dir RunDir) (recording.Header, error) {
	f, err := os.Open(dir.File(RecordingFile))
	if err != nil {
		return recording.Header{}, fmt.Errorf("no recording in %s: %w", dir, err)
	}
	defer f.Close()
	r, err := recording.NewReader(f)
	if err != nil {
		return recording.Header{}, fmt.Errorf("%s: %w", dir.File(RecordingFile), err)
	}
	defer r.Close()
	return r.Header, nil
}
