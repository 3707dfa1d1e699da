package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/rank"
	"reckon.dev/reckon/harness/series"
)

// claims compares what was predicted, what was seen of it, and the results.
func (c *comparing) claims() {
	for _, id := range claimIDs(c.a, c.b) {
		a, b := claimsOf(c.a, id), claimsOf(c.b, id)
		d := Difference{Kind: Claim, Of: id, A: sawClaim(a), B: sawClaim(b), about: append(subjects(c.a, id), subjects(c.b, id)...), p: 1}
		d.Sentence = append(slices.Clone(a), b...)[0].Sentence
		c.unsure(Claim, id, claimStatuses(a), claimStatuses(b))
		switch {
		case d.A.Predicted != d.B.Predicted:
			d.Basis, d.Known = OnModel, all(claimStatuses(a), judge.Held) && all(claimStatuses(b), judge.Held)
			c.add(d)
		case opposed(claimStatuses(a), claimStatuses(b)):
			d.Basis = OnModel
			c.add(d)
		case exact(a) && exact(b): // each is what both were predicted to be
		default:
			c.measured(d, observations(a), observations(b))
		}
	}
}

func claimIDs(a, b []Run) []string {
	var out []string
	for _, r := range slices.Concat(a, b) {
		for _, claim := range r.Verdict.Claims {
			if !slices.Contains(out, claim.ID) {
				out = append(out, claim.ID)
			}
		}
	}
	return out
}

// claimsOf are the results of a claim, none for runs in which it was not made.
func claimsOf(runs []Run, id string) []judge.ClaimResult {
	var out []judge.ClaimResult
	for _, r := range runs {
		for _, claim := range r.Verdict.Claims {
			if claim.ID == id {
				out = append(out, claim)
			}
		}
	}
	return out
}

// subjects are the series that a claim is about.
func subjects(runs []Run, id string) []string {
	for _, claim := range runs[0].Prediction.Claims {
		if claim.ID == id {
			return judge.Subjects(claim.Check)
		}
	}
	return nil
}

// notClaimed stands for a prediction that a side's model does not make.
const notClaimed = "(not claimed)"

func sawClaim(rs []judge.ClaimResult) Saw {
	if len(rs) == 0 {
		return Saw{Observed: notClaimed, Predicted: notClaimed}
	}
	var predicted, observed []string
	for _, r := range rs {
		predicted, observed = append(predicted, r.Predicted), append(observed, r.Observed)
	}
	return Saw{Observed: several(observed), Predicted: several(predicted), Result: results(claimStatuses(rs))}
}

// several joins values that are not all the same, each once.
func several(values []string) string {
	var out []string
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	const most = 3
	if len(out) > most {
		return strings.Join(out[:most], " or ") + fmt.Sprintf(" or %d others", len(out)-most)
	}
	return strings.Join(out, " or ")
}

func claimStatuses(rs []judge.ClaimResult) []judge.Status {
	out := make([]judge.Status, len(rs))
	for i, r := range rs {
		out[i] = r.Status
	}
	return out
}

// results prints statuses: "held", or "held in 2 of 3, broken in 1".
func results(statuses []judge.Status) string {
	if len(statuses) > 0 && all(statuses, statuses[0]) {
		return string(statuses[0])
	}
	var out []string
	for _, s := range []judge.Status{judge.Held, judge.Broken, judge.Inconclusive} {
		if n := count(statuses, s); n > 0 {
			out = append(out, fmt.Sprintf("%s in %d of %d", s, n, len(statuses)))
		}
	}
	return strings.Join(out, ", ")
}

func count(statuses []judge.Status, s judge.Status) int {
	n := 0
	for _, got := range statuses {
		if got == s {
			n++
		}
	}
	return n
}

// all says whether there are any, and all are the same.
func all(statuses []judge.Status, s judge.Status) bool {
	return len(statuses) > 0 && count(statuses, s) == len(statuses)
}

// opposed: all of one side held, and all of the other broke.
func opposed(a, b []judge.Status) bool {
	return all(a, judge.Held) && all(b, judge.Broken) || all(a, judge.Broken) && all(b, judge.Held)
}

// unsure tells of a result that is not the same in all runs, or that nobody knows.
func (c *comparing) unsure(kind Kind, id string, a, b []judge.Status) {
	var held *[2]Share
	if count(a, judge.Inconclusive)+count(b, judge.Inconclusive) == 0 {
		held = &[2]Share{{count(a, judge.Held), len(a)}, {count(b, judge.Held), len(b)}}
	}
	for i, statuses := range [][]judge.Status{a, b} {
		if len(statuses) > 0 && !all(statuses, judge.Held) && !all(statuses, judge.Broken) {
			c.Varies = append(c.Varies, Varied{Side: []string{"A", "B"}[i], Kind: kind, Of: id, What: results(statuses), Unsure: true, Held: held})
		}
	}
}

