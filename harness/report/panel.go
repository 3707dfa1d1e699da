package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
)

// panel is one plot of the chart.
type panel struct {
	Title, Unit string
	// None is said in place of the plot.
	None        string
	Height      int
	HatchTop    string
	HatchHeight string
	Ticks       []tick
	Lines       []plotLine
	Limits      []limit
	Gaps        []bar
	Notes       []note
	EndLabels   []endLabel
	Strips      []laneRow
}

// plotLine is one step line with the predicted sequence behind it.
type plotLine struct {
	// ID is the line's place in hover.Lines.
	ID int
	// Color follows the label through all panels; Dash tells lines of one
	// panel apart for those who cannot tell the colours.
	Color, Dash int
	Label       string
	// Path is what was observed, Ghost what was predicted and happened,
	// Departed what was observed and not predicted.
	Path, Ghost, Departed string
	// Band is the area in which the true value of a measured one is, Area that
	// between a rare one and zero.
	Band, Area string
	// Predicted is the sequence in words, Result how it went.
	Predicted, Result string
	Follows           bool
	Empty             bool
}

// limit is a guard's limit; Above is the area between it and the line.
type limit struct {
	Label string
	Y     string
	Above string
	// Shown is false when the limit is off the scale.
	Shown bool
}

// note is a text at a point of the plot.
type note struct {
	x, y  float64
	X     string
	Y     string
	TextY string
	Text  string
	Class string
	Left  bool
}

// endLabel names a line where it ends.
type endLabel struct {
	Y     float64
	Text  string
	Class string
}

const (
	// dashes is the number of dash patterns in report.css.
	dashes      = 4
	panelHeight = 156
	panelTop    = 28.0
	panelBottom = 146.0
	hatchTop    = 16.0
	// longestLabel bounds the name of a line at its end, in runes.
	longestLabel = 26
	// labelGap keeps two labels at line ends from overlapping.
	labelGap = 14.0
)

// track is a line being drawn: its points in the window, times made monotonic.
type track struct {
	line   judge.Line
	series *series.Series
	points []series.Point
	// low and high are the ends of the interval of a measured value.
	low, high []series.Point
}

// absent says whether a rare line has nothing to show.
func (t track) absent() bool {
	return t.line.Kind == judge.Rare && !slices.ContainsFunc(t.points, func(p series.Point) bool { return p.Value.Num > 0 })
}

// say prints a value: what is counted of some hundred requests has three digits.
func (t track) say(v series.Value) string {
	if v.Text == "" && slices.ContainsFunc(t.series.Resources, series.IsTraffic) {
		return brief(v.Num)
	}
	return v.String()
}

func (t track) values() []float64 {
	out := make([]float64, len(t.points))
	for i, p := range t.points {
		out[i] = p.Value.Num
	}
	return out
}

func (t track) text() bool {
	return slices.ContainsFunc(t.points, func(p series.Point) bool { return p.Value.Text != "" })
}

func (b *chartBuilder) panel(_ int, p judge.Panel) error {
	out := panel{Title: p.Title, Unit: p.Unit, Height: panelHeight, HatchTop: px(hatchTop), HatchHeight: px(panelBottom - hatchTop)}
	var tracks []track
	for _, l := range b.lines(p) {
		t, err := b.track(l)
		if err != nil {
			return err
		}
		if out.Unit == "" {
			out.Unit = t.series.Unit
		}
		if t.absent() {
			continue
		}
		if t.text() {
			out.Strips = append(out.Strips, b.strip(t))
			continue
		}
		tracks = append(tracks, t)
	}
	if len(out.Strips) == 1 && len(tracks) == 0 {
		out.Strips[0].Label = "" // the panel's title says it
	}
	if slices.Contains(strings.Fields(out.Title), out.Unit) {
		out.Unit = "" // the title says it
	}
	if len(tracks) == 0 && len(out.Strips) == 0 {
		out.None = p.None
	}
	b.plot(&out, tracks)
	b.out.Panels = append(b.out.Panels, out)
	return nil
}

// lines are those of the panel and one for each series that it draws by name.
func (b *chartBuilder) lines(p judge.Panel) []judge.Line {
	out := slices.Clone(p.Lines)
	if p.Each == "" {
		return out
	}
	for _, s := range b.set.Beginning(p.Each) {
		out = append(out, judge.Line{Series: s.Name, Label: strings.TrimPrefix(s.Name, p.Each)})
	}
	return out
}

