package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// column of a terminal table. Only columns that may wrap are narrowed.
type column struct {
	head string
	wrap bool
}

// table is laid out for a width: columns are as wide as their longest cell
// while that fits, and narrowed and wrapped, the widest first, when it does not.
type table struct {
	columns []column
	rows    [][]string
	// paint colours a padded cell; it must not change what is visible.
	paint func(column int, cell, padded string) string
}

const (
	columnGap = "  "
	// narrowest is what a wrapped column keeps, so that words stay readable.
	narrowest = 9
)

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = visible(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer, indent string, width int) error {
	widths := t.widths(width - len(indent))
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	var b strings.Builder
	t.line(&b, indent, widths, heads, nil)
	for _, row := range t.rows {
		t.line(&b, indent, widths, row, t.paint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widths gives each column its natural width, then takes from the widest
// wrapping column until the table fits.
func (t *table) widths(budget int) []int {
	out := make([]int, len(t.columns))
	total := len(columnGap) * (len(out) - 1)
	for i, c := range t.columns {
		out[i] = utf8.RuneCountInString(c.head)
		for _, row := range t.rows {
			out[i] = max(out[i], utf8.RuneCountInString(row[i]))
		}
		total += out[i]
	}
	for ; total > budget; total-- {
		widest := -1
		for i, c := range t.columns {
			if c.wrap && out[i] > narrowest && (widest < 0 || out[i] > out[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		out[widest]--
	}
	return out
}

func (t *table) line(b *strings.Builder, indent string, widths []int, cells []string, paint func(int, string, string) string) {
	wrapped := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		wrapped[i] = wrap(cell, widths[i])
		height = max(height, len(wrapped[i]))
	}
	for y := range height {
		var line strings.Builder
		for i := range cells {
			text := ""
			if y < len(wrapped[i]) {
				text = wrapped[i][y]
			}
			padded := text
			if i < len(cells)-1 {
				padded += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + columnGap
			}
			if paint != nil {
				padded = paint(i, cells[i], padded)
			}
			line.WriteString(padded)
		}
		b.WriteString(strings.TrimRight(indent+line.String(), " ") + "\n")
	}
}

// wrap breaks a text into lines of at most width runes, at spaces; an arrow
// stays with the value before it, so that a sequence reads on. Words that are
// longer than a line are cut.
func wrap(s string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, w := range strings.Fields(strings.ReplaceAll(s, " → ", "\x00→ ")) {
		w = strings.ReplaceAll(w, "\x00", " ")
		n := utf8.RuneCountInString(w)
		if used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), "", 0
		}
		for n > width && width > 0 {
			runes := []rune(w)
			lines, w = append(lines, string(runes[:width])), string(runes[width:])
			n = len(runes) - width
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+w, used+n
	}
	if used > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
