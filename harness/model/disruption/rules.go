package disruption

import (
	"strings"

	"golang.org/x/mod/semver"
)

// Rules is plain data: one field for each behaviour that differs between versions. What is
// answered, and when, is the same in all releases that were read; only texts differ.
type Rules struct {
	// TellsReason says in the cause of a refusal why nothing is allowed while enough pods
	// are healthy. Before, it said "needs 2 healthy pods and has 3 currently".
	// eviction.go:450; :437 (v1.34.2)
	TellsReason bool
	// CauseOnForbidden adds a cause to the two 403 answers. eviction.go:432; :430 (v1.36.0)
	CauseOnForbidden bool
}

// read lists the releases whose source was read or compared with one that was.
var read = map[string]bool{
	"v1.34.1": true, "v1.34.2": true, "v1.34.5": true,
	"v1.35.0": true, "v1.35.4": true, "v1.36.0": true, "v1.36.3": true, "v1.37.2": true,
}

// RulesFor returns the rules of a release such as "v1.37.2"; what nobody read, or is not a
// release, gets the nearest with known false.
func RulesFor(version string) (rules Rules, known bool) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) {
		return Rules{TellsReason: true, CauseOnForbidden: true}, false
	}
	release, _, _ := strings.Cut(semver.Canonical(v), "-")
	return Rules{
		TellsReason:      semver.Compare(release, "v1.35.0") >= 0,
		CauseOnForbidden: semver.Compare(release, "v1.37.0") >= 0,
	}, read[v]
}