func (b *chartBuilder) track(l judge.Line) (track, error) {
	s, err := b.set.Get(l.Series)
	if err != nil {
		return track{}, err
	}
	t := track{line: l, series: s, points: b.points(s)}
	if l.Label == "" {
		t.line.Label = s.Name
	}
	if l.Band == nil {
		return t, nil
	}
	for name, into := range map[string]*[]series.Point{l.Band.Low: &t.low, l.Band.High: &t.high} {
		end, err := b.set.Get(name)
		if err != nil {
			return track{}, err
		}
		*into = b.points(end)
	}
	return t, nil
}

// points of a series inside the window. They come in store order; the watch
// that delivered them may have lagged, so times are made monotonic.
func (b *chartBuilder) points(s *series.Series) []series.Point {
	points := slices.Clone(s.Changes(b.x.in))
	for i := 1; i < len(points); i++ {
		points[i].T = max(points[i].T, points[i-1].T)
	}
	return slices.DeleteFunc(points, func(p series.Point) bool {
		return math.IsNaN(p.Value.Num) || math.IsInf(p.Value.Num, 0)
	})
}

func (b *chartBuilder) plot(out *panel, tracks []track) {
	if len(tracks) == 0 {
		out.Height = 0
		return
	}
	y := b.scale(tracks)
	out.Ticks = y.ticks()
	for _, t := range tracks {
		out.Lines = append(out.Lines, b.line(out, t, y))
		b.limits(out, t, y)
		b.gaps(out, t)
	}
	spread(out.EndLabels)
	for _, l := range out.EndLabels {
		b.out.widen(l.Text)
	}
}

// scale covers every value, observed, predicted and limiting, and zero: a
// plot of counts that does not start at zero exaggerates.
func (b *chartBuilder) scale(tracks []track) valueScale {
	s := valueScale{top: panelTop, bottom: panelBottom}
	for _, t := range tracks {
		for _, v := range append(t.values(), t.line.Predicted...) {
			s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		}
		for _, p := range t.high {
			s.hi = max(s.hi, p.Value.Num)
		}
	}
	for _, t := range tracks {
		for _, g := range b.guardsOf(t) {
			if g.Limit <= 2*s.hi { // a far limit would squash the line
				s.hi = max(s.hi, g.Limit)
			}
		}
	}
	if s.hi == s.lo {
		s.hi = s.lo + 1
	}
	return s
}

func (b *chartBuilder) guardsOf(t track) []judge.Guard {
	var out []judge.Guard
	for _, g := range b.run.Prediction.Guards {
		if g.Series == t.line.Series {
			out = append(out, g)
		}
	}
	return out
}

func (b *chartBuilder) line(out *panel, t track, y valueScale) plotLine {
	l := plotLine{ID: len(b.out.Hover.Lines), Color: b.colorOf(t.line.Label), Dash: len(out.Lines) % dashes, Label: t.line.Label, Empty: len(t.points) == 0}
	b.out.Hover.Lines = append(b.out.Hover.Lines, b.hoverTrack(t))
	if len(t.line.Predicted) > 0 {
		l.Predicted = sequence(t.line.Predicted)
	}
	if l.Empty {
		l.Result = "nothing was recorded"
		return l
	}
	last := t.points[len(t.points)-1].Value
	if t.line.Kind == judge.Rare {
		l.Path = b.rare(t.points, y)
		l.Area = l.Path
	} else {
		l.Path = b.steplike(t.points, y)
	}
	if len(t.low) > 0 && len(t.high) > 0 {
		b.out.Intervals = true
		l.Band = b.between(t.low, t.high, y)
	}
	if t.line.Kind != judge.Rare || last.Num > 0 {
		out.EndLabels = append(out.EndLabels, endLabel{y.y(last.Num), shorten(t.line.Label, longestLabel) + " " + t.say(last), fmt.Sprintf("c%d", l.Color)})
	}
	if len(t.line.Predicted) > 0 {
		b.out.Bands = true
		b.ghost(out, &l, t, y)
	}
	return l
}

func (b *chartBuilder) hoverTrack(t track) hoverTrack {
	h := hoverTrack{T: make([]float64, len(t.points)), V: make([]string, len(t.points))}
	for i, p := range t.points {
		h.T[i] = math.Round(b.x.seconds(p.T)*1000) / 1000
		h.V[i] = t.say(p.Value)
		if low, high, ok := t.ends(p.T); ok {
			h.V[i] += " (" + t.say(low) + " to " + t.say(high) + ")"
		}
	}
	return h
}

// ends are the ends of the interval at a time.
func (t track) ends(at time.Duration) (low, high series.Value, ok bool) {
	value := func(points []series.Point) (series.Value, bool) {
		after, _ := slices.BinarySearchFunc(points, at+1, func(p series.Point, t time.Duration) int { return cmp.Compare(p.T, t) })
		if after == 0 {
			return series.Value{}, false
		}
		return points[after-1].Value, true
	}
	low, known := value(t.low)
	high, ok = value(t.high)
	return low, high, ok && known
}

