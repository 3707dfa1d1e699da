package revisions

import (
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/scenarios/workload"
)

// history is what the model makes of three templates and an undo.
type history struct {
	rows   []row
	answer string // of kubectl
	end    *deployment.History
}

// row is the list of revisions after one event.
type row struct {
	event     string
	revisions []deployment.Revision
	removed   []deployment.Revision
}

// history plays the drill: each rollout ends before the next act.
func (p *Params) history() history {
	h := history{end: deployment.NewHistory(workload.Name, p.RevisionHistoryLimit)}
	for _, v := range p.versions() {
		h.end.Update(v)
		h.rollout("apply " + v)
	}
	to := 0
	if p.Act == UndoTo {
		to = p.ToRevision
	}
	err := h.end.UndoTo(to)
	if err != nil {
		h.answer = err.Error()
		h.note("undo refused", nil)
		return h
	}
	h.answer = rolledOut
	h.rollout("undo")
	return h
}

// rollout notes the list as the rollout begins, and as it has ended.
func (h *history) rollout(event string) {
	h.note(event, nil)
	h.note("complete", h.end.Finish())
}

func (h *history) note(event string, removed []deployment.Revision) {
	h.rows = append(h.rows, row{event, h.end.Revisions(), removed})
}

func (h history) current() deployment.Revision { return h.end.Current() }

// removed are the versions whose ReplicaSets go at the end of rollout n, from 0.
func (h history) removed(n int) []string {
	var out []string
	for _, r := range h.rows {
		if r.event != "complete" {
			continue
		}
		if n--; n < 0 {
			for _, gone := range r.removed {
				out = append(out, gone.Template)
			}
			return out
		}
	}
	return nil
}

// numbers are the revisions of a version in order, 0 where it has no ReplicaSet.
func (h history) numbers(version string) []int {
	out := []int{0}
	for _, r := range h.rows {
		if n := r.number(version); n != out[len(out)-1] {
			out = append(out, n)
		}
	}
	return out
}

// newest are the revisions of the Deployment in order.
func (h history) newest() []int {
	var out []int
	for _, r := range h.rows {
		out = append(out, r.revisions[len(r.revisions)-1].Number)
	}
	return slices.Compact(out)
}

// most is the greatest number of ReplicaSets at once.
func (h history) most() int {
	most := 0
	for _, r := range h.rows {
		most = max(most, len(r.revisions))
	}
	return most
}

func (r row) number(version string) int {
	for _, one := range r.revisions {
		if one.Template == version {
			return one.Number
		}
	}
	return 0
}

// String is such as "2 v2, 3 v3, 4 v1 *", the current one marked.
func (r row) String() string {
	var parts []string
	for _, one := range r.revisions {
		text := fmt.Sprintf("%d %s", one.Number, one.Template)
		if one.Current {
			text += " *"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
