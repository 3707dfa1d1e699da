package judge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// TestCorpus runs testdata/*.test; testdata/README.md describes their language.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.test"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := parseCorpus(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".test")+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				set := c.set(t)
				for _, q := range c.questions {
					if got := q.ask(set); got != q.want {
						t.Errorf("%s: %s\n got %s\nwant %s", q.place, q.text, got, q.want)
					}
				}
			})
		}
	}
}

// corpusCase is one case: a recording, and questions about it.
type corpusCase struct {
	name  string
	defs  []series.Definition
	facts []corpusFact
	// seq is the next interval of each client of the workload.
	seq       map[string]int64
	end       float64
	claims    []judge.Claim
	guards    []judge.Guard
	questions []question
}

// corpusFact is a fact with the place in the store's order that was given for
// it; 0 takes the next.
type corpusFact struct {
	recording.Fact
	rv uint64
}

type question struct {
	place, text string
	ask         func(*series.Set) string
	want        string
}

func secs(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// set writes the case's recording and reads it.
func (c *corpusCase) set(t testing.TB) *series.Set {
	t.Helper()
	sort.SliceStable(c.facts, func(i, j int) bool { return c.facts[i].T < c.facts[j].T })
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range c.facts {
		if f.Object != nil {
			f.Object.RV = f.rv
			if f.rv == 0 {
				f.Object.RV = uint64(i+1) * 10
			}
		}
		if err := w.Append(f.Fact); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(int64(secs(c.end))); err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := series.Read(r, c.defs)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// parser reads one corpus file.
type parser struct {
	file  string
	line  int
	words []string
	cases []*corpusCase
}

func parseCorpus(file, text string) (cases []*corpusCase, err error) {
	p := &parser{file: file}
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(corpusError)
			if !ok {
				panic(r)
			}
			err = failure
		}
	}()
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		p.parse(strings.TrimSpace(line))
	}
	for _, c := range p.cases {
		for _, q := range c.questions {
			if q.want == "" {
				return nil, corpusError(q.place + ": no line with an answer follows")
			}
		}
	}
	return p.cases, nil
}

// corpusError is an error with its place in the file.
type corpusError string

func (e corpusError) Error() string { return string(e) }

func (p *parser) fail(format string, args ...any) {
	panic(corpusError(fmt.Sprintf("%s:%d: %s", p.file, p.line, fmt.Sprintf(format, args...))))
}

var wordForm = regexp.MustCompile(`"[^"]*"\S*|\S+`)

func (p *parser) parse(line string) {
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	if name, ok := strings.CutPrefix(line, "case "); ok {
		p.cases = append(p.cases, &corpusCase{name: name, seq: map[string]int64{}})
		return
	}
	if len(p.cases) == 0 {
		p.fail("expected a case first")
	}
	c := p.cases[len(p.cases)-1]
	if answer, ok := strings.CutPrefix(line, "= "); ok {
		if len(c.questions) == 0 || c.questions[len(c.questions)-1].want != "" {
			p.fail("an answer without a question")
		}
		c.questions[len(c.questions)-1].want = answer
		return
	}
	p.words = wordForm.FindAllString(line, -1)
	switch verb := p.next("a verb"); verb {
	case "state", "sample", "events", "delivered":
		p.source(c, verb)
	case "requests":
		p.requests(c)
	case "lost":
		client := p.next("a client")
		c.seq[client] += int64(p.number())
	case "traffic":
		p.traffic(c)
	case "part":
		p.part(c)
	case "total":
		p.total(c)
	case "derived":
		name := p.next("a name")
		p.expect("=")
		a := p.next("a series")
		p.expect("/")
		c.defs = append(c.defs, series.Definition{Name: name, Unit: "x", Derive: &series.Derived{Inputs: []string{a, p.next("a series")}, Value: func(in []float64) float64 { return in[0] / max(in[1], 1) }}})
	case "step":
		p.step(c)
	case "gap":
		p.gap(c)
	case "fault":
		what, at := p.point()
		c.facts = append(c.facts, corpusFact{Fact: recording.Fact{T: int64(at), Fault: &recording.Fault{What: what, Detail: strings.Join(p.rest(), " ")}}})
	case "end":
		c.end = p.number()
	case "claim":
		p.claim(c, line)
	case "guard":
		p.guard(c, line)
	case "verdict":
		p.verdict(c, line)
	default:
		p.fail("unknown verb %q", verb)
	}
	if len(p.words) > 0 {
		p.fail("%q is too much", strings.Join(p.words, " "))
	}
}

