package mesh

import (
	"bufio"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Runs of this simulator against the reference's. A difference of the means is judged by
// the standard error of both; 4.5 of them come by chance in one of 150,000 comparisons.
const (
	referenceRuns   = 300
	referenceErrors = 4.5
)

func at(s float64) time.Duration { return duration(s) }

// referencePlans are the cases of testdata/reference.py.
func referencePlans() map[string]Plan {
	plan := func(n, k int, age, limit float64, events ...[]Event) Plan {
		return Plan{Connections: n, Replicas: k, Lifetime: Lifetime{at(age), WaitsForCut}, Start: Equilibrium, RequestLimit: limit, Gap: EnvoyGap, Events: slices.Concat(events...)}
	}
	together := plan(300, 3, 60, 0, Ready(0, 0, 0))
	together.Start = Together
	closing := plan(300, 3, 60, 0, Ready(0, 0, 0))
	closing.Lifetime.Grace = ClosesOnGoAway
	ready := func(n int, from, to float64) []Event { return Ready(Spaced(n, at(from), at(to))...) }
	return map[string]Plan{
		"steady-8x400":                plan(400, 8, 60, 0),
		"scale-out-3-to-6":            plan(300, 3, 60, 0, Ready(0, 0, 0)),
		"scale-out-closing-on-goaway": closing,
		"scale-out-together":          together,
		"mass-loss-limit-20":          plan(400, 8, 60, 20, Leave(0, Cut(), First(6)...), ready(6, 15, 15)),
		"mass-loss-limit-3":           plan(400, 8, 60, 3, Leave(0, Cut(), First(6)...), ready(6, 15, 15)),
		"mass-loss-no-limit":          plan(400, 8, 60, 0, Leave(0, Cut(), First(6)...), ready(6, 17, 17.8)),
		"drained-for-10s":             plan(400, 8, 60, 20, Leave(0, Drain(at(10)), First(4)...), ready(4, 5, 5)),
		"silent-for-40s":              plan(400, 8, 60, 20, Leave(0, Silence(at(30), at(40)), First(4)...), ready(4, 15, 15)),
		"all-gone":                    plan(200, 4, 60, 20, Leave(0, Cut(), First(4)...), ready(1, 10, 10), ready(3, 12, 12)),
		"incident-15m":                plan(862, 24, 900, 20, Leave(0, Cut(), First(20)...), ready(20, 20, 20)),
		"incident-60s":                plan(862, 24, 60, 20, Leave(0, Cut(), First(20)...), ready(20, 26.6, 30.1)),
	}
}

// A referenceRow is a mean and a standard deviation for each metric, over some runs.
type referenceRow struct {
	at   string // seconds, or "refusals"
	runs float64
	mean [4]float64
	sd   [4]float64
}

func readReference(t *testing.T) map[string][]referenceRow {
	t.Helper()
	file, err := os.Open("testdata/reference.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := map[string][]referenceRow{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		cells := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(cells[0], "#") {
			continue
		}
		row := referenceRow{at: cells[2], runs: number(t, cells[1])}
		for i := 3; i < len(cells); i += 2 {
			row.mean[(i-3)/2], row.sd[(i-3)/2] = number(t, cells[i]), number(t, cells[i+1])
		}
		rows[cells[0]] = append(rows[cells[0]], row)
	}
	return rows
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSimulatorAgreesWithAnIndependentOne(t *testing.T) {
	rows := readReference(t)
	for name, plan := range referencePlans() {
		t.Run(name, func(t *testing.T) {
			if len(rows[name]) < 3 {
				t.Fatalf("%d rows in the reference", len(rows[name]))
			}
			for _, row := range rows[name] {
				if row.at != "refusals" {
					plan.Readings = append(plan.Readings, at(number(t, row.at)))
				}
			}
			bands, err := Simulate(t.Context(), plan, referenceRuns, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rows[name] {
				if row.at == "refusals" {
					agree(t, "refusals", row.mean[0], row.sd[0], row.runs, bands.Refusals.Mean(), bands.Refusals.SD())
					continue
				}
				scale := connectsPerSecond(plan.Readings, i)
				for j, m := range []Metric{CoV, MaxOverMean, Connected, Connects} {
					band := bands.Curve(m)[i]
					if m == Connects {
						band.Mean, band.SD = band.Mean*scale, band.SD*scale
					}
					agree(t, string(m)+" at "+row.at, row.mean[j], row.sd[j], row.runs, band.Mean, band.SD)
				}
			}
		})
	}
}

// connectsPerSecond is how many seconds a reading's connects are of.
func connectsPerSecond(readings []time.Duration, i int) float64 {
	if i == 0 {
		return readings[0].Seconds()
	}
	return (readings[i] - readings[i-1]).Seconds()
}

func agree(t *testing.T, what string, mean, sd, runs, got, gotSD float64) {
	t.Helper()
	// The reference has five digits.
	allowed := referenceErrors*math.Sqrt(sd*sd/runs+gotSD*gotSD/referenceRuns) + 1e-4*(1+math.Abs(mean))
	if math.Abs(got-mean) > allowed {
		t.Errorf("%s is %.5g ± %.3g, the reference has %.5g ± %.3g (allowed difference %.3g)", what, got, gotSD, mean, sd, allowed)
	}
}
