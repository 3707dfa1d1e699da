package modeltest

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/model/deployment"
)

// settleLimit is far above what any case needs.
const settleLimit = 50_000

// compileMove reads a move of a play; known is false for a line that checks. After a move
// the controllers act until nothing changes.
func compileMove(words []string) (run runFunc, known bool, err error) {
	rest := words[1:]
	switch words[0] {
	case "up":
		run = func(s *state) error { return s.up(rest[0]) }
		return run, true, arguments(words, 1, 1)
	case "deploy":
		if err := arguments(words, 1, 2); err != nil {
			return nil, true, err
		}
		ready, err := readyOption(rest[1:])
		return move(func(m *deployment.Machine) { deployment.DeployLimited(rest[0], ready)(m) }), true, err
	case "ready": // lifts or sets the limit of available pods
		if err := arguments(words, 2, 2); err != nil {
			return nil, true, err
		}
		n, err := readyOption([]string{"ready=" + rest[1]})
		return move(func(m *deployment.Machine) { m.Limit(rest[0], n) }), true, err
	case "scale":
		n, err := numbers(rest)
		return move(func(m *deployment.Machine) { m.Scale(n[0]) }), true, err
	case "surge": // surge 2 unavailable 10%
		return compileFences(words)
	case "pause", "resume", "slow-termination", "gone":
		commands := map[string]func(*deployment.Machine){
			"pause": (*deployment.Machine).Pause, "resume": (*deployment.Machine).Resume,
			"slow-termination": (*deployment.Machine).KeepTerminating, "gone": (*deployment.Machine).Gone,
		}
		return move(commands[words[0]]), true, arguments(words, 0, 0)
	}
	return nil, false, nil
}

func compileFences(words []string) (runFunc, bool, error) {
	if len(words) != 4 || words[2] != "unavailable" {
		return nil, true, fmt.Errorf("expected: surge N unavailable N")
	}
	surge, err := deployment.ParseIntOrPercent(words[1])
	if err != nil {
		return nil, true, err
	}
	unavailable, err := deployment.ParseIntOrPercent(words[3])
	return move(func(m *deployment.Machine) { m.SetFenceposts(surge, unavailable) }), true, err
}

func arguments(words []string, least, most int) error {
	if n := len(words) - 1; n < least || n > most {
		return fmt.Errorf("%s with %d arguments, want %d to %d", words[0], n, least, most)
	}
	return nil
}

// readyOption reads "ready=3" or "ready=all"; none is all.
func readyOption(words []string) (int, error) {
	if len(words) == 0 || words[0] == "ready=all" {
		return deployment.All, nil
	}
	value, ok := strings.CutPrefix(words[0], "ready=")
	if !ok {
		return 0, fmt.Errorf("%q is not ready=N", words[0])
	}
	return number(value)
}

// up deploys a version and waits for it.
func (s *state) up(version string) error {
	if err := move(func(m *deployment.Machine) { m.Deploy(version) })(s); err != nil {
		return err
	}
	if !s.trace.Complete() {
		return fmt.Errorf("%s does not come up: %s", version, s.trace.Final())
	}
	return nil
}

func move(do func(*deployment.Machine)) runFunc {
	return func(s *state) error {
		s.machine.ResetTrace()
		do(s.machine)
		if s.machine.Settle(settleLimit) == settleLimit {
			return fmt.Errorf("not settled after %d steps", settleLimit)
		}
		s.trace = s.machine.Trace()
		return nil
	}
}

// compileHistory reads the moves and checks of a rollout history.
func compileHistory(words []string) (runFunc, error) {
	text := strings.Join(words[1:], " ")
	switch words[0] {
	case "rollout": // update and completion
		return func(s *state) error { s.history.Update(text); s.removed = s.history.Finish(); return nil }, arguments(words, 1, 1)
	case "update":
		return func(s *state) error { s.history.Update(text); return nil }, arguments(words, 1, 1)
	case "finish":
		return func(s *state) error { s.removed = s.history.Finish(); return nil }, arguments(words, 0, 0)
	case "cleanup":
		return func(s *state) error { s.removed = s.history.Cleanup(); return nil }, arguments(words, 0, 0)
	case "pause", "resume":
		return func(s *state) error { s.history.Paused = words[0] == "pause"; return nil }, arguments(words, 0, 0)
	case "undo":
		n := []int{0}
		var err error
		if len(words) > 1 {
			n, err = numbers(words[1:])
		}
		return func(s *state) error { s.err = s.history.UndoTo(n[0]); return nil }, err
	case "revisions":
		return func(s *state) error { return sameText("revisions", revisions(s.history.Revisions()), text) }, nil
	case "removed":
		return func(s *state) error { return sameText("removed", revisions(s.removed), text) }, nil
	case "error":
		return func(s *state) error {
			if s.err == nil || !strings.Contains(s.err.Error(), text) {
				return fmt.Errorf("error is %v, want %q", s.err, text)
			}
			return nil
		}, nil
	case "no-error":
		return func(s *state) error { return s.err }, arguments(words, 0, 0)
	}
	return nil, fmt.Errorf("unknown line %q (known: rollout, update, finish, cleanup, pause, resume, undo, revisions, removed, error, no-error)", words[0])
}

// revisions is "2:v2 3:v1*" with a star at the current one, or "none".
func revisions(list []deployment.Revision) string {
	var out []string
	for _, r := range list {
		text := fmt.Sprintf("%d:%s", r.Number, r.Template)
		if r.Current {
			text += "*"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, " ")
}
