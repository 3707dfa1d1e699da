package judge

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/series"
)

// Path: every change of the joint state of several series, in store order, is a
// move that a model allows. It begins with the state at the window's begin.
type Path struct {
	Of []string
	// Rule is the model in a few words, for people.
	Rule string
	// Begin starts a walk. The walk is told each joint state in order, the first
	// one included, with one value for each series; an error says in one line why
	// the state cannot follow.
	Begin func() Walk
	// Least is how many moves the path must have at least: a path without moves
	// proves nothing where the model predicts some.
	Least int
	// Saw says what a path that was allowed was, for people: it gets the values
	// of every state. Without it, the number of moves is what is said.
	Saw    func(states [][]series.Value) string
	Window series.Window
}

// Walk is one walk along a path.
type Walk func(state []series.Value) error

func (c Path) Series() []string  { return c.Of }
func (c Path) Predicted() string { return c.Rule }

func (c Path) Eval(set *series.Set) (Finding, error) {
	for _, name := range c.Of {
		if _, _, less, err := view(set, name, c.Window); err != nil || less != nil {
			return deref(less), err
		}
	}
	in, _ := set.Resolve(c.Window)
	states, err := set.Join(in, c.Of...)
	if err != nil {
		return Finding{}, err
	}
	if len(states) == 0 {
		return inconclusive(0, "%s were never known together inside the window", strings.Join(c.Of, ", ")), nil
	}
	walk, all := c.Begin(), make([][]series.Value, len(states))
	for i, st := range states {
		all[i] = make([]series.Value, len(st.Points))
		for j, p := range st.Points {
			all[i][j] = p.Value
		}
		if err := walk(all[i]); err != nil {
			return c.broken(set, in, states[:i+1], err), nil
		}
	}
	moves := len(states) - 1
	f := Finding{Status: Held, Observed: fmt.Sprintf("%d moves, all allowed", moves), Samples: len(states)}
	if c.Saw != nil {
		f.Observed = c.Saw(all)
	}
	if moves < c.Least {
		f.Status, f.Why = Broken, fmt.Sprintf("%d moves were seen, at least %d were predicted", moves, c.Least)
	}
	return hidden(set, in, false, f, c.Of...), nil
}

// broken says which state could not follow. A gap before it makes that doubtful
// when moves between may be missing: it lost changes, or delivered some so late
// that they lie on the other side of the window's begin or end.
func (c Path) broken(set *series.Set, in series.Interval, states []series.Joint, why error) Finding {
	last := states[len(states)-1]
	at := last.T
	f := Finding{
		Status: Broken, Observed: fmt.Sprintf("move %d is not allowed", len(states)-1), Why: why.Error(),
		Samples: len(states), At: &at,
	}
	var changed []series.Point
	for i, p := range last.Points {
		if len(states) == 1 || states[len(states)-2].Points[i].Ref != p.Ref {
			changed = append(changed, p)
		}
	}
	f.Objects = distinctRefs(changed)
	for _, name := range c.Of {
		s, err := set.Get(name)
		if err != nil {
			continue
		}
		for _, g := range set.GapsOf(s.Resources, series.Interval{From: in.From, To: last.T}) {
			if !g.Lossless || straddles(g, s, in) {
				return doubt(f, g)
			}
		}
	}
	return f
}
