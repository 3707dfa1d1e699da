package deployment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// KeepAll as History.Limit keeps every revision, as the largest int32 does.
const KeepAll = -1

// A Revision is a ReplicaSet as the rollout history sees it.
type Revision struct {
	Number   int
	Template string
	// Active is false once spec.replicas, status.replicas and the observed generation say
	// that it has no pods; only then may it be removed.
	Active bool
	// Current is the ReplicaSet of the wanted template.
	Current bool
	// Past are numbers that it had before, oldest first: the annotation revision-history.
	Past []int

	created int
}

// History is the revisions of a Deployment. Start with NewHistory.
type History struct {
	Name   string // of the Deployment, for messages
	Limit  int    // revisionHistoryLimit, or KeepAll
	Paused bool

	sets    []Revision
	created int
}

// NewHistory is that of a Deployment without ReplicaSets.
func NewHistory(name string, limit int) *History { return &History{Name: name, Limit: limit} }

// The errors of kubectl rollout undo. ErrSkipped is a message and no failure there.
var (
	ErrNoHistory        = errors.New("no rollout history found")
	ErrRevisionNotFound = errors.New("unable to find specified revision")
	ErrPaused           = errors.New("you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again")
	ErrSkipped          = errors.New("skipped rollback")
)

// Revisions returns the present ones by number.
func (h *History) Revisions() []Revision {
	out := slices.Clone(h.sets)
	slices.SortFunc(out, byRevision)
	return out
}

// byRevision is the order of removal: number, then age.
// util/deployment_util.go:959 (v1.37.2), :964 (v1.34.2)
func byRevision(a, b Revision) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.created, b.created))
}

// Current returns the revision of the wanted template; it is zero before the first Update.
func (h *History) Current() Revision {
	for _, r := range h.sets {
		if r.Current {
			return r
		}
	}
	return Revision{}
}

// Update applies a template and lets the controller number it. A template that a
// ReplicaSet has already makes no new one: that ReplicaSet takes the highest number + 1,
// and its old number is gone. The present template changes nothing.
// util/deployment_util.go:232 (v1.37.2), sync.go:146 (v1.37.2)
//
// A paused Deployment renumbers a ReplicaSet that is there, but creates none.
func (h *History) Update(template string) {
	at := slices.IndexFunc(h.sets, func(r Revision) bool { return r.Template == template })
	if at < 0 && h.Paused {
		for i := range h.sets {
			h.sets[i].Current = false
		}
		return
	}
	if at < 0 {
		h.created++
		h.sets = append(h.sets, Revision{Template: template, created: h.created})
		at = len(h.sets) - 1
	}
	highest := 0
	for i := range h.sets {
		h.sets[i].Current = i == at
		if i != at {
			highest = max(highest, h.sets[i].Number)
		}
	}
	r := &h.sets[at]
	if r.Number <= highest {
		if r.Number > 0 {
			r.Past = append(r.Past, r.Number)
		}
		r.Number = highest + 1
	}
	r.Active = r.Active || !h.Paused
}

// Finish completes the rollout: old ReplicaSets are scaled down, and then those beyond the
// limit are removed. rolling.go:58 (v1.37.2)
func (h *History) Finish() (removed []Revision) {
	for i := range h.sets {
		h.sets[i].Active = h.sets[i].Current
	}
	return h.Cleanup()
}

// Cleanup removes old ReplicaSets beyond the limit, lowest revision first, and returns
// them. The current one never counts. One that still has pods is passed over, but takes up
// its place among those to be removed: no higher revision goes in its stead.
//
// The controller does it in every pass while a rollout is complete, and while the
// Deployment is paused, even in the middle of a rollout.
// sync.go:441, :69 (v1.37.2), :443 (v1.34.2)
func (h *History) Cleanup() (removed []Revision) {
	if h.Limit == KeepAll {
		return nil
	}
	old := slices.DeleteFunc(h.Revisions(), func(r Revision) bool { return r.Current })
	for _, r := range old[:max(0, len(old)-h.Limit)] {
		if r.Active {
			continue
		}
		removed = append(removed, r)
		h.sets = slices.DeleteFunc(h.sets, func(s Revision) bool { return s.created == r.created })
	}
	return removed
}

// Undo is kubectl rollout undo.
func (h *History) Undo() error { return h.UndoTo(0) }

// UndoTo is kubectl rollout undo --to-revision=n: it applies the template of revision n,
// and with 0 that of the second highest number, whether that version ever worked or not.
// k8s.io/kubectl/pkg/polymorphichelpers/rollback.go:99 (v0.37.2)
func (h *History) UndoTo(n int) error {
	r, err := h.target(n)
	if err != nil {
		return err
	}
	if h.Paused {
		return ErrPaused
	}
	if r.Current {
		return fmt.Errorf("%w (current template already matches revision %d)", ErrSkipped, n)
	}
	h.Update(r.Template)
	return nil
}

// CanRollback says why UndoTo(n) would change nothing; nil if it would.
func (h *History) CanRollback(n int) error {
	trial := *h
	trial.sets = slices.Clone(h.sets)
	return trial.UndoTo(n)
}

// target is k8s.io/kubectl/pkg/polymorphichelpers/rollback.go:212 (v0.37.2).
func (h *History) target(n int) (Revision, error) {
	revisions := h.Revisions()
	if n == 0 {
		if len(revisions) < 2 {
			return Revision{}, fmt.Errorf("%w for deployment %q", ErrNoHistory, h.Name)
		}
		return revisions[len(revisions)-2], nil
	}
	for _, r := range revisions {
		if r.Number == n {
			return r, nil
		}
	}
	return Revision{}, fmt.Errorf("%w %d in history", ErrRevisionNotFound, n)
}
