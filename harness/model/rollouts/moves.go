package rollouts

import (
	"fmt"
	"slices"
)

// An Act is what somebody does to a Rollout, or what becomes of its pods.
type Act string

// The acts.
const (
	ActDeploy      Act = "deploy"         // apply the template of Version
	ActReady       Act = "ready"          // let Count pods of Version be ready, also those that come later
	ActPromote     Act = "promote"        // the command
	ActPromoteFull Act = "promote --full" // the command
	ActAbort       Act = "abort"          // the command
	ActRetry       Act = "retry"          // the command
	ActElapse      Act = "elapse"         // let Count seconds pass
	ActSteps       Act = "edit steps"     // apply Steps
	ActReplicas    Act = "scale"          // apply spec.replicas, Count
	ActWeight      Act = "edit weight"    // somebody else writes the VirtualService's canary weight, Count
)

// A Move is one act. Fields that the act does not name mean nothing.
type Move struct {
	Act     Act
	Version string
	Count   int
	Steps   []Step
}

// String says the move in a few words, such as "ready v2 3".
func (mv Move) String() string {
	switch mv.Act {
	case ActDeploy:
		return fmt.Sprintf("%s %s", mv.Act, mv.Version)
	case ActReady:
		return fmt.Sprintf("%s %s %d", mv.Act, mv.Version, mv.Count)
	case ActElapse:
		return fmt.Sprintf("%s %d s", mv.Act, mv.Count)
	case ActReplicas, ActWeight:
		return fmt.Sprintf("%s to %d", mv.Act, mv.Count)
	case ActSteps:
		return fmt.Sprintf("%s to %s", mv.Act, Spec{Steps: mv.Steps}.StepsString())
	}
	return string(mv.Act)
}

// A Stop is where the controller has come to rest after a move.
type Stop struct {
	Move Move
	Row  Row
}

// A Play is a set-up and a drill, as the model has them.
type Play struct {
	// SetUp and Stops have one stop for each move of the set-up and of the drill.
	SetUp, Stops []Stop
	// Trace is that of the drill.
	Trace Trace
	// Restless is the move after which the controller did not come to rest, empty if it
	// always did.
	Restless string
}

// Moves plays a set-up and then a drill on a Rollout that does not exist yet. Each move
// is made when the controller has come to rest after the one before.
func Moves(rules Rules, spec Spec, setUp, drill []Move) Play {
	m := NewMachine(rules, spec)
	held := map[string]int{}
	out := Play{SetUp: m.moves(setUp, held)}
	m.ResetTrace()
	out.Stops = m.moves(drill, held)
	out.Trace = m.Trace()
	for _, s := range slices.Concat(out.SetUp, out.Stops) {
		if s.Row.Pass < 0 && out.Restless == "" {
			out.Restless = s.Move.String()
		}
	}
	return out
}

// moves makes the moves and returns the stops; Pass of a stop is -1 where the controller
// did not come to rest.
func (m *Machine) moves(moves []Move, held map[string]int) []Stop {
	out := make([]Stop, 0, len(moves))
	for _, mv := range moves {
		m.move(mv, held)
		rest := m.rest(held)
		row := m.row()
		if !rest {
			row.Pass = -1
		}
		out = append(out, Stop{Move: mv, Row: row})
	}
	return out
}

func (m *Machine) move(mv Move, held map[string]int) {
	switch mv.Act {
	case ActDeploy:
		m.Deploy(mv.Version)
	case ActReady:
		held[mv.Version] = mv.Count
		m.Ready(mv.Version, mv.Count)
	case ActPromote:
		m.Promote()
	case ActPromoteFull:
		m.PromoteFull()
	case ActAbort:
		m.Abort()
	case ActRetry:
		m.Retry()
	case ActElapse:
		m.Elapse(mv.Count)
	case ActSteps:
		m.SetSteps(mv.Steps)
	case ActReplicas:
		m.SetReplicas(mv.Count)
	case ActWeight:
		m.EditWeight(mv.Count)
	}
}

// rest lets the controller come to rest, and pods that it made become ready as far as
// the moves let them. It reports whether it did.
func (m *Machine) rest(held map[string]int) bool {
	for range settleMax {
		if m.Settle(settleMax) == settleMax {
			return false
		}
		grown := false
		for _, rs := range m.World().Sets {
			if n := min(held[rs.Version], rs.Created); n > rs.Available {
				m.Ready(rs.Version, n)
				grown = true
			}
		}
		if !grown {
			return true
		}
	}
	return false
}