func (p *parser) next(what string) string {
	if len(p.words) == 0 {
		p.fail("expected %s", what)
	}
	word := p.words[0]
	p.words = p.words[1:]
	return strings.ReplaceAll(word, `"`, "")
}

func (p *parser) accept(word string) bool {
	if len(p.words) > 0 && p.words[0] == word {
		p.words = p.words[1:]
		return true
	}
	return false
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.fail("expected %q", word)
	}
}

func (p *parser) rest() []string {
	out := p.words
	p.words = nil
	return out
}

func (p *parser) number() float64 {
	word := p.next("a number")
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		p.fail("%q is no number", word)
	}
	return n
}

func (p *parser) value() series.Value { return valueOf(p.next("a value")) }

func valueOf(word string) series.Value {
	if n, err := strconv.ParseFloat(word, 64); err == nil {
		return series.Number(n)
	}
	return series.Text(word)
}

// point reads VALUE@SECONDS.
func (p *parser) point() (string, time.Duration) {
	word := p.next("VALUE@SECONDS")
	i := strings.LastIndex(word, "@")
	if i < 0 {
		p.fail("%q is no VALUE@SECONDS", word)
	}
	n, err := strconv.ParseFloat(word[i+1:], 64)
	if err != nil {
		p.fail("%q is no VALUE@SECONDS", word)
	}
	return word[:i], secs(n)
}

// span reads FROM..TO; a missing TO is -1.
func (p *parser) span() (from, to time.Duration) {
	word := p.next("FROM..TO")
	a, b, ok := strings.Cut(word, "..")
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if b == "" {
		y, errB = -1, nil
	}
	if !ok || errA != nil || errB != nil {
		p.fail("%q is no FROM..TO", word)
	}
	return secs(x), secs(y)
}

// source reads a series with its points; a state has a resource of its name.
func (p *parser) source(c *corpusCase, verb string) {
	name := p.next("a name")
	def := series.Definition{Name: name}
	switch verb {
	case "state":
		def.Object = &series.FromObject{Resource: name, Value: func(v *series.View) (series.Value, bool) { return valueOf(v.Message), true }}
	case "sample":
		def.Sample = &series.FromSample{Series: name}
	case "delivered":
		def.Sample = &series.FromSample{Series: name, Resource: recording.Delivered}
	case "events":
		def.Log = &series.FromLog{Component: name, Match: regexp.MustCompile(`.+`)}
	}
	c.defs = append(c.defs, def)
	for len(p.words) > 0 {
		rv := p.version()
		value, at := p.point()
		f := recording.Fact{T: int64(at)}
		switch verb {
		case "state":
			body, err := json.Marshal(map[string]string{"message": value})
			if err != nil {
				p.fail("%v", err)
			}
			f.Object = &recording.Object{Change: recording.Modified, Resource: name, Name: "o", Body: body}
		case "sample":
			f.Sample = &recording.Sample{Series: name, Value: valueOf(value).Num}
		case "delivered":
			f.Sample = &recording.Sample{Series: name, Value: valueOf(value).Num, AtNS: int64(at)}
		case "events":
			f.Log = &recording.Log{Component: name, Line: value}
		}
		c.facts = append(c.facts, corpusFact{Fact: f, rv: rv})
	}
}

// part reads a series off one of the values that a state's texts list, so that
// several series change with one version of one object.
func (p *parser) part(c *corpusCase) {
	name := p.next("a name")
	p.expect("=")
	of, n := p.next("a state"), int(p.number())
	c.defs = append(c.defs, series.Definition{Name: name, Object: &series.FromObject{Resource: of, Value: func(v *series.View) (series.Value, bool) {
		parts := strings.Split(v.Message, ",")
		if n < 1 || n > len(parts) {
			return series.Value{}, false
		}
		return valueOf(parts[n-1]), true
	}}})
}

// total reads objects that come and go, and the series that counts them.
func (p *parser) total(c *corpusCase) {
	name := p.next("a name")
	c.defs = append(c.defs, series.Definition{Name: name, Sum: &series.SumOfObjects{Resource: name, Value: func(*series.View) (float64, bool) { return 1, true }}})
	for len(p.words) > 0 {
		rv := p.version()
		object, at := p.point()
		change := recording.Modified
		if gone, ok := strings.CutPrefix(object, "-"); ok {
			object, change = gone, recording.Deleted
		}
		c.facts = append(c.facts, corpusFact{rv: rv, Fact: recording.Fact{T: int64(at), Object: &recording.Object{Change: change, Resource: name, Name: object, Body: json.RawMessage("{}")}}})
	}
}

