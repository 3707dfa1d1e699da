package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
)

// Markdown writes the runs for a pull request, a job summary or a
// committed baseline: tables that diff line by line.
func Markdown(w io.Writer, rs []Run) error {
	var b strings.Builder
	if vs := verdictsOf(rs); len(vs) > 1 {
		markdownSummary(&b, vs)
		markdownObserved(&b, vs)
	}
	for i, r := range rs {
		if i > 0 || len(rs) > 1 {
			b.WriteString("\n")
		}
		markdownRun(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownSummary(b *strings.Builder, vs []judge.Verdict) {
	fmt.Fprintf(b, "# %s: %s\n\n", title(Outcome(vs)), totals(vs))
	markdownRow(b, "Outcome", "Scenario", "Cell", "Repetition", "Claims held", "Guards held")
	markdownRow(b, "---", "---", "---", "---:", "---:", "---:")
	for _, v := range vs {
		c, g := tallyClaims(v), tallyGuards(v)
		markdownRow(b, "**"+title(v.Outcome)+"**", md(v.Scenario), md(v.Cell), fmt.Sprint(v.Repetition),
			fmt.Sprintf("%d of %d", c.held, c.all), fmt.Sprintf("%d of %d", g.held, g.all))
	}
}

func markdownRun(b *strings.Builder, r Run) {
	v := r.Verdict
	fmt.Fprintf(b, "## %s: %s\n\n%s\n\n", title(v.Outcome), md(v.Cell), md(story(v)))
	fmt.Fprintf(b, "- Cell: %s\n- Versions: %s\n- Model: %s\n- Fidelity: %s\n",
		md(runName(v)), md(strings.Join(versions(v), ", ")), md(v.Model), md(fidelity(v)))
	if len(r.Changed) > 0 {
		fmt.Fprintf(b, "- Parameters changed: %s\n", md(strings.Join(r.Changed, " ")))
	}
	for _, e := range edits(v) {
		fmt.Fprintf(b, "- Edited before building: %s\n", md(e))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(b, "- Note: %s\n", md(n))
	}
	if v.Outcome != judge.Pass {
		fmt.Fprintf(b, "\n%s:\n\n", whyTitle(v.Outcome))
		for _, r := range v.Reasons {
			fmt.Fprintf(b, "- %s\n", md(r))
		}
	}
	markdownClaims(b, v)
	markdownGuards(b, v)
	markdownTraffic(b, v)
	markdownEvidence(b, v)
	markdownBasis(b, v)
	markdownBinaries(b, v)
}

func markdownClaims(b *strings.Builder, v judge.Verdict) {
	if len(v.Claims) == 0 {
		return
	}
	b.WriteString("\n")
	markdownRow(b, "Claim", "Predicted", "Observed", "Result")
	markdownRow(b, "---", "---", "---", "---")
	for _, c := range v.Claims {
		markdownRow(b, "**"+md(c.ID)+"**: "+md(c.Sentence), md(c.Predicted), md(c.Observed), strong(c.Status, claimWord(c, v.Gate)))
	}
}

func markdownGuards(b *strings.Builder, v judge.Verdict) {
	if len(v.Guards) == 0 {
		return
	}
	b.WriteString("\n")
	markdownRow(b, "Guard", "Limit", "Predicted worst", "Observed worst", "Above for", "Result")
	markdownRow(b, "---", "---:", "---:", "---:", "---:", "---")
	for _, g := range v.Guards {
		markdownRow(b, "**"+md(g.ID)+"**: "+md(g.Sentence), number(g.Limit), optional(g.Expected), optional(g.Worst),
			secs(g.AboveSec), strong(g.Status, guardWord(g)))
	}
	for _, g := range v.Guards {
		if m := guardMeaning(g, v.Gate); m != "" {
			fmt.Fprintf(b, "\n> %s: %s\n", md(g.ID), md(m))
		}
	}
}

// markdownTraffic tells where weights and answers did not agree, what was measured,
// and what claims on shares consist of.
func markdownTraffic(b *strings.Builder, v judge.Verdict) {
	if len(v.Disagreements) > 0 {
		t := threeWay(v)
		fmt.Fprintf(b, "\n%s:\n\n", md(t.Title))
		markdownTable(b, t)
	}
	for _, t := range measureTables(v) {
		fmt.Fprintf(b, "\n%s:\n\n", md(t.Title))
		markdownTable(b, t)
	}
	for _, c := range v.Claims {
		if c.Detail != nil && len(c.Detail.Rows) > 0 {
			fmt.Fprintf(b, "\n<details><summary>%s: %s</summary>\n\n", md(c.ID), md(c.Detail.Title))
			markdownTable(b, *c.Detail)
			b.WriteString("\n</details>\n")
		}
	}
}

func markdownTable(b *strings.Builder, t judge.Table) {
	line := func(cells []string) {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = md(c)
		}
		markdownRow(b, out...)
	}
	line(t.Head)
	markdownRow(b, slices.Repeat([]string{"---"}, len(t.Head))...)
	for _, row := range t.Rows {
		line(row)
	}
}

// strong sets off what did not hold.
func strong(s judge.Status, text string) string {
	if s == judge.Held {
		return text
	}
	return "**" + text + "**"
}

// markdownEvidence tells where a broken or unclear result was seen.
func markdownEvidence(b *strings.Builder, v judge.Verdict) {
	var out []string
	put := func(id string, s judge.Status, why string, sec *float64, objects []string) {
		if s == judge.Held {
			return
		}
		text := fmt.Sprintf("- **%s**: %s", md(id), md(why))
		if sec != nil {
			text += ", at " + at(sec)
		}
		if len(objects) > 0 {
			text += ", seen in " + md(seenIn(objects...))
		}
		out = append(out, text)
	}
	for _, c := range v.Claims {
		put(c.ID, c.Status, c.Why, c.AtSec, c.Objects)
	}
	for _, g := range v.Guards {
		put(g.ID, g.Status, g.Why, g.AtSec, g.Objects)
	}
	if len(out) > 0 {
		b.WriteString("\nWhat decided:\n\n" + strings.Join(out, "\n") + "\n")
	}
}

func markdownBasis(b *strings.Builder, v judge.Verdict) {
	var out []string
	for _, c := range v.Claims {
		for _, s := range c.Basis {
			out = append(out, fmt.Sprintf("- %s: %s", md(c.ID), md(s)))
		}
	}
	for _, g := range v.Guards {
		for _, s := range g.Basis {
			out = append(out, fmt.Sprintf("- %s: %s", md(g.ID), md(s)))
		}
	}
	if len(out) > 0 {
		b.WriteString("\n<details><summary>What the predictions rest on</summary>\n\n" + strings.Join(out, "\n") + "\n\n</details>\n")
	}
}

func markdownBinaries(b *strings.Builder, v judge.Verdict) {
	if len(v.Components) == 0 {
		return
	}
	b.WriteString("\n<details><summary>Binaries</summary>\n\n")
	markdownRow(b, "Component", "Version", "Source", "Binary", "Digest")
	markdownRow(b, "---", "---", "---", "---", "---")
	for _, c := range v.Components {
		for _, d := range digestsOrNone(c) {
			markdownRow(b, md(c.Name), md(c.Version), md(c.Source), md(d.Binary), md(d.Digest))
		}
	}
	b.WriteString("\n</details>\n")
}

func markdownRow(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// md escapes what Markdown or HTML would take for mark-up; a pipe would end
// the table cell.
func md(s string) string {
	var b strings.Builder
	for _, r := range visible(s) {
		switch r {
		case '|', '\\', '`', '*', '[', ']', '_', '~':
			b.WriteRune('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// digest of one binary of a component.
type digest struct{ Binary, Digest string }

// digests sorts a component's digests by binary.
func digests(c recording.Component) []digest {
	var out []digest
	for _, name := range slices.Sorted(maps.Keys(c.Digests)) {
		out = append(out, digest{name, c.Digests[name]})
	}
	return out
}

// digestsOrNone gives a component without a digest a row all the same.
func digestsOrNone(c recording.Component) []digest {
	if out := digests(c); len(out) > 0 {
		return out
	}
	return []digest{{"-", "-"}}
}
