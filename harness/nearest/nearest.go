// Package nearest finds the name that somebody meant.
package nearest

import (
	"fmt"
	"strings"
)

// Hint returns `, did you mean "x"?` for the name that got abbreviates, or else
// for the nearest one; "" when none is near enough to be meant.
func Hint(got string, names []string) string {
	if got == "" {
		return ""
	}
	for _, name := range names {
		if len(got) > 1 && got != name && strings.HasPrefix(name, got) {
			return fmt.Sprintf(", did you mean %q?", name)
		}
	}
	best, at := "", len(got)/2+1
	for _, name := range names {
		if d := distance(got, name); d < at || d == at && best == "" {
			best, at = name, d
		}
	}
	if best == "" || at > max(2, len(got)/2) {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is Levenshtein's, over bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
