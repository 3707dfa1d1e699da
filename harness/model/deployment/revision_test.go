package deployment

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is done, numbers are distinct, the current one is the highest, a template has
// one revision, and after a rollout no more old ones are kept than the limit.
func TestAnyHistoryKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory("web", rapid.IntRange(-1, 3).Draw(t, "limit"))
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			finished := false
			switch rapid.SampledFrom([]string{"update", "undo", "finish", "cleanup"}).Draw(t, "step") {
			case "update":
				h.Update(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "template"))
			case "undo":
				n := rapid.IntRange(-1, 12).Draw(t, "revision")
				want := h.CanRollback(n)
				if got := h.UndoTo(n); (got == nil) != (want == nil) {
					t.Fatalf("undo %d: %v, announced %v", n, got, want)
				}
			case "finish":
				h.Finish()
				finished = true
			case "cleanup":
				h.Cleanup()
			}
			checkHistory(t, h, finished)
		}
	})
}

func checkHistory(t *rapid.T, h *History, finished bool) {
	list := h.Revisions()
	templates := map[string]bool{}
	for i, r := range list {
		if i > 0 && list[i-1].Number >= r.Number || templates[r.Template] || r.Current != (i == len(list)-1) {
			t.Fatalf("history %+v", list)
		}
		templates[r.Template] = true
	}
	if finished && h.Limit != KeepAll && len(list) > h.Limit+1 {
		t.Fatalf("%d revisions with limit %d", len(list), h.Limit)
	}
}

func TestPastNumbersAreKept(t *testing.T) {
	h := NewHistory("web", KeepAll)
	for _, v := range []string{"a", "b", "a", "b"} {
		h.Update(v)
		h.Finish()
	}
	if r := h.Current(); r.Number != 4 || !slices.Equal(r.Past, []int{2}) {
		t.Errorf("%+v", r)
	}
	h.Paused = true
	if err := h.Undo(); !errors.Is(err, ErrPaused) {
		t.Error(err)
	}
}

// Upstream: TestDeploymentController_cleanupDeploymentOrder.
func TestCleanupGoesByRevisionNotByAge(t *testing.T) {
	h := &History{Limit: 2, sets: []Revision{
		{Number: 3, Template: "1", created: 1}, {Number: 1, Template: "2", created: 2},
		{Number: 4, Template: "3", created: 3}, {Number: 2, Template: "4", created: 4},
	}}
	var removed []string
	for _, r := range h.Cleanup() {
		removed = append(removed, r.Template)
	}
	if !slices.Equal(removed, []string{"2", "4"}) {
		t.Errorf("removed %v", removed)
	}
}
