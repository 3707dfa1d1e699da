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

func verdicts(t testing.TB) []judge.Verdict {
	return []judge.Verdict{passing(t).Verdict, failing(t).Verdict, inconclusive(t).Verdict, invalid(t).Verdict}
}

func TestFormatsMatchTheirGoldenFiles(t *testing.T) {
	formats := map[string]func(io.Writer, []judge.Verdict) error{
		"text":        func(w io.Writer, vs []judge.Verdict) error { return Text(w, vs, TextOptions{}) },
		"text-narrow": func(w io.Writer, vs []judge.Verdict) error { return Text(w, vs, TextOptions{Width: 60}) },
		"text-color":  func(w io.Writer, vs []judge.Verdict) error { return Text(w, vs, TextOptions{Color: true}) },
		"markdown":    Markdown,
		"junit":       JUnit,
		"json":        func(w io.Writer, vs []judge.Verdict) error { return JSON(w, vs[0]) },
	}
	for format, render := range formats {
		for outcome, r := range variants(t) {
			t.Run(format+"/"+outcome, func(t *testing.T) {
				var b bytes.Buffer
				if err := render(&b, []judge.Verdict{r.Verdict}); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, outcome+"."+format+".golden", b.Bytes())
			})
		}
	}
	all := map[string]func(io.Writer, []judge.Verdict) error{
		"text": func(w io.Writer, vs []judge.Verdict) error { return Text(w, vs, TextOptions{}) }, "markdown": Markdown, "junit": JUnit,
		"json": func(w io.Writer, vs []judge.Verdict) error { return JSONRuns(w, vs, 1) },
	}
	for format, render := range all {
		t.Run(format+"/several runs", func(t *testing.T) {
			var first, second bytes.Buffer
			if err := render(&first, verdicts(t)); err != nil {
				t.Fatal(err)
			}
			if err := render(&second, verdicts(t)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Error("the same runs gave different bytes")
			}
			golden.Check(t, "all."+format+".golden", first.Bytes())
		})
	}
}
