// Package compare tells what differs between two sides: runs of a drill before and
// after something changed. It is pure: recordings' series and verdicts go in,
// differences come out.
//
// Trajectories are laid beside each other by what happened (the script's steps, and
// each value that a series took for the nth time), never by the clock: the second
// run of a thing is never as fast as the first. Three things are kept apart:
//
//   - a difference, which rests on the models (their predictions differ, or one side
//     held its own and the other did not) or on the runs (enough of them on each
//     side, and an exact test);
//   - what the runs are too few to tell;
//   - what varies between the repetitions of one side, which is no difference.
package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// Format names the schema of a comparison as JSON.
const Format = "reckon/compare/v1"

// Run is one recording with what was made of it.
type Run struct {
	Header     recording.Header
	Verdict    judge.Verdict
	Prediction judge.Prediction
	Set        *series.Set
	// Params are the parameters in today's form, so that recordings of different
	// ages have the same.
	Params json.RawMessage
}

// Options of a comparison.
type Options struct {
	// Alpha is the level of what rests on the runs, rank.Alpha if 0: where nothing
	// differs, nothing is found with a confidence of 1-Alpha, over all cells together.
	Alpha float64
}

// Comparison is what differs between two sides.
type Comparison struct {
	Format string  `json:"format"`
	A      string  `json:"a"`
	B      string  `json:"b"`
	Alpha  float64 `json:"alpha"`
	Cells  []Cell  `json:"cells"`
	// OnlyA and OnlyB are the cells without a partner.
	OnlyA []Name `json:"onlyA"`
	OnlyB []Name `json:"onlyB"`
	// Tests is how many questions were put to the runs.
	Tests int `json:"tests"`
	// Enough is how many runs each side needs for what they are too few to tell; 0
	// where there is nothing of that kind.
	Enough int `json:"enough,omitempty"`
}

// Name says which cell is meant, without versions.
type Name struct {
	Scenario string          `json:"scenario"`
	Cell     string          `json:"cell"`
	Provider string          `json:"provider"`
	Params   json.RawMessage `json:"params,omitempty"`
}

// Cell is a pair of cells that differ in versions at most.
type Cell struct {
	Name
	A Side `json:"a"`
	B Side `json:"b"`
	// Differences are settled, Unsettled what the runs are too few to tell.
	Differences []Difference `json:"differences"`
	Unsettled   []Difference `json:"unsettled"`
	// Varies is what is not the same in all repetitions of a side.
	Varies []Varied `json:"varies"`
	// Missing says why nothing could be compared, "" if something was.
	Missing string `json:"missing,omitempty"`
}

// Side is one side of a cell.
type Side struct {
	// Runs is how many runs are compared. Invalid ones are not among them.
	Runs     int                   `json:"runs"`
	Outcomes map[judge.Outcome]int `json:"outcomes"`
	Versions []string              `json:"versions"`
	Model    string                `json:"model,omitempty"`
	RunIDs   []string              `json:"runIDs"`
}

// Kind says what differs.
type Kind string

// The kinds of differences, in the order in which they are told.
const (
	Claim      Kind = "claim"
	Guard      Kind = "guard"
	Transition Kind = "transition" // the values that a series takes
	Order      Kind = "order"      // which of two transitions comes first
	Extreme    Kind = "extreme"    // the highest or lowest value of a series
	Duration   Kind = "duration"   // of a step, or of a guard's being broken
)

// Basis is what a difference rests on.
type Basis string

const (
	// OnModel: the predictions differ, or one side's held and the other's broke.
	OnModel Basis = "model"
	// OnRuns: the runs are enough to tell it from chance.
	OnRuns Basis = "runs"
	// TooFew: they are not, and no model says anything.
	TooFew Basis = "too few runs"
)

// Difference is one thing that differs.
type Difference struct {
	Kind Kind `json:"kind"`
	// Of is the id of a claim or guard, the name of a series or step.
	Of       string `json:"of"`
	Sentence string `json:"sentence,omitempty"`
	A        Saw    `json:"a"`
	B        Saw    `json:"b"`
	Basis    Basis  `json:"basis"`
	// Known: the predictions differ in the same place, and each side held its own.
	Known bool `json:"known"`
	// Worse: the worst value of a guard is worse on the side of B, Better the other
	// way round.
	Worse  bool `json:"worse,omitempty"`
	Better bool `json:"better,omitempty"`
	// Shift is by how much B lies above A, of what is measured in Unit.
	Shift *rank.Shift `json:"shift,omitempty"`
	Unit  string      `json:"unit,omitempty"`

	// about are the series that it is about.
	about []string
	// p is the probability of the like where nothing differs; parted says that all
	// of A are on one side of it and all of B on the other.
	p      float64
	parted bool
}

// Timing says whether it is about how long something takes, which is the machine's
// affair as much as a component's.
func (d Difference) Timing() bool { return d.Kind == Duration || d.Shift != nil && d.Unit == seconds }

// Saw is what one side predicted and did.
type Saw struct {
	Observed  string `json:"observed"`
	Predicted string `json:"predicted,omitempty"`
	// Result is held, broken or inconclusive, or several of them with their numbers.
	Result string `json:"result,omitempty"`
}

// Varied is what differs between the repetitions of one side.
type Varied struct {
	Side string `json:"side"`
	Kind Kind   `json:"kind"`
	Of   string `json:"of"`
	What string `json:"what"`
	// Unsure: a result or an outcome varies, so that nobody can rely on the cell.
	Unsure bool `json:"unsure,omitempty"`
	// Held is in how many runs of A and of B a claim or guard held, where that varies.
	Held *[2]Share `json:"held,omitempty"`
}

