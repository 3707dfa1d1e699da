package report

import (
	"math"
	"strconv"
	"time"

	"reckon.dev/reckon/harness/series"
)

// timeScale maps receipt times to percent of the chart's width. Percent, not
// pixels: the page is as wide as its reader's screen.
type timeScale struct{ in series.Interval }

// percent of the width; times outside the window lie on its edges.
func (s timeScale) percent(t time.Duration) float64 {
	span := s.in.To - s.in.From
	if span <= 0 {
		return 0
	}
	return round3(min(100, max(0, 100*float64(t-s.in.From)/float64(span))))
}

// bar is the span between two instants.
func (s timeScale) bar(from, to time.Duration, title string) bar {
	left, right := s.percent(from), s.percent(to)
	return bar{Left: left, Width: round3(right - left), Title: title}
}

// round3 keeps coordinates short: a thousandth of a percent is under a pixel.
func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

// seconds since the begin of the window.
func (s timeScale) seconds(t time.Duration) float64 { return (t - s.in.From).Seconds() }

// tick of an axis. Minor ticks give way on narrow screens.
type tick struct {
	At    float64
	Label string
	Minor bool
}

// ticks of the time axis: every second one is minor.
func (s timeScale) ticks() []tick {
	span := (s.in.To - s.in.From).Seconds()
	if span <= 0 {
		return []tick{{Label: "0"}}
	}
	var out []tick
	for i, v := range niceTicks(0, span, 16) {
		out = append(out, tick{At: round3(100 * v / span), Label: trim(v, 6), Minor: i%2 == 1})
	}
	return out
}

// valueScale maps values to pixels from the top of a panel.
type valueScale struct{ lo, hi, top, bottom float64 }

func (s valueScale) y(v float64) float64 {
	if s.hi <= s.lo {
		return s.bottom
	}
	return s.bottom - (v-s.lo)/(s.hi-s.lo)*(s.bottom-s.top)
}

// ticks has one at the highest value, which is what a reader looks for; a round
// one that it would touch gives way.
func (s valueScale) ticks() []tick {
	var out []tick
	for _, v := range niceTicks(s.lo, s.hi, 4) {
		if v > s.lo && s.y(v)-s.y(s.hi) < tickGap {
			continue
		}
		out = append(out, s.tick(v))
	}
	if s.hi > s.lo {
		out = append(out, s.tick(s.hi))
	}
	return out
}

// tickGap keeps two labels of the axis from touching, in pixels.
const tickGap = 14

func (s valueScale) tick(v float64) tick {
	label := trim(v, 6)
	if v != math.Round(v) {
		label = brief(v)
	}
	return tick{At: round3(s.y(v)), Label: label}
}

// niceTicks returns multiples of 1, 2 or 5 times a power of ten inside
// [lo, hi], at most about n of them.
func niceTicks(lo, hi float64, n int) []float64 {
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return []float64{lo}
	}
	raw := (hi - lo) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw*0.999 {
			step *= m
			break
		}
	}
	var out []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		out = append(out, i*step)
	}
	return out
}

// trim prints a coordinate with the given significant digits and no more.
func trim(v float64, digits int) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// brief prints a measured value with three digits, or all of those before the point.
func brief(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return trim(v, 3)
}

// px prints a coordinate with one decimal at most, which no eye can tell from more.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// permille prints a percentage as the thousandths that the paths are drawn in.
func permille(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/100, 'f', -1, 64) }
