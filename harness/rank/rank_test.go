package rank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBetween(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b      []float64
		median, p float64
		low, high float64
		bounded   bool
	}{
		"the same values differ in nothing": {a: []float64{1, 2, 3, 4}, b: []float64{1, 2, 3, 4}, p: 1, low: -3, high: 3, bounded: true},
		"three against three never tell":    {a: []float64{1, 2, 3}, b: []float64{11, 12, 13}, median: 10, p: 0.1},
		"four against four just tell":       {a: []float64{1, 2, 3, 4}, b: []float64{11, 12, 13, 14}, median: 10, p: 2. / 70, low: 7, high: 13, bounded: true},
		"one value says nothing":            {a: []float64{1}, b: []float64{100}, median: 99, p: 1},
		"a sample without a value":          {a: nil, b: []float64{1}, p: 1},
		"a constant against another":        {a: []float64{1, 1, 1, 1}, b: []float64{2, 2, 2, 2}, median: 1, p: 2. / 70, low: 1, high: 1, bounded: true},
		"a value that both have counts against a difference": {
			a: []float64{1, 2, 3, 4}, b: []float64{4, 5, 6, 7}, median: 3, p: 4. / 70, low: 0, high: 6, bounded: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Between(c.a, c.b, Alpha)
			want := Shift{N: len(c.a), M: len(c.b), Median: c.median, Low: c.low, High: c.high, Bounded: c.bounded, P: got.P}
			if got != want || math.Abs(got.P-c.p) > 1e-12 {
				t.Errorf("got %+v, want %+v with P %g", got, want, c.p)
			}
		})
	}
}

// The known distribution of U for samples of four (Mann and Whitney 1947, table I).
func TestTailIsTheTableOfMannAndWhitney(t *testing.T) {
	t.Parallel()
	want := []float64{.014, .029, .057, .100, .171, .243, .343, .443, .557}
	for u, p := range want {
		if got := tail(4, 4)[u]; math.Abs(got-p) > .0005 {
			t.Errorf("U %d: %.4f, want %.3f", u, got, p)
		}
	}
}

func TestLeastAndEnough(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{1: 1, 3: .1, 4: 2. / 70, 5: 2. / 252} {
		if got := Least(n, n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d against %d: %g, want %g", n, n, got, want)
		}
	}
	for alpha, want := range map[float64]int{.05: 4, .01: 5, .001: 7, 0: 0} {
		if got := Enough(alpha); got != want {
			t.Errorf("at %g: %d, want %d", alpha, got, want)
		}
	}
}

func TestFisherAndHowManyItTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		k, n, l, m int
		p          float64
		enough     int
	}{
		"the lady tasting tea, all right": {4, 4, 0, 4, 2. / 70, 4},
		"the lady tasting tea, one wrong": {3, 4, 1, 4, 34. / 70, 12},
		"the same share is never told":    {1, 3, 1, 3, 1, 0},
		"two of three against three":      {2, 3, 3, 3, 1, 14},
		"nothing was seen of one":         {0, 0, 1, 3, 1, 0},
		"all of both":                     {3, 3, 3, 3, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Fisher(c.k, c.n, c.l, c.m); math.Abs(got-c.p) > 1e-12 {
				t.Errorf("P %g, want %g", got, c.p)
			}
			if got := EnoughFor(c.k, c.n, c.l, c.m, Alpha); got != c.enough {
				t.Errorf("enough %d, want %d", got, c.enough)
			}
		})
	}
}

func TestFoundIsThatOfBenjaminiAndHochberg(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ps   []float64
		want []bool
	}{
		"no test finds nothing":               {nil, []bool{}},
		"one test has the whole level":        {[]float64{.05}, []bool{true}},
		"one of two has half of it":           {[]float64{.03, .9}, []bool{false, false}},
		"two that are uneven help each other": {[]float64{.03, .04}, []bool{true, true}},
		"a weak one goes with the strong":     {[]float64{.001, .9, .02}, []bool{true, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Found(c.ps, Alpha); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// What is the shift from a to b is the opposite of that from b to a, and the
// estimate lies in its interval.
func TestShiftIsSymmetric(t *testing.T) {
	t.Parallel()
	sample := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-50, 50).Draw(t, "value")) }), 1, 9)
	rapid.Check(t, func(t *rapid.T) {
		a, b := sample.Draw(t, "a"), sample.Draw(t, "b")
		to, back := Between(a, b, Alpha), Between(b, a, Alpha)
		if to.Median != -back.Median || to.P != back.P || to.Bounded != back.Bounded || to.Low != -back.High || to.High != -back.Low {
			t.Fatalf("%+v and back %+v", to, back)
		}
		if to.Bounded && (to.Low > to.Median || to.Median > to.High) {
			t.Fatalf("the estimate is outside of its interval: %+v", to)
		}
		if to.P < Least(len(a), len(b))-1e-12 || to.P > 1 {
			t.Fatalf("P %g", to.P)
		}
	})
}

// Where nothing differs no more than alpha of all ways to part a sample in two look
// as if something did.
func TestLevelIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "m")
		pool := rapid.SliceOfN(rapid.IntRange(0, 12), n+m, n+m).Draw(t, "pool")
		wrong, all := 0, 0
		for mask := range 1 << (n + m) {
			var a, b []float64
			for i, v := range pool {
				if mask>>i&1 == 1 {
					a = append(a, float64(v))
				} else {
					b = append(b, float64(v))
				}
			}
			if len(a) != n {
				continue
			}
			all++
			if Between(a, b, Alpha).P <= Alpha {
				wrong++
			}
		}
		if float64(wrong) > Alpha*float64(all) {
			t.Fatalf("%d of %d", wrong, all)
		}
	})
}
