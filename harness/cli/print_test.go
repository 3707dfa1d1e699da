package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/suite"
	"reckon.dev/reckon/harness/toolchain"
)

func TestOfManyRunsOnlyThoseThatDidNotPassHaveTheirPathsPrinted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	reported := func(name string) engine.RunDir {
		dir := engine.RunDir(filepath.Join(root, name))
		if err := errors.Join(os.MkdirAll(string(dir), 0o755), os.WriteFile(dir.File(engine.HTMLFile), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	runs := []report.Run{{Verdict: judge.Verdict{Outcome: judge.Fail}}}
	dirs := []engine.RunDir{reported("bad")}
	for range report.Few {
		runs, dirs = append(runs, report.Run{Verdict: judge.Verdict{Outcome: judge.Pass}}), append(dirs, reported("good"))
	}
	for name, c := range map[string]struct {
		runs      int
		verbose   bool
		good, all int
	}{
		"few":           {report.Few, false, report.Few - 1, 0},
		"many":          {len(runs), false, 0, 1},
		"many, verbose": {len(runs), true, report.Few, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			a := &app{IO: IO{Out: &out}, verbose: c.verbose}
			a.printPaths(runs[:c.runs], dirs[:c.runs])
			for text, want := range map[string]int{
				"report: " + root + "/bad/report.html\n": 1, "report: " + root + "/good/report.html\n": c.good,
				"reports: a report.html for each run below " + root + "\n": c.all,
			} {
				if got := strings.Count(out.String(), text); got != want {
					t.Errorf("%q is there %d times, want %d:\n%s", text, got, want, out.String())
				}
			}
		})
	}
}

func TestRunsWithoutAVerdictAreNotForgotten(t *testing.T) {
	t.Parallel()
	results := []suite.Result{{Err: errors.New("no cluster")}, {Outcome: &engine.Outcome{Dir: engine.RunDir(t.TempDir()), Run: report.Run{Verdict: judge.Verdict{Outcome: judge.Pass}}}}}
	for output, want := range map[string]string{"text": "NOT DONE  1 of 2 runs have no verdict\n", "markdown": "> **NOT DONE**: 1 of 2 runs have no verdict\n"} {
		var out strings.Builder
		a := &app{IO: IO{Out: &out, Err: io.Discard}}
		err := a.finish(results, output)
		if code, ok := errors.AsType[*exitError](err); !ok || code.code != ExitInvalid {
			t.Errorf("%s: %v", output, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %q in\n%s", output, want, out.String())
		}
	}
}

func TestRunsThatWereNotBegunAreCounted(t *testing.T) {
	t.Parallel()
	aborted := &engine.AbortError{Cause: errors.New("interrupt signal received")}
	results := []suite.Result{
		{Cell: plan.Cell{Name: "a"}, Repetition: 2, Err: aborted, Outcome: &engine.Outcome{}}, // was under way
		{Cell: plan.Cell{Name: "b"}, Err: aborted}, {Cell: plan.Cell{Name: "c"}, Err: aborted},
	}
	var said strings.Builder
	(&app{IO: IO{Err: &said}}).complain(results)
	if want := "reckon: a, run 2: aborted: interrupt signal received\nreckon: 2 of 3 runs were not begun\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}

func TestEachCachedVersionIsListedOnce(t *testing.T) {
	t.Parallel()
	got := cachedVersions([]toolchain.Artifact{{Version: "v1", Size: 3 << 20}, {Version: "v2", Size: 1 << 20}, {Version: "v1", Size: 2 << 20}})
	if want := []string{"v1 (5 MB)", "v2 (1 MB)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
