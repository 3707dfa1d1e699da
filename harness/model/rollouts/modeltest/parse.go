package modeltest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
)

// A Case is one "at" block, for every group of versions in force where it stands.
type Case struct {
	File   string
	Line   int
	Kind   string // rollback, script, count, window, versions
	Groups []rollouts.Group
	Spec   rollouts.Spec
	Opts   rollouts.RollbackOptions
	Sets   []rollouts.ReplicaSet
	checks []check
}

// A check is one line of a case; it returns an error without a position.
type check struct {
	line int
	run  func(*state) error
}

// Name identifies the case by its file and line.
func (c Case) Name() string {
	return fmt.Sprintf("%s:%d_%s", filepath.Base(c.File), c.Line, c.Kind)
}

// Check returns what does not hold under the rules, each error with file and line.
func (c Case) Check(rules rollouts.Rules) []error {
	s := &state{c: c, rules: rules}
	if c.Kind == "rollback" {
		s.trace = rollouts.RollbackWindow(rules, c.Spec, c.Opts)
	} else {
		s.machine = rollouts.NewMachine(rules, c.Spec)
	}
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
	p := &parser{groups: rollouts.Groups(), spec: rollouts.Spec{}}
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
	groups  []rollouts.Group
	spec    rollouts.Spec
	hasSpec bool
	cases   []Case
	open    bool // the last case takes indented lines
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
	case "rollout":
		spec, err := parseSpec(words[1:])
		p.spec, p.hasSpec = spec, true
		return err
	case "versions":
		groups, err := parseGroups(words[1:])
		p.groups = groups
		return err
	case "at":
		return p.begin(file, no, words[1:])
	}
	return fmt.Errorf("unknown word %q (known: rollout, versions, at)", words[0])
}

func (p *parser) begin(file string, no int, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("at what? (known: %s)", kinds)
	}
	c := Case{File: file, Line: no, Kind: words[0], Groups: p.groups, Spec: p.spec}
	var err error
	switch c.Kind {
	case "rollback":
		c.Opts, err = parseOptions(words[1:])
	case "window":
		c.Sets, err = parseSets(words[1:])
	case "script", "count", "basic", "versions":
		if len(words) > 1 {
			err = fmt.Errorf("at %s takes no arguments", c.Kind)
		}
	default:
		err = fmt.Errorf("unknown case %q (known: %s)", c.Kind, kinds)
	}
	if err == nil && !p.hasSpec && c.Kind != "versions" {
		err = fmt.Errorf("a rollout line must come first")
	}
	if err != nil {
		return err
	}
	p.cases, p.open = append(p.cases, c), true
	return nil
}

const kinds = "rollback, script, count, basic, window, versions"

func parseGroups(words []string) ([]rollouts.Group, error) {
	if len(words) == 1 && words[0] == "all" {
		return rollouts.Groups(), nil
	}
	var groups []rollouts.Group
	for _, word := range words {
		g, err := rollouts.ParseGroup(word)
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

// limits keep a typing error from becoming a long run.
const (
	maxNumber = 100000
	maxSteps  = 100
)

func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxNumber {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", s, maxNumber)
	}
	return n, nil
}

func parseSpec(words []string) (rollouts.Spec, error) {
	spec := rollouts.Spec{Replicas: 1, Routing: rollouts.RoutingServices}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if err := setSpec(&spec, key, value); err != nil {
			return spec, fmt.Errorf("%s: %w", key, err)
		}
	}
	return spec, nil
}

func setSpec(spec *rollouts.Spec, key, value string) (err error) {
	switch key {
	case "replicas":
		spec.Replicas, err = number(value)
	case "minPods":
		spec.MinPods, err = number(value)
	case "window":
		spec.WindowRevisions, err = number(value)
	case "scaleDownDelay":
		spec.ScaleDownDelaySeconds, err = number(value)
	case "abortScaleDownDelay":
		var n int
		n, err = number(value)
		spec.AbortScaleDownDelaySeconds = &n
	case "progressDeadline":
		spec.ProgressDeadlineSeconds, err = number(value)
	case "progressDeadlineAbort":
		spec.ProgressDeadlineAbort, err = strconv.ParseBool(value)
	case "maxSurge", "maxUnavailable":
		var n int
		n, err = number(value)
		if key == "maxSurge" {
			spec.MaxSurge = &n
		} else {
			spec.MaxUnavailable = &n
		}
	case "dynamicStableScale":
		spec.DynamicStableScale, err = strconv.ParseBool(value)
	case "routes":
		spec.RoutesOmitted = value == "omitted"
		if value != "omitted" && value != "listed" {
			err = fmt.Errorf("%q is neither listed nor omitted", value)
		}
	case "blueGreen":
		err = setBlueGreen(spec, value)
	case "steps":
		spec.Steps, err = parseSteps(value)
	case "threshold":
		spec.Threshold, err = parseThreshold(value)
	case "routing":
		spec.Routing = rollouts.Routing(value)
		if !slices.Contains([]rollouts.Routing{rollouts.RoutingServices, rollouts.RoutingSubsets, rollouts.RoutingNone}, spec.Routing) {
			err = fmt.Errorf("%q is none of services, subsets and none", value)
		}
	default:
		err = fmt.Errorf("unknown field (known: replicas, minPods, steps, routing, window, " +
			"scaleDownDelay, abortScaleDownDelay, dynamicStableScale, threshold, routes, blueGreen, maxSurge, maxUnavailable, progressDeadline, progressDeadlineAbort)")
	}
	return err
}

