// Package judge holds a recording's series against a prediction and says what
// held, what broke and what cannot be told. It is pure.
//
// Two questions are kept apart: claims ask whether the controller did what the
// model says this version does; guards ask whether what it did was safe.
package judge

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/series"
)

// Claim is one predicted statement with its basis.
type Claim struct {
	ID       string
	Sentence string
	// Basis names the source lines, document sections or formulas it rests on.
	Basis []string
	Check Check
}

// Check decides one claim over the series of a recording.
type Check interface {
	// Predicted is the expected value as a reader would write it.
	Predicted() string
	// Eval judges. Errors are programming errors: an unknown series.
	Eval(set *series.Set) (Finding, error)
	// Series lists the series the check reads.
	Series() []string
}

// Subjects are the series that a check is about: those that it reads, but for
// witnesses, which only prove that somebody was there.
func Subjects(c Check) []string {
	w, ok := c.(interface{ witnesses() []string })
	if !ok {
		return c.Series()
	}
	return slices.DeleteFunc(slices.Clone(c.Series()), func(name string) bool { return slices.Contains(w.witnesses(), name) })
}

// Guard is a safety limit on a series.
type Guard struct {
	ID       string
	Sentence string
	Basis    []string
	Series   string
	// Limit is the greatest value that is safe.
	Limit float64
	// Expected is what the model says the worst value will be; nil if it says nothing.
	Expected *float64
	// Client is the client of the requests that the series counts, if it does:
	// where it sent too few of them when they were due, nobody can tell.
	Client string
	Window series.Window
}

// Prediction is the answer key of one cell.
type Prediction struct {
	Claims []Claim
	Guards []Guard
	// Model names the model that made it ("rollouts 1.8.0-1.8.2").
	Model string
	// Notes are caveats that belong into every report of it, such as a version
	// that no model group covers.
	Notes []string
	// Definitions are the series that claims, guards and charts read.
	Definitions []series.Definition
	// Computed makes further series of a recording, such as what a model has that was
	// told when things happened in it. Nil: there are none. A series that cannot be
	// computed is there without points.
	Computed func(set *series.Set) []*series.Series
	// Chart says what the report draws.
	Chart Chart
	// Measures are what the report tells of the traffic without judging it.
	Measures []Measure
	// Tables are the answer key as rows for people, such as the model's trace.
	Tables []Table
}

// Table is a small table of text.
type Table struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// Chart names the series of the report's timeline.
type Chart struct {
	// Window is what part of the run the chart shows.
	Window series.Window
	Panels []Panel
	// Ages draws how old proxies' connections are, in classes of this width; 0: not.
	Ages time.Duration
	// Marks are event series drawn as marks on the time axis.
	Marks []string
}

// Panel is one plot of the timeline.
type Panel struct {
	Title string
	Unit  string
	// None is said in place of a plot where nothing is to be drawn, because no
	// line of kind Rare is ever above zero.
	None  string
	Lines []Line
	// Each draws every series whose name begins so, beside Lines: those of replicas
	// that a recording tells of by names that nobody knows before.
	Each string
}

// LineKind is how a series is drawn.
type LineKind string

const (
	// Steps is a line that holds each value until the next: what was set.
	Steps LineKind = ""
	// Rare is an area above zero, which is left out where it is zero throughout:
	// failures of one cause.
	Rare LineKind = "rare"
)

// Line is one series of a panel, with the predicted sequence of its values.
type Line struct {
	Series    string
	Label     string
	Kind      LineKind
	Predicted []float64
	// Band is drawn behind a measured value: between which the true one is.
	Band *Band
}

// Band are the series of an interval's ends, such as series.ShareOf makes.
type Band struct{ Low, High string }

// Status of a claim.
type Status string

const (
	Held         Status = "held"
	Broken       Status = "broken"
	Inconclusive Status = "inconclusive"
)

// Finding is what a check saw.
type Finding struct {
	Status   Status
	Observed string
	// Why explains a broken or inconclusive finding, in one sentence.
	Why string
	// At is when the decisive state was received, nil if there is none.
	At *time.Duration
	// Objects are the object versions that decided.
	Objects []string
	// Samples is the number of points that the finding rests on.
	Samples int
	// Detail is what the finding consists of, nil where Observed says it all.
	Detail *Table
	// Disagreements are what a check of weights found.
	Disagreements []Disagreement
}

// Untold is the finding of a recording that tells too little.
func Untold(format string, args ...any) Finding { return inconclusive(0, format, args...) }

func inconclusive(samples int, format string, args ...any) Finding {
	return Finding{Status: Inconclusive, Observed: "-", Why: fmt.Sprintf(format, args...), Samples: samples}
}

func (f Finding) at(p series.Point) Finding {
	t := p.T
	f.At = &t
	f.Objects = append(f.Objects, p.Ref)
	return f
}

// Op compares a series value with a constant.
type Op string

const (
	Less         Op = "<"
	LessEqual    Op = "<="
	Equal        Op = "="
	NotEqual     Op = "!="
	GreaterEqual Op = ">="
	Greater      Op = ">"
)

// Cond is a condition on one series, such as available{v1} < 20.
type Cond struct {
	Series string
	Op     Op
	Value  series.Value
}

func (c Cond) String() string { return fmt.Sprintf("%s %s %s", c.Series, c.Op, c.Value) }

// Holds says whether v satisfies the condition. Texts know = and != only.
func (c Cond) Holds(v series.Value) bool {
	switch c.Op {
	case Less:
		return v.Num < c.Value.Num
	case LessEqual:
		return v.Num <= c.Value.Num
	case Equal:
		return v == c.Value
	case NotEqual:
		return v != c.Value
	case GreaterEqual:
		return v.Num >= c.Value.Num
	case Greater:
		return v.Num > c.Value.Num
	}
	return false
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
