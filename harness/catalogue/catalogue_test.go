package catalogue_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/catalogue"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/trackrecord"
)

const list = `component: argo-rollouts
drills: [rollback-versions]
tells:
  rollback-window: [weights, exposure]
situations:
- what: a rollback in its window
  rows: ["rollback-versions/rollback-window[routing=subsets]"]
- what: something else
  lacks: no drill does it
`

const explained = list + `disagreements:
- drill: rollback-versions
  cells: ["rollback-window[argo-rollouts=v1.8.2,routing=subsets]"]
  of: [exposure]
  why: the model counts pods that are ready, the controller those that are available
  source: rollout/trafficrouting.go:217 (v1.8.2)
`

func TestACatalogueSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, old, new, want string }{
		"nothing":                {explained, "", "", ""},
		"a drill":                {list, "[rollback-versions]", "[rollback-version]", `x.yaml:2: drills[0]: no drill file, shipped drill or scenario "rollback-version"`},
		"what is covered":        {list, "what: something else", "what: \"\"", "x.yaml:8: situations[1]: what is missing"},
		"rows or a reason":       {list, "  lacks: no drill does it\n", "", "x.yaml:8: situations[1]: rows or lacks is missing"},
		"a row":                  {list, "routing=subsets", "routing=subset", `x.yaml:7: situations[0].rows[0]: the drill rollback-versions has no row "rollback-window[routing=subset]", did you mean`},
		"a row's drill":          {list, `"rollback-versions/`, `"rollback-controls/`, `x.yaml:7: situations[0].rows[0]: "rollback-controls/rollback-window[routing=subsets]": no drill "rollback-controls"`},
		"a scenario":             {list, "rollback-window: [", "rollback-windows: [", "x.yaml:4: tells.rollback-windows: no drill of the catalogue has the scenario rollback-windows, did you mean"},
		"an explanation's cause": {explained, "  why: the model counts pods that are ready, the controller those that are available\n", "", "x.yaml:11: disagreements[0]: expected cells, of, why and source"},
		"an explanation's cell":  {explained, "v1.8.2,", "v1.8.9,", `x.yaml:12: disagreements[0].cells[0]: the drill rollback-versions has no cell "rollback-window[argo-rollouts=v1.8.9,routing=subsets]"`},
		"an explanation's drill": {explained, "- drill: rollback-versions", "- drill: rollback-controls", `x.yaml:11: disagreements[0]: no drill "rollback-controls"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := catalogue.Load("x.yaml", []byte(strings.Replace(c.from, c.old, c.new, 1)))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

// recorded is a run of the subset cell of v1.8.2 in which all was as predicted, changed.
func recorded(t *testing.T, change func(*judge.Verdict)) []trackrecord.Recorded {
	t.Helper()
	d, err := drills.LoadShipped("rollback-versions")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, plan.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Cells, func(c plan.Cell) bool {
		return c.Name == "rollback-window[argo-rollouts=v1.8.2,routing=subsets]"
	})
	v, err := trackrecord.Foretold(p.Cells[i])
	if err != nil {
		t.Fatal(err)
	}
	v.Outcome, v.Components = judge.Pass, []recording.Component{{Name: "argo-rollouts", Version: "v1.8.2"}}
	for i := range v.Claims {
		v.Claims[i].Observed, v.Claims[i].Status = v.Claims[i].Predicted, judge.Held
	}
	v.Guards[0].Worst, v.Guards[0].Status = v.Guards[0].Expected, judge.Broken
	change(&v)
	return []trackrecord.Recorded{{Dir: "baselines/it", Verdict: v}}
}

func asPredicted(*judge.Verdict) {}

func broken(v *judge.Verdict) {
	c := &v.Claims[slices.IndexFunc(v.Claims, func(c judge.ClaimResult) bool { return c.ID == "exposure" })]
	c.Observed, c.Status, v.Outcome = "100, first at 1 | 2", judge.Broken, judge.Fail
}

func worst(value float64, s judge.Status) func(*judge.Verdict) {
	return func(v *judge.Verdict) { v.Guards[0].Worst, v.Guards[0].Status = &value, s }
}

func TestThePageHasWhatWasRecordedAndNothingElse(t *testing.T) {
	t.Parallel()
	const (
		row     = "| **≠** | rollback-window[routing=subsets] | weights 0 → 100 → 0 | "
		first   = "exposure 100, first at 1 available; **overload 20**; not run | "
		covered = "| a rollback in its window | [rollback-versions](#rollback-versions): rollback-window[routing=subsets] "
	)
	for name, c := range map[string]struct {
		list     string
		recorded []trackrecord.Recorded
		want     []string
	}{
		"no recording": {list, nil, []string{
			row + first + "exposure 100, first at 2 available; **overload 10**; not run | ",
			"|  | rollback-window[routing=services] | weights 0 → 100 → 0; exposure 100, first at 1 available; **overload 20** | not run | not run | not run | not run | not run |\n",
			"| v1.7.2 | v1.8.2 | v1.8.3 | v1.9.2 | v1.10.1 |\n",
			"10 cells in 2 rows, 1 of them with versions that differ. Recorded: 0; as predicted: 0; otherwise: 0.",
			"Nowhere: every committed recording is as predicted.",
			covered + "(0 of 5 recorded) |  |\n", "| something else | - | **all of it**: no drill does it |\n",
		}},
		"a recording of another version": {list, recorded(t, func(v *judge.Verdict) { v.Components[0].Version = "v1.8.3" }), []string{covered + "(0 of 5 recorded)"}},
		"a recording": {list, recorded(t, asPredicted), []string{
			row + first + "exposure 100, first at 2 available; **overload 10**; [11 of 11](baselines/it) | ",
			"Recorded: 1; as predicted: 1; otherwise: 0.", covered + "(1 of 5 recorded)",
		}},
		"a guard that broke by less": {list, recorded(t, worst(9, judge.Broken)), []string{"**overload 9**; [11 of 11](baselines/it)", "otherwise: 0."}},
		"a claim that broke": {explained, recorded(t, broken), []string{
			row + first + `exposure 100, first at 2 available, observed 100, first at 1 \| 2; **overload 10**; **differs**: exposure (see [below](#where-they-differ)), [10 of 11](baselines/it) | `,
			"Recorded: 1; as predicted: 0; otherwise: 1.",
			"| rollback-window[argo-rollouts=v1.8.2,routing=subsets] of rollback-versions | exposure | the model counts pods that are ready, the controller those that are available | `rollout/trafficrouting.go:217 (v1.8.2)` |\n",
		}},
		"one of two runs that broke": {explained, append(recorded(t, asPredicted), recorded(t, broken)...), []string{"[10 of 11](baselines/it), one of 2 runs | "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := page(t, c.list, c.recorded)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

func TestWhatDiffersIsExplainedAndNothingElse(t *testing.T) {
	t.Parallel()
	const cell = "rollback-window[argo-rollouts=v1.8.2,routing=subsets] of rollback-versions"
	for name, c := range map[string]struct {
		list     string
		recorded []trackrecord.Recorded
		want     string
	}{
		"a claim that broke":                     {list, recorded(t, broken), cell + `: exposure was predicted as "100, first at 2 available" and observed as "100, first at 1 | 2": disagreements has no explanation of it`},
		"a claim that nobody can tell":           {list, recorded(t, func(v *judge.Verdict) { v.Claims[0].Status = judge.Inconclusive }), cell + ": weights was predicted"},
		"a guard that broke by more":             {list, recorded(t, worst(11, judge.Broken)), cell + `: overload was predicted as "worst 10" and observed as "worst 11"`},
		"a guard that held against expectation":  {list, recorded(t, worst(1, judge.Held)), cell + ": overload was predicted"},
		"a run that proves nothing":              {list, recorded(t, func(v *judge.Verdict) { v.Outcome = judge.Invalid }), cell + ": outcome was predicted"},
		"an explanation of another claim":        {strings.Replace(explained, "[exposure]", "[weights]", 1), recorded(t, broken), cell + ": exposure was predicted"},
		"an explanation of what agrees":          {explained, recorded(t, asPredicted), "disagreements explains exposure of " + cell + ", where no recording differs from its prediction"},
		"an explanation of what was not run":     {explained, nil, "disagreements explains exposure of " + cell},
		"a claim that tells most and is not one": {strings.Replace(list, "[weights, exposure]", "[weights, exposition]", 1), nil, `tells: rollback-window makes no claim "exposition", did you mean "exposure"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := page(t, c.list, c.recorded)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestClaimsOfSomeVersionsTellThemApart: in one version the weights change in a step in
// which no claim is made of others, and in those in a later one.
func TestClaimsOfSomeVersionsTellThemApart(t *testing.T) {
	t.Parallel()
	got, err := page(t, `component: argo-rollouts
drills: [rollouts-catalogue-a]
tells:
  canary-abort: [weights]
situations: []
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	later := strings.Repeat(" v1-becomes-ready-again-weights 50 → 0; not run |", 4)
	want := fmt.Sprintf("| **≠** | canary-abort[one pod of v1 missing] | weights 0 → 50 → 0 | abort-weights 50 → 0; not run |%s\n", later)
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if want := "|  | canary-abort[basic canary] |  |" + strings.Repeat(" not run |", 5) + "\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func page(t *testing.T, list string, recorded []trackrecord.Recorded) (string, error) {
	t.Helper()
	c, err := catalogue.Load("x.yaml", []byte(list))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = c.Write(&out, recorded)
	return out.String(), err
}
