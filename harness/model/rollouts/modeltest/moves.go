package modeltest

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
)

// settleLimit is far above what any case needs.
const settleLimit = 200

// compileMove reads a move of a script; known is false for a line that checks.
// After a move the controller settles, and the lines that follow see only its passes.
func compileMove(words []string) (run runFunc, known bool, err error) {
	arg := strings.Join(words[1:], " ")
	switch words[0] {
	case "deploy":
		run = move(func(s *state) error { s.machine.Deploy(arg); return nil })
	case "up":
		run = move(func(s *state) error { return s.machine.BringUp(arg) })
	case "ready":
		return compileReady(words[1:])
	case "elapse":
		n, e := number(strings.TrimSuffix(arg, "s"))
		return move(func(s *state) error { s.machine.Elapse(n); return nil }), true, e
	case "window":
		n, e := number(arg)
		return move(func(s *state) error { s.machine.SetWindow(n); return nil }), true, e
	case "edit-weight":
		n, e := number(arg)
		return move(func(s *state) error { s.machine.EditWeight(n); return nil }), true, e
	case "scale":
		n, e := number(arg)
		return move(func(s *state) error { s.machine.SetReplicas(n); return nil }), true, e
	case "steps":
		steps, e := parseSteps(arg)
		return move(func(s *state) error { s.machine.SetSteps(steps); return nil }), true, e
	case "undo":
		return compileUndo(words[1:])
	default:
		command, ok := commands[words[0]]
		if !ok {
			return nil, false, nil
		}
		if len(words) > 1 {
			return nil, true, fmt.Errorf("%s takes no arguments", words[0])
		}
		return move(func(s *state) error { command(s.machine); return nil }), true, nil
	}
	if len(words) != 2 {
		return nil, true, fmt.Errorf("%s VERSION", words[0])
	}
	return run, true, nil
}

var commands = map[string]func(*rollouts.Machine){
	"abort":           (*rollouts.Machine).Abort,
	"retry":           (*rollouts.Machine).Retry,
	"promote":         (*rollouts.Machine).Promote,
	"promote-full":    (*rollouts.Machine).PromoteFull,
	"skip-step":       (*rollouts.Machine).SkipStep,
	"skip-all":        (*rollouts.Machine).SkipAllSteps,
	"analysis-passed": (*rollouts.Machine).PassAnalysis,
}

func move(do runFunc) runFunc {
	return func(s *state) error {
		s.machine.ResetTrace()
		if err := do(s); err != nil {
			return err
		}
		if s.machine.Settle(settleLimit) == settleLimit {
			return fmt.Errorf("not settled after %d passes", settleLimit)
		}
		s.trace = s.machine.Trace()
		return nil
	}
}

// compileReady reads "v1 3", "v1 all", or "v1 each": one pod at a time.
func compileReady(words []string) (runFunc, bool, error) {
	if len(words) != 2 {
		return nil, true, fmt.Errorf("ready VERSION N, or all, or each")
	}
	version, n := words[0], 0
	if words[1] != "all" && words[1] != "each" {
		var err error
		if n, err = number(words[1]); err != nil {
			return nil, true, err
		}
	}
	return move(func(s *state) error {
		rs, ok := s.machine.ReplicaSet(version)
		if !ok {
			return fmt.Errorf("there is no ReplicaSet %s", version)
		}
		if words[1] == "each" {
			for rs.Available < rs.Size {
				s.machine.Ready(version, rs.Available+1)
				s.machine.Settle(settleLimit)
				rs, _ = s.machine.ReplicaSet(version)
			}
			return nil
		}
		if words[1] == "all" {
			n = rs.Size
		} else if n > rs.Size {
			return fmt.Errorf("%s has %d pods, not %d", version, rs.Size, n)
		}
		s.machine.Ready(version, n)
		return nil
	}), true, nil
}

func compileUndo(words []string) (runFunc, bool, error) {
	revision := 0
	if len(words) > 0 {
		var err error
		if revision, err = number(words[0]); err != nil {
			return nil, true, err
		}
	}
	return move(func(s *state) error {
		if !s.machine.Undo(revision) {
			return fmt.Errorf("there is no revision to go back to")
		}
		return nil
	}), true, nil
}
