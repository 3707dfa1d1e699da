package series_test

import (
	"math"
	"testing"

	"reckon.dev/reckon/harness/series"
)

// The values are those of Abramowitz and Stegun, table 26.10.
func TestStudentIsTheTabledQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level   float64
		freedom int
		want    float64
	}{
		{0.95, 1, 12.706}, {0.95, 2, 4.303}, {0.95, 10, 2.228}, {0.95, 30, 2.042}, {0.95, 120, 1.980},
		{0.99, 5, 4.032}, {0.5, 4, 0.741}, {0.998, 9, 4.297},
	} {
		if got := series.Student(c.level, c.freedom); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("level %g with %d degrees of freedom: %.4f, want %.3f", c.level, c.freedom, got, c.want)
		}
	}
}

func TestWithoutADegreeOfFreedomNothingIsKnown(t *testing.T) {
	t.Parallel()
	for _, freedom := range []int{0, -1} {
		if got := series.Student(0.95, freedom); !math.IsInf(got, 1) {
			t.Errorf("%d degrees of freedom: %g, want infinity", freedom, got)
		}
	}
}