// version takes #VERSION off the next word, 0 if there is none.
func (p *parser) version() uint64 {
	i := strings.LastIndex(p.words[0], "#")
	if i <= 0 {
		return 0
	}
	n, err := strconv.ParseUint(p.words[0][i+1:], 10, 64)
	if err != nil {
		p.fail("%q is no version", p.words[0][i+1:])
	}
	p.words[0] = p.words[0][:i]
	return n
}

// limits reads LOW..HIGH; what is missing is infinite.
func (p *parser) limits() (low, high float64) {
	word := p.next("LOW..HIGH")
	a, b, ok := strings.Cut(word, "..")
	low, high = math.Inf(-1), math.Inf(1)
	var errA, errB error
	if a != "" {
		low, errA = strconv.ParseFloat(a, 64)
	}
	if b != "" {
		high, errB = strconv.ParseFloat(b, 64)
	}
	if !ok || errA != nil || errB != nil {
		p.fail("%q is no LOW..HIGH", word)
	}
	return low, high
}

func (p *parser) step(c *corpusCase) {
	name := p.next("a name")
	from, to := p.span()
	c.facts = append(c.facts, corpusFact{Fact: recording.Fact{T: int64(from), Step: &recording.Step{Name: name, Phase: "begin"}}})
	if to >= 0 {
		c.facts = append(c.facts, corpusFact{Fact: recording.Fact{T: int64(to), Step: &recording.Step{Name: name, Phase: "end"}}})
	}
}

func (p *parser) gap(c *corpusCase) {
	resource := p.next("a state")
	from, to := p.span()
	kind := p.next("lossy or lossless")
	if kind != "lossy" && kind != "lossless" {
		p.fail("expected lossy or lossless, not %q", kind)
	}
	c.facts = append(c.facts, corpusFact{Fact: recording.Fact{T: int64(to), Gap: &recording.Gap{Resource: resource, FromNS: int64(from), ToNS: int64(to), Lossless: kind == "lossless", Reason: kind}}})
}

func (p *parser) window() series.Window {
	if !p.accept("in") {
		return series.Window{}
	}
	word := p.next("STEP..STEP")
	from, to, ok := strings.Cut(word, "..")
	if !ok {
		p.fail("%q is no STEP..STEP", word)
	}
	return series.Window{From: from, To: to}
}

func (p *parser) cond() judge.Cond {
	of, op := p.next("a series"), judge.Op(p.next("an operator"))
	if !slices.Contains([]judge.Op{judge.Less, judge.LessEqual, judge.Equal, judge.NotEqual, judge.GreaterEqual, judge.Greater}, op) {
		p.fail("unknown operator %q", op)
	}
	return judge.Cond{Series: of, Op: op, Value: p.value()}
}

func (p *parser) witness() string {
	if p.accept("witness") {
		return p.next("a series")
	}
	return ""
}

