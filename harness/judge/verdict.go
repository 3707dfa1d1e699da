package judge

import (
	"errors"
	"fmt"
	"math"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// VerdictFormat names the schema of verdict.json.
const VerdictFormat = "reckon/verdict/v1"

// Outcome of a run. Nothing else exists, and none is silent.
type Outcome string

const (
	Pass      Outcome = "pass"
	Fail      Outcome = "fail"
	Undecided Outcome = "inconclusive"
	Invalid   Outcome = "invalid"
)

// Gate says what decides the outcome: "fail" or "report", for claims and guards.
type Gate struct {
	Claims string `json:"claims,omitempty"`
	Guards string `json:"guards,omitempty"`
}

// Verdict is the judgement of one run. It holds no clock and no path, so
// judging the same recording again gives the same bytes.
type Verdict struct {
	Format     string        `json:"format"`
	RunID      string        `json:"runID"`
	Drill      string        `json:"drill"`
	Cell       string        `json:"cell"`
	Repetition int           `json:"repetition"`
	Scenario   string        `json:"scenario"`
	Outcome    Outcome       `json:"outcome"`
	Reasons    []string      `json:"reasons,omitempty"`
	Claims     []ClaimResult `json:"claims"`
	Guards     []GuardResult `json:"guards"`
	// Disagreements are when and why weights and answers did not agree.
	Disagreements []Disagreement        `json:"disagreements,omitempty"`
	Measures      []MeasureResult       `json:"measures,omitempty"`
	Gate          Gate                  `json:"gate"`
	Model         string                `json:"model"`
	Notes         []string              `json:"notes,omitempty"`
	Components    []recording.Component `json:"components"`
	Cluster       recording.Cluster     `json:"cluster"`
	// Facts is the number of facts in the recording, Lasted its length.
	Facts     int64   `json:"facts"`
	LastedSec float64 `json:"lastedSeconds"`
}

// ClaimResult is one claim with what was found.
type ClaimResult struct {
	ID        string   `json:"id"`
	Sentence  string   `json:"sentence"`
	Basis     []string `json:"basis"`
	Predicted string   `json:"predicted"`
	Observed  string   `json:"observed"`
	Status    Status   `json:"status"`
	Why       string   `json:"why,omitempty"`
	AtSec     *float64 `json:"atSeconds,omitempty"`
	Objects   []string `json:"objects,omitempty"`
	Samples   int      `json:"samples"`
	// Detail is what the finding consists of, such as the stretches of a share.
	Detail *Table `json:"detail,omitempty"`
}

// GuardResult is one safety limit with the worst that was seen.
type GuardResult struct {
	ID       string   `json:"id"`
	Sentence string   `json:"sentence"`
	Basis    []string `json:"basis,omitempty"`
	// Series is what the limit is on, Unit its unit.
	Series string  `json:"series,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Limit  float64 `json:"limit"`
	// Expected is the worst value that the model predicts, if it predicts one.
	Expected *float64 `json:"expected,omitempty"`
	Worst    *float64 `json:"worst,omitempty"`
	// AboveSec is for how long the limit was passed, in seconds by receipt times.
	AboveSec float64  `json:"aboveSeconds"`
	Status   Status   `json:"status"`
	Why      string   `json:"why,omitempty"`
	AtSec    *float64 `json:"atSeconds,omitempty"`
	Objects  []string `json:"objects,omitempty"`
	Samples  int      `json:"samples"`
	// Notes say what is uncertain about the numbers, though the status is not.
	Notes []string `json:"notes,omitempty"`
}

// Judge decides a run. Errors are programming errors (a claim on a series that
// nothing defines); what the recording lacks ends in the verdict, not in an error.
func Judge(h recording.Header, p Prediction, set *series.Set, gate Gate) (Verdict, error) {
	v := Verdict{
		Format: VerdictFormat, RunID: h.RunID, Drill: h.Drill, Cell: h.Cell, Repetition: h.Repetition,
		Scenario: h.Scenario, Gate: gate, Model: p.Model, Notes: p.Notes, Components: h.Components,
		Cluster: h.Cluster, Facts: set.Facts, LastedSec: round(set.End), Claims: []ClaimResult{}, Guards: []GuardResult{},
	}
	for _, c := range p.Claims {
		f, err := c.Check.Eval(set)
		if err != nil {
			return Verdict{}, fmt.Errorf("claim %s: %w", c.ID, err)
		}
		v.Claims = append(v.Claims, ClaimResult{
			ID: c.ID, Sentence: c.Sentence, Basis: c.Basis, Predicted: c.Check.Predicted(), Observed: f.Observed,
			Status: f.Status, Why: f.Why, AtSec: roundPtr(f.At), Objects: f.Objects, Samples: f.Samples, Detail: f.Detail,
		})
		for _, d := range f.Disagreements {
			d.Claim = c.ID
			v.Disagreements = append(v.Disagreements, d)
		}
	}
	for _, g := range p.Guards {
		r, err := g.eval(set)
		if err != nil {
			return Verdict{}, fmt.Errorf("guard %s: %w", g.ID, err)
		}
		v.Guards = append(v.Guards, r)
	}
	for _, m := range p.Measures {
		r, err := m.measure(set)
		if err != nil {
			return Verdict{}, fmt.Errorf("measure %s: %w", m.Title, err)
		}
		v.Measures = append(v.Measures, r)
	}
	v.decide(set)
	return v, nil
}

// Unreadable is the verdict of a run whose recording cannot be read.
func Unreadable(h recording.Header, why string) Verdict {
	return Verdict{
		Format: VerdictFormat, RunID: h.RunID, Drill: h.Drill, Cell: h.Cell, Repetition: h.Repetition, Scenario: h.Scenario,
		Outcome: Invalid, Reasons: []string{why}, Components: h.Components, Cluster: h.Cluster,
		Claims: []ClaimResult{}, Guards: []GuardResult{},
	}
}

// decide: a fault of the environment outranks every finding, then what broke,
// then what could not be told. No claim at all is inconclusive, never green.
func (v *Verdict) decide(set *series.Set) {
	for _, f := range set.Faults {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s at %s: %s", f.What, seconds(f.At), f.Detail))
	}
	broken, unclear := v.count()
	switch {
	case len(set.Faults) > 0:
		v.Outcome, v.Reasons = Invalid, append(v.Reasons, broken...)
	case len(broken) > 0:
		v.Outcome, v.Reasons = Fail, broken
	case len(v.Claims) == 0:
		v.Outcome, v.Reasons = Undecided, []string{"the prediction makes no claim"}
	case len(unclear) > 0:
		v.Outcome, v.Reasons = Undecided, unclear
	default:
		v.Outcome = Pass
	}
}

func (v *Verdict) count() (broken, unclear []string) {
	note := func(kind, id string, s Status, why, gate string) {
		text := fmt.Sprintf("%s %s: %s", kind, id, why)
		if s == Broken && gate != "report" {
			broken = append(broken, text)
		}
		if s == Inconclusive {
			unclear = append(unclear, text)
		}
	}
	for _, c := range v.Claims {
		note("claim", c.ID, c.Status, c.Why, v.Gate.Claims)
	}
	for _, g := range v.Guards {
		note("guard", g.ID, g.Status, g.Why, v.Gate.Guards)
	}
	return broken, unclear
}

// ErrNotFinite is returned for a guard whose numbers cannot be compared, or
// written as JSON. It is a programming error.
var ErrNotFinite = errors.New("not a finite number")

func (g Guard) eval(set *series.Set) (GuardResult, error) {
	r, err := g.limit(set)
	if g.Client != "" && err == nil {
		g.punctual(set, &r)
	}
	return r, err
}

// punctual says how much of the requests was not sent when it was due, and takes
// the result back where that is most of it.
func (g Guard) punctual(set *series.Set, r *GuardResult) {
	in, ok := set.Resolve(g.Window)
	if !ok {
		return
	}
	bins := set.WholeBins(g.Client, in)
	late, most := 0, time.Duration(0)
	for i := range bins {
		if most = max(most, bins[i].Late()); !series.Punctual(bins, i) {
			late++
		}
	}
	if late == 0 {
		return
	}
	note := fmt.Sprintf("the client was held up, by %s at most: %d of its %d intervals do not count", seconds(most), late, len(bins))
	r.Notes = append(r.Notes, note)
	if 2*late > len(bins) {
		r.Status, r.Why = Inconclusive, note+", which is most of them"
	}
}

func (g Guard) limit(set *series.Set) (GuardResult, error) {
	r := GuardResult{ID: g.ID, Sentence: g.Sentence, Basis: g.Basis, Series: g.Series, Limit: g.Limit, Expected: g.Expected, Status: Held}
	if !finite(g.Limit) || g.Expected != nil && !finite(*g.Expected) {
		return r, fmt.Errorf("limit or expected value: %w", ErrNotFinite)
	}
	s, in, less, err := view(set, g.Series, g.Window)
	if err != nil {
		return r, err
	}
	r.Unit = s.Unit
	if less != nil {
		r.Status, r.Why = Inconclusive, less.Why
		return r, nil
	}
	states, err := set.Join(in, g.Series)
	if err != nil {
		return r, err
	}
	if len(states) == 0 {
		r.Status, r.Why = Inconclusive, fmt.Sprintf("no sample of %s inside the window", g.Series)
		return r, nil
	}
	worst, tooLong := worstOf(states, g.Limit)
	value := worst.Points[0].Value.Num
	r.Worst, r.AboveSec, r.Samples = &value, round(tooLong), len(states)
	r.AtSec, r.Objects = roundPtr(&worst.T), distinctRefs(worst.Points)
	if value <= g.Limit {
		f := hidden(set, in, false, Finding{Status: Held}, g.Series)
		r.Status, r.Why = f.Status, f.Why
		return r, nil
	}
	r.Status = Broken
	r.Why = fmt.Sprintf("%s reached %.4g, the limit is %.4g", g.Series, value, g.Limit)
	if _, gap := certain(set, s, in, above(states, g.Limit)); gap != nil {
		r.Status, r.Why = Inconclusive, fmt.Sprintf("%s, so that nobody can tell whether the limit was passed", cut(*gap))
		return r, nil
	}
	for _, gap := range set.GapsOf(s.Resources, in) {
		r.Notes = append(r.Notes, cut(gap)+": the time above the limit is uncertain by as much")
	}
	return r, nil
}

// above are the points that pass the limit.
func above(states []series.Joint, limit float64) []series.Point {
	var out []series.Point
	for _, st := range states {
		if p := st.Points[0]; p.Value.Num > limit {
			out = append(out, p)
		}
	}
	return out
}

// worstOf finds the first greatest state, and for how long the limit was passed.
func worstOf(states []series.Joint, limit float64) (worst series.Joint, above time.Duration) {
	for i, st := range states {
		value := st.Points[0].Value.Num
		if i == 0 || value > worst.Points[0].Value.Num {
			worst = st
		}
		if value > limit {
			above += st.Until - st.T
		}
	}
	return worst, above
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// round gives seconds with milliseconds, which is finer than any watch.
func round(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

func roundPtr(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := round(*d)
	return &s
}