// exact says whether each run saw what the model says to the letter, so that nothing
// of it is left to chance. "exactly 2 pods" and "2 pods" are the same letter.
func exact(rs []judge.ClaimResult) bool {
	plain := strings.NewReplacer("exactly ", "")
	return len(rs) > 0 && !slices.ContainsFunc(rs, func(r judge.ClaimResult) bool {
		return r.Status != judge.Held || plain.Replace(r.Predicted) != plain.Replace(r.Observed)
	})
}

// observations are the texts of what was seen, of the runs that saw something.
func observations(rs []judge.ClaimResult) []string {
	var out []string
	for _, r := range rs {
		if r.Status != judge.Inconclusive {
			out = append(out, r.Observed)
		}
	}
	return out
}

// numeral matches the numbers of a text.
var numeral = regexp.MustCompile(`\d+(?:\.\d+)?`)

// measured compares texts of which no model says how they must be. Where they differ
// in a single number, that is compared; where they differ in words, the words are.
// Where they differ in several numbers (a share with its interval), they are left to
// the claim's result.
func (c *comparing) measured(d Difference, a, b []string) {
	pooled := slices.Concat(a, b)
	if len(a) == 0 || len(b) == 0 || same(pooled) {
		return
	}
	shape := make([]string, len(pooled))
	for i, text := range pooled {
		shape[i] = numeral.ReplaceAllString(text, "#")
	}
	if !same(shape) {
		c.words(d, a, b)
		return
	}
	at, ok := oneNumber(pooled)
	if !ok {
		return
	}
	unit := ""
	if strings.Contains(shape[0], "# s") {
		unit = seconds
	}
	c.numbers(d, pick(a, at), pick(b, at), unit)
}

// words compares texts as such: a difference parts the sides, anything else varies.
func (c *comparing) words(d Difference, a, b []string) {
	if d.parted = same(a) && same(b); d.parted {
		d.p = rank.Least(len(a), len(b))
	} else {
		c.vary(d.Kind, d.Of, a, b)
	}
	c.add(d)
}

// vary tells of texts that are not the same in all runs of a side.
func (c *comparing) vary(kind Kind, of string, a, b []string) {
	if !same(a) {
		c.Varies = append(c.Varies, Varied{Side: "A", Kind: kind, Of: of, What: several(a)})
	}
	if !same(b) {
		c.Varies = append(c.Varies, Varied{Side: "B", Kind: kind, Of: of, What: several(b)})
	}
}

func same(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return v != values[0] })
}

// oneNumber is which number of the texts is not the same in all, if it is the only one.
func oneNumber(texts []string) (at int, ok bool) {
	first, found := numeral.FindAllString(texts[0], -1), 0
	for i := range first {
		if slices.ContainsFunc(texts, func(text string) bool { return numeral.FindAllString(text, -1)[i] != first[i] }) {
			at = i
			found++
		}
	}
	return at, found == 1
}

func pick(texts []string, at int) []float64 {
	out := make([]float64, len(texts))
	for i, text := range texts {
		out[i], _ = strconv.ParseFloat(numeral.FindAllString(text, -1)[at], 64)
	}
	return out
}

// seconds is the unit of durations.
const seconds = "s"

// grain is what no watch, timer or script of reckon is finer than, in seconds: a
// shorter shift is none.
const grain = 0.05

// numbers compares measured numbers by their ranks.
func (c *comparing) numbers(d Difference, a, b []float64, unit string) {
	shift := rank.Between(a, b, rank.Alpha)
	if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) || unit == seconds && shift.Median > -grain && shift.Median < grain {
		return
	}
	d.Shift, d.Unit, d.p = &shift, unit, shift.P
	d.parted = slices.Max(a) < slices.Min(b) || slices.Max(b) < slices.Min(a)
	c.add(d)
}

// guards compares worst values, and for how long a limit was passed.
func (c *comparing) guards() {
	for _, id := range guardIDs(c.a, c.b) {
		a, b := guardsOf(c.a, id), guardsOf(c.b, id)
		c.unsure(Guard, id, guardStatuses(a), guardStatuses(b))
		if len(a) == 0 || len(b) == 0 {
			c.add(Difference{Kind: Guard, Of: id, A: sawGuard(a), B: sawGuard(b), Sentence: append(slices.Clone(a), b...)[0].Sentence, Basis: OnModel})
			continue
		}
		c.guard(id, a, b)
		of := Difference{Kind: Duration, Of: "above the limit of " + id, p: 1}
		above, over := aboveOf(a), aboveOf(b)
		of.A, of.B = Saw{Observed: spread(above, seconds)}, Saw{Observed: spread(over, seconds)}
		c.numbers(of, above, over, seconds)
	}
}

