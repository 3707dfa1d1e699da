package trackrecord_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/trackrecord"
)

const issue = `issues:
- url: https://github.com/argoproj/argo-rollouts/issues/3941
  about: all traffic to one pod
  bad: v1 | v2
  good: none
`

const runs = issue + `  runs:
  - drill: rollback-versions
    cell: rollback-window[argo-rollouts=v1.8.2,routing=services]
    shows: [exposure, overload]
`

func TestAListOfIssuesSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"all of it":        {runs, ""},
		"no cell":          {issue, ""},
		"no good versions": {strings.Replace(issue, "  good: none\n", "", 1), "x.yaml:2: issues[0]: good is missing"},
		"a cell that is not": {strings.Replace(runs, "v1.8.2", "v1.8.9", 1),
			"x.yaml:7: issues[0].runs[0]: the drill rollback-versions has no cell rollback-window[argo-rollouts=v1.8.9,routing=services]"},
		"a drill that is not":   {strings.Replace(runs, "rollback-versions", "rollback-version", 1), `x.yaml:7: issues[0].runs[0]: no drill file, shipped drill or scenario "rollback-version", did you mean "rollback-versions"?`},
		"nothing that is shown": {strings.Replace(runs, "[exposure, overload]", "[]", 1), "x.yaml:7: issues[0].runs[0]: shows is missing"},
		"an unknown field":      {strings.Replace(runs, "shows:", "show:", 1), `x.yaml:9: issues[0].runs[0].show: unknown field, did you mean "shows"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := trackrecord.Load("x.yaml", []byte(c.text))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

// recorded is a run of the cell in the list, with a version of the controller.
func recorded(version string, repetition int) trackrecord.Recorded {
	expected, worst := 20.0, 19.0
	return trackrecord.Recorded{Dir: fmt.Sprintf("baselines/run-%d", repetition), Verdict: judge.Verdict{
		Drill: "rollback-versions", Cell: "rollback-window[argo-rollouts=v1.8.2,routing=services]", Scenario: "rollback-window", Repetition: repetition,
		Claims:     []judge.ClaimResult{{ID: "exposure", Predicted: "100, first at 1 available", Observed: "100, first at 2 | 3", Status: judge.Broken}},
		Guards:     []judge.GuardResult{{ID: "overload", Limit: 1.5, Expected: &expected, Worst: &worst, AboveSec: 12.5, Status: judge.Broken}},
		Components: []recording.Component{{Name: "argo-rollouts", Version: version}},
	}}
}

func TestTheRecordHasWhatWasRecordedAndNothingElse(t *testing.T) {
	t.Parallel()
	const cell = "| rollback-window[argo-rollouts=v1.8.2,routing=services] of rollback-versions | "
	for name, c := range map[string]struct {
		list     string
		recorded []trackrecord.Recorded
		want     string
	}{
		"no drill":                       {issue, []trackrecord.Recorded{recorded("v1.8.2", 1)}, "| v1 \\| v2 | none | no drill yet | - | not run | - |\n"},
		"no recording":                   {runs, nil, cell + "exposure: 100, first at 1 available; overload: worst 20, limit 1.5 | not run | `reckon run "},
		"a recording of another version": {runs, []trackrecord.Recorded{recorded("v1.8.3", 1)}, " | not run | "},
		"a recording": {runs, []trackrecord.Recorded{recorded("v1.8.2", 1)},
			cell + "exposure: 100, first at 1 available; overload: worst 20, limit 1.5 | exposure: 100, first at 2 \\| 3 (**BROKEN**); overload: worst 19, above 1.5 for 12.5 s; [recorded](baselines/run-1) | `reckon run "},
		"a source that says otherwise": {strings.Replace(runs, "  runs:", "  source: v1 | a.go:7\n  runs:", 1), nil, "#3941](https://github.com/argoproj/argo-rollouts/issues/3941): all traffic to one pod<br>The source says: v1 \\| a.go:7 | v1 \\| v2 | none |"},
		"several recordings":           {runs, []trackrecord.Recorded{recorded("v1.8.2", 2), recorded("v1.8.2", 1)}, "for 12.5 s; [recorded](baselines/run-1), first of 2 | "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issues, err := trackrecord.Load("x.yaml", []byte(c.list))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := trackrecord.Write(&out, issues, c.recorded); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("no %q in\n%s", c.want, out.String())
			}
		})
	}
}

func TestWhatNoVerdictHasIsAnError(t *testing.T) {
	t.Parallel()
	issues, err := trackrecord.Load("x.yaml", []byte(strings.Replace(runs, "exposure,", "exposition,", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, runs := range [][]trackrecord.Recorded{nil, {recorded("v1.8.2", 1)}} {
		if err := trackrecord.Write(&bytes.Buffer{}, issues, runs); err == nil || !strings.Contains(err.Error(), `has no claim or guard "exposition"`) {
			t.Errorf("%d recordings: %v", len(runs), err)
		}
	}
}

// TestCommandsRunTheirCells: for every cell of every shipped drill, a shell and the
// planner make the same cell of the command.
func TestCommandsRunTheirCells(t *testing.T) {
	t.Parallel()
	for _, name := range drills.Shipped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := drills.LoadShipped(name)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(d, plan.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range p.Cells {
				command, err := trackrecord.Command(c)
				if err != nil {
					t.Fatal(err)
				}
				wantCell(t, command, c)
			}
		})
	}
}

func wantCell(t *testing.T, command string, want plan.Cell) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+command).Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var o plan.Overrides
	for i := 3; i < len(words); i += 2 {
		switch value := words[i+1]; words[i] {
		case "--set":
			o.Set = append(o.Set, value)
		case "--version":
			o.Versions = append(o.Versions, value)
		case "--kubernetes":
			o.Kubernetes = value
		case "--provider":
			o.Provider = value
		default:
			t.Fatalf("%s: %s is no flag", command, words[i])
		}
	}
	d, err := drills.Find(words[2])
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, o)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	got := p.Cells[0]
	if len(p.Cells) != 1 || string(got.Params) != string(want.Params) || got.Provider != want.Provider || got.Scenario != want.Scenario {
		t.Errorf("%s gives %d cells, the first with\n%s\nwant\n%s", command, len(p.Cells), got.Params, want.Params)
	}
	for component, version := range want.Versions {
		if got.Versions[component] != version {
			t.Errorf("%s has %s %s, want %s", command, component, got.Versions[component], version)
		}
	}
}
