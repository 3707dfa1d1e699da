package istiodcost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/golden"
	"reckon.dev/reckon/harness/model/footprint"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// baseline is a committed recording and what it measured.
type baseline struct {
	header recording.Header
	params *Params
	footprint.Measurement
}

// fitted says whether the laws are fitted to it: the grid's cells are, the others hold
// the laws against what they do not know.
func (b baseline) fitted() bool { return strings.HasPrefix(b.header.Cell, "istiod-cost[grid") }

func baselines(t *testing.T) (fitted, others []baseline) {
	t.Helper()
	files, err := filepath.Glob("../../results/baselines/istiod-cost-*/recording.jsonl.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("no baselines of istiod-cost: %v", err)
	}
	for _, file := range files {
		b := load(t, file)
		if b.fitted() {
			fitted = append(fitted, b)
		} else {
			others = append(others, b)
		}
	}
	for _, all := range [][]baseline{fitted, others} {
		slices.SortFunc(all, func(a, b baseline) int {
			return (a.Endpoints-b.Endpoints)*10000 + a.Connections - b.Connections + strings.Compare(a.Run, b.Run)
		})
	}
	return fitted, others
}

func load(t *testing.T, file string) baseline {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recording.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b := baseline{header: r.Header, params: Scenario{}.Defaults().(*Params)}
	if err := json.Unmarshal(r.Header.Params, b.params); err != nil {
		t.Fatal(err)
	}
	set, err := series.Read(r, definitions())
	if err != nil {
		t.Fatal(err)
	}
	var ok bool
	if b.Measurement, ok = Measure(filepath.Base(filepath.Dir(file)), b.params.load(), set); !ok {
		t.Fatalf("%s does not have every phase", file)
	}
	return b
}

func measurementsOf(all []baseline) []footprint.Measurement {
	out := make([]footprint.Measurement, len(all))
	for i := range all {
		out[i] = all[i].Measurement
	}
	return out
}

// The measurements that the laws are fitted to are those of the committed recordings.
func TestTheLawsAreFittedToTheBaselines(t *testing.T) {
	t.Parallel()
	fitted, _ := baselines(t)
	text, err := json.MarshalIndent(measurementsOf(fitted), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../harness/model/footprint/measured.json", append(text, '\n'))
}

const (
	beginMeasured = "<!-- measured: written by go test ./scenarios/istiodcost -update -->\n"
	endMeasured   = "<!-- /measured -->\n"
)

// The page's numbers are those of the committed recordings.
func TestThePageHasTheMeasuredNumbers(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), beginMeasured)
	_, after, ended := strings.Cut(rest, endMeasured)
	if !ok || !ended {
		t.Fatalf("README.md has no %q with %q after it", beginMeasured, endMeasured)
	}
	golden.Check(t, "../README.md", []byte(before+beginMeasured+page(t)+endMeasured+after))
}

func page(t *testing.T) string {
	t.Helper()
	fitted, others := baselines(t)
	laws, err := lawsOf(measurementsOf(fitted))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	gridTable(&b, fitted)
	cpuTable(&b, fitted)
	lawsTable(&b, laws)
	verdicts(t, &b, measurementsOf(fitted))
	othersTable(&b, others, laws)
	return b.String()
}

func table(b *bytes.Buffer, head ...string) {
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
}

func row(b *bytes.Buffer, cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

// against is the hypothesis for a load, and by how much it is off what was measured.
func against(m footprint.Measurement, measured float64) string {
	says := footprint.Reported().At(m.Load)
	return fmt.Sprintf("%s (x %.2f)", footprint.Bytes(says), says/measured)
}

func gridTable(b *bytes.Buffer, all []baseline) {
	b.WriteString("\nMemory. Peaks are the most that was ever resident by then; `x` is the hypothesis by the measured burst.\n")
	table(b, "endpoints", "connections", "no connections", "slow ramp", "full push", "burst", "live heap: none", "after the ramp", "after the burst", "240 MB + 400 B x N x E")
	for _, x := range all {
		m := x.Measurement
		row(b, fmt.Sprint(m.Endpoints), fmt.Sprint(m.Connections), footprint.Bytes(m.Idle), footprint.Bytes(m.Ramp), footprint.Bytes(m.Push), footprint.Bytes(m.Burst),
			footprint.Bytes(m.LiveIdle), footprint.Bytes(m.LiveRamp), footprint.Bytes(m.LiveBurst), against(m, m.Burst))
	}
}

func cpuTable(b *bytes.Buffer, all []baseline) {
	b.WriteString("\nCPU, of one connection.\n")
	table(b, "endpoints", "connections", "sent to it", "to connect, slowly", "to be pushed everything", "to reconnect with all others")
	for _, x := range all {
		m, n := x.Measurement, float64(x.Connections)
		ms := func(s float64) string { return fmt.Sprintf("%.1f ms", 1000*s/n) }
		row(b, fmt.Sprint(m.Endpoints), fmt.Sprint(m.Connections), footprint.Bytes(m.Sent), ms(m.CPURamp), ms(m.CPUPush), ms(m.CPUBurst))
	}
}

func lawsTable(b *bytes.Buffer, laws laws) {
	b.WriteString("\nThe laws, with their intervals at 95 %.\n")
	names := footprint.TermNames()
	table(b, append(append([]string{"law"}, names[:]...), "exponent", "scatter")...)
	for _, q := range footprint.Quantities() {
		cells, l := []string{string(q)}, laws[q]
		for i := range names {
			cells = append(cells, interval(l.Term(i, confidence)))
		}
		row(b, append(cells, fmt.Sprint(l.Exponent), fmt.Sprintf("%.1f %%", 100*l.Scatter))...)
	}
}

func verdicts(t *testing.T, b *bytes.Buffer, all []footprint.Measurement) {
	b.WriteString("\nThe hypothesis 240 MB + 400 B x connections x endpoints, against each law at 95 %.\n")
	table(b, "law", "verdict", "what the law does not have")
	for _, q := range footprint.Quantities() {
		v, err := footprint.Reported().Against(footprint.ObservationsOf(q, all), confidence)
		if err != nil {
			t.Fatal(err)
		}
		word := "rejected"
		if v.Accepted {
			word = "not rejected"
		}
		row(b, string(q), word, strings.Join(v.Against, "; "))
	}
}

func othersTable(b *bytes.Buffer, all []baseline, laws laws) {
	b.WriteString("\nCells that the laws were not fitted to: measured, and what one run in 1,000 is outside of.\n")
	table(b, "cell", "endpoints, visible", "connections", "live heap", "slow ramp", "full push", "burst", "CPU of a burst")
	for _, x := range all {
		m := x.Measurement
		cell := func(q footprint.Quantity, v float64) string {
			return fmt.Sprintf("%s (%s)", footprint.Bytes(v), span(laws[q].Predict(m.Load, 0.999)))
		}
		row(b, x.header.Cell, fmt.Sprintf("%d, %d", m.Endpoints, m.Visible), fmt.Sprint(m.Connections), cell(footprint.Live, m.LiveBurst),
			cell(footprint.Ramp, m.Ramp), cell(footprint.Push, m.Push), cell(footprint.Burst, m.Burst), fmt.Sprintf("%.1f s", m.CPUBurst))
	}
}
