package compare_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/gate"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
)

const baselines = "../../results/baselines/"

// recorded judges the baselines whose directories match.
func recorded(t testing.TB, pattern string) []compare.Run {
	t.Helper()
	dirs, err := filepath.Glob(baselines + pattern)
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no baselines %s: %v", pattern, err)
	}
	var out []compare.Run
	for _, dir := range dirs {
		run, err := engine.Judge(engine.RunDir(dir), engine.Prediction)
		if err != nil {
			t.Fatal(err)
		}
		ready, err := engine.Comparable(run)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ready)
	}
	return out
}

// What is known of the releases of Argo Rollouts from their sources: by Services they
// do the same, by subsets v1.8.2 and those from v1.9 on wait for all of their first
// pods (rollout/trafficrouting/istio/istio.go:323 at v1.8.2, :356 at v1.9.2, gone
// at v1.8.3).
func TestReleasesDifferAsTheirSourcesSay(t *testing.T) {
	t.Parallel()
	const later = "claim exposure: 100, first at 2 available | 100, first at 1 available (model, known)"
	one, two := []string{"v1.7.2", "v1.8.3"}, []string{"v1.8.2", "v1.9.2", "v1.10.1"}
	releases := slices.Concat(one, two)
	for _, routing := range []string{"services", "subsets"} {
		runs := map[string][]compare.Run{}
		for _, v := range releases {
			runs[v] = recorded(t, fmt.Sprintf("rollback-versions-rollback-window-argo-rollouts-%s-routing-%s-1", v, routing))
		}
		for _, a := range releases {
			for _, b := range releases {
				t.Run(fmt.Sprintf("%s against %s by %s", a, b, routing), func(t *testing.T) {
					t.Parallel()
					got, err := compare.Sides(a, runs[a], b, runs[b], compare.Options{})
					if err != nil || !got.Complete() || len(got.Cells) != 1 {
						t.Fatalf("%+v, %v", got, err)
					}
					text := brief(got.Cells[0])
					differ := routing == "subsets" && slices.Contains(one, a) != slices.Contains(one, b)
					if n := got.Differences(); differ != (n > 0) {
						t.Errorf("%d differences:\n%s", n, text)
					}
					if a == "v1.8.2" && b == "v1.8.3" && differ {
						for _, want := range []string{
							later, "claim exposure-size: 100, first at 2 wanted | 100, first at 20 wanted (model, known)",
							"guard overload: worst 10 | worst 20 (model, known, worse)", "extreme highest overload: 10 | 20 (model, known)",
							"transition overload: 0 → 10 → … → 0 | 0 → 20 → 10 → … → 0 (model, known)",
							"order size.v1 = 20: after available.v1 = 1, available.v1 = 2, weight = 100 | before available.v1 = 1, available.v1 = 2, weight = 100 (model, known)",
							"order available.v1 = 2: before weight = 100 | after weight = 100 (model, known)",
						} {
							if !strings.Contains(text, want) {
								t.Errorf("no %q in\n%s", want, text)
							}
						}
					}
				})
			}
		}
	}
}

// The repetitions of real istiods, whose every number is measured, do not differ from
// each other, however they are parted.
func TestHalvesOfOneVersionDoNotDiffer(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"istiod-restart-all-at-once-?", "istiod-scale-out-three-to-six-?", "istiod-mass-eviction-six-of-eight-?"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			runs := recorded(t, pattern)
			if len(runs) < 5 {
				t.Fatalf("%d runs", len(runs))
			}
			for mask := 1; mask < 1<<len(runs)-1; mask++ {
				var a, b []compare.Run
				for i, r := range runs {
					if mask>>i&1 == 1 {
						a = append(a, r)
					} else {
						b = append(b, r)
					}
				}
				got, err := compare.Sides("A", a, "B", b, compare.Options{})
				if err != nil || got.Differences() > 0 || !got.Complete() {
					t.Errorf("parted by %b: %v\n%s", mask, err, brief(got.Cells[0]))
				}
			}
		})
	}
}

// The same release twice, recorded on different days, is a gate's false alarm if it is
// any: cells that have several recordings are gated pair by pair.
func TestOneReleaseAgainstItselfGivesNoAlarm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("judges many baselines")
	}
	pairs := 0
	for cell, dirs := range repeated(t) {
		t.Run(cell, func(t *testing.T) {
			for i, a := range dirs {
				for _, b := range dirs[i+1:] {
					sides, err := compare.Sides("A", recorded(t, a), "B", recorded(t, b), compare.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if len(sides.Cells) == 0 { // their parameters are not the same
						continue
					}
					pairs++
					decision := gate.Decide(scenario.ArgoRollouts, "A", "B", sides, nil)
					if len(decision.Cells) != 1 || decision.Outcome != judge.Pass || decision.Cells[0].Class != gate.Unchanged {
						t.Errorf("%s against %s: %s: %v", a, b, decision.Outcome, decision.Cells[0].Reasons)
					}
				}
			}
		})
	}
	if pairs < 20 {
		t.Errorf("%d pairs, expected 20 at least", pairs)
	}
}

// repeated are the baselines of cells of Argo Rollouts on simulated pods which have
// several of them, by cell.
func repeated(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(baselines + "*/verdict.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no verdicts: %v", err)
	}
	all := map[string][]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v judge.Verdict
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if v.Cluster.Provider == "embedded" && slices.ContainsFunc(v.Components, func(c recording.Component) bool { return c.Name == scenario.ArgoRollouts }) {
			all[v.Cell] = append(all[v.Cell], filepath.Base(filepath.Dir(file)))
		}
	}
	maps.DeleteFunc(all, func(_ string, dirs []string) bool { return len(dirs) < 2 })
	return all
}

// A recording against itself differs in nothing, whatever it is of.
func TestBaselinesDoNotDifferFromThemselves(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("judges every baseline")
	}
	for _, r := range recorded(t, "*-1") {
		got, err := compare.Sides("A", []compare.Run{r}, "B", []compare.Run{r}, compare.Options{})
		if err != nil || len(got.Cells) != 1 {
			t.Fatalf("%s: %v", r.Header.RunID, err)
		}
		if c := got.Cells[0]; len(c.Differences)+len(c.Unsettled)+len(c.Varies) > 0 {
			t.Errorf("%s:\n%s", r.Header.RunID, brief(c))
		}
	}
}

// BenchmarkSides compares two campaigns of 60 recordings each, which are judged before.
func BenchmarkSides(b *testing.B) {
	one := recorded(b, "rollback-versions-rollback-window-argo-rollouts-v1.8.2-routing-*")
	var old, new []compare.Run
	for i := range 60 {
		r := one[i/5%2]
		r.Params = fmt.Appendf(nil, `{"cell":%d}`, i/5) // twelve cells, five repetitions
		old, new = append(old, r), append(new, r)
	}
	for b.Loop() {
		if _, err := compare.Sides("A", old, "B", new, compare.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
