package bisect

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers string // of each version: s the same, d differs, - not told
		want    Found
		trials  int
	}{
		"two versions need no trial":                  {"sd", Found{Same: 0, Differs: 1}, 0},
		"the first that differs is found":             {"sssddddd", Found{Same: 2, Differs: 3}, 3},
		"a version that is not told is passed by":     {"sss-dddd", Found{Same: 2, Differs: 4, Between: []int{3}}, 3},
		"where none is told, all are left":            {"s---d", Found{Same: 0, Differs: 4, Between: []int{1, 2, 3}}, 3},
		"one that is not told elsewhere costs a step": {"s-ssdd-d", Found{Same: 3, Differs: 4}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trials := 0
			got, err := Search(len(c.answers), func(i int) (Answer, error) {
				trials++
				return map[byte]Answer{'s': Same, 'd': Differs, '-': Skip}[c.answers[i]], nil
			})
			if err != nil || got.Same != c.want.Same || got.Differs != c.want.Differs || !slices.Equal(got.Between, c.want.Between) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
			if trials != c.trials {
				t.Errorf("%d trials, want %d", trials, c.trials)
			}
		})
	}
}

func TestSearchEndsWithAnError(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	if _, err := Search(5, func(int) (Answer, error) { return Same, stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if _, err := Search(1, nil); err == nil {
		t.Error("one version was searched")
	}
}

// Whatever is not told: the version that is found lies where the difference begins,
// no version is tried twice, and what is left between is nothing but what was not told.
func TestSearchFindsWhereItBegins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "versions")
		begin := rapid.IntRange(1, n-1).Draw(t, "begin")
		untold := make([]bool, n)
		skips := 0
		for i := 1; i < n-1; i++ {
			if untold[i] = rapid.IntRange(0, 3).Draw(t, "skip") == 0; untold[i] {
				skips++
			}
		}
		tried := make([]bool, n)
		trials := 0
		got, err := Search(n, func(i int) (Answer, error) {
			if i <= 0 || i >= n-1 || tried[i] {
				t.Fatalf("version %d of %d was tried again, or at all", i, n)
			}
			tried[i] = true
			trials++
			switch {
			case untold[i]:
				return Skip, nil
			case i < begin:
				return Same, nil
			}
			return Differs, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Same >= begin || got.Differs < begin {
			t.Fatalf("found %+v, it begins at %d", got, begin)
		}
		if len(got.Between) != got.Differs-got.Same-1 {
			t.Fatalf("found %+v", got)
		}
		for _, i := range got.Between {
			if !untold[i] {
				t.Fatalf("version %d is left though it can be told: %+v", i, got)
			}
		}
		if most := bits.Len(uint(n)) + skips; trials > most {
			t.Fatalf("%d trials of %d versions with %d skips", trials, n, skips)
		}
	})
}
