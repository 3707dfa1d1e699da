package report

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/judge"
)

// tally counts results by status.
type tally struct{ held, broken, unclear, all int }

func (t *tally) add(s judge.Status) {
	t.all++
	switch s {
	case judge.Held:
		t.held++
	case judge.Broken:
		t.broken++
	default:
		t.unclear++
	}
}

func tallyClaims(v judge.Verdict) (t tally) {
	for _, c := range v.Claims {
		t.add(c.Status)
	}
	return t
}

func tallyGuards(v judge.Verdict) (t tally) {
	for _, g := range v.Guards {
		t.add(g.Status)
	}
	return t
}

// word is a status as it stands in a table: results are words, never colours only.
func word(s judge.Status) string { return strings.ToUpper(string(s)) }

// title is an outcome as it stands in a headline.
func title(o judge.Outcome) string { return strings.ToUpper(string(o)) }

// whyTitle heads the reasons of a run that did not pass.
func whyTitle(o judge.Outcome) string {
	if o == judge.Fail {
		return "Why the run failed"
	}
	return "Why the run is " + string(o)
}

// claimWord is a claim's result, with the gate's say where it changes the matter.
func claimWord(c judge.ClaimResult, gate judge.Gate) string {
	if c.Status == judge.Broken && gate.Claims == "report" {
		return word(c.Status) + " (reported only)"
	}
	return word(c.Status)
}

// guardWord is a guard's result. Whether the model saw it coming is part of
// the result: an unsafe thing that was predicted is another finding than one
// that was not.
func guardWord(g judge.GuardResult) string {
	if g.Expected == nil || g.Worst == nil {
		return word(g.Status)
	}
	foreseen := *g.Expected > g.Limit
	switch {
	case g.Status == judge.Held && foreseen:
		return "HELD (predicted to break)"
	case g.Status != judge.Broken:
		return word(g.Status)
	case asPredicted(g):
		return "BROKEN (as predicted)"
	case !foreseen:
		return "BROKEN (predicted safe)"
	case *g.Worst > *g.Expected:
		return "BROKEN (worse than predicted)"
	}
	return "BROKEN (milder than predicted)"
}

// asPredicted says whether the worst value is the predicted one. Values that
// read the same are the same: ratios carry rounding errors.
func asPredicted(g judge.GuardResult) bool {
	return g.Expected != nil && g.Worst != nil && number(*g.Expected) == number(*g.Worst)
}

// guardMeaning explains a broken guard in one sentence, "" for any other.
func guardMeaning(g judge.GuardResult, gate judge.Gate) string {
	if g.Status != judge.Broken || g.Worst == nil {
		return ""
	}
	worst, text := number(*g.Worst), ""
	switch {
	case g.Expected == nil:
		text = fmt.Sprintf("worst %s is above the limit %s; the model predicts no value", worst, number(g.Limit))
	case asPredicted(g):
		text = fmt.Sprintf("worst %s equals the predicted %s: as the model predicts, and unsafe", worst, number(*g.Expected))
	case *g.Expected <= g.Limit:
		text = fmt.Sprintf("worst %s where the model predicts a safe %s", worst, number(*g.Expected))
	default:
		text = fmt.Sprintf("worst %s where the model predicts %s; both are unsafe", worst, number(*g.Expected))
	}
	if gate.Guards == "report" {
		text += " (reported only: the gate does not count guards)"
	}
	return text
}

// story tells the run in one sentence.
func story(v judge.Verdict) string {
	claims := tallyClaims(v)
	switch v.Outcome {
	case judge.Invalid:
		return "The environment or the recorder failed, so the run proves nothing: " + first(v.Reasons) + "."
	case judge.Undecided:
		return fmt.Sprintf("Too little was seen to tell: %s.", first(v.Reasons))
	}
	if claims.broken > 0 {
		return brokenStory(v, claims) + guardStory(v, false)
	}
	if claims.all == 1 {
		return "The one claim held" + guardStory(v, true)
	}
	return fmt.Sprintf("All %d claims held", claims.all) + guardStory(v, true)
}

func first(reasons []string) string {
	switch len(reasons) {
	case 0:
		return "no reason was recorded"
	case 1:
		return strings.TrimSuffix(reasons[0], ".")
	}
	return fmt.Sprintf("%s (and %d more)", strings.TrimSuffix(reasons[0], "."), len(reasons)-1)
}

// brokenStory quotes the first broken claim: predicted against observed.
func brokenStory(v judge.Verdict, t tally) string {
	for _, c := range v.Claims {
		if c.Status == judge.Broken {
			return fmt.Sprintf("%d of %s broke: %s was predicted as %s and observed as %s",
				t.broken, count(t.all, "claim"), c.ID, c.Predicted, c.Observed)
		}
	}
	return ""
}

// everyGuardHeld ends the story of a safe run.
const everyGuardHeld = "; every guard held."

// headline is the story for a list, which leaves out what is as it should be.
func headline(v judge.Verdict) string {
	if told, safe := strings.CutSuffix(story(v), everyGuardHeld); safe {
		return told + "."
	}
	return story(v)
}

// guardStory ends the sentence with what the guards say. Of several broken ones it
// tells of one that the model did not foresee, if there is one: a headline must not
// call a run as predicted that is worse.
func guardStory(v judge.Verdict, claimsHeld bool) string {
	var broken []judge.GuardResult
	told := 0
	for _, g := range v.Guards {
		if g.Status != judge.Broken || g.Worst == nil {
			continue
		}
		broken = append(broken, g)
		if asPredicted(broken[told]) && !asPredicted(g) {
			told = len(broken) - 1
		}
	}
	unclear := tallyGuards(v).unclear
	switch {
	case len(v.Guards) == 0:
		return "."
	case len(broken) == 0 && unclear > 0:
		return fmt.Sprintf("; %s could not be told.", count(unclear, "guard"))
	case len(broken) == 0:
		return everyGuardHeld
	}
	g := broken[told]
	what := fmt.Sprintf("%s reached %s against a limit of %s, for %s", g.ID, number(*g.Worst), number(g.Limit), secs(g.AboveSec))
	if len(broken) > 1 {
		what += fmt.Sprintf(" (and %s more)", count(len(broken)-1, "guard"))
	}
	if claimsHeld && asPredicted(g) {
		return ", and what the model predicts is unsafe: " + what + "."
	}
	return "; " + what + "."
}
