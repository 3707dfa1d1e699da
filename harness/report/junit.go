package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"reckon.dev/reckon/harness/judge"
)

// JUnit writes one testsuite per cell and one testcase per claim and guard.
// CI systems take "skipped" for green, so what could not be told and what is
// invalid are errors. Each run has one more testcase, "run", that is an error
// when the run as a whole proves nothing: a suite without cases would be green.
func JUnit(w io.Writer, vs []judge.Verdict) error {
	all := junitSuites{Name: "reckon"}
	place := map[[2]string]int{}
	for _, v := range vs {
		key := [2]string{v.Drill, v.Cell}
		i, ok := place[key]
		if !ok {
			i = len(all.Suites)
			place[key] = i
			all.Suites = append(all.Suites, junitSuite{Name: v.Drill + "/" + v.Cell})
		}
		all.Suites[i].add(v)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		s.Time = fmt.Sprintf("%.3f", s.seconds)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`

	seconds float64
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Failure   *junitMessage `xml:"failure"`
	Error     *junitMessage `xml:"error"`
	SystemOut *junitText    `xml:"system-out"`
}

// junitText is CDATA, so that its lines stay lines for those who read the file.
type junitText struct {
	Text string `xml:",cdata"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

func (s *junitSuite) add(v judge.Verdict) {
	s.seconds += v.LastedSec
	s.properties(v)
	s.put(v, "run", runCase(v))
	for _, c := range v.Claims {
		s.put(v, "claim "+c.ID, claimCase(v, c))
	}
	for _, g := range v.Guards {
		s.put(v, "guard "+g.ID, guardCase(v, g))
	}
}

// put names the case; repetitions of a cell share a suite, so they are told
// apart by name.
func (s *junitSuite) put(v judge.Verdict, name string, c junitCase) {
	c.Name, c.Class = fmt.Sprintf("%s (repetition %d)", name, v.Repetition), v.Scenario
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// properties of all repetitions, each said once.
func (s *junitSuite) properties(v judge.Verdict) {
	put := func(name, value string) {
		p := junitProperty{name, value}
		for _, have := range s.Properties {
			if have == p {
				return
			}
		}
		s.Properties = append(s.Properties, p)
	}
	put("run", v.RunID)
	put("drill", v.Drill)
	put("model", v.Model)
	for _, c := range v.Components {
		put("version "+c.Name, c.Version)
		if c.Base != "" {
			put("base "+c.Name, c.Base)
		}
		for _, d := range digests(c) {
			put("digest "+c.Name+"/"+d.Binary, d.Digest)
		}
	}
	for _, e := range edits(v) {
		put("edited", e)
	}
	put("provider", v.Cluster.Provider)
	put("fidelity", v.Cluster.Fidelity)
	for _, n := range v.Notes {
		put("note", n)
	}
}

// runCase is an error when no other case would say that nothing was proven.
func runCase(v judge.Verdict) junitCase {
	if v.Outcome == judge.Invalid || v.Outcome == judge.Undecided && len(v.Claims) == 0 {
		return junitCase{Error: &junitMessage{story(v), string(v.Outcome), lines(v.Reasons...)}}
	}
	return junitCase{SystemOut: &junitText{lines(append([]string{title(v.Outcome) + ": " + story(v)}, measured(v)...)...)}}
}

// measured has a line for each period that was measured.
func measured(v judge.Verdict) []string {
	var out []string
	for _, t := range measureTables(v) {
		out = append(out, t.Title)
		for _, row := range t.Rows {
			out = append(out, "  "+namedCells(t.Head, row))
		}
	}
	return out
}

// namedCells is a row of a table as one line: "due 1,200; answered 1,188".
func namedCells(head, row []string) string {
	parts := make([]string, len(row))
	for i, cell := range row {
		parts[i] = head[i] + " " + cell
	}
	return strings.Join(parts, "; ")
}

// disagreed has a line for each time in which weights and answers did not agree.
func disagreed(v judge.Verdict, claim string) []string {
	var out []string
	for _, d := range v.Disagreements {
		if d.Claim == claim {
			out = append(out, namedCells(threeWay(v).Head, disagreementRow(d)))
		}
	}
	return out
}

func claimCase(v judge.Verdict, c judge.ClaimResult) junitCase {
	parts := []string{c.Sentence,
		field("predicted", c.Predicted), field("observed", c.Observed), field("why", c.Why), field("at", at(c.AtSec)),
		field("basis", strings.Join(c.Basis, "; ")), field("object versions", seenIn(c.Objects...))}
	text := lines(append(parts, disagreed(v, c.ID)...)...)
	summary := fmt.Sprintf("predicted %s, observed %s", c.Predicted, c.Observed)
	return result(v, c.Status, v.Gate.Claims, claimWord(c, v.Gate), summary, c.Why, text)
}

func guardCase(v judge.Verdict, g judge.GuardResult) junitCase {
	text := lines(g.Sentence,
		field("limit", number(g.Limit)), field("predicted worst", optional(g.Expected)), field("observed worst", optional(g.Worst)),
		field("above for", secs(g.AboveSec)), field("why", g.Why), field("at", at(g.AtSec)), field("meaning", guardMeaning(g, v.Gate)),
		field("basis", strings.Join(g.Basis, "; ")), field("object versions", seenIn(g.Objects...)))
	summary := fmt.Sprintf("limit %s, predicted worst %s, observed worst %s", number(g.Limit), optional(g.Expected), optional(g.Worst))
	label := guardWord(g)
	if g.Status == judge.Broken && v.Gate.Guards == "report" {
		label += " (reported only)"
	}
	return result(v, g.Status, v.Gate.Guards, label, summary, g.Why, text)
}

// result maps a finding to what CI shows. An invalid run outranks it all:
// neither green nor red of its cases means anything.
func result(v judge.Verdict, s judge.Status, gate, label, summary, why, text string) junitCase {
	switch {
	case v.Outcome == judge.Invalid:
		return junitCase{Error: &junitMessage{"the run is invalid: " + first(v.Reasons), "invalid", label + "\n" + text}}
	case s == judge.Inconclusive:
		return junitCase{Error: &junitMessage{why, "inconclusive", text}}
	case s == judge.Broken && gate != "report":
		return junitCase{Failure: &junitMessage{summary, "broken", text}}
	}
	return junitCase{SystemOut: &junitText{label + "\n" + text}}
}

func field(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value
}

func at(sec *float64) string {
	if sec == nil {
		return ""
	}
	return secs(*sec) + " of the recording"
}

// lines joins what is not empty. CDATA cannot escape, so what XML does not
// allow is made visible here.
func lines(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, visible(strings.ToValidUTF8(p, "\ufffd")))
		}
	}
	return strings.Join(out, "\n")
}
