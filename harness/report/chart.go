package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// chart is the timeline as the template draws it: panels and lanes over one
// time axis. All x are percent of the width, all y are pixels.
type chart struct {
	Caption string
	// Bands: a line has a predicted sequence behind it. Intervals: one is measured,
	// and has the interval of the true value behind it.
	Bands, Intervals bool
	// Right is the room for the labels at the ends of the lines, in pixels.
	Right  int
	Ticks  []tick
	Rules  []mark
	Faults []mark
	Panels []panel
	Lanes  []lane
	Events []event
	Hover  hover
}

// event is one mark of an event series.
type event struct {
	At      float64
	T       time.Duration
	Seconds string
	Series  string
	Text    string
}

// hover is what the read-out script needs; the page is whole without it.
type hover struct {
	Seconds float64      `json:"seconds"`
	Lines   []hoverTrack `json:"lines"`
}

type hoverTrack struct {
	T []float64 `json:"t"`
	V []string  `json:"v"`
}

// chartBuilder holds what all parts of the chart share.
type chartBuilder struct {
	run Run
	set *series.Set
	x   timeScale
	out *chart
	// reached: the script got to the end of the window.
	reached bool
	color   map[string]int
}

// newChart lays out the timeline. It returns nil for a run without series.
// Errors name a series that the chart asks for and nothing defines.
func newChart(r Run) (*chart, error) {
	if r.Set == nil {
		return nil, nil
	}
	in, reached := r.Set.Resolve(r.Prediction.Chart.Window)
	b := &chartBuilder{run: r, set: r.Set, x: timeScale{in}, out: &chart{}, reached: reached, color: map[string]int{}}
	b.out.Caption = b.caption()
	b.out.Ticks = b.x.ticks()
	b.out.Hover.Seconds = (in.To - in.From).Seconds()
	for i, p := range r.Prediction.Chart.Panels {
		if err := b.panel(i, p); err != nil {
			return nil, fmt.Errorf("chart panel %q: %w", p.Title, err)
		}
	}
	b.ages()
	b.steps()
	b.findings()
	b.recorder()
	if err := b.events(); err != nil {
		return nil, fmt.Errorf("chart marks: %w", err)
	}
	return b.out, nil
}

func (b *chartBuilder) caption() string {
	w := b.run.Prediction.Chart.Window
	text := "Seconds since the begin of the recording."
	if w.From != "" && b.set.Step(w.From) != nil {
		text = fmt.Sprintf("Seconds since the begin of step %s, which was %s into the recording.", w.From, secs(msec(b.x.in.From)))
	}
	if !b.reached {
		text += " The script did not get to the end of the chart's window, so the chart goes to the end of the recording."
	}
	return text
}

