package upgradenoop

import (
	"slices"
	"strings"

	"reckon.dev/reckon/harness/fleet"
)

// fateAnnotation says what the script does to a Rollout before the version changes:
// words, with commas between.
const fateAnnotation = "reckon.dev/fate"

// The words of a fate.
const (
	// fateFirst: it is never updated.
	fateFirst = "first"
	// fatePromoted: it is updated, and fully promoted.
	fatePromoted = "promoted"
	// fatePaused: it is updated, and stays at its pause.
	fatePaused = "paused"
	// fateReapplied: its manifest is applied again.
	fateReapplied = "reapplied"
	// fateEdited: the template of its ReplicaSet is edited, as by a webhook.
	fateEdited = "edited"
	// fateTwin: an older ReplicaSet gets the template of the present one.
	fateTwin = "twin"
)

// fate is what becomes of a Rollout before the version changes.
type fate []string

func (f fate) has(word string) bool { return slices.Contains(f, word) }

// fate is that of the Rollout's annotation; without one it is updated, and paused or
// promoted as the parameters say.
func (p *Params) fate(ro fleet.Object) fate {
	words := strings.FieldsFunc(ro.GetAnnotations()[fateAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case len(words) > 0:
		return words
	case p.Paused:
		return fate{fatePaused}
	}
	return fate{fatePromoted}
}

// befall puts a fate into the facts of a member.
func (f fate) befall(m *Member) {
	m.Updated = !f.has(fateFirst)
	m.Paused = m.Updated && m.Pauses && f.has(fatePaused)
	m.Reapplied, m.Edited, m.Twin = f.has(fateReapplied), f.has(fateEdited), f.has(fateTwin)
	for _, word := range []string{fateReapplied, fateEdited, fateTwin} {
		if f.has(word) {
			m.Features = append(m.Features, word)
		}
	}
}
