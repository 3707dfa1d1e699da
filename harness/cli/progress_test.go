package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/toolchain"
)

// noon is the time at which a test's command begins, in the zone of its clock.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// watched is the progress of a campaign of runs that are said to take 10 s each.
func watched(terminal bool, all, left, parallel int) (*progress, *clocktesting.FakeClock, *strings.Builder) {
	out, clock := &strings.Builder{}, clocktesting.NewFakeClock(noon)
	p := &progress{status: &status{out: out, terminal: terminal, clock: clock, start: noon, last: map[string]buildMark{}}}
	runs := make([]campaign.Left, left)
	for i := range runs {
		runs[i] = campaign.Left{Cell: tenSeconds, Repetition: i + 1}
	}
	p.begin(all, runs, parallel, &campaign.Durations{})
	return p, clock, out
}

var tenSeconds = plan.Cell{Name: "scaling", Scenario: "scaling", ExpectedSec: 10}

func ends(o judge.Outcome) *engine.Outcome {
	return &engine.Outcome{Run: report.Run{Verdict: judge.Verdict{Outcome: o}}}
}

func TestALogHasALineForEachRun(t *testing.T) {
	t.Parallel()
	p, clock, out := watched(false, 8, 6, 2)
	for i, c := range []struct {
		took time.Duration
		out  *engine.Outcome
		err  error
	}{
		{20 * time.Second, ends(judge.Pass), nil},
		{40 * time.Second, ends(judge.Fail), nil},
		{time.Second, ends(judge.Invalid), nil},
		{time.Second, nil, errors.New("no plan")},
		{time.Second, ends(""), &engine.AbortError{Cause: context.Canceled}},
		{20 * time.Second, ends(judge.Undecided), nil},
	} {
		u := p.start(tenSeconds)
		p.step(engine.Progress{Cell: "scaling", Text: "quiet"})
		clock.Step(c.took)
		p.end(u, i+1, c.out, c.err)
	}
	want := `   0.0s  scaling: quiet
  20.0s  3 of 8  PASS  scaling, run 1, in 20s; about 50s left, done about 12:01
  20.0s  scaling: quiet
  60.0s  4 of 8  FAIL  scaling, run 2, in 40s; 50s to 1m10s left, done about 12:02
  60.0s  scaling: quiet
  61.0s  5 of 8  INVALID  scaling, run 3, in 1s; 38s to 53s left, done about 12:01
  61.0s  scaling: quiet
  62.0s  6 of 8  NO VERDICT  scaling, run 4, in 1s; 25s to 35s left, done about 12:01
  62.0s  scaling: quiet
  63.0s  6 of 8  INTERRUPTED  scaling, run 5, in 1s
  63.0s  scaling: quiet
  83.0s  7 of 8  INCONCLUSIVE  scaling, run 6, in 20s
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATerminalHasOneLineThatStays(t *testing.T) {
	t.Parallel()
	p, clock, out := watched(true, 6, 6, 1)
	u := p.start(tenSeconds)
	p.step(engine.Progress{Cell: "scaling", Text: "quiet"})
	clock.Step(20 * time.Second)
	p.end(u, 1, ends(judge.Pass), nil)
	u = p.start(tenSeconds)
	clock.Step(20 * time.Second)
	p.end(u, 2, ends(judge.Fail), nil)
	p.pin("")
	screen := screenOf(out.String())
	want := []string{"  40.0s  2 of 6  FAIL  scaling, run 2, in 20s; about 1m20s left, done about 12:02", ""}
	if strings.Join(screen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the screen at the end\n%q\nwant\n%q", screen, want)
	}
	for _, line := range []string{
		"0 of 6 runs done, 1 under way; about 1m left, done about 12:01",
		"0 of 6 runs done, 1 under way; about 1m left, done about 12:01 · scaling: quiet",
		"1 of 6 runs done, 0 under way; about 1m40s left, done about 12:02",
	} {
		if !strings.Contains(out.String(), "\r\x1b[K"+line) && !strings.HasPrefix(out.String(), line) {
			t.Errorf("never on the screen: %q in %q", line, out.String())
		}
	}
}

func TestAFewRunsHaveTheirStepsToldOnATerminalToo(t *testing.T) {
	t.Parallel()
	p, _, out := watched(true, report.Few, report.Few, 1)
	p.start(tenSeconds)
	p.step(engine.Progress{Cell: "scaling", Text: "quiet"})
	screen := screenOf(out.String())
	if len(screen) != 2 || screen[0] != "   0.0s  scaling: quiet" || !strings.HasPrefix(screen[1], "0 of 4 runs done, 1 under way") {
		t.Errorf("screen %q", screen)
	}
}

func TestOneRunIsNoCampaignToWatch(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		p, _, out := watched(terminal, 1, 1, 1)
		p.end(p.start(tenSeconds), 1, ends(judge.Pass), nil)
		if out.Len() > 0 {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
}

func TestQuietIsQuiet(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		p, _, out := watched(terminal, 9, 9, 1)
		p.quiet = true
		p.step(engine.Progress{Cell: "scaling", Text: "quiet"})
		p.end(p.start(tenSeconds), 1, ends(judge.Fail), nil)
		p.Update(toolchain.Event{Component: "etcd", Phase: toolchain.PhaseReady})
		if out.Len() > 0 {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
}

// screenOf plays what was written to a terminal: its lines at the end.
func screenOf(written string) []string {
	lines := strings.Split(written, "\n")
	for i, line := range lines {
		lines[i] = line[strings.LastIndex(line, "\x1b[K")+len("\x1b[K"):]
		if !strings.Contains(line, "\x1b[K") {
			lines[i] = line
		}
	}
	return lines
}

func TestALineIsCutToTheTerminal(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{80: "0 → 100", 8: "0 → 100", 7: "0 → 1…", 1: "…"} {
		if got := cut("0 → 100", width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

func TestDurationsAreSaidRoughly(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                               "0s",
		12400 * time.Millisecond:        "12s",
		59600 * time.Millisecond:        "1m",
		3*time.Minute + 12*time.Second:  "3m10s",
		4 * time.Minute:                 "4m",
		12*time.Minute + 40*time.Second: "13m",
		2*time.Hour + 20*time.Second:    "2h0m",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
