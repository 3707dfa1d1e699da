// Package report renders verdicts: for the terminal, as JSON, JUnit, Markdown
// and as one HTML page with a timeline. It is pure: it writes to an io.Writer
// and knows no clock, no network and no cluster, so the same recording gives
// the same bytes today and in years.
package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Run is everything about one run that the HTML report shows. Text and
// Markdown need its verdict and what was changed, JSON and JUnit its verdict
// only. A nil Set gives a page without a timeline.
type Run struct {
	Header  recording.Header
	Verdict judge.Verdict
	// Changed are the parameters that are not at their defaults, NAME=VALUE.
	Changed    []string
	Prediction judge.Prediction
	Set        *series.Set
}

// number prints a value without needless digits.
func number(v float64) string { return series.Number(v).String() }

// optional prints a value that may be missing.
func optional(v *float64) string {
	if v == nil {
		return "-"
	}
	return number(*v)
}

// secs prints seconds; judge rounds them to milliseconds already.
func secs(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + " s" }

// count prints "1 claim" or "7 claims".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped prints a whole number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// versions lists the components as "argo-rollouts v1.8.2", a directory with
// the release that it is said to be based on.
func versions(v judge.Verdict) []string {
	out := make([]string, len(v.Components))
	for i, c := range v.Components {
		out[i] = c.Name + " " + c.Version
		if c.Base != "" {
			out[i] += " (based on " + c.Base + ")"
		}
	}
	return out
}

// edits lists the changes that were made to sources before building: who reads
// a verdict must know that it is not about the released bytes.
func edits(v judge.Verdict) []string {
	var out []string
	for _, c := range v.Components {
		for _, e := range c.Edits {
			out = append(out, c.Name+": "+e)
		}
	}
	return out
}

// fidelity is the line every report must print: what ran for real.
func fidelity(v judge.Verdict) string {
	switch {
	case v.Cluster.Fidelity == "":
		return v.Cluster.Provider + ": nothing is said about its fidelity"
	case v.Cluster.Provider == "":
		return v.Cluster.Fidelity
	}
	return v.Cluster.Provider + ": " + v.Cluster.Fidelity
}

// fidelities are those of all runs, each once.
func fidelities(rs []Run) []string {
	var out []string
	for _, r := range rs {
		if f := fidelity(r.Verdict); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// runName tells the repetitions of a cell apart.
func runName(v judge.Verdict) string {
	return fmt.Sprintf("%s, repetition %d", v.Cell, v.Repetition)
}

// seenIn names what decided, each version once. Of a resource without objects
// there is no version to name.
func seenIn(refs ...string) string {
	var out []string
	for ref := range strings.SplitSeq(strings.Join(refs, ", "), ", ") {
		if resource, none := strings.CutPrefix(ref, "no "); none {
			ref = "no object of " + resource + " yet"
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return strings.Join(out, ", ")
}

// verdictsOf are the verdicts of the runs.
func verdictsOf(rs []Run) []judge.Verdict {
	out := make([]judge.Verdict, len(rs))
	for i, r := range rs {
		out[i] = r.Verdict
	}
	return out
}

// visible replaces control characters: what a controller wrote must not steer
// a terminal or break a table.
func visible(s string) string {
	plain := func(r rune) bool { return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}
