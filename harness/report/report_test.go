package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
)

func ptr(v float64) *float64 { return &v }

func TestGuardWordSaysWhetherTheModelSawItComing(t *testing.T) {
	for name, c := range map[string]struct {
		guard judge.GuardResult
		want  string
	}{
		"held":                 {judge.GuardResult{Status: judge.Held, Limit: 1.5, Worst: ptr(1)}, "HELD"},
		"held as predicted":    {judge.GuardResult{Status: judge.Held, Limit: 1.5, Worst: ptr(1), Expected: ptr(1)}, "HELD"},
		"predicted to break":   {judge.GuardResult{Status: judge.Held, Limit: 1.5, Worst: ptr(1), Expected: ptr(20)}, "HELD (predicted to break)"},
		"no prediction":        {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(20)}, "BROKEN"},
		"as predicted":         {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(20), Expected: ptr(20)}, "BROKEN (as predicted)"},
		"equal but for digits": {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(6.666666666666667), Expected: ptr(20.0 / 3)}, "BROKEN (as predicted)"},
		"worse":                {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(21), Expected: ptr(20)}, "BROKEN (worse than predicted)"},
		"milder":               {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(2), Expected: ptr(20)}, "BROKEN (milder than predicted)"},
		"predicted safe":       {judge.GuardResult{Status: judge.Broken, Limit: 1.5, Worst: ptr(2), Expected: ptr(1)}, "BROKEN (predicted safe)"},
		"nothing seen":         {judge.GuardResult{Status: judge.Inconclusive, Limit: 1.5, Expected: ptr(20)}, "INCONCLUSIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := guardWord(c.guard); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestStoryIsOneSentenceForEachOutcome(t *testing.T) {
	noClaim := judge.Verdict{Outcome: judge.Undecided, Reasons: []string{"the prediction makes no claim"}}
	for name, c := range map[string]struct {
		verdict judge.Verdict
		want    string
	}{
		"pass":         {passing(t).Verdict, "All 7 claims held, and what the model predicts is unsafe: overload reached 20 against a limit of 1.5, for 19 s."},
		"fail":         {failing(t).Verdict, "1 of 7 claims broke: weights was predicted as 0 → 100 → 0 and observed as 0 → 100 → 50 → 0; overload reached 20 against a limit of 1.5, for 19 s."},
		"inconclusive": {inconclusive(t).Verdict, "Too little was seen to tell: claim weights: the watch of virtualservices.networking.istio.io was cut from 13.200 s to 17.900 s (410 Gone, listed anew), which could hide a change (and 2 more)."},
		"invalid":      {invalid(t).Verdict, "The environment or the recorder failed, so the run proves nothing: kube-apiserver at 19.700 s: exited with status 2: etcdserver: mvcc: database space exceeded."},
		"no claim":     {noClaim, "Too little was seen to tell: the prediction makes no claim."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := story(c.verdict); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTheHeadlineTellsOfTheGuardThatWasNotForeseen(t *testing.T) {
	guard := func(id string, expected, worst float64) judge.GuardResult {
		return judge.GuardResult{ID: id, Limit: 1, Expected: &expected, Worst: &worst, AboveSec: 2, Status: judge.Broken}
	}
	foreseen, worse := guard("overload", 20, 20), guard("errors", 0, 35)
	for name, c := range map[string]struct {
		guards []judge.GuardResult
		want   string
	}{
		"one foreseen": {[]judge.GuardResult{foreseen}, ", and what the model predicts is unsafe: overload reached 20 against a limit of 1, for 2 s."},
		"two foreseen": {[]judge.GuardResult{foreseen, guard("sizes", 3, 3)}, ", and what the model predicts is unsafe: overload reached 20 against a limit of 1, for 2 s (and 1 guard more)."},
		"the second":   {[]judge.GuardResult{foreseen, worse}, "; errors reached 35 against a limit of 1, for 2 s (and 1 guard more)."},
		"the first":    {[]judge.GuardResult{worse, foreseen}, "; errors reached 35 against a limit of 1, for 2 s (and 1 guard more)."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := guardStory(judge.Verdict{Guards: c.guards}, true); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSeenInNamesEachVersionOnce(t *testing.T) {
	for want, refs := range map[string][]string{
		"":                                  nil,
		"replicasets.apps/d-1@7, pods/p@9":  {"replicasets.apps/d-1@7", "pods/p@9"},
		"no object of replicasets.apps yet": {"no replicasets.apps, no replicasets.apps"},
		"pods/p@9, no object of deployments.apps yet": {"pods/p@9, no deployments.apps", "pods/p@9"},
	} {
		if got := seenIn(refs...); got != want {
			t.Errorf("%q: got %q, want %q", refs, got, want)
		}
	}
}

func TestEveryFormatForReadersSaysWhatWasChanged(t *testing.T) {
	r := passing(t)
	r.Changed = []string{"replicas=7", "maxSurge=30%"}
	for name, render := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return Text(b, []Run{r}, TextOptions{}) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, []Run{r}) },
		"html":     func(b *bytes.Buffer) error { return HTML(b, r) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := render(&b); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "replicas=7 maxSurge=30%") {
				t.Error("the changed parameters are not said")
			}
		})
	}
}

func TestOfManyRunsTheUnremarkableHaveALine(t *testing.T) {
	count := func(o TextOptions) (blocks, fidelities int) {
		var b bytes.Buffer
		if err := Text(&b, many(t), o); err != nil {
			t.Fatal(err)
		}
		return strings.Count(b.String(), "\n  recorded  "), strings.Count(b.String(), "fidelity  ")
	}
	if blocks, fidelities := count(TextOptions{}); blocks != 5 || fidelities != 1 {
		t.Errorf("%d runs in full with %d fidelities, want 5 of 6 and 1", blocks, fidelities)
	}
	if blocks, fidelities := count(TextOptions{Verbose: true}); blocks != 6 || fidelities != 1 {
		t.Errorf("verbose: %d runs in full with %d fidelities, want 6 and 1", blocks, fidelities)
	}
}

func TestAxisHasATickAtItsMaximum(t *testing.T) {
	for hi, want := range map[float64][]string{
		20: {"0", "5", "10", "15", "20"}, 13: {"0", "5", "10", "13"}, 21: {"0", "10", "21"}, 25: {"0", "10", "20", "25"}, 0: {"0"},
	} {
		var got []string
		for _, tick := range (valueScale{hi: hi, top: panelTop, bottom: panelBottom}).ticks() {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, want) {
			t.Errorf("up to %g: %q, want %q", hi, got, want)
		}
	}
}

func TestOutcomeOfSeveralRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runs []judge.Outcome
		want judge.Outcome
	}{
		"no run is never green":       {nil, judge.Undecided},
		"all pass":                    {[]judge.Outcome{judge.Pass, judge.Pass}, judge.Pass},
		"one undecided":               {[]judge.Outcome{judge.Pass, judge.Undecided}, judge.Undecided},
		"invalid outranks undecided":  {[]judge.Outcome{judge.Undecided, judge.Invalid, judge.Pass}, judge.Invalid},
		"failure outranks everything": {[]judge.Outcome{judge.Invalid, judge.Fail, judge.Undecided}, judge.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			var vs []judge.Verdict
			for _, o := range c.runs {
				vs = append(vs, judge.Verdict{Outcome: o})
			}
			if got := Outcome(vs); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestTextStaysInsideItsWidth(t *testing.T) {
	for _, width := range []int{76, 80, 100, 140} {
		for name, r := range variants(t) {
			var b bytes.Buffer
			if err := Text(&b, []Run{r}, TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d columns: a line has %d: %s", name, width, n, line)
				}
			}
		}
	}
}

func TestTextWithoutColorHasNoEscapeCodes(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, append(runs(t), hostile(t)), TextOptions{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(b.Bytes(), func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
		t.Errorf("a control character at byte %d: %q", i, b.Bytes()[i:i+20])
	}
}

func TestWrap(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		width int
		want  []string
	}{
		"fits":                   {"0 → 100 → 0", 11, []string{"0 → 100 → 0"}},
		"arrow stays with value": {"0 → 100 → 0", 8, []string{"0 →", "100 → 0"}},
		"cuts a long word":       {"abcdefgh ij", 3, []string{"abc", "def", "gh", "ij"}},
		"empty":                  {"", 5, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wrap(c.text, c.width); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestJSONCanBeReadAgain(t *testing.T) {
	for name, r := range variants(t) {
		var b bytes.Buffer
		if err := JSON(&b, r.Verdict); err != nil {
			t.Fatal(err)
		}
		var back judge.Verdict
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, r.Verdict) {
			t.Errorf("%s: the verdict changed on its way through JSON", name)
		}
	}
}

func TestJSONHasNoNullLists(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, judge.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "null") {
		t.Error(b.String())
	}
}

func TestJUnitNeverTurnsGreenSilently(t *testing.T) {
	reported, noClaim := failing(t).Verdict, judge.Verdict{Outcome: judge.Undecided, Reasons: []string{"the prediction makes no claim"}}
	reported.Gate, reported.Outcome = judge.Gate{Claims: "report", Guards: "report"}, judge.Pass
	for name, c := range map[string]struct {
		verdict                 judge.Verdict
		tests, failures, errors int
	}{
		"pass with a broken guard that is reported only": {passing(t).Verdict, 10, 0, 0},
		"fail: one claim and one guard":                  {failing(t).Verdict, 10, 2, 0},
		"inconclusive: three claims":                     {inconclusive(t).Verdict, 10, 0, 3},
		"invalid: every case":                            {invalid(t).Verdict, 10, 0, 10},
		"broken, but reported only":                      {reported, 10, 0, 0},
		"no claim":                                       {noClaim, 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			suites := readJUnit(t, c.verdict)
			if suites.Tests != c.tests || suites.Failures != c.failures || suites.Errors != c.errors {
				t.Errorf("got %d tests, %d failures, %d errors; want %d, %d, %d", suites.Tests, suites.Failures, suites.Errors, c.tests, c.failures, c.errors)
			}
			failures, errs := 0, 0
			for _, s := range suites.Suites {
				for _, tc := range s.Cases {
					if tc.Failure != nil {
						failures++
					}
					if tc.Error != nil {
						errs++
					}
				}
			}
			if failures != c.failures || errs != c.errors {
				t.Errorf("counts say %d and %d, cases say %d and %d", c.failures, c.errors, failures, errs)
			}
		})
	}
}

func readJUnit(t *testing.T, vs ...judge.Verdict) (out junitSuites) {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, vs); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return out
}

