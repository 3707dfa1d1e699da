package report

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// lane is a titled group of rows under the panels: script steps, controller
// events, what the recorder missed.
type lane struct {
	Title string
	Rows  []laneRow
}

// laneRow is one line of a lane: bars (spans) or ticks (instants) and a label.
type laneRow struct {
	Class string
	Bars  []bar
	Ticks []mark
	Label string
	// Over puts the label above the row, because no free stretch can hold it.
	Over bool
	// Left and Width are the free stretch that holds the label; Right aligns it
	// to the end of it, next to what it names.
	Left, Width float64
	Right       bool
}

// bar is a span in percent of the width.
type bar struct {
	Left, Width float64
	Title       string
	// Shade is how dark it is, from 0 to 1; 0: as its class says.
	Shade float64
}

// mark is an instant in percent of the width.
type mark struct {
	At    float64
	Title string
}

// stretch is a free interval of a row that may hold its label.
type stretch struct {
	left, right float64
	// alignRight: the label names what follows the stretch.
	alignRight bool
}

// pixelsWide is the plot width that labels are placed for. On narrower screens
// they are clipped with an ellipsis, on small ones they stand above the row.
const pixelsWide, pixelsPerRune = 860.0, 6.6

// place puts the label into the first stretch that holds it, else above.
func (r *laneRow) place(stretches ...stretch) {
	need := 100 * (float64(utf8.RuneCountInString(r.Label))*pixelsPerRune + 14) / pixelsWide
	for _, s := range stretches {
		if s.right-s.left >= need {
			r.Left, r.Width, r.Right = s.left, round3(s.right-s.left), s.alignRight
			return
		}
	}
	r.Over, r.Width = true, 100
}

// barRow makes a row of one span: its label goes inside, after or before it.
func barRow(class, label string, b bar) laneRow {
	r := laneRow{Class: class, Label: label, Bars: []bar{b}}
	end := b.Left + b.Width
	r.place(stretch{b.Left, end, false}, stretch{end, 100, false}, stretch{0, b.Left, true})
	return r
}

// tickRow makes a row of instants: its label goes after the last, before the
// first, or into the widest stretch between two.
func tickRow(class, label string, ticks []mark) laneRow {
	r := laneRow{Class: class, Label: label, Ticks: ticks}
	first, last := ticks[0].At, ticks[len(ticks)-1].At
	widest := stretch{}
	for i := 1; i < len(ticks); i++ {
		if s := (stretch{ticks[i-1].At, ticks[i].At, false}); s.right-s.left > widest.right-widest.left {
			widest = s
		}
	}
	r.place(stretch{last, 100, false}, stretch{0, first, true}, widest)
	return r
}

// maxEventRows bounds the rows of the event lane; the list under the chart has all.
const maxEventRows = 12

var digits = regexp.MustCompile(`[0-9]+`)

// eventRows gives each kind of event one row. Texts that differ in numbers
// only are one kind ("scaled to 3", "scaled to 4"): their ticks say more side
// by side than twenty rows would.
func eventRows(events []event) []laneRow {
	kinds := map[string][]event{}
	var order []string
	for _, e := range events {
		key := e.Series + "\x00" + digits.ReplaceAllString(e.Text, "#")
		if kinds[key] == nil {
			order = append(order, key)
		}
		kinds[key] = append(kinds[key], e)
	}
	if rest := order[min(len(order), maxEventRows-1):]; len(rest) > 1 {
		var all []event
		for _, key := range rest {
			all = append(all, kinds[key]...)
		}
		const other = "other"
		order, kinds[other] = append(order[:maxEventRows-1:maxEventRows-1], other), all
	}
	rows := make([]laneRow, len(order))
	for i, key := range order {
		rows[i] = eventRow(kinds[key])
	}
	return rows
}

func eventRow(events []event) laneRow {
	ticks := make([]mark, len(events))
	same := true
	for i, e := range events {
		ticks[i] = mark{e.At, e.Seconds + ": " + e.Text}
		same = same && e.Text == events[0].Text
	}
	label := shorten(events[0].Text, 110)
	switch n := len(events); {
	case n > 1 && same:
		label += " (" + count(n, "time") + ")"
	case n > 1:
		label += " (and " + grouped(int64(n-1)) + " more)"
	}
	return tickRow("event", label, ticks)
}

// shorten cuts a text to n runes.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ") + "…"
}
