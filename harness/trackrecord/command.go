package trackrecord

import (
	"maps"
	"slices"
	"strings"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/scenario"
)

// Command runs one cell alone: its scenario with the cell's versions and with what of its
// parameters is not at the defaults.
func Command(c plan.Cell) (string, error) {
	s, params, err := c.Load()
	if err != nil {
		return "", err
	}
	words := []string{"reckon", "run", drills.ScenarioPrefix + c.Scenario}
	if c.Provider != cluster.Embedded {
		words = append(words, "--provider", c.Provider)
	}
	chosen := scenario.Versioned(s, cluster.Offered(c.Provider))
	for _, component := range slices.Sorted(maps.Keys(c.Versions)) {
		if component == scenario.Kubernetes {
			words = append(words, "--kubernetes", c.Versions[component])
			continue
		}
		if !slices.Contains(chosen, component) {
			continue // parameters say which version takes which one's place
		}
		words = append(words, "--version", component+"="+c.Versions[component])
	}
	for _, set := range scenario.Changed(s.Defaults(), params) {
		words = append(words, "--set", quote(set))
	}
	return strings.Join(words, " "), nil
}

// quote makes one word of a text for a shell.
func quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("=.,:/%-_+", r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
