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

// RunDir is the directory of one run.
type RunDir string

// File is the path of a file in the directory.
func (d RunDir) File(name string) string { return filepath.Join(string(d), name) }

// NewRunDir makes results/runs/<utc>-<drill>-<cell>-<n>. Two runs that begin in
// the same second get different directories. plan.json is written at once, so
// that even a run that dies says what it was.
func NewRunDir(results string, c plan.Cell, repetition int, now time.Time) (RunDir, error) {
	runs := filepath.Join(results, "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return "", fmt.Errorf("making the results directory: %w", err)
	}
	base := fmt.Sprintf("%s-%s-%d", now.UTC().Format("20060102T150405Z"), slug(c), repetition)
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
		return dir, dir.writePlan(c)
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

func (d RunDir) writePlan(c plan.Cell) error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.File(PlanFile), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return os.MkdirAll(d.File(LogDir), 0o755)
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
