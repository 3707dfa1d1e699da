package statefulset

import (
	"fmt"
	"slices"
	"strings"
)

// A Checker holds a history against the model, event by event. Every pod that the
// controller makes or deletes must be an action of a pass over a view that the controller
// can have had.
//
// A view is stale: the controller reads the set through one informer and the pods through
// another, and a delete carries no precondition. So a view is some earlier version of the
// set with some earlier moment of all pods, each as old as you like. What is sure:
//
//   - neither goes back: the next pass sees what the last one saw, or newer. (A restart
//     of the controller begins anew from a list, which is newer still.)
//   - all actions of a pass come from one view, and a batch begins only when the calls of
//     the batches before it have succeeded, so that their effect is in the history.
//
// From 1.36 a pass also waits until it sees the pods that it made
// (stateful_set.go:540). That makes no difference here: a pass that does not see them
// tries to make them again, fails and ends.
type Checker struct {
	rules   Rules
	sets    []Set
	moments []snapshot
	now     snapshot
	added   map[int][]Event // by ordinal, one for each pod there has been
	seen    int
	// frontier is the oldest views that the last action can have come from: a version of
	// the set, and the oldest moment of the pods for it.
	frontier []view
	passes   map[view]Pass
}

type view struct{ set, moment int }

// NewChecker returns a checker of a set that has no pods yet.
func NewChecker(rules Rules) *Checker {
	now := snapshot{map[int]Pod{}, map[int]int{}}
	return &Checker{
		rules: rules, now: now, moments: []snapshot{now.clone()}, added: map[int][]Event{},
		frontier: []view{{0, 0}}, passes: map[view]Pass{},
	}
}

// Check holds a whole history against the model and returns the first thing wrong.
func Check(rules Rules, history []Event) error {
	c := NewChecker(rules)
	for _, e := range history {
		if err := c.See(e); err != nil {
			return err
		}
	}
	return nil
}

// See takes the next event. The error is one line: what was wrong, and what the model
// allowed in the newest view.
func (c *Checker) See(e Event) error {
	c.seen++
	if e.Kind == SetChanged {
		if e.Set == nil {
			return fmt.Errorf("event %d: set: what it is now is missing", c.seen)
		}
		c.sets = append(c.sets, *e.Set)
		return nil
	}
	if verb, ok := c.now.call(e); ok {
		if err := c.explain(verb, e); err != nil {
			return fmt.Errorf("event %d: %s: %w", c.seen, e, err)
		}
	}
	if err := c.now.apply(e); err != nil {
		return fmt.Errorf("event %d: %s: %w: the history has a gap", c.seen, e, err)
	}
	if e.Kind == Added {
		c.added[e.Ordinal] = append(c.added[e.Ordinal], e)
	}
	c.moments = append(c.moments, c.now.clone())
	return nil
}

// explain moves the frontier to the views that the action can have come from. For every
// version of the set the oldest moment is enough: what can follow a newer one can follow
// it too.
func (c *Checker) explain(verb Verb, e Event) error {
	var next []view
	for set := range c.sets {
		oldest := c.oldest(set)
		for moment := oldest; moment >= 0 && moment < len(c.moments); moment++ {
			if c.issues(view{set, moment}, verb, e) {
				next = append(next, view{set, moment})
				break
			}
		}
	}
	if len(next) == 0 {
		return c.refuse()
	}
	c.frontier = next
	for v := range c.passes {
		if v.moment < c.oldest(v.set) {
			delete(c.passes, v)
		}
	}
	return nil
}

// oldest is the oldest moment that a pass can still see together with a version of the
// set; -1 when that version is too old.
func (c *Checker) oldest(set int) int {
	oldest := -1
	for _, v := range c.frontier {
		if v.set <= set && (oldest < 0 || v.moment < oldest) {
			oldest = v.moment
		}
	}
	return oldest
}

func (c *Checker) pass(v view) Pass {
	p, ok := c.passes[v]
	if !ok {
		p = c.rules.Reconcile(View{Set: c.sets[v.set], Pods: c.moments[v.moment].pods})
		c.passes[v] = p
	}
	return p
}

// issues says whether a pass over the view does it, and did before it what had to be done.
func (c *Checker) issues(v view, verb Verb, e Event) bool {
	actions := c.pass(v).Actions
	for _, a := range actions {
		if a.Verb != verb || a.Ordinal != e.Ordinal || verb == Create && a.Revision != e.Revision {
			continue
		}
		for _, before := range actions {
			if before.Batch < a.Batch && !c.done(before, c.moments[v.moment]) {
				return false
			}
		}
		return true
	}
	return false
}

// done says whether a call made after that moment can have succeeded by now.
func (c *Checker) done(a Action, then snapshot) bool {
	since := c.added[a.Ordinal][then.made[a.Ordinal]:]
	if a.Verb == Create {
		return slices.ContainsFunc(since, func(e Event) bool { return e.By == "" && e.Revision == a.Revision })
	}
	pod, ok := c.now.pods[a.Ordinal]
	return !ok || pod.Terminating || len(since) > 0
}

// refuse says what was allowed instead.
func (c *Checker) refuse() error {
	if len(c.sets) == 0 {
		return fmt.Errorf("not allowed: there is no set yet")
	}
	newest := c.pass(view{len(c.sets) - 1, len(c.moments) - 1})
	allowed := make([]string, 0, len(newest.Actions))
	for _, a := range newest.Actions {
		allowed = append(allowed, a.String())
	}
	switch {
	case len(allowed) > 0:
		return fmt.Errorf("not allowed in any view; the newest allows: %s", strings.Join(allowed, ", "))
	case newest.Waits != "":
		return fmt.Errorf("not allowed in any view; in the newest the controller waits for %s", newest.Waits)
	}
	return fmt.Errorf("not allowed in any view; in the newest there is nothing to do")
}
