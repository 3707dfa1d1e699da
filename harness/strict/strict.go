// Package strict decodes YAML into Go structs and refuses what it does not
// know: an unknown field, a wrong type, a number without its unit. Each error
// is one line that names the file, the line, the field, what was expected and
// the nearest name.
//
// Of YAML it takes what a reader of the file understands without a manual:
// anchors, merge keys, tags and values that are missing are refused too.
package strict

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"reckon.dev/reckon/harness/nearest"
)

// Error is a mistake at one place of a document.
type Error struct {
	Source string // file name, or what stands for it
	Line   int    // 1-based; 0 when the source has no lines
	Field  string // path of the field, such as spec.scenarios[0].params
	Msg    string
}

func (e *Error) Error() string {
	place := e.Source
	if e.Line > 0 {
		place += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		place += ": " + e.Field
	}
	return strings.Join(strings.FieldsFunc(place+": "+e.Msg, isBreak), " ")
}

func isBreak(r rune) bool { return r == '\n' || r == '\r' }

// Document is a parsed YAML document that still knows its lines.
type Document struct {
	Source string
	root   ast.Node
	// flat: the source is no file, so its lines mean nothing.
	flat bool
}

// maxSize bounds a document: the parser's time grows with the square of what
// is nested, and no file that people write comes near.
const maxSize = 64 << 10

// Parse reads one YAML document. An empty one, two, or bad syntax are errors.
func Parse(source string, text []byte) (*Document, error) {
	return parse(&Document{Source: source}, text)
}

// ParseValue reads a value that stands alone, such as that of a flag, as a
// document with the value under one key. Its errors name the source, no line.
func ParseValue(source, key, value string) (*Document, error) {
	d, err := parse(&Document{Source: source, flat: true}, []byte(key+": "+value))
	if err != nil {
		return nil, err
	}
	if entries := pairs(d.root); len(entries) != 1 || keyOf(entries[0]) != key {
		return nil, d.Root().Errorf("%q is no YAML value", value)
	}
	return d, nil
}