// msec rounds to milliseconds, as the verdict does.
func msec(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// clock prints an instant as seconds on the chart.
func (b *chartBuilder) clock(t time.Duration) string {
	return fmt.Sprintf("%.3f s", b.x.seconds(t))
}

// inWindow says whether an instant given in seconds of the recording is on the chart.
func (b *chartBuilder) inWindow(sec float64) (time.Duration, bool) {
	t := time.Duration(sec * float64(time.Second))
	// The verdict rounds down to milliseconds, so an instant at the very begin may seem to be before it.
	return t, t >= b.x.in.From-time.Millisecond && t <= b.x.in.To
}

func (b *chartBuilder) steps() {
	l := lane{Title: "Script steps"}
	for _, s := range b.set.Steps {
		end, class, label := s.End, "step", s.Name
		switch {
		case !s.Ended:
			end, class, label = b.set.End, "step broken", s.Name+", not finished"
		case s.Error != "":
			class, label = "step broken", s.Name+", failed: "+shorten(s.Error, 90)
		}
		if end <= b.x.in.From || s.Begin > b.x.in.To {
			continue
		}
		label += " · " + secs(msec(end-s.Begin))
		l.Rows = append(l.Rows, barRow(class, label, b.x.bar(s.Begin, end, label)))
		if s.Begin > b.x.in.From {
			b.out.Rules = append(b.out.Rules, mark{b.x.percent(s.Begin), s.Name})
		}
	}
	b.lane(l)
}

// findings marks where what did not hold was seen.
func (b *chartBuilder) findings() {
	l := lane{Title: "What did not hold"}
	put := func(class, label string, sec *float64, why string) {
		if sec == nil {
			return
		}
		if t, ok := b.inWindow(*sec); ok {
			l.Rows = append(l.Rows, tickRow(class, label, []mark{{b.x.percent(t), b.clock(max(t, b.x.in.From)) + ": " + why}}))
		}
	}
	for _, c := range b.run.Verdict.Claims {
		if c.Status == judge.Broken {
			put("finding", "claim "+c.ID+": "+shorten(c.Why, 100), c.AtSec, c.Why)
		}
	}
	for _, g := range b.run.Verdict.Guards {
		if g.Status == judge.Broken {
			put("finding", "guard "+g.ID+": "+shorten(g.Why, 100), g.AtSec, g.Why)
		}
	}
	b.lane(l)
}

// recorder shows what was not seen, and what made the run invalid.
func (b *chartBuilder) recorder() {
	l := lane{Title: "Recorder"}
	for _, g := range b.set.Gaps {
		if g.From > b.x.in.To || g.To < b.x.in.From || g.Undefined() { // the panel shows where there is no value
			continue
		}
		label := fmt.Sprintf("%s cut for %s: %s", g.Source(), secs(msec(g.To-g.From)), gapMeaning(g))
		l.Rows = append(l.Rows, barRow("gap", label, b.x.bar(g.From, g.To, label+" ("+g.Reason+")")))
	}
	for _, f := range b.set.Faults {
		text := fmt.Sprintf("%s failed at %s: %s", f.What, b.clock(f.At), shorten(f.Detail, 100))
		m := mark{b.x.percent(f.At), text}
		b.out.Faults = append(b.out.Faults, m)
		l.Rows = append(l.Rows, tickRow("fault", text, []mark{m}))
	}
	b.lane(l)
}

func gapMeaning(g series.Gap) string {
	if series.IsTraffic(g.Resource) || g.Resource == recording.Connections {
		return g.Reason
	}
	if g.Lossless {
		return "no change was lost, times are uncertain"
	}
	return "changes may be lost"
}

// events gathers the chart's marks: events, and changes of state series.
func (b *chartBuilder) events() error {
	for _, name := range b.run.Prediction.Chart.Marks {
		s, err := b.set.Get(name)
		if err != nil {
			return err
		}
		b.mark(s)
	}
	slices.SortStableFunc(b.out.Events, func(x, y event) int { return cmp.Compare(x.T, y.T) })
	if len(b.out.Events) > 0 {
		b.lane(lane{Title: b.eventTitle(), Rows: eventRows(b.out.Events)})
	}
	return nil
}

// eventTitle says whose events they are: those of a controller under test, or
// of what else the marks come from.
func (b *chartBuilder) eventTitle() string {
	var others []string
	for _, name := range b.run.Prediction.Chart.Marks {
		source := b.source(name)
		ofRun := func(c recording.Component) bool { return c.Name == source }
		if !slices.ContainsFunc(b.run.Verdict.Components, ofRun) && !slices.Contains(others, source) {
			others = append(others, source)
		}
	}
	if len(others) == 0 {
		return "Controller events"
	}
	return "Events: " + strings.Join(others, ", ")
}

// source is the component whose log a series is read from, or else its name.
func (b *chartBuilder) source(name string) string {
	for _, d := range b.run.Prediction.Definitions {
		if d.Name == name && d.Log != nil {
			return d.Log.Component
		}
	}
	return name
}

func (b *chartBuilder) mark(s *series.Series) {
	for _, p := range s.Changes(b.x.in) {
		text := p.Value.String()
		if s.Kind == series.State {
			text = s.Name + " became " + text
		}
		b.out.Events = append(b.out.Events, event{b.x.percent(p.T), p.T, b.clock(p.T), s.Name, text})
	}
}

func (b *chartBuilder) lane(l lane) {
	if len(l.Rows) > 0 {
		b.out.Lanes = append(b.out.Lanes, l)
	}
}

// colorOf gives lines of one label one colour in all panels.
func (b *chartBuilder) colorOf(label string) int {
	c, ok := b.color[label]
	if !ok {
		c = len(b.color) % palette
		b.color[label] = c
	}
	return c
}

// palette is the number of line colours in report.css.
const palette = 6

// sequence abbreviates a predicted sequence for a legend.
func sequence(vs []float64) string {
	text := make([]string, len(vs))
	for i, v := range vs {
		text[i] = number(v)
	}
	if n := len(text); n > 8 {
		text = []string{text[0], text[1], text[2], "…", text[n-1]}
		return strings.Join(text, " → ") + fmt.Sprintf(" (%d values)", n)
	}
	return strings.Join(text, " → ")
}

// widen reserves room for a label at the end of a line.
func (c *chart) widen(label string) {
	const least, most, boldPerRune = 40, 230, 7.1
	c.Right = min(most, max(c.Right, least, int(float64(utf8.RuneCountInString(label))*boldPerRune)+14))
}
