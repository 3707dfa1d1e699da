package suite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/suite"
)

// One plan after the other in one process, which Ginkgo has no way for.
func TestAllRunsPlansOneAfterTheOther(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for range 2 {
		prepared := 0
		s := &suite.Suite{
			Plan:    &plan.Plan{Parallel: 2, Cells: []plan.Cell{{Name: "a", Repeat: 2}, {Name: "b", Repeat: 1}}},
			Prepare: func(_ context.Context, cells []plan.Cell) error { prepared = len(cells); return nil },
			Run: func(_ context.Context, c plan.Cell, repetition int) (*engine.Outcome, error) {
				if c.Name == "b" {
					return nil, broken
				}
				return &engine.Outcome{}, nil
			},
		}
		results, err := s.All(t.Context())
		if err != nil || prepared != 2 {
			t.Fatalf("%v, %d cells prepared", err, prepared)
		}
		var got []string
		for _, r := range results {
			got = append(got, fmt.Sprintf("%s %d %t", r.Cell.Name, r.Repetition, errors.Is(r.Err, broken)))
		}
		if want := []string{"a 1 false", "a 2 false", "b 1 true"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAllRunsNothingThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	missing := errors.New("missing")
	s := &suite.Suite{
		Plan:    &plan.Plan{Parallel: 1, Cells: []plan.Cell{{Name: "a", Repeat: 1}}},
		Prepare: func(context.Context, []plan.Cell) error { return missing },
		Run: func(context.Context, plan.Cell, int) (*engine.Outcome, error) {
			t.Error("it was run")
			return nil, nil
		},
	}
	if _, err := s.All(t.Context()); !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}
