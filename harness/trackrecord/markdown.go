package trackrecord

import "strings"

// Escaped keeps a text in its cell of a Markdown table.
func Escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

// Row writes one row of a Markdown table, of cells that are Markdown already.
func Row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// Rule writes the line below the head of a table of so many columns.
func Rule(b *strings.Builder, columns int) {
	b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
}