// setBlueGreen reads "auto", or a list of "approval", "seconds:5" and "preview:1".
func setBlueGreen(spec *rollouts.Spec, value string) error {
	spec.BlueGreen = &rollouts.BlueGreen{}
	for _, word := range strings.Split(value, ",") {
		key, text, has := strings.Cut(word, ":")
		n := 0
		if has {
			var err error
			if n, err = number(text); err != nil {
				return err
			}
		}
		switch {
		case word == "auto":
		case word == "approval":
			spec.BlueGreen.Approval = true
		case key == "seconds" && has:
			spec.BlueGreen.AutoPromotionSeconds = n
		case key == "preview" && has:
			spec.BlueGreen.PreviewReplicas = &n
		default:
			return fmt.Errorf("%q is none of auto, approval, seconds:N, preview:N", word)
		}
	}
	return nil
}

func parseThreshold(value string) (*rollouts.Threshold, error) {
	unit, n, _ := strings.Cut(value, ":")
	t := rollouts.Threshold{Type: rollouts.ThresholdType(unit)}
	if t.Type != rollouts.ThresholdPods && t.Type != rollouts.ThresholdPercent {
		return nil, fmt.Errorf("%q is neither pods:N nor percent:N", value)
	}
	var err error
	t.Value, err = number(n)
	return &t, err
}

func parseSteps(value string) ([]rollouts.Step, error) {
	if value == "none" {
		return nil, nil
	}
	var steps []rollouts.Step
	for _, word := range strings.Split(value, ",") {
		step, err := parseStep(word)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if len(steps) > maxSteps {
		return nil, fmt.Errorf("more than %d steps", maxSteps)
	}
	return steps, nil
}

func parseStep(word string) (rollouts.Step, error) {
	key, value, _ := strings.Cut(word, "=")
	bad := fmt.Errorf("unknown step %q (known: 5, pause, pause=1s, pause=forever, scale=3, scale=30%%, scale=match, analysis, header, header=off)", word)
	switch {
	case word == "pause":
		return rollouts.PauseFor(1), nil
	case word == "pause=forever":
		return rollouts.PauseForever(), nil
	case word == "scale=match":
		return rollouts.ScaleMatchWeight(), nil
	case word == "analysis":
		return rollouts.AnalysisStep(), nil
	case word == "header":
		return rollouts.Step{Header: rollouts.HeaderSet}, nil
	case word == "header=off":
		return rollouts.Step{Header: rollouts.HeaderRemoved}, nil
	case key == "pause":
		n, err := number(strings.TrimSuffix(value, "s"))
		return rollouts.PauseFor(n), err
	case key == "scale" && strings.HasSuffix(value, "%"):
		n, err := number(strings.TrimSuffix(value, "%"))
		return rollouts.ScaleToWeight(n), err
	case key == "scale":
		n, err := number(value)
		return rollouts.ScaleTo(n), err
	}
	n, err := number(word)
	if err != nil || n > 100 {
		return rollouts.Step{}, bad
	}
	return rollouts.SetWeight(n), nil
}

func parseOptions(words []string) (rollouts.RollbackOptions, error) {
	var o rollouts.RollbackOptions
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "old-still-up":
			o.OldStillUp = true
		case "promote-full-first":
			o.PromoteFullBeforeFirst = true
		case "promote-pauses":
			o.PromotePauses = true
		case "abort", "stable-available":
			n, err := number(value)
			if err != nil {
				return o, fmt.Errorf("%s: %w", key, err)
			}
			if key == "abort" {
				o.AbortAtWeight = &n
			} else {
				o.StableAvailable = &n
			}
		default:
			return o, fmt.Errorf("unknown option %q (known: old-still-up, abort=N, promote-full-first, promote-pauses, stable-available=N)", word)
		}
	}
	return o, nil
}

// parseSets reads "v1:0 v2:10 x1:20:experiment": versions and their births.
func parseSets(words []string) ([]rollouts.ReplicaSet, error) {
	var sets []rollouts.ReplicaSet
	for _, word := range words {
		parts := strings.Split(word, ":")
		if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "experiment" {
			return nil, fmt.Errorf("%q is not version:second[:experiment]", word)
		}
		born, err := number(parts[1])
		if err != nil {
			return nil, err
		}
		sets = append(sets, rollouts.ReplicaSet{Version: parts[0], BornAt: born, Experiment: len(parts) == 3})
	}
	return sets, nil
}