func (p *parser) claim(c *corpusCase, line string) {
	id := p.next("an id")
	claim := judge.Claim{ID: id, Sentence: line}
	w := func() series.Window { return p.window() }
	switch kind := p.next("a check"); kind {
	case "sequence":
		check := judge.Sequence{Of: p.next("a series")}
		p.expect("=")
		for len(p.words) > 0 && p.words[0] != "in" && p.words[0] != "witness" {
			check.Want = append(check.Want, p.value())
		}
		check.Witness, check.Window = p.witness(), w()
		claim.Check = check
	case "extremum":
		check := judge.Extremum{Of: p.next("a series")}
		p.expect("while")
		check.While = p.cond()
		p.expect("=")
		check.Want = p.number()
		if p.accept("first") {
			of := p.next("a series")
			p.expect("=")
			check.First = &judge.FirstAt{Of: of, Want: p.number(), Unit: p.next("a unit")}
		}
		check.Window = w()
		claim.Check = check
	case "always":
		claim.Check = judge.Always{Cond: p.cond(), Window: w()}
	case "count":
		check := judge.Count{Of: p.next("a series")}
		p.expect("=")
		low, high, ranged := strings.Cut(p.next("a count"), "..")
		if !ranged {
			high = low
		}
		var errLow, errHigh error
		check.Min, errLow = strconv.Atoi(low)
		check.Max, errHigh = strconv.Atoi(high)
		if errLow != nil || errHigh != nil {
			p.fail("%s..%s is no count", low, high)
		}
		check.Witness, check.Window = p.witness(), w()
		claim.Check = check
	case "final":
		check := judge.Final{Of: p.next("a series")}
		p.expect("=")
		check.Want, check.Window = p.value(), w()
		claim.Check = check
	case "quiet":
		check := judge.Quiet{Of: strings.Split(p.next("series"), ",")}
		p.expect("for")
		check.For = secs(p.number())
		if p.accept("alive") {
			check.Alive = p.next("a series")
			p.expect("within")
			check.MaxSilence = secs(p.number())
		}
		check.Window = w()
		if p.accept("proof") {
			check.Proof = &judge.Proof{Cond: p.cond(), Window: w()}
		}
		claim.Check = check
	case "growth":
		check := judge.Growth{Of: p.next("a series")}
		p.expect("in")
		check.Min, check.Max = p.limits()
		if p.accept("alive") {
			check.Alive = p.next("a series")
			p.expect("within")
			check.MaxSilence = secs(p.number())
		}
		check.Window = w()
		claim.Check = check
	case "within":
		check := judge.Within{From: p.cond()}
		p.expect("then")
		check.To = p.cond()
		p.expect("took")
		check.Min, check.Max = p.span()
		check.Window = w()
		claim.Check = check
	case "bound":
		check := judge.Bound{Extreme: judge.Extreme(p.next("lowest or highest"))}
		if check.Extreme != judge.Least && check.Extreme != judge.Greatest {
			p.fail("expected lowest or highest, not %q", check.Extreme)
		}
		check.Of = p.next("a series")
		p.expect("in")
		check.Low, check.High = p.limits()
		if p.accept("unit") {
			check.Unit = p.next("a unit")
		}
		check.Window = w()
		claim.Check = check
	case "path":
		check := judge.Path{Of: strings.Split(p.next("series"), ",")}
		p.expect("rule")
		check.Rule = p.next("a rule")
		if check.Begin = rules[check.Rule]; check.Begin == nil {
			p.fail("unknown rule %q", check.Rule)
		}
		if p.accept("least") {
			check.Least = int(p.number())
		}
		check.Window = w()
		claim.Check = check
	default:
		claim.Check = p.trafficCheck(kind)
	}
	c.claims = append(c.claims, claim)
	p.question(c, line, func(set *series.Set) string {
		f, err := claim.Check.Eval(set)
		if err != nil {
			return "error: " + err.Error()
		}
		out := fmt.Sprintf("%s %q, %d samples", f.Status, f.Observed, f.Samples)
		if f.At != nil {
			out += fmt.Sprintf(" at %gs", f.At.Seconds())
		}
		return out + says(f.Objects, f.Why) + disagreements(f.Disagreements)
	})
}

// rules are toy models for paths, by name.
var rules = map[string]func() judge.Walk{
	"rising": func() judge.Walk {
		return moves(func(before, now []series.Value) error {
			for i := range now {
				if now[i].Num < before[i].Num {
					return fmt.Errorf("value %d fell from %s to %s", i+1, before[i], now[i])
				}
			}
			return nil
		})
	},
	"one-by-one": func() judge.Walk {
		return moves(func(before, now []series.Value) error {
			changed := 0
			for i := range now {
				if now[i] != before[i] {
					changed++
				}
			}
			if changed > 1 {
				return fmt.Errorf("%d values changed at once", changed)
			}
			return nil
		})
	},
	"sum<=5": func() judge.Walk {
		return func(state []series.Value) error {
			sum := 0.0
			for _, v := range state {
				sum += v.Num
			}
			if sum > 5 {
				return fmt.Errorf("the sum is %g", sum)
			}
			return nil
		}
	},
}

// moves walks along the pairs of neighbours.
func moves(allowed func(before, now []series.Value) error) judge.Walk {
	var before []series.Value
	return func(state []series.Value) error {
		last := before
		before = slices.Clone(state)
		if last == nil {
			return nil
		}
		return allowed(last, state)
	}
}

func (p *parser) guard(c *corpusCase, line string) {
	g := judge.Guard{ID: p.next("an id"), Series: p.next("a series")}
	p.expect("<=")
	g.Limit = p.number()
	if p.accept("expected") {
		n := p.number()
		g.Expected = &n
	}
	g.Window = p.window()
	c.guards = append(c.guards, g)
	p.question(c, line, func(set *series.Set) string {
		v, err := judge.Judge(recording.Header{}, judge.Prediction{Guards: []judge.Guard{g}}, set, judge.Gate{})
		if err != nil {
			return "error: " + err.Error()
		}
		r := v.Guards[0]
		out := fmt.Sprintf("%s, %d samples", r.Status, r.Samples)
		if r.Worst != nil {
			out += fmt.Sprintf(", worst %g%s at %gs, above for %gs", *r.Worst, r.Unit, *r.AtSec, r.AboveSec)
		}
		out += says(r.Objects, r.Why)
		for _, n := range r.Notes {
			out += " (note: " + n + ")"
		}
		return out
	})
}

