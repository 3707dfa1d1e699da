// Package strict decodes YAML into Go structs and refuses what it does not
// know: an unknown field, a wrong type, a number without its unit. Each error
// names the file, the line, the field, what was expected and the nearest name.
package strict

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

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
	return place + ": " + e.Msg
}

// Document is a parsed YAML document that still knows its lines.
type Document struct {
	Source string
	root   ast.Node
}

// Parse reads one YAML document. An empty one, two, or bad syntax are errors.
func Parse(source string, text []byte) (*Document, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxError(source, err)
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
	return &Document{Source: source, root: bodies[0]}, nil
}

func syntaxError(source string, err error) error {
	out := &Error{Source: source, Msg: err.Error()}
	if y, ok := err.(yaml.Error); ok {
		out.Msg = y.GetMessage()
		if tk := y.GetToken(); tk != nil {
			out.Line = tk.Position.Line
		}
	}
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
}

// IsZero says that the document had no such part.
func (n Node) IsZero() bool { return n.node == nil }

// Line is the node's line, 0 for no node.
func (n Node) Line() int {
	if n.node == nil {
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
				found = Node{doc: n.doc, node: kv.Value, path: join(n.path, key)}
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

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check walks the node beside the type and reports the first misfit.
func (n Node) check(t reflect.Type) error {
	if _, ok := n.node.(*ast.NullNode); ok {
		return nil
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

func (n Node) tryUnmarshal(t reflect.Type) error {
	text, err := n.JSON()
	if err != nil {
		return n.Errorf("%v", err)
	}
	if err := json.Unmarshal(text, reflect.New(t).Interface()); err != nil {
		if _, ok := err.(*json.UnmarshalTypeError); ok {
			return n.Errorf("expected %s, got %s", kindName(t), text)
		}
		return n.Errorf("%v", err)
	}
	return nil
}

func (n Node) checkStruct(t reflect.Type) error {
	entries := pairs(n.node)
	if entries == nil {
		return n.Errorf("expected a mapping with fields %s", strings.Join(fieldNames(t), ", "))
	}
	seen := map[string]bool{}
	for _, kv := range entries {
		key := keyOf(kv)
		child := Node{doc: n.doc, node: kv.Value, path: join(n.path, key)}
		at := Node{doc: n.doc, node: kv.Key, path: child.path}
		if seen[key] {
			return at.Errorf("the field is given twice")
		}
		seen[key] = true
		f, ok := fieldByName(t, key)
		if !ok {
			return at.Errorf("unknown field%s; expected one of %s", nearest.Hint(key, fieldNames(t)), strings.Join(fieldNames(t), ", "))
		}
		if err := child.check(f.Type); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) checkMap(t reflect.Type) error {
	entries := pairs(n.node)
	if entries == nil {
		return n.Errorf("expected a mapping")
	}
	for _, kv := range entries {
		child := Node{doc: n.doc, node: kv.Value, path: join(n.path, keyOf(kv))}
		if err := child.check(t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) checkSlice(t reflect.Type) error {
	seq, ok := n.node.(*ast.SequenceNode)
	if !ok {
		return n.Errorf("expected a list")
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
	if f.Anonymous || name == "-" {
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

// As returns a mapping with the node as the value of one key, so that a value
// that stands alone in a document can be decoded into a struct's field.
func (n Node) As(key string) Node {
	if n.node == nil {
		return n
	}
	tk := n.node.GetToken()
	name := ast.String(token.New(key, key, tk.Position))
	value := ast.MappingValue(tk, name, n.node)
	return Node{doc: n.doc, node: value, path: n.path}
}