func TestJUnitSaysBrokenOfAReportedGuard(t *testing.T) {
	for _, c := range readJUnit(t, passing(t).Verdict).Suites[0].Cases {
		if strings.HasPrefix(c.Name, "guard overload") {
			if c.SystemOut == nil || !strings.HasPrefix(c.SystemOut.Text, "BROKEN (as predicted) (reported only)") {
				t.Errorf("system-out is %v", c.SystemOut)
			}
			return
		}
	}
	t.Error("no case for the guard")
}

func TestJUnitGroupsRepetitionsAndSurvivesHostileText(t *testing.T) {
	suites := readJUnit(t, append(verdicts(t), hostile(t).Verdict)...).Suites
	if len(suites) != 2 {
		t.Fatalf("got %d suites, want one per cell: 2", len(suites))
	}
	names := map[string]bool{}
	for _, c := range suites[0].Cases {
		if names[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		names[c.Name] = true
	}
}

func TestMarkdownTablesKeepTheirColumns(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, append(runs(t), hostile(t))); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns != 0 && n != columns {
			t.Errorf("a row has %d columns, its table %d: %s", n, columns, line)
		}
		columns = n
	}
	if strings.Contains(b.String(), "<script") {
		t.Error("mark-up got through")
	}
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	full := errors.New("disk full")
	for name, render := range map[string]func() error{
		"text":     func() error { return Text(failWriter{full}, runs(t), TextOptions{}) },
		"json":     func() error { return JSON(failWriter{full}, passing(t).Verdict) },
		"runs":     func() error { return JSONRuns(failWriter{full}, verdicts(t), 0) },
		"junit":    func() error { return JUnit(failWriter{full}, verdicts(t)) },
		"markdown": func() error { return Markdown(failWriter{full}, runs(t)) },
		"html":     func() error { return HTML(failWriter{full}, passing(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := render(); !errors.Is(err, full) {
				t.Errorf("got %v", err)
			}
		})
	}
}