func says(objects []string, why string) string {
	out := ""
	if len(objects) > 0 {
		out += " by " + strings.Join(objects, ", ")
	}
	if why != "" {
		out += ": " + why
	}
	return out
}

// verdict asks for the judgement of all claims and guards above it.
func (p *parser) verdict(c *corpusCase, line string) {
	var gate judge.Gate
	for len(p.words) > 0 {
		word := p.next("claims=... or guards=...")
		switch key, value, _ := strings.Cut(word, "="); key {
		case "claims":
			gate.Claims = value
		case "guards":
			gate.Guards = value
		default:
			p.fail("unknown gate %q", word)
		}
	}
	prediction := judge.Prediction{Claims: slices.Clone(c.claims), Guards: slices.Clone(c.guards)}
	p.question(c, line, func(set *series.Set) string {
		v, err := judge.Judge(recording.Header{}, prediction, set, gate)
		if err != nil {
			return "error: " + err.Error()
		}
		out := string(v.Outcome)
		for i, r := range v.Reasons {
			out += fmt.Sprintf(" [%d] %s", i+1, r)
		}
		return out
	})
}

func (p *parser) question(c *corpusCase, line string, ask func(*series.Set) string) {
	c.questions = append(c.questions, question{place: fmt.Sprintf("%s:%d", p.file, p.line), text: line, ask: ask})
}

func TestCorpusErrorsNameFileAndLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no case":                {"end 5\n", "f:1: expected a case first"},
		"unknown verb":           {"case a\nseries w 1@1\n", `f:2: unknown verb "series"`},
		"unknown check":          {"case a\n\n# x\nclaim c sometimes w = 1\n", `f:4: unknown check "sometimes"`},
		"a point without a time": {"case a\nstate w 1@1 2\n", `f:2: "2" is no VALUE@SECONDS`},
		"a time that is none":    {"case a\nstate w 1@x\n", `f:2: "1@x" is no VALUE@SECONDS`},
		"a version that is none": {"case a\nstate w 1@1#x\n", `f:2: "x" is no version`},
		"a span that is none":    {"case a\nstep s 5\n", `f:2: "5" is no FROM..TO`},
		"a gap of no kind":       {"case a\ngap w 1..2 small\n", `f:2: expected lossy or lossless, not "small"`},
		"unknown operator":       {"case a\nclaim c always w == 1\n", `f:2: unknown operator "=="`},
		"a count that is none":   {"case a\nclaim c count w = few\n", `f:2: few..few is no count`},
		"a window that is none":  {"case a\nclaim c always w < 1 in s\n", `f:2: "s" is no STEP..STEP`},
		"a word is missing":      {"case a\nclaim c final w\n", `f:2: expected "="`},
		"the line ends":          {"case a\nclaim c final w =\n", `f:2: expected a value`},
		"a word too much":        {"case a\nend 5 6\n", `f:2: "6" is too much`},
		"an unknown gate":        {"case a\nverdict all=fail\n", `f:2: unknown gate "all=fail"`},
		"an answer on its own":   {"case a\n= held\n", `f:2: an answer without a question`},
		"a second answer":        {"case a\nverdict\n= pass\n= fail\n", `f:4: an answer without a question`},
		"a question on its own":  {"case a\nverdict\nend 1\n", `f:2: no line with an answer follows`},
		"a number that is none":  {"case a\nend soon\n", `f:2: "soon" is no number`},
		"a bound of no side":     {"case a\nclaim c bound most w in 1..2\n", `f:2: expected lowest or highest, not "most"`},
		"a bound without limits": {"case a\nclaim c bound lowest w in 3\n", `f:2: "3" is no LOW..HIGH`},
		"a limit that is none":   {"case a\nclaim c bound lowest w in 3..x\n", `f:2: "3..x" is no LOW..HIGH`},
		"an unknown rule":        {"case a\nclaim c path w rule falling\n", `f:2: unknown rule "falling"`},
		"a path without a rule":  {"case a\nclaim c path w\n", `f:2: expected "rule"`},
	} {
		if _, err := parseCorpus("f", c.text); fmt.Sprint(err) != c.want {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}
