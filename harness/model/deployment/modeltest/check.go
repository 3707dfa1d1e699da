package modeltest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/deployment"
)

// state is one run of a case.
type state struct {
	c        Case
	machine  *deployment.Machine
	trace    deployment.Trace // since the last move
	envelope deployment.Envelope
	history  *deployment.History
	removed  []deployment.Revision
	err      error // of the last undo
}

func newState(c Case) *state {
	s := &state{c: c, machine: deployment.NewMachine(c.Spec)}
	s.history = deployment.NewHistory("web", c.limit)
	if c.Kind == "explore" {
		s.envelope = deployment.Explore(c.Spec, c.chaos, c.sets...)
	}
	return s
}

// compile turns a line into a check, so that a typing error is found without running.
func compile(kind string, words []string) (runFunc, error) {
	switch kind {
	case "fenceposts":
		return compileFenceposts(words)
	case "pass":
		return compilePass(words)
	case "explore":
		return compileExplore(words)
	case "history":
		return compileHistory(words)
	case "versions":
		return compileVersions(words)
	}
	if run, known, err := compileMove(words); known {
		return run, err
	}
	return compileTrace(words)
}

// compileFenceposts reads "10 3 2": replicas, surge, unavailable.
func compileFenceposts(words []string) (runFunc, error) {
	n, err := numbers(words)
	if err != nil || len(n) != 3 {
		return nil, fmt.Errorf("expected: REPLICAS SURGE UNAVAILABLE")
	}
	return func(s *state) error {
		a, b := deployment.Fenceposts(n[0], s.c.Spec.Surge, s.c.Spec.Unavailable)
		return same("surge, unavailable", []int{a, b}, n[1:])
	}, nil
}

// compilePass reads "writes nothing" or "writes v2 3, v1 8".
func compilePass(words []string) (runFunc, error) {
	if words[0] != "writes" {
		return nil, fmt.Errorf("unknown line %q (known: writes)", words[0])
	}
	want, err := parseWrites(words[1:])
	return func(s *state) error {
		v := deployment.NewView(s.c.Spec, s.c.sets...)
		return sameText("writes", v.Describe(deployment.Reconcile(v)), want)
	}, err
}

// parseWrites reads "v2 3, v1 8" or "nothing" into the form of View.Describe.
func parseWrites(words []string) (string, error) {
	text := strings.Join(words, " ")
	if text == "nothing" {
		return text, nil
	}
	var out []string
	for _, part := range strings.Split(text, ",") {
		w := strings.Fields(part)
		if len(w) != 2 {
			return "", fmt.Errorf("%q is not VERSION SIZE", part)
		}
		if _, err := number(w[1]); err != nil {
			return "", err
		}
		out = append(out, w[0]+" → "+w[1])
	}
	return strings.Join(out, ", "), nil
}

// compileTrace checks what happened since the last move.
func compileTrace(words []string) (runFunc, error) {
	rest := words[1:]
	switch words[0] {
	case "writes":
		want, err := parseWrites(rest)
		return func(s *state) error { return sameText("writes", writes(s.trace), want) }, err
	case "sizes":
		if len(rest) < 2 {
			return nil, fmt.Errorf("expected: sizes VERSION and one N or more")
		}
		want, err := numbers(rest[1:])
		return func(s *state) error { return same("sizes of "+rest[0], s.trace.Sizes(rest[0]), want) }, err
	case "final":
		return func(s *state) error { return sameText("final", final(s.trace.Final()), strings.Join(rest, " ")) }, nil
	case "least", "most":
		want, err := numbers(rest)
		return func(s *state) error {
			got := s.trace.LeastAvailable()
			if words[0] == "most" {
				got = s.trace.MostTotal()
			}
			return same(words[0], []int{got}, want)
		}, err
	case "complete":
		return func(s *state) error {
			return sameText("complete", yesNo(s.trace.Complete()), strings.Join(rest, " "))
		}, nil
	}
	return nil, fmt.Errorf("unknown line %q (known: writes, sizes, final, least, most, complete, and moves)", words[0])
}

func writes(t deployment.Trace) string {
	var out []string
	for _, w := range t.Writes() {
		out = append(out, fmt.Sprintf("%s → %d", w.Version, w.To))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

func final(r deployment.Row) string {
	var out []string
	for _, v := range r.Versions {
		out = append(out, fmt.Sprintf("%s=%d/%d", v.Name, v.Available, v.Replicas))
	}
	return strings.Join(out, " ")
}

// compileExplore checks the envelope of all rollouts.
func compileExplore(words []string) (runFunc, error) {
	rest := words[1:]
	switch words[0] {
	case "least", "most", "pods":
		want, err := numbers(rest)
		return func(s *state) error {
			e := s.envelope
			got := map[string]int{"least": e.LeastAvailable, "most": e.MostTotal, "pods": e.MostPods}[words[0]]
			return same(words[0], []int{got}, want)
		}, err
	case "unique", "enumerated":
		return func(s *state) error {
			got := s.envelope.Unique
			if words[0] == "enumerated" {
				got = s.envelope.Enumerated
			}
			return sameText(words[0], yesNo(got), strings.Join(rest, " "))
		}, nil
	case "sizes":
		if len(rest) < 2 {
			return nil, fmt.Errorf("expected: sizes VERSION and one N or more")
		}
		want, err := numbers(rest[1:])
		return func(s *state) error { return same("sizes of "+rest[0], s.envelope.Orders[rest[0]], want) }, err
	case "ends":
		return func(s *state) error { return sameText("ends", ends(s.envelope), strings.Join(rest, " ")) }, nil
	}
	return nil, fmt.Errorf("unknown line %q (known: least, most, pods, unique, enumerated, sizes, ends)", words[0])
}

// ends is available/wanted of each version, oldest first; "or" between several ends.
func ends(e deployment.Envelope) string {
	var out []string
	for _, end := range e.Ends {
		var parts []string
		for i := range end.Replicas {
			parts = append(parts, fmt.Sprintf("%d/%d", end.Available[i], end.Replicas[i]))
		}
		out = append(out, strings.Join(parts, " "))
	}
	slices.Sort(out)
	return strings.Join(out, " or ")
}

// compileVersions reads "v1.37.2 is GROUP" or "v1.37.9 near GROUP".
func compileVersions(words []string) (runFunc, error) {
	if len(words) != 3 || words[1] != "is" && words[1] != "near" {
		return nil, fmt.Errorf("VERSION is|near GROUP")
	}
	group, err := deployment.ParseGroup(words[2])
	return func(*state) error {
		rules, known := deployment.RulesFor(words[0])
		if rules.Group != group || known != (words[1] == "is") {
			return fmt.Errorf("%s is in group %s (known %t), want %s %s", words[0], rules.Group, known, words[1], group)
		}
		return nil
	}, err
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func same(what string, got, want []int) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func sameText(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q, want %s", what, got, strconv.Quote(want))
	}
	return nil
}
