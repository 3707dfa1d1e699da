package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
)

// What was measured of the requests, and where weights and answers did not agree,
// is told in tables of text, the same ones in every format.

// measureTables are the tables of what was measured.
func measureTables(v judge.Verdict) []judge.Table {
	var out []judge.Table
	for _, m := range v.Measures {
		if len(m.Periods) > 0 {
			out = append(out, periodTable(m))
		}
		if pods := podTable(m); len(pods.Rows) > 0 {
			out = append(out, pods)
		}
		if len(m.Delays) > 0 {
			out = append(out, delayTable(m))
		}
	}
	return out
}

func measureTitle(m judge.MeasureResult, what string) string {
	if m.Title != "" {
		what = m.Title + ": " + what
	}
	return what + " (client " + m.Client + ")"
}

func periodTable(m judge.MeasureResult) judge.Table {
	t := judge.Table{Title: measureTitle(m, "requests"), Head: []string{"period", "for", "due", "answered", "failed"}}
	versions := versionsOf(m)
	for _, version := range versions {
		t.Head = append(t.Head, "by "+version)
	}
	t.Head = append(t.Head, "p50 / p90 / p99 / max, ms")
	for _, p := range m.Periods {
		row := []string{withNote(p.Name, p.Note), secs(p.Seconds), grouped(p.Due), grouped(p.Answered), failures(p)}
		for _, version := range versions {
			row = append(row, shareOf(p, version))
		}
		t.Rows = append(t.Rows, append(row, latency(p.Latency)))
	}
	return t
}

// versionsOf are those of any period, in order of appearance.
func versionsOf(m judge.MeasureResult) []string {
	var out []string
	for _, p := range m.Periods {
		for _, v := range p.Versions {
			if !slices.Contains(out, v.Version) {
				out = append(out, v.Version)
			}
		}
	}
	slices.Sort(out)
	return out
}

func withNote(name, note string) string {
	if note == "" {
		return name
	}
	return name + " (" + note + ")"
}

func failures(p judge.PeriodResult) string {
	if p.Failed == 0 {
		return "0"
	}
	return grouped(p.Failed) + ": " + causes(p.Causes)
}

func causes(counts []series.CauseCount) string {
	out := make([]string, len(counts))
	for i, c := range counts {
		out[i] = string(c.Cause) + " " + grouped(c.N)
	}
	return strings.Join(out, ", ")
}

func shareOf(p judge.PeriodResult, version string) string {
	for _, v := range p.Versions {
		if v.Version == version {
			return estimate(&v.Estimate)
		}
	}
	return "-"
}

// estimate is a share with its interval: "20.1 % (18.9 to 21.3)".
func estimate(e *judge.Estimate) string {
	if e == nil || e.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %% (%s to %s)", decimals(e.Percent), decimals(e.Low), decimals(e.High))
}

// decimals prints what has hundredths at most.
func decimals(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// latency in milliseconds has three digits, which is what a bucket knows.
func latency(l *judge.LatencyResult) string {
	if l == nil {
		return "-"
	}
	ms := make([]string, 4)
	for i, v := range []float64{l.P50, l.P90, l.P99, l.Max} {
		ms[i] = brief(v)
	}
	return strings.Join(ms, " / ")
}

func podTable(m judge.MeasureResult) judge.Table {
	t := judge.Table{Title: measureTitle(m, "busiest pods"), Head: []string{"period", "pod", "version", "requests", "per second"}}
	for _, p := range m.Periods {
		for _, pod := range p.Pods {
			t.Rows = append(t.Rows, []string{p.Name, pod.Pod, pod.Version, grouped(pod.N), decimals(pod.PerSecond)})
		}
	}
	return t
}

func delayTable(m judge.MeasureResult) judge.Table {
	t := judge.Table{Title: measureTitle(m, "delays"), Head: []string{"delay", "changes", "measured", "min", "median", "max", "too long by up to"}}
	for _, d := range m.Delays {
		row := []string{withNote(d.Name, d.Note), strconv.Itoa(d.Changes), strconv.Itoa(d.N)}
		for _, s := range []float64{d.Min, d.Median, d.Max, d.Error} {
			if d.N == 0 {
				row = append(row, "-")
				continue
			}
			row = append(row, secs(s))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// threeWayTitle heads the table of disagreements.
const threeWayTitle = "Three-way check: status, VirtualService, istiod, answers"

// threeWay are the times in which weights and answers did not agree.
func threeWay(v judge.Verdict) judge.Table {
	t := judge.Table{Title: threeWayTitle, Head: []string{"from", "for", "status", "VirtualService", "istiod", "answered", "cause"}}
	for _, d := range v.Disagreements {
		t.Rows = append(t.Rows, disagreementRow(d))
	}
	return t
}

func disagreementRow(d judge.Disagreement) []string {
	lasted, cause := secs(d.ForSec), d.Cause
	if d.Ongoing {
		lasted += ", to the end"
	}
	if !d.Explained {
		cause = strings.ToUpper(cause)
	}
	return []string{secs(d.FromSec), lasted, weight(d.Status), weight(d.Stored), delivered(d), estimate(d.Answered), cause}
}

// delivered adds what was meant for the version, where that is not the same.
func delivered(d judge.Disagreement) string {
	text := weight(d.Delivered)
	if d.Meant != nil && (d.Delivered == nil || *d.Meant != *d.Delivered) {
		text += " (meant: " + weight(d.Meant) + ")"
	}
	return text
}

func weight(v *float64) string {
	if v == nil {
		return "-"
	}
	return number(*v) + " %"
}
