package suite

import (
	"context"
	"slices"
	"testing"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
)

func TestTheRepetitionsThatAreLeftAreRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		repetitions func(plan.Cell) []int
		want        []int
	}{
		"all":   {nil, []int{1, 2}},
		"a few": {func(plan.Cell) []int { return []int{2, 5} }, []int{2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Suite{Repetitions: c.repetitions, Run: func(context.Context, plan.Cell, int) (*engine.Outcome, error) { return nil, nil }}
			var got []int
			for _, r := range newRuns(t.Context(), s).of(t.Context(), plan.Cell{Name: "cell", Repeat: 2}) {
				got = append(got, r.Repetition)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("runs %v, want %v", got, c.want)
			}
		})
	}
}