// Share is a part of some runs.
type Share struct {
	K int `json:"k"`
	N int `json:"n"`
}

// Sides compares two sides, A before B. Errors say that a side has several cells
// that differ in nothing but versions, so that nobody can tell which is meant.
func Sides(nameA string, a []Run, nameB string, b []Run, o Options) (Comparison, error) {
	if o.Alpha == 0 {
		o.Alpha = rank.Alpha
	}
	out := Comparison{Format: Format, A: nameA, B: nameB, Alpha: o.Alpha, Cells: []Cell{}, OnlyA: []Name{}, OnlyB: []Name{}}
	before, err := group(nameA, a)
	if err != nil {
		return out, err
	}
	after, err := group(nameB, b)
	if err != nil {
		return out, err
	}
	for _, g := range before {
		if other := find(after, g.key); other != nil {
			out.Cells = append(out.Cells, pair(g, *other))
		} else {
			out.OnlyA = append(out.OnlyA, g.name)
		}
	}
	for _, g := range after {
		if find(before, g.key) == nil {
			out.OnlyB = append(out.OnlyB, g.name)
		}
	}
	out.settle()
	return out, nil
}

// Differences counts what is settled.
func (c Comparison) Differences() int {
	n := 0
	for _, cell := range c.Cells {
		n += len(cell.Differences)
	}
	return n
}

// Behaviour are the settled differences of a cell that are not about time.
func (c Cell) Behaviour() []Difference {
	return slices.DeleteFunc(slices.Clone(c.Differences), Difference.Timing)
}

// Unsure says whether repetitions disagree, or were not told, so that nobody can rely
// on the cell.
func (c Cell) Unsure() bool {
	return c.Missing != "" || slices.ContainsFunc(c.Varies, func(v Varied) bool { return v.Unsure })
}

// Complete says whether every cell has a partner, and every pair runs to compare.
func (c Comparison) Complete() bool {
	return len(c.Cells) > 0 && len(c.OnlyA)+len(c.OnlyB) == 0 &&
		!slices.ContainsFunc(c.Cells, func(c Cell) bool { return c.Missing != "" })
}

// settle puts the questions to the runs, those of all cells together: of many
// answers some would be wrong by chance. What they cannot tell is kept apart if it
// parts the runs, or if so few runs could not have told it whatever they did.
func (c *Comparison) settle() {
	var asked []*Difference
	parted := 0
	for i := range c.Cells {
		for j := range c.Cells[i].Differences {
			if d := &c.Cells[i].Differences[j]; d.Basis == "" {
				asked = append(asked, d)
				if d.parted {
					parted++
				}
			}
		}
	}
	ps := make([]float64, len(asked))
	for i, d := range asked {
		ps[i] = d.p
	}
	for i, found := range rank.Found(ps, c.Alpha) {
		switch {
		case found:
			asked[i].Basis = OnRuns
		case asked[i].parted:
			asked[i].Basis = TooFew
		}
	}
	unsettled := 0
	for i := range c.Cells {
		c.Cells[i].sift()
		unsettled += len(c.Cells[i].Unsettled)
	}
	if c.Tests = len(asked); unsettled > 0 {
		c.Enough = rank.Enough(c.Alpha * float64(parted) / float64(c.Tests))
	}
}

// sift leaves the differences that are settled, in the order of their kinds.
func (c *Cell) sift() {
	all := c.Differences
	c.Differences, c.Unsettled = []Difference{}, []Difference{}
	for _, kind := range []Kind{Claim, Guard, Transition, Order, Extreme, Duration} {
		for _, d := range all {
			switch {
			case d.Kind != kind || d.Basis == "":
			case d.Basis == TooFew:
				c.Unsettled = append(c.Unsettled, d)
			default:
				c.Differences = append(c.Differences, d)
			}
		}
	}
	if c.Varies == nil {
		c.Varies = []Varied{}
	}
}

// pair compares two cells that have the same scenario and parameters.
func pair(a, b cells) Cell {
	c := comparing{Cell: Cell{Name: a.name, A: a.side(), B: b.side()}, a: a.valid(), b: b.valid()}
	if len(c.a) == 0 || len(c.b) == 0 {
		c.Missing = strings.Join(slices.Concat(a.missing("A", c.a), b.missing("B", c.b)), "; ")
		return c.Cell
	}
	c.outcomes()
	c.claims()
	c.guards()
	c.happened()
	return c.Cell
}

// comparing is the comparison of one pair under way.
type comparing struct {
	Cell
	a, b []Run
}

func (c *comparing) add(d Difference) { c.Differences = append(c.Differences, d) }

// outcomes tells of repetitions that disagree as a whole.
func (c *comparing) outcomes() {
	for _, side := range []struct {
		name string
		Side
	}{{"A", c.A}, {"B", c.B}} {
		flawed := side.Outcomes[judge.Invalid] + side.Outcomes[judge.Undecided]
		if len(side.Outcomes) > 1 || flawed > 0 {
			c.Varies = append(c.Varies, Varied{Side: side.name, Kind: Claim, Of: "outcome", What: tally(side.Outcomes), Unsure: true})
		}
	}
}

// tally prints numbers by outcome: "2 pass, 1 invalid".
func tally(outcomes map[judge.Outcome]int) string {
	var out []string
	for _, o := range []judge.Outcome{judge.Fail, judge.Invalid, judge.Undecided, judge.Pass} {
		if n := outcomes[o]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(out, ", ")
}
