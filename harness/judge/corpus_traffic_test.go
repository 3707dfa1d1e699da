package judge_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// requests reads a client's intervals of equal length and equal numbers.
func (p *parser) requests(c *corpusCase) {
	client := p.next("a client")
	from, to := p.span()
	p.expect("every")
	length := secs(p.number())
	one := recording.Traffic{Client: client}
	for len(p.words) > 0 {
		switch {
		case p.accept("due"): // where it is not the sum
			one.Due = int64(p.number())
			continue
		case p.accept("late"):
			one.LateNS = int64(secs(p.number()))
			continue
		}
		one.Due += p.outcome(&one)
	}
	for at := from; at < to; at += length {
		tr := one
		tr.Seq, tr.FromNS, tr.ToNS = c.seq[client], int64(at), int64(at+length)
		c.seq[client]++
		c.facts = append(c.facts, corpusFact{Fact: recording.Fact{T: tr.ToNS, Traffic: &tr}})
	}
}

// outcome reads VERSION=N, or CAUSE[/TARGET][:VERSION]=N.
func (p *parser) outcome(tr *recording.Traffic) int64 {
	word := p.next("VERSION=N or CAUSE=N")
	what, number, ok := strings.Cut(word, "=")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		p.fail("%q is no VERSION=N or CAUSE=N", word)
	}
	what, version, _ := strings.Cut(what, ":")
	cause, target, _ := strings.Cut(what, "/")
	if slices.Contains(recording.Causes(), recording.Cause(cause)) {
		tr.Failures = append(tr.Failures, recording.Failure{Cause: recording.Cause(cause), Target: target, Version: version, N: n, Text: cause + " it was"})
		return n
	}
	tr.Answers = append(tr.Answers, recording.Answer{Version: what, Pod: what + "-0", N: n})
	tr.Latency = append(tr.Latency, recording.Bucket{US: 2000, N: n})
	return n
}

// traffic reads a series off a client's requests.
func (p *parser) traffic(c *corpusCase) {
	from := &series.FromTraffic{}
	def := series.Definition{Name: p.next("a name"), Traffic: from}
	from.Client = p.next("a client")
	switch kind := p.next("failed, p99 or due"); kind {
	case "failed":
		def.Unit, from.Value = "%", series.PercentFailed()
	case "p99":
		def.Unit, from.Value = "ms", series.LatencyMS(0.99)
	case "due":
		from.Value = series.CountDue()
	default:
		p.fail("unknown number %q", kind)
	}
	p.expect("over")
	from.Over = secs(p.number())
	c.defs = append(c.defs, def)
}

// aim reads CLIENT VERSION[/TARGET...].
func (p *parser) aim() judge.Aim {
	client := p.next("a client")
	parts := strings.Split(p.next("a version"), "/")
	return judge.Aim{Client: client, Version: parts[0], Targets: parts[1:]}
}

func (p *parser) trafficCheck(kind string) judge.Check {
	switch kind {
	case "share":
		return p.share()
	case "lost":
		client, of := p.next("a client"), p.causes()
		return judge.Lost(client, p.window(), of...)
	case "requests":
		return p.requestsCheck()
	case "propagated":
		check := judge.Propagated{From: p.next("a series")}
		p.expect("to")
		check.To = p.next("a series")
		p.expect("within")
		check.Within, check.Window = secs(p.number()), p.window()
		return check
	case "agree":
		return p.agree()
	}
	p.fail("unknown check %q", kind)
	return nil
}

func (p *parser) share() judge.Check {
	check := judge.Share{Weight: p.next("a series")}
	p.expect("of")
	check.Aim = p.aim()
	if p.accept("after") {
		check.Propagation = secs(p.number())
	}
	if p.accept("also") {
		check.Also = strings.Split(p.next("series"), ",")
	}
	if p.accept("tell") {
		check.Tell = p.number()
	}
	check.Window = p.window()
	return check
}

func (p *parser) causes() []recording.Cause {
	if !p.accept("of") {
		return nil
	}
	var out []recording.Cause
	for _, word := range strings.Split(p.next("causes"), ",") {
		out = append(out, recording.Cause(word))
	}
	return out
}

func (p *parser) requestsCheck() judge.Check {
	check := judge.Requests{Client: p.next("a client"), Count: judge.Counted(p.next("due, answered or failed"))}
	check.Causes = p.causes()
	if p.accept("by") {
		check.Versions = strings.Split(p.next("versions"), ",")
	}
	p.expect("=")
	low, high := p.limits()
	check.Min, check.Max = int64(max(low, 0)), judge.Unlimited
	if high < 1e15 {
		check.Max = int64(high)
	}
	if outside := p.accept("outside"); outside || p.accept("while") {
		check.Part = &judge.Part{While: []judge.Cond{p.cond()}, Outside: outside}
		p.expect("moved")
		check.Part.From, check.Part.To = secs(p.number()), secs(p.number())
	}
	check.Window = p.window()
	return check
}

func (p *parser) agree() judge.Check {
	check := judge.Agree{}
	names := strings.Split(p.next("three series"), ",")
	if len(names) != 3 {
		p.fail("expected three series, not %q", names)
	}
	check.Status, check.Stored, check.Delivered = names[0], names[1], names[2]
	p.expect("of")
	check.Aim = p.aim()
	p.expect("limits")
	check.Limits = judge.Limits{Write: secs(p.number()), Deliver: secs(p.number()), Answer: secs(p.number())}
	if p.accept("meant") {
		check.Meant = p.next("a series")
	}
	if p.accept("also") {
		check.Also = strings.Split(p.next("series"), ",")
	}
	if p.accept("resolvable") {
		cond := p.cond()
		check.Resolvable = &cond
	}
	check.Window = p.window()
	return check
}

func disagreements(ds []judge.Disagreement) string {
	out := ""
	for _, d := range ds {
		out += fmt.Sprintf(" [%s, %s for %s", d.Between, time.Duration(d.FromSec*1e9).Round(time.Millisecond), time.Duration(d.ForSec*1e9).Round(time.Millisecond))
		if d.Ongoing {
			out += " to the end"
		}
		for _, w := range []*float64{d.Status, d.Stored, d.Delivered} {
			if w == nil {
				out += " -"
				continue
			}
			out += fmt.Sprintf(" %g", *w)
		}
		if d.Answered != nil {
			out += fmt.Sprintf(" %d/%d", d.Answered.K, d.Answered.N)
		}
		out += ": " + d.Cause + "]"
	}
	return out
}
