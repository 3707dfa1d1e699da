// Package modeltest runs a corpus of text cases against the model in package disruption.
// The language is described in ../testdata/README.md.
package modeltest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reckon.dev/reckon/harness/model/disruption"
)

// RunCorpus runs every *.test file of a folder, one subtest for a case. A folder without
// cases fails.
func RunCorpus(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.test"))
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := Parse(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all += len(cases)
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), c.line), func(t *testing.T) {
				if err := c.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if all == 0 {
		t.Fatalf("%s: no cases in *.test files", dir)
	}
}

// A Case is one "at" block: what is computed, and lines that say what it should be.
type Case struct {
	file  string
	line  int
	facts func(disruption.Rules) map[string]string
	rules disruption.Rules
	wants []want
}

type want struct {
	line      int
	key, text string
}

// Check returns what does not hold, each error with file and line.
func (c Case) Check() error {
	var errs []error
	got := c.facts(c.rules)
	for _, w := range c.wants {
		value, ok := got[w.key]
		if !ok {
			errs = append(errs, fmt.Errorf("%s:%d: %q is not known here", c.file, w.line, w.key))
		} else if value != w.text {
			errs = append(errs, fmt.Errorf("%s:%d: %s is %q, want %q", c.file, w.line, w.key, value, w.text))
		}
	}
	return errors.Join(errs...)
}

// Parse reads a corpus file. Every error has the form file:line: message.
func Parse(file, text string) ([]Case, error) {
	p := &parser{file: file}
	p.rules, _ = disruption.RulesFor("latest")
	for i, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.parse(i+1, line[0] == ' ', words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, c := range p.cases {
		if len(c.wants) == 0 {
			return nil, fmt.Errorf("%s:%d: a case without lines checks nothing", file, c.line)
		}
	}
	return p.cases, nil
}

type parser struct {
	file    string
	rules   disruption.Rules
	budgets []disruption.Budget
	cases   []Case
}

func (p *parser) parse(no int, indented bool, words []string) (err error) {
	switch {
	case indented && len(p.cases) == 0:
		return fmt.Errorf("indented line outside of a case")
	case indented:
		c := &p.cases[len(p.cases)-1]
		c.wants = append(c.wants, want{no, words[0], strings.Join(words[1:], " ")})
		return nil
	case words[0] == "version" && len(words) == 2:
		p.rules, _ = disruption.RulesFor(words[1])
		return nil
	case words[0] == "budgets":
		p.budgets, err = parseBudgets(words[1:])
		return err
	case words[0] == "at" && len(words) > 1:
		facts, err := p.facts(words[1], words[2:])
		p.cases = append(p.cases, Case{p.file, no, facts, p.rules, nil})
		return err
	}
	return fmt.Errorf("unknown line %q (known: version, budgets, at)", strings.Join(words, " "))
}
