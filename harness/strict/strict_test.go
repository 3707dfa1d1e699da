package strict_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/strict"
)

// order is a struct with every kind of field that files are decoded into.
type order struct {
	Name   string             `json:"name"`
	Count  int                `json:"count"`
	Share  float64            `json:"share"`
	Ready  bool               `json:"ready"`
	Ramp   scenario.Duration  `json:"ramp"`
	Tags   []string           `json:"tags"`
	Inner  inner              `json:"inner"`
	Items  []inner            `json:"items"`
	Limits map[string]float64 `json:"limits"`
	Any    map[string]any     `json:"any"`
	Forms  []form             `json:"forms"`
	Ptr    *inner             `json:"ptr"`
	Hidden string             `json:"-"`
	embedded
}

type embedded struct {
	Extra int `json:"extra"`
}

type inner struct {
	Weight int    `json:"weight"`
	Label  string `json:"label"`
}

// form is a mapping or, in short, a text.
type form struct{ inner }

func (form) Shape() any { return inner{} }

func (f *form) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		return nil
	}
	return errors.New("bad form: expected a mapping")
}

const fields = "name, count, share, ready, ramp, tags, inner, items, limits, any, forms, ptr, extra"

func TestBadDocumentsSayWhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":                   {"name: a\ncuont: 1\n", `f:2: cuont: unknown field, did you mean "count"?; expected one of ` + fields},
		"unknown field with nothing near": {"zzzzzzzzzz: 1\n", `f:1: zzzzzzzzzz: unknown field; expected one of ` + fields},
		"unknown nested field":            {"inner:\n  weight: 1\n  lable: x\n", `f:3: inner.lable: unknown field, did you mean "label"?; expected one of weight, label`},
		"unknown field in a list":         {"items:\n- weight: 1\n- {wieght: 2}\n", `f:3: items[1].wieght: unknown field, did you mean "weight"?; expected one of weight, label`},
		"unknown field of a short form":   {"forms: [{weihgt: 1}]\n", `f:1: forms[0].weihgt: unknown field, did you mean "weight"?; expected one of weight, label`},
		"field that no file may set":      {"Hidden: x\n", `f:1: Hidden: unknown field; expected one of ` + fields},
		"field in another case":           {"Name: x\n", `f:1: Name: unknown field, did you mean "name"?; expected one of ` + fields},
		"name that would break the line":  {"\"a\\nb\": 1\n", `f:1: "a\nb": unknown field, did you mean "any"?; expected one of ` + fields},
		"field given twice":               {"name: a\ncount: 1\nname: b\n", `f:3: name: the field is given twice, first on line 1`},
		"nested field given twice":        {"inner: {weight: 1, weight: 2}\n", `f:1: inner.weight: the field is given twice, first on line 1`},
		"key of a map given twice":        {"any:\n  a: 1\n  a: 1\n", `f:3: any.a: the field is given twice, first on line 2`},
		"text for a number":               {"count: many\n", `f:1: count: expected a whole number, got "many"`},
		"quoted number for a number":      {"count: \"5\"\n", `f:1: count: expected a whole number, got "5"`},
		"fraction for a whole number":     {"count: 1.5\n", `f:1: count: expected a whole number, got 1.5`},
		"number that is too large":        {"count: 99999999999999999999\n", `f:1: count: expected a whole number, got "99999999999999999999"`},
		"number for text":                 {"name: 5\n", `f:1: name: expected text, got 5`},
		"text for a truth value":          {"ready: yes\n", `f:1: ready: expected true or false, got "yes"`},
		"text for a number in a map":      {"limits: {a: high}\n", `f:1: limits.a: expected a number, got "high"`},
		"number for text in a list":       {"tags: [a, 5]\n", `f:1: tags[1]: expected text, got 5`},
		"mapping for a list":              {"tags: {a: b}\n", `f:1: tags: expected a list, got a mapping`},
		"text for a list":                 {"items: x\n", `f:1: items: expected a list, got "x"`},
		"list for a mapping":              {"inner: [1]\n", `f:1: inner: expected a mapping with fields weight, label, got a list`},
		"list for a map":                  {"limits: [1]\n", `f:1: limits: expected a mapping, got a list`},
		"mapping for a number":            {"count:\n  a: 1\n", `f:2: count: expected a whole number, got a mapping`},
		"long text for a number":          {"count: " + strings.Repeat("x", 200) + "\n", `f:1: count: expected a whole number, got something long`},
		"text through a pointer":          {"ptr: {weight: x}\n", `f:1: ptr.weight: expected a whole number, got "x"`},
		"short form that is none":         {"forms: [5]\n", `f:1: forms[0]: bad form: expected a mapping`},
		"duration without a unit":         {"ramp: 1\n", `f:1: ramp: a duration is text with a unit, such as "1s" or "500ms", not 1`},
		"duration with a bad unit":        {"ramp: 1x\n", `f:1: ramp: "1x" is no duration: give a number with a unit, such as "1s" or "500ms"`},
		"duration below zero":             {"ramp: -1s\n", `f:1: ramp: the duration "-1s" is negative`},
		"duration over two lines":         {"ramp: |\n  1s\n  2s\n", `f:1: ramp: "1s\n2s\n" is no duration: give a number with a unit, such as "1s" or "500ms"`},
		"null":                            {"name: a\ncount: null\n", `f:2: count: the value is missing: give one, or leave the field out`},
		"no value":                        {"name:\ncount: 1\n", `f:1: name: the value is missing: give one, or leave the field out`},
		"null in a list":                  {"items: [~]\n", `f:1: items[0]: the value is missing: give one, or leave the field out`},
		"null in a free map":              {"any: {a: {b: null}}\n", `f:1: any.a.b: the value is missing: give one, or leave the field out`},
		"not a number":                    {"share: .nan\n", `f:1: share: .nan is no number that can be compared`},
		"infinity":                        {"limits:\n  a: -.inf\n", `f:2: limits.a: -.inf is no number that can be compared`},
		"anchor":                          {"inner: &i {weight: 1}\n", `f:1: inner: YAML anchors and aliases are not supported: write the value out`},
		"alias":                           {"name: a\nptr: *i\n", `f:2: ptr: YAML anchors and aliases are not supported: write the value out`},
		"merge key":                       {"inner:\n  <<: {weight: 1}\n", `f:2: inner."<<": YAML merge keys are not supported: write the fields out`},
		"tag":                             {"count: !!int \"5\"\n", `f:1: count: YAML tags are not supported`},
		"bad syntax":                      {"name: a\ntags: [\n", `f:2: bad YAML: sequence end token ']' not found`},
		"tab":                             {"inner:\n\tweight: 1\n", "f:2: bad YAML: found character '\t' that cannot start any token"},
		"indentation":                     {"tags:\n  - b\n count: 1\n", `f:3: bad YAML: value is not allowed in this context`},
		"list for a key":                  {"? [a, b]\n: 1\n", `f:2: bad YAML: found an invalid key for this map`},
		"null for a key":                  {"inner:\n  ~: 1\n", `f:2: inner: ~ is no name of a field`},
		"empty file":                      {"", `f: expected one YAML document, found 0`},
		"only a comment":                  {"# nothing\n", `f: expected one YAML document, found 0`},
		"two documents":                   {"name: a\n---\nname: b\n", `f: expected one YAML document, found 2`},
		"a word":                          {"hello\n", `f:1: expected a mapping with fields ` + fields + `, got "hello"`},
		"a null document":                 {"null\n", `f:1: expected a mapping with fields ` + fields + `, got null`},
		"a list":                          {"[]\n", `f:1: expected a mapping with fields ` + fields + `, got a list`},
		"nested too deep":                 {"any: {a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}\n", `f:1: any.a` + strings.Repeat("[0]", 63) + `: nested deeper than 64 levels`},
		"too large":                       {strings.Repeat("#", 70000), `f: the document has 70000 bytes, expected at most 65536`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := decode(c.text, &order{})
			if err == nil {
				t.Fatalf("accepted %q", c.text)
			}
			if err.Error() != c.want {
				t.Errorf("error\n got %s\nwant %s", err, c.want)
			}
			if _, ok := errors.AsType[*strict.Error](err); !ok {
				t.Errorf("error is %T", err)
			}
		})
	}
}

