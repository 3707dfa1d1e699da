package modeltest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
)

// state is one run of a case.
type state struct {
	c       Case
	rules   rollouts.Rules
	trace   rollouts.Trace    // rollback; in a script: since the last move
	machine *rollouts.Machine // script
}

type runFunc = func(*state) error

// compile turns a line into a check, so that a typing error is found without running.
func compile(kind string, words []string) (runFunc, error) {
	switch kind {
	case "count":
		return compileCount(words)
	case "basic":
		return compileBasic(words)
	case "window":
		return compileWindow(words)
	case "versions":
		return compileVersions(words)
	}
	if kind == "script" {
		if run, known, err := compileMove(words); known {
			return run, err
		}
	}
	return compileTrace(words)
}

// compileTrace checks the passes of a rollback, or those since the last move of a script.
func compileTrace(words []string) (runFunc, error) {
	rest := words[1:]
	text := strings.Trim(strings.Join(rest, " "), `"`)
	switch words[0] {
	case "weight":
		want, err := numbers(rest)
		return func(s *state) error { return same("weight", s.valid(), s.trace.WeightSequence(), want) }, err
	case "size":
		if len(rest) < 2 {
			return nil, fmt.Errorf("expected: size VERSION and one N or more")
		}
		want, err := numbers(rest[1:])
		return func(s *state) error {
			return same("size of "+rest[0], s.valid(), s.trace.SizeSequence(rest[0]), want)
		}, err
	case "active":
		return compileSelected("active", rest, func(r rollouts.Row) string { return r.Active })
	case "preview":
		return compileSelected("preview", rest, func(r rollouts.Row) string { return r.Preview })
	case "max-weight-below-replicas":
		return compileMax(rest)
	case "completed":
		return func(s *state) error { return completed(s, text) }, nil
	case "error":
		return func(s *state) error { return hasError(s, text) }, nil
	case "invalid":
		return func(s *state) error {
			if !strings.Contains(s.trace.Invalid, text) || s.trace.Invalid == "" {
				return fmt.Errorf("invalid is %q, want %q", s.trace.Invalid, text)
			}
			return nil
		}, nil
	case "event":
		return compileEvent(rest)
	case "because":
		return func(s *state) error { return because(s, text) }, nil
	case "final":
		return compileFinal(rest)
	}
	return nil, fmt.Errorf("unknown line %q (known: weight, size, active, preview, max-weight-below-replicas, completed, error, invalid, event, because, final)", words[0])
}

// compileSelected compares the versions that a Service selects, one after the other.
func compileSelected(name string, want []string, of func(rollouts.Row) string) (runFunc, error) {
	if len(want) == 0 {
		return nil, fmt.Errorf("expected: %s and one VERSION or more", name)
	}
	return func(s *state) error {
		got := []string{of(s.trace.Start)}
		for _, r := range s.trace.Rows {
			if v := of(r); v != got[len(got)-1] {
				got = append(got, v)
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s selects %v, want %v", name, got, want)
		}
		return nil
	}, nil
}

func (s *state) valid() error {
	if s.trace.Invalid != "" {
		return fmt.Errorf("cannot be played: %s", s.trace.Invalid)
	}
	return nil
}

func numbers(words []string) ([]int, error) {
	var out []int
	for _, w := range words {
		n, err := number(w)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("numbers are missing")
	}
	return out, nil
}

func same(what string, err error, got, want []int) error {
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

// compileMax reads "100 at 1 of 20": weight, available pods and size at that moment; or "0".
func compileMax(words []string) (runFunc, error) {
	if len(words) == 1 {
		words = []string{words[0], "at", "0", "of", "0"}
	}
	if len(words) != 5 || words[1] != "at" || words[3] != "of" {
		return nil, fmt.Errorf("max-weight-below-replicas WEIGHT at AVAILABLE of SIZE")
	}
	want, err := numbers([]string{words[0], words[2], words[4]})
	return func(s *state) error {
		weight, available, size := s.trace.MaxWeightWhile("v1", s.c.Spec.Replicas)
		return same("max weight, available, size", s.valid(), []int{weight, available, size}, want)
	}, err
}

func completed(s *state, want string) error {
	if err := s.valid(); err != nil {
		return err
	}
	reason, ok := s.trace.Completed()
	if !ok {
		reason = "none"
	}
	if reason != want {
		return fmt.Errorf("completed is %q, want %q", reason, want)
	}
	return nil
}

func hasError(s *state, want string) error {
	got := strings.Join(s.trace.Errors(), "; ")
	if want == "none" && got == "" {
		return nil
	}
	if want == "none" || want == "" || !strings.Contains(got, want) {
		return fmt.Errorf("error is %q, want %q", got, want)
	}
	return nil
}

func compileEvent(words []string) (runFunc, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("event REASON COUNT")
	}
	want, err := number(words[1])
	return func(s *state) error {
		if got := s.trace.Count(words[0]); got != want {
			return fmt.Errorf("%d events %s, want %d", got, words[0], want)
		}
		return nil
	}, err
}

// because compares the basis of the first row that has the largest weight.
func because(s *state, want string) error {
	var best rollouts.Row
	for _, r := range s.trace.Rows {
		if r.Weight > best.Weight || best.Pass == 0 {
			best = r
		}
	}
	if got := best.Basis.String(); !strings.HasPrefix(got, want) || want == "" {
		return fmt.Errorf("largest weight %d is because of %q, want %q", best.Weight, got, want)
	}
	return nil
}

// compileFinal reads key=value pairs about the last row.
func compileFinal(words []string) (runFunc, error) {
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" || value == "" {
			return nil, fmt.Errorf("%q is not key=value", w)
		}
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("expected: final and one key=value or more")
	}
	return func(s *state) error {
		if err := s.valid(); err != nil {
			return err
		}
		for _, w := range words {
			key, want, _ := strings.Cut(w, "=")
			if got := field(s.trace.Final(), key); got != want {
				return fmt.Errorf("final %s is %s, want %s", key, got, want)
			}
		}
		return nil
	}, nil
}

// field is a value of a row by the name that a corpus uses; other names are versions.
func field(r rollouts.Row, key string) string {
	switch key {
	case "weight":
		return strconv.Itoa(r.Weight)
	case "stable":
		return r.Stable
	case "current":
		return r.Current
	case "index":
		return strconv.Itoa(r.Index)
	case "abort":
		return strconv.FormatBool(r.Abort)
	case "paused":
		return strconv.FormatBool(r.Paused)
	case "phase":
		return r.Phase
	case "branch":
		return r.Branch
	case "held":
		return orNone(r.Held)
	case "canaryService":
		return orNone(r.CanaryService)
	case "stableService":
		return orNone(r.StableService)
	case "header":
		return strconv.FormatBool(r.Header)
	case "active":
		return orNone(r.Active)
	case "previewed":
		return orNone(r.Preview)
	case "canarySubset":
		return orNone(r.Subsets.Canary)
	case "stableSubset":
		return orNone(r.Subsets.Stable)
	}
	if size, ok := r.Size[key]; ok {
		return strconv.Itoa(size)
	}
	return "unknown"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