func parse(d *Document, text []byte) (*Document, error) {
	source := d.Source
	if len(text) > maxSize {
		return nil, &Error{Source: source, Msg: fmt.Sprintf("the document has %d bytes, expected at most %d", len(text), maxSize)}
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, d.syntaxError(err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) != 1 {
		return nil, &Error{Source: source, Msg: fmt.Sprintf("expected one YAML document, found %d", len(bodies))}
	}
	d.root = bodies[0]
	return d, d.Root().plain(0)
}

func (d *Document) syntaxError(err error) error {
	out := &Error{Source: d.Source, Msg: err.Error()}
	if y, ok := err.(yaml.Error); ok {
		out.Msg = y.GetMessage()
		if tk := y.GetToken(); tk != nil && !d.flat {
			out.Line = tk.Position.Line
		}
	}
	out.Msg = "bad YAML: " + out.Msg
	return out
}

// Decode fills v, a pointer to a struct, from the document. Fields that the
// document does not name keep the value they had, so v may hold defaults.
func (d *Document) Decode(v any) error {
	return d.Root().Decode(v)
}

// Root is the document's outermost node.
func (d *Document) Root() Node { return Node{doc: d, node: d.root} }

// Node is a part of a document, for fields whose type is known only later.
type Node struct {
	doc  *Document
	node ast.Node
	path string
	// wrapped: the only key of this mapping is not in the document; see As.
	wrapped bool
}

// IsZero says that the document had no such part.
func (n Node) IsZero() bool { return n.node == nil }

// Line is the node's line, 0 for no node and for a document without lines.
func (n Node) Line() int {
	if n.node == nil || n.doc.flat {
		return 0
	}
	return n.node.GetToken().Position.Line
}

// Find returns the node at a path of keys, the zero Node when there is none.
func (n Node) Find(keys ...string) Node {
	for _, key := range keys {
		found := Node{}
		for _, kv := range pairs(n.node) {
			if keyOf(kv) == key {
				found = n.child(key, kv.Value)
			}
		}
		n = found
	}
	return n
}

// Index returns the i-th element of a list, the zero Node when there is none.
func (n Node) Index(i int) Node {
	if seq, ok := n.node.(*ast.SequenceNode); ok && i < len(seq.Values) {
		return Node{doc: n.doc, node: seq.Values[i], path: fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return Node{}
}

// At returns a node for errors about the field at a path such as
// steps[0].setWeight: the nearest part of the document that holds the field,
// with the path of the field itself.
func (n Node) At(path string) Node {
	at := n
	for part := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		next := at.Find(part)
		if i, err := strconv.Atoi(strings.Trim(part, "[]")); err == nil && strings.HasPrefix(part, "[") {
			next = at.Index(i)
		}
		if next.IsZero() {
			break
		}
		at = next
	}
	if !n.wrapped {
		return Node{doc: at.doc, node: at.node, path: join(n.path, path)}
	}
	out := Node{doc: at.doc, node: at.node, path: n.path} // the path's first key is not in the document
	if i := strings.IndexAny(path, ".["); i >= 0 {
		out.path += path[i:]
	}
	return out
}

// As returns a mapping with the node as the value of one key, so that a value
// that stands alone in a document can be decoded into a struct's field.
func (n Node) As(key string) Node {
	if n.node == nil {
		return n
	}
	tk := n.node.GetToken()
	name := ast.String(token.New(key, key, tk.Position))
	return Node{doc: n.doc, node: ast.MappingValue(tk, name, n.node), path: n.path, wrapped: true}
}

func (n Node) child(key string, value ast.Node) Node {
	if n.wrapped {
		return Node{doc: n.doc, node: value, path: n.path}
	}
	return Node{doc: n.doc, node: value, path: join(n.path, word(key))}
}

// Errorf makes an error at the node.
func (n Node) Errorf(format string, args ...any) error {
	out := &Error{Field: n.path, Line: n.Line(), Msg: fmt.Sprintf(format, args...)}
	if n.doc != nil {
		out.Source = n.doc.Source
	}
	return out
}

// Decode fills v from the node; see Document.Decode.
func (n Node) Decode(v any) error {
	if n.node == nil {
		return nil
	}
	if err := n.check(reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	text, err := n.JSON()
	if err != nil {
		return n.Errorf("%v", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return n.Errorf("%v", err)
	}
	return nil
}

// JSON converts the node.
func (n Node) JSON() ([]byte, error) {
	var v any
	if err := yaml.NodeToValue(n.node, &v); err != nil {
		return nil, err
	}
	return json.Marshal(jsonable(v))
}

// jsonable turns maps with keys of any kind into maps that JSON knows.
func jsonable(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			out[fmt.Sprint(k)] = jsonable(e)
		}
		return out
	case map[string]any:
		for k, e := range v {
			v[k] = jsonable(e)
		}
	case []any:
		for i, e := range v {
			v[i] = jsonable(e)
		}
	}
	return v
}

// maxDepth bounds nesting, and so the recursion over it.
const maxDepth = 64

// plain refuses the parts of YAML that a drill file has no use for, and what
// JSON cannot hold.
func (n Node) plain(depth int) error {
	if depth > maxDepth {
		return n.Errorf("nested deeper than %d levels", maxDepth)
	}
	switch node := n.node.(type) {
	case *ast.NullNode:
		if depth > 0 {
			return n.Errorf("the value is missing: give one, or leave the field out")
		}
	case *ast.AnchorNode, *ast.AliasNode:
		return n.Errorf("YAML anchors and aliases are not supported: write the value out")
	case *ast.TagNode:
		return n.Errorf("YAML tags are not supported")
	case *ast.NanNode, *ast.InfinityNode:
		return n.Errorf("%s is no number that can be compared", n.node.GetToken().Value)
	case *ast.SequenceNode:
		for i := range node.Values {
			if err := n.Index(i).plain(depth + 1); err != nil {
				return err
			}
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		return n.plainMapping(depth)
	}
	return nil
}

func (n Node) plainMapping(depth int) error {
	seen := map[string]int{}
	for _, kv := range pairs(n.node) {
		at := n.child(keyOf(kv), kv.Key)
		switch kv.Key.(type) {
		case *ast.MergeKeyNode:
			return at.Errorf("YAML merge keys are not supported: write the fields out")
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		default:
			return Node{doc: n.doc, node: kv.Key, path: n.path}.Errorf("%s is no name of a field", keyOf(kv))
		}
		if line, ok := seen[keyOf(kv)]; ok {
			return at.Errorf("the field is given twice, first on line %d", line)
		}
		seen[keyOf(kv)] = at.Line()
		if err := n.child(keyOf(kv), kv.Value).plain(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// Shaped is implemented by types with an UnmarshalJSON of their own, for short
// forms, whose mappings have the fields of a struct: Shape returns the struct.
// Mappings are then checked field by field, as any struct is.
type Shaped interface{ Shape() any }

// check walks the node beside the type and reports the first misfit.
func (n Node) check(t reflect.Type) error {
	if shaped, ok := shapeOf(t); ok && pairs(n.node) != nil {
		if err := n.checkStruct(shaped); err != nil {
			return err
		}
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return n.tryUnmarshal(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return n.check(t.Elem())
	case reflect.Struct:
		return n.checkStruct(t)
	case reflect.Map:
		return n.checkMap(t)
	case reflect.Slice:
		return n.checkSlice(t)
	case reflect.Interface:
		return nil
	}
	return n.tryUnmarshal(t)
}

func shapeOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	shaped, ok := reflect.Zero(t).Interface().(Shaped)
	if !ok {
		return nil, false
	}
	return reflect.TypeOf(shaped.Shape()), true
}

func (n Node) tryUnmarshal(t reflect.Type) error {
	text, err := n.JSON()
	if err != nil {
		return n.Errorf("%v", err)
	}
	if err := json.Unmarshal(text, reflect.New(t).Interface()); err != nil {
		if _, ok := err.(*json.UnmarshalTypeError); ok {
			return n.Errorf("expected %s, got %s", kindName(t), n.brief())
		}
		return n.Errorf("%v", err)
	}
	return nil
}

// brief is what the document has at the node, in a few words.
func (n Node) brief() string {
	switch n.node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	const longest = 60
	text, err := n.JSON()
	if err != nil || len(text) > longest {
		return "something long"
	}
	return string(text)
}

func (n Node) checkStruct(t reflect.Type) error {
	names := fieldNames(t)
	entries := pairs(n.node)
	if entries == nil {
		return n.Errorf("expected a mapping with fields %s, got %s", strings.Join(names, ", "), n.brief())
	}
	for _, kv := range entries {
		key := keyOf(kv)
		f, ok := fieldByName(t, key)
		if !ok {
			return n.child(key, kv.Key).Errorf("unknown field%s; expected one of %s", nearest.Hint(key, names), strings.Join(names, ", "))
		}
		if err := n.child(key, kv.Value).check(f.Type); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) checkMap(t reflect.Type) error {
	entries := pairs(n.node)
	if entries == nil {
		return n.Errorf("expected a mapping, got %s", n.brief())
	}
	for _, kv := range entries {
		if err := n.child(keyOf(kv), kv.Value).check(t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) checkSlice(t reflect.Type) error {
	seq, ok := n.node.(*ast.SequenceNode)
	if !ok {
		return n.Errorf("expected a list, got %s", n.brief())
	}
	for i := range seq.Values {
		if err := n.Index(i).check(t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

// pairs returns the entries of a mapping; nil for anything else, and an empty,
// non-nil slice for {}.
func pairs(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return append([]*ast.MappingValueNode{}, node.Values...)
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

func keyOf(kv *ast.MappingValueNode) string { return kv.Key.GetToken().Value }

// word is a key as part of a path; one that could be misread is quoted.
func word(key string) string {
	for _, r := range key {
		if r != '-' && r != '_' && r != '/' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return strconv.Quote(key)
		}
	}
	return key
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func fieldByName(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || name == "-" || f.Tag.Get("derived") != "" { // derived: filled in from other fields, nobody writes it
		return ""
	}
	return name
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float64, reflect.Float32:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Pointer:
		return kindName(t.Elem())
	}
	return t.Kind().String()
}
