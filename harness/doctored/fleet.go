package doctored

import (
	"slices"

	"reckon.dev/reckon/harness/recording"
)

// Connections returns the indexes of the facts about each proxy's connections, in
// order. There must be some.
func (tp *Tape) Connections() map[string][]int {
	tp.t.Helper()
	out := map[string][]int{}
	for i, f := range tp.Facts {
		if f.Connection != nil {
			out[f.Connection.Proxy] = append(out[f.Connection.Proxy], i)
		}
	}
	if len(out) == 0 {
		tp.t.Fatalf("the recording has no connections of proxies")
	}
	return out
}

// Keep leaves out the facts for which keep is false.
func (tp *Tape) Keep(keep func(i int, f *recording.Fact) bool) {
	at := 0
	tp.Facts = slices.DeleteFunc(tp.Facts, func(f recording.Fact) bool {
		at++
		return !keep(at-1, &f)
	})
}
