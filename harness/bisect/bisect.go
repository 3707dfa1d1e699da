// Package bisect finds the first of several versions that differs from the first of
// all, by as few trials as can be. It is pure: what a trial is, its caller knows.
package bisect

import "fmt"

// Answer is that of a trial of one version.
type Answer string

const (
	Same    Answer = "the same"
	Differs Answer = "differs"
	// Skip: the trial did not tell, so the version is left out.
	Skip Answer = "not told"
)

// Found is what the search ended with: Same is the last version known not to differ,
// Differs the first known to. Between are those that were not told: where there are
// any, the first that differs is one of them or Differs.
type Found struct {
	Same, Differs int
	Between       []int
}

// Search finds the first version that differs, of n of which the first is known not
// to and the last is known to. Trial is asked about versions between, each once at
// most; it has the error of which the search ends.
//
// Versions are taken to differ from one on. Where they come and go, what is found is
// a version that differs after one that does not, and not always the first.
func Search(n int, trial func(i int) (Answer, error)) (Found, error) {
	if n < 2 {
		return Found{}, fmt.Errorf("%d versions have nothing between them, expected 2 at least", n)
	}
	out := Found{Same: 0, Differs: n - 1}
	skipped := make([]bool, n)
	for {
		i, ok := next(out, skipped)
		if !ok {
			break
		}
		answer, err := trial(i)
		if err != nil {
			return out, err
		}
		switch answer {
		case Same:
			out.Same = i
		case Differs:
			out.Differs = i
		default:
			skipped[i] = true
		}
	}
	for i := out.Same + 1; i < out.Differs; i++ {
		out.Between = append(out.Between, i)
	}
	return out, nil
}

// next is the version nearest to the middle that was not skipped.
func next(f Found, skipped []bool) (int, bool) {
	middle := (f.Same + f.Differs) / 2
	for away := 0; away < f.Differs-f.Same; away++ {
		for _, i := range []int{middle - away, middle + away} {
			if f.Same < i && i < f.Differs && !skipped[i] {
				return i, true
			}
		}
	}
	return 0, false
}
