package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// decode reads the view of an object to the same result as json.Unmarshal, which
// would be most of the time that judging takes. What a view has no field for,
// most of an object, is skipped without a look, and plain strings are copied.
// The text must be JSON, which recording.Reader has seen to.
func decode(text []byte, into *View) error {
	d := decoder{text: text}
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

type decoder struct {
	text []byte
	at   int
	name []byte
}

// value reads the next value: here what views consist of, by encoding/json what
// is rare. After an error, encoding/json is to read the whole.
func (d *decoder) value(v reflect.Value) error {
	first, into := d.next(), v.Addr().Interface()
	if labels, ok := into.(*map[string]string); ok && first == '{' && *labels == nil {
		return d.labels(labels)
	}
	switch {
	case first == '{' && v.Kind() == reflect.Struct:
		return d.object(v)
	case first == '[' && v.Kind() == reflect.Slice && viewFields[v.Type().Elem()] != nil && v.IsNil():
		return d.array(v)
	}
	text := d.skip()
	if s, ok := into.(*string); ok && first == '"' && plain(text) {
		*s = string(text[1 : len(text)-1])
		return nil
	}
	return json.Unmarshal(text, into)
}

func (d *decoder) labels(into *map[string]string) error {
	*into = map[string]string{}
	return d.each(func() error {
		key, err := d.key()
		if err != nil {
			return err
		}
		var label string
		err = d.value(reflect.ValueOf(&label).Elem())
		(*into)[string(key)] = label
		return err
	})
}

func (d *decoder) object(v reflect.Value) error {
	fields := viewFields[v.Type()]
	return d.each(func() error {
		key, err := d.key()
		if err != nil {
			return err
		}
		d.name = append(d.name[:0], key...)
		for i, c := range d.name { // encoding/json is not particular about case
			if 'A' <= c && c <= 'Z' {
				d.name[i] += 'a' - 'A'
			}
		}
		if i, ok := fields[string(d.name)]; ok {
			return d.value(v.Field(i))
		}
		d.skip()
		return nil
	})
}

func (d *decoder) array(v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 1))
	return d.each(func() error {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		return d.value(v.Index(n))
	})
}

// each calls item at each member of an object, or element of an array.
func (d *decoder) each(item func() error) error {
	end := d.text[d.at] + 2 // '{'+2 is '}' and '['+2 is ']'
	d.at++
	for c := d.next(); c != end; c = d.next() {
		if c == ',' {
			d.at++
		} else if err := item(); err != nil {
			return err
		}
	}
	d.at++
	return nil
}

// errUnusual: a key that is for encoding/json to read.
var errUnusual = errors.New("unusual key")

// key reads the key of a member, without its quotes, and the colon.
func (d *decoder) key() ([]byte, error) {
	key := d.skip()
	d.next()
	d.at++
	if !plain(key) {
		return nil, errUnusual
	}
	return key[1 : len(key)-1], nil
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
