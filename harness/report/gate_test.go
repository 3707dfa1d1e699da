package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/gate"
	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
	"reckon.dev/reckon/harness/report"
)

// compared is a comparison with one cell of each kind.
func compared() compare.Comparison {
	cell := func(name string) compare.Cell {
		return compare.Cell{
			Name: compare.Name{Scenario: "toy", Cell: name, Provider: "embedded"},
			A:    compare.Side{Runs: 2, Versions: []string{"argo-rollouts v1", "kubernetes v1.37.2"}, Model: "rollouts 1"},
			B:    compare.Side{Runs: 2, Versions: []string{"argo-rollouts v2", "kubernetes v1.37.2"}, Model: "rollouts 2"},
		}
	}
	held, broken := string(judge.Held), string(judge.Broken)
	known, unknown, worse, flaky, slower, unsettled := cell("known"), cell("unknown | odd"), cell("worse"), cell("flaky"), cell("slower"), cell("unsettled")
	known.Differences = []compare.Difference{{
		Kind: compare.Claim, Of: "exposure", Sentence: "the greatest weight", Basis: compare.OnModel, Known: true,
		A: compare.Saw{Observed: "1", Predicted: "1", Result: held}, B: compare.Saw{Observed: "2", Predicted: "2", Result: held},
	}}
	unknown.Differences = []compare.Difference{{
		Kind: compare.Claim, Of: "weights", Basis: compare.OnModel,
		A: compare.Saw{Observed: "0 → 100", Predicted: "0 → 100", Result: held}, B: compare.Saw{Observed: "0 → 50", Predicted: "0 → 100", Result: broken},
	}, {
		Kind: compare.Transition, Of: "weight", Basis: compare.OnRuns, A: compare.Saw{Observed: "0 → 100"}, B: compare.Saw{Observed: "0 → 50"},
	}}
	worse.Differences = []compare.Difference{{
		Kind: compare.Guard, Of: "overload", Basis: compare.OnModel, Known: true, Worse: true,
		A: compare.Saw{Observed: "worst 10", Predicted: "worst 10", Result: broken}, B: compare.Saw{Observed: "worst 20", Predicted: "worst 20", Result: broken},
	}}
	flaky.Varies = []compare.Varied{{Side: "B", Kind: compare.Claim, Of: "weights", What: "held in 1 of 2, broken in 1 of 2", Unsure: true, Held: &[2]compare.Share{{K: 2, N: 2}, {K: 1, N: 2}}}}
	slower.Differences = []compare.Difference{{
		Kind: compare.Duration, Of: "step go", Basis: compare.OnRuns, A: compare.Saw{Observed: "1 s"}, B: compare.Saw{Observed: "2 s"},
		Unit: "s", Shift: &rank.Shift{N: 4, M: 4, Median: 1, Low: 0.9, High: 1.25, Bounded: true, P: 0.03},
	}}
	unsettled.Unsettled = []compare.Difference{{
		Kind: compare.Order, Of: "weight = 100", Basis: compare.TooFew, A: compare.Saw{Observed: "before pods = 2"}, B: compare.Saw{Observed: "after pods = 2"},
	}, {
		Kind: compare.Duration, Of: "step stop", Basis: compare.TooFew, A: compare.Saw{Observed: "1 s"}, B: compare.Saw{Observed: "2 s"}, Unit: "s", Shift: &rank.Shift{Median: 1},
	}}
	return compare.Comparison{
		Format: compare.Format, A: "argo-rollouts v1", B: "argo-rollouts v2", Alpha: rank.Alpha, Enough: 4,
		Cells: []compare.Cell{known, unknown, worse, flaky, slower, unsettled, cell("same")}, OnlyA: []compare.Name{{Cell: "gone", Provider: "embedded"}},
	}
}

func TestGatesAndComparisonsMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	c := compared()
	d := gate.Decide("argo-rollouts", "v1", "v2", c, []judge.Verdict{{Scenario: "upgrade-noop", Cell: "upgrade-noop", Outcome: judge.Pass}})
	for name, write := range map[string]func(w io.Writer) error{
		"gate.text":         func(w io.Writer) error { return report.Gate(w, d, report.TextOptions{}) },
		"gate.text-color":   func(w io.Writer) error { return report.Gate(w, d, report.TextOptions{Color: true}) },
		"gate.markdown":     func(w io.Writer) error { return report.GateMarkdown(w, d) },
		"compared.text":     func(w io.Writer) error { return report.Comparison(w, c, report.TextOptions{}) },
		"compared.verbose":  func(w io.Writer) error { return report.Comparison(w, c, report.TextOptions{Verbose: true, Width: 80}) },
		"compared.markdown": func(w io.Writer) error { return report.ComparisonMarkdown(w, c) },
		"compared.json":     func(w io.Writer) error { return report.ComparisonJSON(w, c, 1) },
		"compared.one-line": func(w io.Writer) error { _, err := io.WriteString(w, report.ComparisonStory(c)+"\n"); return err },
		"compared.none-left": func(w io.Writer) error {
			return report.Comparison(w, compare.Comparison{Cells: c.Cells[6:]}, report.TextOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".golden", out.Bytes())
		})
	}
}

func TestGateAsPageAndAsJSON(t *testing.T) {
	t.Parallel()
	d := gate.Decide("argo-rollouts", "v1", "v2", compared(), nil)
	var page, text bytes.Buffer
	if err := report.GateHTML(&page, d, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FAIL", "argo-rollouts v1 → v2", "unknown | odd", "changed, unknown", "same: unchanged", "gone: inconclusive: there is no run of it with v2", "</html>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if err := report.GateJSON(&text, d, 1); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Outcome  judge.Outcome
		ExitCode int
		Cells    []gate.Cell
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil || got.Outcome != judge.Fail || got.ExitCode != 1 || len(got.Cells) != len(d.Cells) {
		t.Errorf("%v: %+v", err, got)
	}
}