func decode(text string, v any) error {
	doc, err := strict.Parse("f", []byte(text))
	if err != nil {
		return err
	}
	return doc.Decode(v)
}

func TestGoodDocumentsAreDecoded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want order
	}{
		"every kind of field": {
			"name: a\ncount: 0x10\nshare: 1\nready: true\nramp: 1m0.5s\ntags: [x, \"5\"]\ninner: {weight: 1}\nlimits: {a: 1.5}\nextra: 3\nptr:\n  label: p\n",
			order{Name: "a", Count: 16, Share: 1, Ready: true, Ramp: scenario.Duration(time.Minute + time.Second/2), Tags: []string{"x", "5"},
				Inner: inner{Weight: 1}, Limits: map[string]float64{"a": 1.5}, embedded: embedded{3}, Ptr: &inner{Label: "p"}},
		},
		"quoted keys":       {"\"name\": a\n", order{Name: "a"}},
		"one entry":         {"name: a", order{Name: "a"}},
		"text over lines":   {"name: |\n  a\n  b\n", order{Name: "a\nb\n"}},
		"empty mapping":     {"{}", order{}},
		"free values":       {"any: {a: [1, {b: c}], 5: x}\n", order{Any: map[string]any{"a": []any{1.0, map[string]any{"b": "c"}}, "5": "x"}}},
		"document with ---": {"---\nname: a\n", order{Name: "a"}},
		"empty lists":       {"tags: []\nitems: []\n", order{Tags: []string{}, Items: []inner{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got order
			if err := decode(c.text, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFieldsThatAreNotNamedKeepTheirValue(t *testing.T) {
	t.Parallel()
	got := order{Name: "default", Inner: inner{Weight: 7, Label: "kept"}}
	if err := decode("inner: {weight: 1}\n", &got); err != nil {
		t.Fatal(err)
	}
	if want := (inner{Weight: 1, Label: "kept"}); got.Name != "default" || got.Inner != want {
		t.Errorf("got %+v", got)
	}
}

func TestNodesKnowTheirPlace(t *testing.T) {
	t.Parallel()
	doc, err := strict.Parse("f", []byte("a:\n  b:\n  - c: 1\n    d: x\n  - short\n"))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	for name, c := range map[string]struct {
		at   strict.Node
		want string
	}{
		"a key":                        {root.Find("a", "b"), "f:3: a.b: !"},
		"an element":                   {root.Find("a", "b").Index(0), "f:3: a.b[0]: !"},
		"a field of an element":        {root.Find("a", "b").Index(0).Find("d"), "f:4: a.b[0].d: !"},
		"a path":                       {root.At("a.b[0].d"), "f:4: a.b[0].d: !"},
		"a path below a node":          {root.Find("a").At("b[1]"), "f:5: a.b[1]: !"},
		"a path deeper than the file":  {root.At("a.b[1].pause.duration"), "f:5: a.b[1].pause.duration: !"},
		"a path beside the file":       {root.At("x.y"), "f:1: x.y: !"},
		"a path of a value on its own": {root.Find("a", "b").As("steps").At("steps[0].d"), "f:4: a.b[0].d: !"},
		"a value on its own":           {root.Find("a", "b").As("steps").At("steps"), "f:3: a.b: !"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.at.IsZero() {
				t.Fatal("no such node")
			}
			if got := c.at.Errorf("!").Error(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	for name, n := range map[string]strict.Node{
		"unknown key": root.Find("b"), "key of a text": root.Find("a", "b", "c"), "element beyond the end": root.Find("a", "b").Index(2), "element of a mapping": root.Index(0),
	} {
		if !n.IsZero() || n.Line() != 0 {
			t.Errorf("%s: found something", name)
		}
		if err := n.Decode(&order{}); err != nil {
			t.Errorf("%s: a part that is not there decodes to nothing, got %v", name, err)
		}
	}
}

func TestValueOnItsOwnIsDecodedUnderAKey(t *testing.T) {
	t.Parallel()
	doc, err := strict.Parse("f", []byte("matrix:\n  count:\n  - 5\n  - x\n"))
	if err != nil {
		t.Fatal(err)
	}
	list := doc.Root().Find("matrix", "count")
	var got order
	if err := list.Index(0).As("count").Decode(&got); err != nil || got.Count != 5 {
		t.Errorf("count %d, error %v", got.Count, err)
	}
	err = list.Index(1).As("count").Decode(&got)
	if want := `f:4: matrix.count[1]: expected a whole number, got "x"`; fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if n := (strict.Node{}).As("count"); !n.IsZero() {
		t.Error("a part that is not there stays so")
	}
}

func TestParseValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		"a number":             {"5", ""},
		"wrong type":           {"x", `--set: count: expected a whole number, got "x"`},
		"no value":             {"", `--set: count: the value is missing: give one, or leave the field out`},
		"a second field":       {"5\nname: x", `--set: "5\nname: x" is no YAML value`},
		"a second document":    {"5\n---\n6", `--set: expected one YAML document, found 2`},
		"bad syntax":           {"[", `--set: bad YAML: sequence end token ']' not found`},
		"a value with a colon": {"a: b", `--set: bad YAML: mapping value is not allowed in this context`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got order
			doc, err := strict.ParseValue("--set", "count", c.value)
			if err == nil {
				err = doc.Decode(&got)
			}
			if c.want == "" && (err != nil || got.Count != 5) {
				t.Errorf("count %d, error %v", got.Count, err)
			}
			if c.want != "" && fmt.Sprint(err) != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