// end is until when the i-th point holds.
func (b *chartBuilder) end(points []series.Point, i int) time.Duration {
	if i+1 < len(points) {
		return points[i+1].T
	}
	return b.x.in.To
}

// steplike draws a value until it changes: horizontal, then vertical.
func (b *chartBuilder) steplike(points []series.Point, y valueScale) string {
	var d strings.Builder
	for i, p := range points {
		if i == 0 {
			d.WriteString("M" + permille(b.x.percent(p.T)) + " " + px(y.y(p.Value.Num)))
		} else {
			d.WriteString("V" + px(y.y(p.Value.Num)))
		}
		d.WriteString("H" + permille(b.x.percent(b.end(points, i))))
	}
	return d.String()
}

// between is the area between two step lines: along the upper one, and back along
// the lower.
func (b *chartBuilder) between(low, high []series.Point, y valueScale) string {
	var d strings.Builder
	d.WriteString(b.steplike(high, y))
	for i, p := range slices.Backward(low) {
		d.WriteString("V" + px(y.y(p.Value.Num)) + "H" + permille(b.x.percent(low[i].T)))
	}
	return d.String() + "Z"
}

// rare draws what is above zero: the area and its outline.
func (b *chartBuilder) rare(points []series.Point, y valueScale) string {
	var d strings.Builder
	up := false
	zero := px(y.y(0))
	for i, p := range points {
		switch {
		case p.Value.Num > 0 && !up:
			d.WriteString("M" + permille(b.x.percent(p.T)) + " " + zero)
		case p.Value.Num <= 0 && up:
			d.WriteString("V" + zero)
		}
		if up = p.Value.Num > 0; up {
			d.WriteString("V" + px(y.y(p.Value.Num)) + "H" + permille(b.x.percent(b.end(points, i))))
		}
	}
	if up {
		d.WriteString("V" + zero)
	}
	return d.String()
}

// ghost draws the predicted sequence behind the line: a pale band wherever the
// line is where it was predicted to be, joined where the order was kept. What
// departs is drawn over and named.
func (b *chartBuilder) ghost(out *panel, l *plotLine, t track, y valueScale) {
	a := align(t.values(), t.line.Predicted)
	var ghost, departed strings.Builder
	for i, p := range t.points {
		from, to := permille(b.x.percent(p.T)), permille(b.x.percent(b.end(t.points, i)))
		level := px(y.y(p.Value.Num))
		switch {
		case a.match[i] < 0:
			departed.WriteString("M" + from + " " + level + "H" + to)
		case i > 0 && a.match[i-1] >= 0 && a.match[i] == a.match[i-1]+1:
			ghost.WriteString("V" + level + "H" + to)
		default:
			ghost.WriteString("M" + from + " " + level + "H" + to)
		}
	}
	l.Ghost, l.Departed = ghost.String(), departed.String()
	l.Follows, l.Result = b.judgeOrder(out, t, a, y)
}

// judgeOrder says in words how the prediction went. What an early end or a gap
// kept from being seen is no departure.
func (b *chartBuilder) judgeOrder(out *panel, t track, a alignment, y valueScale) (follows bool, words string) {
	lost := slices.ContainsFunc(b.set.GapsOf(t.series.Resources, b.x.in), func(g series.Gap) bool { return !g.Lossless })
	switch {
	case a.followed() && lost:
		return true, "followed as far as was seen"
	case a.followed():
		return true, "followed"
	case !b.reached && a.cutShort():
		return true, "followed until the run ended, " + count(len(a.missing), "value") + " not reached"
	}
	return false, b.departures(out, t, a, y)
}

// maxNotes bounds the departures that are named in the plot of one line.
const maxNotes = 3

// departures names the first ones at their place and counts them all.
func (b *chartBuilder) departures(out *panel, t track, a alignment, y valueScale) string {
	extra, notes := 0, 0
	for i, p := range t.points {
		if a.match[i] >= 0 {
			continue
		}
		if extra++; notes < maxNotes {
			notes++
			b.note(out, p.T, y.y(p.Value.Num), p.Value.String()+", not predicted", "departed")
		}
	}
	for i := 0; i < len(a.missing) && notes < maxNotes; notes++ {
		first := a.missing[i]
		var skipped []float64
		for ; i < len(a.missing) && a.missing[i].after == first.after; i++ {
			skipped = append(skipped, t.line.Predicted[a.missing[i].predicted])
		}
		when := b.x.in.To
		if first.after < len(t.points) {
			when = t.points[first.after].T
		}
		b.note(out, when, y.y(skipped[0]), sequence(skipped)+" predicted, not seen", "missing")
	}
	return "departs: " + departureWords(extra, len(a.missing))
}