type failWriter struct{ err error }

func (w failWriter) Write([]byte) (int, error) { return 0, w.err }

func TestAlign(t *testing.T) {
	for name, c := range map[string]struct {
		observed, predicted []float64
		match               []int
		missing             []missing
	}{
		"followed":           {[]float64{0, 100, 0}, []float64{0, 100, 0}, []int{0, 1, 2}, nil},
		"one too many":       {[]float64{0, 100, 50, 0}, []float64{0, 100, 0}, []int{0, 1, -1, 2}, nil},
		"one too few":        {[]float64{0, 20}, []float64{0, 2, 20}, []int{0, 2}, []missing{{1, 1}}},
		"cut short":          {[]float64{0, 100}, []float64{0, 100, 0}, []int{0, 1}, []missing{{2, 2}}},
		"another value":      {[]float64{0, 90, 0}, []float64{0, 100, 0}, []int{0, -1, 2}, []missing{{1, 1}}},
		"nothing in common":  {[]float64{1, 2}, []float64{3}, []int{-1, -1}, []missing{{0, 2}}},
		"nothing observed":   {nil, []float64{3}, []int{}, []missing{{0, 0}}},
		"late first value":   {[]float64{5, 0, 100}, []float64{0, 100}, []int{-1, 0, 1}, nil},
		"skips to the known": {[]float64{100, 0}, []float64{0, 100, 0}, []int{1, 2}, []missing{{0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := align(c.observed, c.predicted)
			if !slices.Equal(got.match, c.match) || !slices.Equal(got.missing, c.missing) {
				t.Errorf("got %v missing %v, want %v missing %v", got.match, got.missing, c.match, c.missing)
			}
		})
	}
}

func TestNiceTicks(t *testing.T) {
	for name, c := range map[string]struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		"percent":   {0, 100, 4, []float64{0, 50, 100}},
		"pods":      {0, 20, 4, []float64{0, 5, 10, 15, 20}},
		"fractions": {0, 1, 4, []float64{0, 0.5, 1}},
		"negative":  {-10, 10, 4, []float64{-10, -5, 0, 5, 10}},
		"empty":     {3, 3, 4, []float64{3}},
		"infinite":  {0, math.Inf(1), 4, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := niceTicks(c.lo, c.hi, c.n); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestEndLabelsDoNotOverlap(t *testing.T) {
	labels := []endLabel{{Y: 140}, {Y: 28}, {Y: 141}, {Y: 142}, {Y: 30}}
	spread(labels)
	for i := 1; i < len(labels); i++ {
		if gap := labels[i].Y - labels[i-1].Y; gap < labelGap {
			t.Errorf("labels %d and %d are %.1f apart", i-1, i, gap)
		}
	}
	if last := labels[len(labels)-1].Y; last > panelBottom+4 {
		t.Errorf("the last label hangs out at %.1f", last)
	}
}

func TestEveryFormatSaysThatSourcesWereEdited(t *testing.T) {
	r := passing(t)
	r.Verdict.Components = append(r.Verdict.Components, recording.Component{Name: "istiod", Version: "../fork", Base: "1.28.0", Edits: []string{"push debounce 1s"}})
	for name, render := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return Text(b, []Run{r}, TextOptions{}) },
		"json":     func(b *bytes.Buffer) error { return JSON(b, r.Verdict) },
		"junit":    func(b *bytes.Buffer) error { return JUnit(b, []judge.Verdict{r.Verdict}) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, []Run{r}) },
		"html":     func(b *bytes.Buffer) error { return HTML(b, r) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := render(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"push debounce 1s", "1.28.0"} {
				if !strings.Contains(b.String(), want) {
					t.Errorf("%q is not said", want)
				}
			}
		})
	}
}

func TestEveryFormatRendersARunThatCannotBeRead(t *testing.T) {
	v := judge.Unreadable(recording.Header{}, "the recording was cut: it has no trailer")
	var b bytes.Buffer
	for name, err := range map[string]error{
		"text": Text(&b, []Run{{Verdict: v}}, TextOptions{}), "json": JSON(&b, v), "junit": JUnit(&b, []judge.Verdict{v}),
		"markdown": Markdown(&b, []Run{{Verdict: v}}), "html": HTML(&b, Run{Verdict: v}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := strings.Count(b.String(), "the recording was cut"); n < 5 {
		t.Errorf("the reason is given %d times in five formats", n)
	}
}
