package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/statefulset"
)

// state is one run of a case.
type state struct {
	c       Case
	rules   statefulset.Rules
	world   *statefulset.World
	trace   statefulset.Trace   // of the last move
	set     statefulset.Set     // history
	history []statefulset.Event // history
}

// newState brings a script's set up at v1, all ready.
func newState(c Case, rules statefulset.Rules) *state {
	s := &state{c: c, rules: rules, set: statefulset.Set{Spec: c.Spec, Template: statefulset.Old}}
	if c.Kind == "script" {
		s.world = statefulset.NewWorld(rules, c.Spec, statefulset.Old)
		s.settle()
	}
	s.changed()
	return s
}

func (s *state) settle() {
	s.world.Settle(func(ordinal int, revision string) bool {
		return revision == statefulset.New && slices.Contains(s.c.Stuck, ordinal)
	})
	s.trace = s.world.Trace()
}

func (s *state) changed() {
	set := s.set
	s.history = append(s.history, statefulset.Event{Kind: statefulset.SetChanged, Set: &set})
}

type runFunc = func(*state) error

// compile turns a line into a check, so that a typing error is found without running.
func compile(kind string, words []string) (runFunc, error) {
	rest := words[1:]
	switch kind {
	case "pass":
		return compilePass(words[0], rest)
	case "history":
		return compileHistory(words[0], rest)
	case "envelope":
		return compileEnvelope(words[0], rest)
	case "versions":
		return compileVersions(words)
	}
	if run, known, err := compileMove(words[0], rest); known {
		return run, err
	}
	return compileTrace(words[0], rest)
}

// compileTrace checks what the last move led to.
func compileTrace(word string, rest []string) (runFunc, error) {
	text := strings.Trim(strings.Join(rest, " "), `"`)
	switch word {
	case "deletions":
		want, err := numbers(rest)
		return func(s *state) error { return same(word, s.trace.Deletions(), want) }, err
	case "creations":
		want, err := numbers(rest)
		return func(s *state) error { return same(word, s.trace.Creations(), want) }, err
	case "least-ready":
		want, err := numbers(rest)
		return func(s *state) error { return same(word, []int{s.trace.LeastReady()}, want) }, err
	case "revisions":
		ordinal, err := numbers(rest[:min(1, len(rest))])
		return func(s *state) error {
			return same(word, s.trace.RevisionSequence(ordinal[0]), rest[1:])
		}, err
	case "pods":
		return func(s *state) error { return same(word, pods(s.c.Spec.Start, s.trace.Final().Pods), rest) }, nil
	case "current":
		return func(s *state) error { return same(word, s.trace.Current, text) }, nil
	case "waits":
		return func(s *state) error { return same(word, orNone(s.trace.Waits), text) }, nil
	}
	return nil, fmt.Errorf("unknown line %q (known: deletions, creations, least-ready, revisions, pods, current, waits)", word)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func same[T any](what string, got, want T) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s is %s, want %s", what, g, w)
	}
	return nil
}

// pods writes the pods as a corpus does.
func pods(start int, all map[int]statefulset.Pod) []string {
	out := []string{}
	for _, ordinal := range slices.Sorted(maps.Keys(all)) {
		for len(out) < ordinal-start {
			out = append(out, ".")
		}
		out = append(out, all[ordinal].String())
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	return out
}

// compileMove reads a move of a script; known is false for a line that checks.
func compileMove(word string, rest []string) (run runFunc, known bool, err error) {
	if word == "template" && len(rest) == 1 {
		return move(statefulset.ToTemplate(rest[0])), true, nil
	}
	making, ok := map[string]func(int) statefulset.Move{
		"partition": statefulset.ToPartition, "replicas": statefulset.ToReplicas,
		"delete": statefulset.DeletePod, "fail": statefulset.FailPod, "unready": statefulset.UnreadyPod,
	}[word]
	if !ok {
		return nil, false, nil
	}
	n, err := numbers(rest)
	if err != nil || len(n) != 1 {
		return nil, true, fmt.Errorf("%s N", word)
	}
	return move(making(n[0])), true, nil
}

func move(m statefulset.Move) runFunc {
	return func(s *state) error {
		s.world.ResetTrace()
		err := m.Do(s.world)
		s.settle()
		return err
	}
}

// compilePass reads what one pass does: "does delete 4, create 3 at v2", "does nothing",
// "waits ordinal 2 to be available".
func compilePass(word string, rest []string) (runFunc, error) {
	if word != "does" && word != "waits" || len(rest) == 0 {
		return nil, fmt.Errorf("expected: does ACTIONS, or waits TEXT")
	}
	want := strings.Join(rest, " ")
	return func(s *state) error {
		set := s.set
		set.Template, set.Current = statefulset.New, statefulset.Old
		pass := s.rules.Reconcile(statefulset.View{Set: set, Pods: s.c.Pods})
		got := orNone(pass.Waits)
		if word == "does" {
			var actions []string
			for _, a := range pass.Actions {
				actions = append(actions, a.String())
			}
			got = strings.Replace(orNone(strings.Join(actions, ", ")), "none", "nothing", 1)
		}
		return same(word, got, want)
	}, nil
}

// compileEnvelope reads least-ready, deletions, and "creations ordered" or "any".
func compileEnvelope(word string, rest []string) (runFunc, error) {
	if word == "creations" && len(rest) == 1 && (rest[0] == "ordered" || rest[0] == "any") {
		return func(s *state) error {
			return same(word, s.rules.Envelope(s.c.Spec).CreationsOrdered, rest[0] == "ordered")
		}, nil
	}
	want, err := numbers(rest)
	switch word {
	case "least-ready":
		return func(s *state) error { return same(word, []int{s.rules.Envelope(s.c.Spec).LeastReady}, want) }, err
	case "deletions":
		return func(s *state) error { return same(word, s.rules.Envelope(s.c.Spec).Deletions, want) }, err
	}
	return nil, fmt.Errorf("unknown line %q (known: least-ready, deletions, creations ordered, creations any)", word)
}

// compileVersions reads "v1.37.2 is GROUP", or near, and "maxUnavailable=true".
func compileVersions(words []string) (runFunc, error) {
	if len(words) < 3 || words[1] != "is" && words[1] != "near" {
		return nil, fmt.Errorf("VERSION is|near GROUP [maxUnavailable=BOOL]")
	}
	group, err := statefulset.ParseGroup(words[2])
	return func(*state) error {
		rules, known := statefulset.RulesFor(words[0])
		if rules.Group != group || known != (words[1] == "is") {
			return fmt.Errorf("%s is in group %s (known %t), want %s %s", words[0], rules.Group, known, words[1], group)
		}
		if got := "maxUnavailable=" + strconv.FormatBool(rules.MaxUnavailable); len(words) > 3 && got != words[3] {
			return fmt.Errorf("%s: %s, want %s", words[0], got, words[3])
		}
		return nil
	}, err
}