func departureWords(extra, missing int) string {
	var parts []string
	if extra > 0 {
		parts = append(parts, count(extra, "value")+" not predicted")
	}
	if missing > 0 {
		parts = append(parts, count(missing, "value")+" not seen")
	}
	return strings.Join(parts, ", ")
}

// note puts a text beside a point, on the side that has room, above the line
// if the panel leaves room for it, and clear of the notes before it.
func (b *chartBuilder) note(out *panel, t time.Duration, y float64, text, class string) {
	x := b.x.percent(t)
	left := x > 62
	textY := y - 9
	if textY < 10 {
		textY = y + 18
	}
	for tries := 0; tries < len(out.Notes)+1; tries++ {
		if !slices.ContainsFunc(out.Notes, func(n note) bool { return math.Abs(n.x-x) < 30 && math.Abs(n.y-textY) < labelGap }) {
			break
		}
		if textY += labelGap; textY > panelBottom {
			textY = panelTop
		}
	}
	out.Notes = append(out.Notes, note{x: x, y: textY, X: trim(x, 5) + "%", Y: px(y), TextY: px(textY), Text: text, Class: class, Left: left})
}

func (b *chartBuilder) limits(out *panel, t track, y valueScale) {
	for _, g := range b.guardsOf(t) {
		l := limit{Label: fmt.Sprintf("limit of guard %s: %s", g.ID, number(g.Limit)), Y: px(y.y(g.Limit)), Shown: g.Limit <= y.hi && g.Limit >= y.lo}
		if l.Shown {
			l.Above = b.above(t.points, g.Limit, y)
			out.EndLabels = append(out.EndLabels, endLabel{y.y(g.Limit), "limit " + number(g.Limit), "limit"})
		} else {
			l.Label += ", off the scale"
		}
		out.Limits = append(out.Limits, l)
		b.worst(out, g, y)
	}
}

// above is the area in which the line passes the limit.
func (b *chartBuilder) above(points []series.Point, lim float64, y valueScale) string {
	var d strings.Builder
	for i, p := range points {
		if p.Value.Num > lim {
			fmt.Fprintf(&d, "M%s %sV%sH%sV%sZ", permille(b.x.percent(p.T)), px(y.y(lim)), px(y.y(p.Value.Num)),
				permille(b.x.percent(b.end(points, i))), px(y.y(lim)))
		}
	}
	return d.String()
}

// worst marks the worst value of a broken guard where it was reached.
func (b *chartBuilder) worst(out *panel, g judge.Guard, y valueScale) {
	for _, r := range b.run.Verdict.Guards {
		if r.ID != g.ID || r.Status != judge.Broken || r.Worst == nil || r.AtSec == nil {
			continue
		}
		if t, ok := b.inWindow(*r.AtSec); ok {
			text := "worst " + number(*r.Worst)
			if asPredicted(r) {
				text += ", as predicted"
			} else if r.Expected != nil {
				text += ", predicted " + number(*r.Expected)
			}
			b.note(out, t, y.y(*r.Worst), text, "worst")
		}
	}
}

// gaps hatches where the watch behind a line was not served.
func (b *chartBuilder) gaps(out *panel, t track) {
	for _, g := range b.set.GapsOf(t.series.Resources, b.x.in) {
		hatch := b.x.bar(g.From, g.To, g.Source()+" cut: "+gapMeaning(g))
		if !slices.Contains(out.Gaps, hatch) {
			out.Gaps = append(out.Gaps, hatch)
		}
	}
}

// strip shows a series of texts, such as a phase, as named spans.
func (b *chartBuilder) strip(t track) laneRow {
	r := laneRow{Class: "strip", Label: t.line.Label, Over: true, Width: 100}
	for i, p := range t.points {
		r.Bars = append(r.Bars, b.x.bar(p.T, b.end(t.points, i), p.Value.String()))
	}
	return r
}

// spread moves labels apart that would overlap, keeping their order: down
// first, then up again from the bottom of the panel.
func spread(labels []endLabel) {
	slices.SortStableFunc(labels, func(a, b endLabel) int {
		switch {
		case a.Y < b.Y:
			return -1
		case a.Y > b.Y:
			return 1
		}
		return 0
	})
	for i := 1; i < len(labels); i++ {
		labels[i].Y = max(labels[i].Y, labels[i-1].Y+labelGap)
	}
	for i, floor := len(labels)-1, panelBottom+4; i >= 0; i, floor = i-1, floor-labelGap {
		labels[i].Y = min(labels[i].Y, floor)
	}
}