func (c *comparing) guard(id string, a, b []judge.GuardResult) {
	d := Difference{Kind: Guard, Of: id, Sentence: a[0].Sentence, A: sawGuard(a), B: sawGuard(b), about: []string{a[0].Series}, p: 1}
	worst, then := worstOf(a), worstOf(b)
	if len(worst) == 0 || len(then) == 0 {
		return
	}
	shift := rank.Between(worst, then, rank.Alpha)
	d.Worse = shift.Median > 0 || all(guardStatuses(a), judge.Held) && all(guardStatuses(b), judge.Broken)
	d.Better = !d.Worse && shift.Median < 0
	switch {
	case d.A.Predicted != d.B.Predicted:
		d.Basis, d.Known = OnModel, foreseen(a) && foreseen(b)
		c.add(d)
	case opposed(guardStatuses(a), guardStatuses(b)):
		d.Basis = OnModel
		c.add(d)
	case foretold(a) && foretold(b): // each is what both were predicted to be
	default:
		c.numbers(d, worst, then, a[0].Unit)
	}
}

func guardIDs(a, b []Run) []string {
	var out []string
	for _, r := range slices.Concat(a, b) {
		for _, g := range r.Verdict.Guards {
			if !slices.Contains(out, g.ID) {
				out = append(out, g.ID)
			}
		}
	}
	return out
}

func guardsOf(runs []Run, id string) []judge.GuardResult {
	var out []judge.GuardResult
	for _, r := range runs {
		for _, g := range r.Verdict.Guards {
			if g.ID == id {
				out = append(out, g)
			}
		}
	}
	return out
}

func guardStatuses(rs []judge.GuardResult) []judge.Status {
	out := make([]judge.Status, len(rs))
	for i, r := range rs {
		out[i] = r.Status
	}
	return out
}

func sawGuard(rs []judge.GuardResult) Saw {
	if len(rs) == 0 {
		return Saw{Observed: notClaimed, Predicted: notClaimed}
	}
	out := Saw{Observed: "worst " + spread(worstOf(rs), ""), Result: results(guardStatuses(rs))}
	if rs[0].Expected != nil {
		out.Predicted = "worst " + number(*rs[0].Expected)
	}
	return out
}

// worstOf are the worst values, of the runs that saw any.
func worstOf(rs []judge.GuardResult) []float64 {
	var out []float64
	for _, r := range rs {
		if r.Worst != nil {
			out = append(out, *r.Worst)
		}
	}
	return out
}

func aboveOf(rs []judge.GuardResult) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = r.AboveSec
	}
	return out
}

// foretold says whether the worst value of each run is the predicted one. Values
// that read the same are the same: ratios carry rounding errors.
func foretold(rs []judge.GuardResult) bool {
	return !slices.ContainsFunc(rs, func(r judge.GuardResult) bool {
		return r.Expected == nil || r.Worst == nil || number(*r.Expected) != number(*r.Worst)
	})
}

// foreseen says whether each run broke or kept the limit as its model says, and was no
// worse: where real pods share a limit's load, it is mostly a bit milder.
func foreseen(rs []judge.GuardResult) bool {
	return !slices.ContainsFunc(rs, func(r judge.GuardResult) bool {
		if r.Expected == nil || r.Worst == nil || r.Status == judge.Inconclusive {
			return true
		}
		return (*r.Expected > r.Limit) != (r.Status == judge.Broken) || *r.Worst > *r.Expected && number(*r.Worst) != number(*r.Expected)
	})
}

func number(v float64) string { return series.Number(v).String() }

// spread prints measured numbers: "2.1 s", or "1.9 to 2.4 s (median 2.1 s)".
func spread(values []float64, unit string) string {
	if len(values) == 0 {
		return "nothing"
	}
	if unit != "" {
		unit = " " + unit
	}
	least, most := slices.Min(values), slices.Max(values)
	if number(least) == number(most) {
		return number(least) + unit
	}
	sorted := slices.Sorted(slices.Values(values))
	return fmt.Sprintf("%s to %s%s (median %s%s)", number(least), number(most), unit, number(sorted[len(sorted)/2]), unit)
}
