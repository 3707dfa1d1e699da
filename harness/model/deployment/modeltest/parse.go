package modeltest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/deployment"
)

// A Case is one "at" block with the Deployment in force where it stands.
type Case struct {
	File string
	Line int
	Kind string // fenceposts, pass, play, explore, history, versions
	Spec deployment.Spec

	sets   []deployment.ReplicaSet
	chaos  deployment.Chaos
	limit  int
	checks []check
}

// A check is one line of a case; it returns an error without a position.
type check struct {
	line int
	run  runFunc
}

type runFunc = func(*state) error

// Name identifies the case by its file and line.
func (c Case) Name() string {
	return fmt.Sprintf("%s:%d_%s", filepath.Base(c.File), c.Line, c.Kind)
}

// Check returns what does not hold, each error with file and line.
func (c Case) Check() []error {
	s := newState(c)
	var errs []error
	for _, ch := range c.checks {
		if err := ch.run(s); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", c.File, ch.line, err))
		}
	}
	return errs
}

// Parse reads a corpus file. Every error has the form file:line: message.
func Parse(file, text string) ([]Case, error) {
	p := &parser{}
	for i, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		if err := p.line(file, i+1, indented, words); err != nil {
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
	spec  deployment.Spec
	cases []Case
	open  bool // the last case takes indented lines
}

func (p *parser) line(file string, no int, indented bool, words []string) error {
	if indented {
		if !p.open {
			return fmt.Errorf("indented line outside of a case")
		}
		c := &p.cases[len(p.cases)-1]
		run, err := compile(c.Kind, words)
		if err != nil {
			return err
		}
		c.checks = append(c.checks, check{no, run})
		return nil
	}
	p.open = false
	switch words[0] {
	case "deployment":
		spec, err := parseSpec(words[1:])
		p.spec = spec
		return err
	case "at":
		return p.begin(file, no, words[1:])
	}
	return fmt.Errorf("unknown word %q (known: deployment, at)", words[0])
}

const kinds = "fenceposts, pass, play, explore, history, versions"

func (p *parser) begin(file string, no int, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("at what? (known: %s)", kinds)
	}
	c := Case{File: file, Line: no, Kind: words[0], Spec: p.spec, limit: deployment.KeepAll}
	if !strings.Contains(" "+kinds+",", " "+c.Kind+",") {
		return fmt.Errorf("unknown case %q (known: %s)", c.Kind, kinds)
	}
	if c.Kind == "explore" {
		c.Spec.Template = "v2"
	}
	for _, word := range words[1:] {
		if err := c.option(word); err != nil {
			return err
		}
	}
	p.cases, p.open = append(p.cases, c), true
	return nil
}

// option is a word after "at KIND": a setting, or else a ReplicaSet.
func (c *Case) option(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case word == "paused":
		c.Spec.Paused = true
	case key == "new":
		c.Spec.Template = value
	case key == "was" && c.Kind == "pass":
		return c.annotate(value)
	case key == "losses":
		c.chaos.Losses, err = number(value)
	case word == "ready=none":
		c.chaos.Ready = deployment.NoneReady
	case key == "ready":
		c.chaos.Ready, err = number(value)
	case key == "limit" && c.Kind == "history":
		c.limit, err = number(value)
	case c.Kind == "pass" || c.Kind == "explore":
		var r deployment.ReplicaSet
		r, err = parseSet(word)
		r.Created = int64(len(c.sets) + 1)
		r.Desired, r.Max = c.Spec.Replicas, c.Spec.Most()
		c.sets = append(c.sets, r)
	default:
		err = fmt.Errorf("at %s takes no %q", c.Kind, word)
	}
	return err
}

// annotate reads "5+2": replicas and surge when all ReplicaSets were last scaled; "none".
func (c *Case) annotate(value string) error {
	desired, most := deployment.NoAnnotation, deployment.NoAnnotation
	if value != "none" {
		a, b, _ := strings.Cut(value, "+")
		var err error
		if desired, err = number(a); err != nil {
			return err
		}
		if most, err = number("0" + b); err != nil {
			return err
		}
		most += desired
	}
	for i := range c.sets {
		c.sets[i].Desired, c.sets[i].Max = desired, most
	}
	return nil
}

// parseSet reads "v1=8/10": available and wanted pods, or "v1=3/8/10" with the pods that
// exist between them.
func parseSet(word string) (deployment.ReplicaSet, error) {
	name, value, ok := strings.Cut(word, "=")
	parts := strings.Split(value, "/")
	if !ok || name == "" || len(parts) < 2 || len(parts) > 3 {
		return deployment.ReplicaSet{}, fmt.Errorf("%q is not VERSION=AVAILABLE/WANTED", word)
	}
	n, err := numbers(parts)
	if err != nil {
		return deployment.ReplicaSet{}, err
	}
	r := deployment.ReplicaSet{Name: name, Available: n[0], Pods: n[len(n)-1], Replicas: n[len(n)-1]}
	if len(n) == 3 {
		r.Pods = n[1]
	}
	r.Running = r.Pods
	return r, nil
}

func parseSpec(words []string) (deployment.Spec, error) {
	spec := deployment.Spec{Surge: deployment.Percent(25), Unavailable: deployment.Percent(25)}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "replicas":
			spec.Replicas, err = number(value)
		case "surge":
			spec.Surge, err = deployment.ParseIntOrPercent(value)
		case "unavailable":
			spec.Unavailable, err = deployment.ParseIntOrPercent(value)
		case "recreate":
			spec.Recreate = true
		default:
			err = fmt.Errorf("unknown field (known: replicas, surge, unavailable, recreate)")
		}
		if err != nil {
			return spec, fmt.Errorf("%s: %w", key, err)
		}
	}
	return spec, nil
}

// maxNumber keeps a typing error from becoming a long run.
const maxNumber = 10_000

func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxNumber {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", s, maxNumber)
	}
	return n, nil
}

func numbers(words []string) ([]int, error) {
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
