package report

import (
	"bytes"
	"io"
	"testing"

	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/judge"
)

// variants are all outcomes, in the order of the exit codes.
func variants(t testing.TB) map[string]Run {
	return map[string]Run{"pass": passing(t), "fail": failing(t), "inconclusive": inconclusive(t), "invalid": invalid(t)}
}

// withTraffic are the variants and a run whose requests were measured.
func withTraffic(t testing.TB) map[string]Run {
	out := variants(t)
	out["measured"] = measuredRun(t)
	return out
}

func runs(t testing.TB) []Run { return []Run{passing(t), failing(t), inconclusive(t), invalid(t)} }

func verdicts(t testing.TB) []judge.Verdict { return verdictsOf(runs(t)) }

// many are more runs than are all told in full: one has nothing to look at, and
// one has parameters of its own.
func many(t testing.TB) []Run {
	safe, changed := passing(t), failing(t)
	safe.Verdict.Cell, safe.Verdict.Guards = "rollback-window/safe", nil
	changed.Verdict.Cell, changed.Changed = "rollback-window/changed", []string{"replicas=7", "maxSurge=30%"}
	return append(runs(t), safe, changed)
}

// onVerdicts makes a format of verdicts one of runs.
func onVerdicts(render func(io.Writer, []judge.Verdict) error) func(io.Writer, []Run) error {
	return func(w io.Writer, rs []Run) error { return render(w, verdictsOf(rs)) }
}

func TestFormatsMatchTheirGoldenFiles(t *testing.T) {
	text := func(o TextOptions) func(io.Writer, []Run) error {
		return func(w io.Writer, rs []Run) error { return Text(w, rs, o) }
	}
	formats := map[string]func(io.Writer, []Run) error{
		"text":        text(TextOptions{}),
		"text-narrow": text(TextOptions{Width: 60}),
		"text-color":  text(TextOptions{Color: true}),
		"markdown":    Markdown,
		"junit":       onVerdicts(JUnit),
		"json":        onVerdicts(func(w io.Writer, vs []judge.Verdict) error { return JSON(w, vs[0]) }),
	}
	one := withTraffic(t)
	for format, render := range formats {
		for outcome, r := range one {
			t.Run(format+"/"+outcome, func(t *testing.T) {
				var b bytes.Buffer
				if err := render(&b, []Run{r}); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, outcome+"."+format+".golden", b.Bytes())
			})
		}
	}
	all := map[string]func(io.Writer, []Run) error{
		"text": text(TextOptions{}), "markdown": Markdown, "junit": onVerdicts(JUnit),
		"json": onVerdicts(func(w io.Writer, vs []judge.Verdict) error { return JSONRuns(w, vs, 1) }),
	}
	for format, render := range all {
		t.Run(format+"/several runs", func(t *testing.T) {
			var first, second bytes.Buffer
			if err := render(&first, runs(t)); err != nil {
				t.Fatal(err)
			}
			if err := render(&second, runs(t)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Error("the same runs gave different bytes")
			}
			golden.Check(t, "all."+format+".golden", first.Bytes())
		})
	}
	var b bytes.Buffer
	if err := Text(&b, many(t), TextOptions{Width: 130}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "many.text.golden", b.Bytes())
}
