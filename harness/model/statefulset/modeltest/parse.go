package modeltest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/model/statefulset"
)

// A Case is one "at" block, for every group of versions in force where it stands.
type Case struct {
	File   string
	Line   int
	Kind   string // script, pass, history, envelope, versions
	Groups []statefulset.Group
	Spec   statefulset.Spec
	Stuck  []int
	Pods   map[int]statefulset.Pod
	checks []check
}

// A check is one line of a case; it returns an error without a position.
type check struct {
	line int
	run  runFunc
}

// Name identifies the case by its file and line.
func (c Case) Name() string {
	return fmt.Sprintf("%s:%d_%s", filepath.Base(c.File), c.Line, c.Kind)
}

// Check returns what does not hold under the rules, each error with file and line.
func (c Case) Check(rules statefulset.Rules) []error {
	s := newState(c, rules)
	var errs []error
	for _, ch := range c.checks {
		if err := ch.run(s); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", c.File, ch.line, rules.Group, err))
		}
	}
	return errs
}

// Parse reads a corpus file. Every error has the form file:line: message.
func Parse(file, text string) ([]Case, error) {
	p := &parser{file: file, groups: statefulset.Groups()}
	for i, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		if err := p.line(i+1, indented, words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, c := range p.cases {
		if len(c.checks) == 0 {
			return nil, fmt.Errorf("%s:%d: a case without lines checks nothing", file, c.Line)
		}
	}
	return p.cases, nil
}

type parser struct {
	file    string
	groups  []statefulset.Group
	spec    statefulset.Spec
	hasSpec bool
	cases   []Case
	open    bool // the last case takes indented lines
}

func (p *parser) line(no int, indented bool, words []string) (err error) {
	if indented {
		if !p.open {
			return fmt.Errorf("indented line outside of a case")
		}
		c := &p.cases[len(p.cases)-1]
		run, err := compile(c.Kind, words)
		c.checks = append(c.checks, check{no, run})
		return err
	}
	p.open = false
	switch words[0] {
	case "set":
		p.spec, err = parseSpec(words[1:])
		p.hasSpec = true
		return err
	case "versions":
		p.groups, err = parseGroups(words[1:])
		return err
	case "at":
		return p.begin(no, words[1:])
	}
	return fmt.Errorf("unknown word %q (known: set, versions, at)", words[0])
}

const kinds = "script, pass, history, envelope, versions"

func (p *parser) begin(no int, words []string) (err error) {
	if len(words) == 0 || !slices.Contains(strings.Split(kinds, ", "), words[0]) {
		return fmt.Errorf("at what? (known: %s)", kinds)
	}
	c := Case{File: p.file, Line: no, Kind: words[0], Groups: p.groups, Spec: p.spec}
	if !p.hasSpec && c.Kind != "versions" {
		return fmt.Errorf("a set line must come first")
	}
	switch rest := words[1:]; {
	case c.Kind == "pass":
		c.Pods, err = parsePods(p.spec, rest)
	case c.Kind == "script" && len(rest) == 1 && strings.HasPrefix(rest[0], "stuck="):
		c.Stuck, err = numbers(strings.Split(rest[0][len("stuck="):], ","))
	case len(rest) > 0:
		err = fmt.Errorf("at %s does not take %q", c.Kind, rest)
	}
	p.cases, p.open = append(p.cases, c), true
	return err
}

func parseGroups(words []string) ([]statefulset.Group, error) {
	if len(words) == 1 && words[0] == "all" {
		return statefulset.Groups(), nil
	}
	var groups []statefulset.Group
	for _, word := range words {
		g, err := statefulset.ParseGroup(word)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("versions needs a group or all")
	}
	return groups, nil
}

// maxNumber keeps a typing error from becoming a long run.
const maxNumber = 2000

func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxNumber {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", s, maxNumber)
	}
	return n, nil
}

// numbers reads ordinals; "none" is no ordinals.
func numbers(words []string) ([]int, error) {
	if len(words) == 1 && words[0] == "none" {
		return nil, nil
	}
	var out []int
	for _, w := range words {
		n, err := number(w)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("numbers are missing")
	}
	return out, nil
}

func parseSpec(words []string) (spec statefulset.Spec, err error) {
	spec = statefulset.Spec{Replicas: 1, Policy: statefulset.OrderedReady}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if err := setSpec(&spec, key, value); err != nil {
			return spec, fmt.Errorf("%s: %w", key, err)
		}
	}
	return spec, nil
}

func setSpec(spec *statefulset.Spec, key, value string) (err error) {
	switch key {
	case "replicas":
		spec.Replicas, err = number(value)
	case "start":
		spec.Start, err = number(value)
	case "partition":
		spec.Partition, err = number(value)
	case "maxUnavailable":
		spec.MaxUnavailable, err = share.Parse(value)
	case "policy":
		spec.Policy = statefulset.Policy(value)
		if spec.Policy != statefulset.OrderedReady && spec.Policy != statefulset.Parallel {
			err = fmt.Errorf("%q is neither OrderedReady nor Parallel", value)
		}
	case "onDelete":
		spec.OnDelete = true
	case "bare":
		spec.Bare = true
	default:
		err = fmt.Errorf("unknown field")
	}
	return err
}

// parsePods reads "v1 v1? . v2-" from the first ordinal, as statefulset.Pod writes them.
func parsePods(spec statefulset.Spec, words []string) (map[int]statefulset.Pod, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("pods are missing")
	}
	pods := map[int]statefulset.Pod{}
	for i, w := range words {
		if w == "." {
			continue
		}
		revision := strings.TrimRight(w, "?+-!")
		pod := statefulset.Pod{Revision: revision, Ready: true, Available: true}
		switch w[len(revision):] {
		case "":
		case "?":
			pod.Ready, pod.Available = false, false
		case "+":
			pod.Available = false
		case "-":
			pod.Terminating = true
		case "!":
			pod.Ready, pod.Available, pod.Failed = false, false, true
		default:
			return nil, fmt.Errorf("%q is not a revision, which one of ? + - ! may follow", w)
		}
		pods[spec.Start+i] = pod
	}
	return pods, nil
}
