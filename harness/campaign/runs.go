package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
)

// Run is one repetition of a cell that is done: its verdict stands.
type Run struct {
	Cell       plan.Cell
	Repetition int
	Dir        engine.RunDir
	// Report has no series: those of a whole campaign are many.
	Report report.Run
}

// Left is one that has to be run.
type Left struct {
	Cell       plan.Cell
	Repetition int
	// Again is why a run that there was does not count, empty if there was none.
	Again string
}

// slot is one repetition of one cell.
type slot struct {
	cell       string
	repetition int
}

// Survey looks at the directories of the campaign's runs. A run is done if it has a
// verdict other than invalid which its recording gives again; whatever else there is of
// one is run again. A recording that today's models judge otherwise is a *DiffersError.
func (m *Manifest) Survey(results string) (done []Run, left []Left, err error) {
	dirs, err := runDirs(results, m.ID)
	if err != nil {
		return nil, nil, err
	}
	var differ []string
	for _, l := range m.All() {
		run, again, err := look(dirs[slot{l.Cell.Name, l.Repetition}])
		if other, ok := errors.AsType[*otherVerdict](err); ok {
			differ = append(differ, other.Error())
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if run == nil {
			l.Again = again
			left = append(left, l)
			continue
		}
		run.Cell, run.Repetition = l.Cell, l.Repetition
		done = append(done, *run)
	}
	return done, left, m.differ(differ)
}

// runDirs are the directories of a campaign's runs, those of one repetition in the
// order of their names, which is that of time.
func runDirs(results, id string) (map[slot][]engine.RunDir, error) {
	all, err := directories(results)
	if err != nil {
		return nil, err
	}
	out := map[slot][]engine.RunDir{}
	for _, dir := range all {
		p, err := dir.Plan()
		if err != nil || p.Campaign != id { // one that was killed as it began has none
			continue
		}
		of := slot{p.Name, p.Repetition}
		out[of] = append(out[of], dir)
	}
	return out, nil
}

// directories are those of all runs below results, by name.
func directories(results string) ([]engine.RunDir, error) {
	runs := filepath.Join(results, engine.RunsDir)
	entries, err := os.ReadDir(runs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []engine.RunDir
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, engine.RunDir(filepath.Join(runs, e.Name())))
		}
	}
	return out, err
}

// look finds the run that counts among those of one repetition. There is none where
// again says why, or where there are no directories.
func look(dirs []engine.RunDir) (run *Run, again string, err error) {
	for _, dir := range dirs {
		run, again, err = lookAt(dir)
		if run != nil || err != nil {
			return run, "", err
		}
	}
	return nil, again, nil
}

func lookAt(dir engine.RunDir) (run *Run, again string, err error) {
	text, v, err := readVerdict(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "it was interrupted", nil
	case err != nil:
		return nil, fmt.Sprintf("its verdict cannot be read: %v", err), nil
	case v.Outcome == judge.Invalid:
		return nil, "it was invalid: " + strings.Join(v.Reasons, "; "), nil
	case !Counts(v.Outcome):
		return nil, fmt.Sprintf("its outcome is %q", v.Outcome), nil
	}
	r, err := engine.Judge(dir, engine.Prediction)
	if err != nil {
		return nil, fmt.Sprintf("its recording cannot be judged: %v", err), nil
	}
	var now bytes.Buffer
	if err := report.JSON(&now, r.Verdict); err != nil {
		return nil, "", err
	}
	if !bytes.Equal(text, now.Bytes()) {
		return nil, "", &otherVerdict{dir}
	}
	if err := completeReports(dir, r); err != nil {
		return nil, "", err
	}
	r.Set, r.Prediction = nil, judge.Prediction{}
	return &Run{Dir: dir, Report: r}, "", nil
}

// otherVerdict is of a run that is judged otherwise today.
type otherVerdict struct{ dir engine.RunDir }

func (e *otherVerdict) Error() string {
	return fmt.Sprintf("today's models give another verdict on %s, as `reckon judge` shows", e.dir)
}

func readVerdict(dir engine.RunDir) ([]byte, judge.Verdict, error) {
	var v judge.Verdict
	text, err := os.ReadFile(dir.File(engine.VerdictFile))
	if err != nil {
		return nil, v, err
	}
	return text, v, json.Unmarshal(text, &v)
}

// completeReports writes those that a run was killed before.
func completeReports(dir engine.RunDir, r report.Run) error {
	for _, name := range []string{engine.JUnitFile, engine.HTMLFile} {
		if _, err := os.Stat(dir.File(name)); errors.Is(err, fs.ErrNotExist) {
			return engine.WriteReports(dir, r)
		}
	}
	return nil
}

// Counts says whether a run with this outcome is done. One that is inconclusive is: to
// run it until something else comes out would be to choose among results.
func Counts(o judge.Outcome) bool {
	return o == judge.Pass || o == judge.Fail || o == judge.Undecided
}

// Outcomes count the runs of a campaign that have a verdict, as it stands.
type Outcomes map[judge.Outcome]int

// Done is how many have one that counts.
func (o Outcomes) Done() int {
	n := 0
	for outcome, runs := range o {
		if Counts(outcome) {
			n += runs
		}
	}
	return n
}

// Peek counts the campaign's verdicts without judging anything again.
func (m *Manifest) Peek(results string) (Outcomes, error) {
	dirs, err := runDirs(results, m.ID)
	if err != nil {
		return nil, err
	}
	out := Outcomes{}
	for _, l := range m.All() {
		if o := best(dirs[slot{l.Cell.Name, l.Repetition}]); o != "" {
			out[o]++
		}
	}
	return out, nil
}

// best is the outcome that counts among the runs of one repetition.
func best(dirs []engine.RunDir) judge.Outcome {
	var out judge.Outcome
	for _, dir := range dirs {
		if _, v, err := readVerdict(dir); err == nil && !Counts(out) {
			out = v.Outcome
		}
	}
	return out
}
