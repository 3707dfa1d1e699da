package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// decoder reads the views of objects to the same result as json.Unmarshal, which
// would be most of the time that judging takes: what a view has no field for,
// most of an object, is skipped without a look, and plain strings are copied,
// those that were seen before not even that. The text must be JSON, which
// recording.Reader has seen to.
type decoder struct {
	text []byte
	at   int
	name []byte
	seen map[string]string
}

// mostSeen bounds the strings that are remembered, and longestSeen each.
const (
	mostSeen    = 1000
	longestSeen = 100
)

func (d *decoder) decode(text []byte, into *View) error {
	d.text, d.at = text, 0
	if err := d.value(reflect.ValueOf(into).Elem()); err == nil {
		return nil
	}
	*into = View{}
	return json.Unmarshal(text, into)
}

// viewFields are the fields of the structs in a View, by name in lower case.
var viewFields = fieldsOf(reflect.TypeFor[View](), map[reflect.Type]map[string]int{})

func fieldsOf(t reflect.Type, known map[reflect.Type]map[string]int) map[reflect.Type]map[string]int {
	switch t.Kind() {
	case reflect.Slice:
		return fieldsOf(t.Elem(), known)
	case reflect.Struct:
		names := map[string]int{}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			names[strings.ToLower(name)] = i
			fieldsOf(f.Type, known)
		}
		known[t] = names
	}
	return known
}

// value reads the next value: here what views consist of, by encoding/json what
// is rare. After an error, encoding/json is to read the whole.
func (d *decoder) value(v reflect.Value) error {
	first := d.next()
	switch kind := v.Kind(); {
	case first == '{' && kind == reflect.Struct:
		return d.object(v)
	case first == '{' && kind == reflect.Map && v.IsNil():
		return d.labels(v)
	case first == '[' && kind == reflect.Slice && viewFields[v.Type().Elem()] != nil && v.IsNil():
		return d.array(v)
	}
	text := d.skip()
	switch {
	case first == '"' && v.Kind() == reflect.String && plain(text):
		v.SetString(d.str(text))
	case v.Kind() == reflect.Int && digits(text):
		n := 0
		for _, c := range text {
			n = 10*n + int(c-'0')
		}
		v.SetInt(int64(n))
	default:
		return json.Unmarshal(text, v.Addr().Interface())
	}
	return nil
}

// labels reads a map[string]string, which is the one kind of map in a View.
func (d *decoder) labels(v reflect.Value) error {
	labels := map[string]string{}
	v.Set(reflect.ValueOf(labels))
	for d.open(); d.more(); {
		key := d.key()
		value := d.skip()
		if !plain(key) || !plain(value) || value[0] != '"' {
			return errUnusual
		}
		labels[d.str(key)] = d.str(value)
	}
	return nil
}

func (d *decoder) object(v reflect.Value) error {
	fields := viewFields[v.Type()]
	for d.open(); d.more(); {
		key := d.key()
		if !plain(key) {
			return errUnusual
		}
		d.name = append(d.name[:0], key[1:len(key)-1]...)
		for i, c := range d.name { // encoding/json is not particular about case
			if 'A' <= c && c <= 'Z' {
				d.name[i] += 'a' - 'A'
			}
		}
		if i, ok := fields[string(d.name)]; !ok {
			d.skip()
		} else if err := d.value(v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) array(v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 1))
	for d.open(); d.more(); {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		if err := d.value(v.Index(n)); err != nil {
			return err
		}
	}
	return nil
}

// errUnusual: what is for encoding/json to read.
var errUnusual = errors.New("unusual JSON")

// open goes into an object or array.
func (d *decoder) open() { d.at++ }

// more goes to the next member or element, or leaves after the last.
func (d *decoder) more() bool {
	if d.next() == ',' {
		d.at++
	}
	if c := d.next(); c != '}' && c != ']' {
		return true
	}
	d.at++
	return false
}

// key reads a key, with its quotes, and the colon.
func (d *decoder) key() []byte {
	key := d.skip()
	d.next()
	d.at++
	return key
}

// str is the text of a plain string.
func (d *decoder) str(quoted []byte) string {
	text := quoted[1 : len(quoted)-1]
	if len(text) > longestSeen {
		return string(text)
	}
	if s, ok := d.seen[string(text)]; ok {
		return s
	}
	if d.seen == nil || len(d.seen) == mostSeen {
		d.seen = map[string]string{}
	}
	s := string(text)
	d.seen[s] = s
	return s
}

// digits says whether a number is a natural one of no great size.
func digits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return 0 < len(text) && len(text) < 10
}

// plain says whether a string is written as it is meant.
func plain(quoted []byte) bool {
	for _, c := range quoted {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// next skips white space and returns the byte after it, 0 at the end.
func (d *decoder) next() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// skip returns the value or key that comes next.
func (d *decoder) skip() []byte {
	first, begin := d.next(), d.at
	switch first {
	case '"':
		d.at = endOfString(d.text, d.at)
	case '{', '[':
		d.at = endOfNested(d.text, d.at)
	default:
		for d.at < len(d.text) && bytes.IndexByte([]byte(",}] \t\r\n"), d.text[d.at]) < 0 {
			d.at++
		}
	}
	return d.text[begin:d.at]
}

func endOfString(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func endOfNested(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = endOfString(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
}
