package report

import (
	"fmt"
	"time"
)

const (
	// ageColumns bounds how many instants are looked at.
	ageColumns = 90
	// faintest is the shade of a single connection: to be seen at all.
	faintest = 0.08
)

// ages draws how old the open connections are: a row for each class of ages, the
// oldest on top, darker where there are more. A herd is a dark diagonal.
func (b *chartBuilder) ages() {
	width := b.run.Prediction.Chart.Ages
	if width <= 0 || b.set.Fleet == nil || b.x.in.To <= b.x.in.From {
		return
	}
	every := max(time.Second, (b.x.in.To-b.x.in.From).Truncate(time.Second)/ageColumns)
	columns := b.set.Fleet.Ages(b.x.in, every, width)
	most := 0
	for _, c := range columns {
		for _, n := range c.Counts {
			most = max(most, n)
		}
	}
	if most == 0 {
		return
	}
	l := lane{Title: "Ages of the open connections"}
	for class := len(columns[0].Counts) - 1; class >= 0; class-- {
		row := laneRow{Class: "heat", Label: (time.Duration(class) * width).String()}
		for _, c := range columns {
			n := c.Counts[class]
			if n == 0 {
				continue
			}
			title := fmt.Sprintf("%s: %s of %s to %s", b.clock(c.At), count(n, "connection"), time.Duration(class)*width, time.Duration(class+1)*width)
			cell := b.x.bar(c.At, min(c.At+every, b.x.in.To), title)
			cell.Shade = round3(faintest + (1-faintest)*float64(n)/float64(most))
			row.Bars = append(row.Bars, cell)
		}
		l.Rows = append(l.Rows, row)
	}
	b.lane(l)
}
