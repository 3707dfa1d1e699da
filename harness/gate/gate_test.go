package gate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/gate"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/series"
)

// TestCorpus runs testdata/*.test; testdata/README.md describes their language.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.test")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq("\n"+string(text), "\ncase ") {
			name, body, _ := strings.Cut(part, "\n")
			if strings.HasPrefix(strings.TrimSpace(name), "#") || strings.TrimSpace(name) == "" {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".test")+"/"+name, func(t *testing.T) {
				t.Parallel()
				testCase(t, body)
			})
		}
	}
}

// side are the runs of a version under way.
type side struct {
	runs []compare.Run
	// last is how many of them the lines that follow are about.
	last int
}

func testCase(t *testing.T, body string) {
	t.Helper()
	sides := map[string]*side{"old": {}, "new": {}, "swap": {}}
	var now *side
	var want []string
	for line := range strings.SplitSeq(body, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "=" || words[0] == "-":
			want = append(want, line)
		case sides[words[0]] != nil:
			now = sides[words[0]]
			now.begin(t, words[1:])
		default:
			now.tell(t, words[0], strings.TrimSpace(strings.TrimPrefix(line, words[0])))
		}
	}
	c, err := compare.Sides("v1", sides["old"].runs, "v2", sides["new"].runs, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var swaps []judge.Verdict
	for _, r := range sides["swap"].runs {
		swaps = append(swaps, r.Verdict)
	}
	d := gate.Decide("toy", "v1", "v2", c, swaps)
	if len(d.Cells) != 1 {
		t.Fatalf("%d cells", len(d.Cells))
	}
	cell := d.Cells[0]
	got := []string{fmt.Sprintf("= %s: %s", d.Outcome, cell.Class)}
	if cell.Repeat > 0 {
		got[0] += fmt.Sprintf(" repeat %d", cell.Repeat)
	}
	for _, r := range cell.Reasons {
		got = append(got, "- "+r)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// begin adds runs: "x3 fail".
func (s *side) begin(t *testing.T, words []string) {
	t.Helper()
	n, outcome := 1, judge.Pass
	for _, w := range words {
		if count, ok := strings.CutPrefix(w, "x"); ok {
			n = whole(t, count)
			continue
		}
		outcome = judge.Outcome(w)
	}
	for range n {
		s.runs = append(s.runs, compare.Run{
			Header: recording.Header{Scenario: "toy", Cell: "toy", Params: json.RawMessage("{}")}, Verdict: judge.Verdict{Outcome: outcome},
			Set: read(t),
		})
	}
	s.last = n
}

// tell adds to the runs that were begun last.
func (s *side) tell(t *testing.T, what, rest string) {
	t.Helper()
	for i := len(s.runs) - s.last; i < len(s.runs); i++ {
		v := &s.runs[i].Verdict
		switch parts := strings.Split(rest, " | "); what {
		case "claim":
			v.Claims = append(v.Claims, judge.ClaimResult{ID: parts[0], Predicted: parts[1], Observed: parts[2], Status: judge.Status(parts[3])})
		case "guard":
			g := judge.GuardResult{ID: parts[0], Series: parts[0], Limit: 1.5, Status: judge.Status(parts[3]), Why: "unsafe"}
			if parts[1] != "-" {
				expected := number(t, parts[1])
				g.Expected = &expected
			}
			worst := number(t, parts[2])
			g.Worst = &worst
			v.Guards = append(v.Guards, g)
		case "step":
			name, seconds, _ := strings.Cut(rest, " ")
			// A bit longer with every run: no two take the same time.
			s.runs[i].Set = read(t, step(name, "begin", 1), step(name, "end", 1+number(t, seconds)+float64(i)/100))
		default:
			t.Fatalf("%s is not understood", what)
		}
	}
}

func step(name, phase string, at float64) recording.Fact {
	return recording.Fact{T: int64(at * 1e9), Step: &recording.Step{Name: name, Phase: phase}}
}

func read(t *testing.T, facts ...recording.Fact) *series.Set {
	t.Helper()
	set, err := series.Read(recordingtest.Of(t, time.Hour, facts...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func whole(t *testing.T, text string) int {
	t.Helper()
	v, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAGateWithoutCellsTellsNothing(t *testing.T) {
	t.Parallel()
	if d := gate.Decide("toy", "v1", "v2", compare.Comparison{}, nil); d.Outcome != judge.Undecided {
		t.Errorf("got %s", d.Outcome)
	}
}
