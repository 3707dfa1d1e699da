package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	"reckon.dev/reckon/harness/cluster"
)

func TestWhatIsLeftIsNamedWithItsCauseAndItsRemedy(t *testing.T) {
	t.Parallel()
	cause := errors.New("docker rm: no answer")
	inner := &cluster.LeftError{What: "cluster c", Remedy: "reckon cluster down c", Err: cause}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a plain error becomes one":         {cause, "clean-up incomplete, left: cluster x, to be removed with `reckon clean`: docker rm: no answer"},
		"one that knows better is kept":     {fmt.Errorf("starting: %w", inner), "starting: clean-up incomplete, left: cluster c, to be removed with `reckon cluster down c`: docker rm: no answer"},
		"one among other errors is kept":    {errors.Join(errors.New("interrupted"), inner), "interrupted\n" + inner.Error()},
		"without an error nothing is left ": {nil, ""},
	} {
		got := cluster.Left("cluster x", c.err)
		if c.want == "" {
			if got != nil || cluster.LeftOf(got) != nil {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if got == nil || got.Error() != c.want || cluster.LeftOf(got) == nil || !errors.Is(got, cause) {
			t.Errorf("%s\n got %v\nwant %s", name, got, c.want)
		}
	}
}
