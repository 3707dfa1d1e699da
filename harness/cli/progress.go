package cli

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"reckon.dev/reckon/harness/campaign"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/report"
)

// progress tells how far a campaign is and when it will be done: in a log by a line for
// each run that came to its end, on a terminal by one line that stays.
type progress struct {
	*status
	verbose  bool
	parallel int
	// all is how many runs the campaign has.
	all int

	mu        sync.Mutex
	durations *campaign.Durations
	done      int
	waiting   []plan.Cell // one for each run that has not begun
	under     []*underWay
}

// underWay is a run that has begun.
type underWay struct {
	cell  plan.Cell
	since time.Time
}

// begin says what is to be run: left of all.
func (p *progress) begin(all int, left []campaign.Left, parallel int, earlier *campaign.Durations) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.done, p.parallel, p.durations = all, all-len(left), parallel, earlier
	for _, l := range left {
		p.waiting = append(p.waiting, l.Cell)
	}
}

// outlook says how much is done and how long the rest takes.
func (p *progress) outlook() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d of %d runs are done%s", p.done, p.all, p.eta(", "))
}

// start notes that a run of the cell begins.
func (p *progress) start(c plan.Cell) *underWay {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w.Name == c.Name {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			break
		}
	}
	u := &underWay{c, p.clock.Now()}
	p.under = append(p.under, u)
	p.show("")
	return u
}

// end notes that it came to its end, with or without a verdict.
func (p *progress) end(u *underWay, repetition int, out *engine.Outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.clock.Since(u.since)
	for i := range p.under {
		if p.under[i] == u {
			p.under = append(p.under[:i:i], p.under[i+1:]...)
			break
		}
	}
	word := p.note(u.cell, took, out, err)
	eta := ""
	if word != interrupted {
		eta = p.eta("; ")
	}
	if p.all > 1 && (!p.terminal || p.detailed() || word != passed) {
		p.line("%d of %d  %s  %s, run %d, in %s%s", p.done, p.all, word, u.cell.Name, repetition, roughly(took), eta)
	}
	p.show("")
}

const (
	passed      = "PASS"
	interrupted = "INTERRUPTED"
)

// note counts a run that came to its end and returns the word for it. One that was
// interrupted has not.
func (p *progress) note(c plan.Cell, took time.Duration, out *engine.Outcome, err error) string {
	if _, aborted := errors.AsType[*engine.AbortError](err); aborted {
		return interrupted
	}
	p.done++
	if out == nil || out.Run.Verdict.Outcome == "" {
		return "NO VERDICT"
	}
	o := out.Run.Verdict.Outcome
	if campaign.Counts(o) {
		p.durations.Add(c, took)
	}
	return strings.ToUpper(string(o))
}

// detailed: few runs have their steps told on a terminal too.
func (p *progress) detailed() bool { return p.all <= report.Few || p.verbose }

// step tells a step of a run.
func (p *progress) step(e engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal || p.detailed() {
		p.run(e)
		return
	}
	p.show(fmt.Sprintf(" · %s: %s", e.Cell, e.Text))
}

// show renews the last line of a terminal.
func (p *progress) show(detail string) {
	if p.all > 1 {
		p.pin(fmt.Sprintf("%d of %d runs done, %d under way%s%s", p.done, p.all, len(p.under), p.eta("; "), detail))
	}
}

// eta says what is left and when it will be done, nothing at the end.
func (p *progress) eta(lead string) string {
	now := p.clock.Now()
	var left []campaign.Remaining
	for _, c := range p.waiting {
		left = append(left, campaign.Remaining{Cell: c})
	}
	for _, u := range p.under {
		left = append(left, campaign.Remaining{Cell: u.cell, Since: now.Sub(u.since)})
	}
	if len(left) == 0 {
		return ""
	}
	span := p.durations.Left(left, p.parallel)
	return lead + spanWords(span) + " left, done about " + now.Add(span.Median).Format("15:04")
}

// spanWords are "3m10s to 4m50s", or "about 4m" where both ends read the same.
func spanWords(s campaign.Span) string {
	low, high := roughly(s.Low), roughly(s.High)
	if low == high {
		return "about " + roughly(s.Median)
	}
	return low + " to " + high
}

// roughly is a duration without digits that nobody believes: to seconds below a
// minute, to ten seconds below ten minutes, to minutes above.
func roughly(d time.Duration) string {
	grain := time.Minute
	switch {
	case d < time.Minute:
		grain = time.Second
	case d < 10*time.Minute:
		grain = 10 * time.Second
	}
	text := d.Round(grain).String()
	if whole, ok := strings.CutSuffix(text, "m0s"); ok {
		return whole + "m"
	}
	return text
}
