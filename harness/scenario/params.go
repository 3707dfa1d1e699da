package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reckon.dev/reckon/harness/nearest"
)

// Param describes one parameter of a scenario.
type Param struct {
	Name    string
	Type    string
	Default string
	Bounds  string
	Doc     string
}

// Describe lists the parameters of a defaults struct, in the order of its fields.
// Those that are tagged derived are left out: nobody sets them, a Loader fills them.
func Describe(defaults any) []Param {
	var out []Param
	value := reflect.Indirect(reflect.ValueOf(defaults))
	for _, f := range fields(value.Type()) {
		if f.Tag.Get("derived") != "" {
			continue
		}
		def, err := json.Marshal(value.FieldByIndex(f.Index).Interface())
		if err != nil {
			def = []byte("?")
		}
		out = append(out, Param{
			Name: fieldName(f), Type: typeName(f.Type), Default: string(def), Bounds: bounds(f), Doc: f.Tag.Get("doc"),
		})
	}
	return out
}

// Names lists the parameter names of a defaults struct.
func Names(defaults any) []string {
	var out []string
	for _, p := range Describe(defaults) {
		out = append(out, p.Name)
	}
	return out
}

// Changed lists the parameters that are not at their defaults as NAME=VALUE, in
// the form that a drill or --set takes, in the order of the struct's fields.
func Changed(defaults, params any) []string {
	from := Describe(defaults)
	var out []string
	for i, p := range Describe(params) {
		if p.Default != from[i].Default {
			out = append(out, p.Name+"="+bare(p.Default))
		}
	}
	return out
}

// bare takes the quotes off a text that reads as one word without them.
func bare(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil || text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\\' }) {
		return value
	}
	return text
}

// CheckBounds holds every field against its min, max and enum tags.
func CheckBounds(params any) error {
	value := reflect.Indirect(reflect.ValueOf(params))
	for _, f := range fields(value.Type()) {
		if err := checkField(f, value.FieldByIndex(f.Index)); err != nil {
			return err
		}
	}
	return nil
}

// FieldError is a parameter with a value that cannot be used.
type FieldError struct {
	Field string
	Msg   string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Msg }

// Refuse makes a FieldError.
func Refuse(field, format string, args ...any) error {
	return &FieldError{Field: field, Msg: fmt.Sprintf(format, args...)}
}

func checkField(f reflect.StructField, v reflect.Value) error {
	name := fieldName(f)
	if v.CanInt() && f.Type != reflect.TypeFor[Duration]() {
		if low, ok := intTag(f, "min"); ok && v.Int() < low {
			return Refuse(name, "%d is too small, expected %s", v.Int(), bounds(f))
		}
		if high, ok := intTag(f, "max"); ok && v.Int() > high {
			return Refuse(name, "%d is too large, expected %s", v.Int(), bounds(f))
		}
	}
	if enum := f.Tag.Get("enum"); enum != "" && !slices.Contains(strings.Split(enum, ","), v.String()) {
		return Refuse(name, "%q is unknown, expected %s%s", v.String(), bounds(f), nearest.Hint(v.String(), strings.Split(enum, ",")))
	}
	return nil
}

func fields(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && f.IsExported() {
			out = append(out, f)
		}
	}
	return out
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func intTag(f reflect.StructField, key string) (int64, bool) {
	n, err := strconv.ParseInt(f.Tag.Get(key), 10, 64)
	return n, err == nil
}

func bounds(f reflect.StructField) string {
	low, hasLow := intTag(f, "min")
	high, hasHigh := intTag(f, "max")
	switch enum := f.Tag.Get("enum"); {
	case enum != "":
		return strings.ReplaceAll(enum, ",", " | ")
	case hasLow && hasHigh:
		return fmt.Sprintf("%d to %d", low, high)
	case hasLow:
		return fmt.Sprintf("at least %d", low)
	case hasHigh:
		return fmt.Sprintf("at most %d", high)
	}
	return ""
}

// Named is implemented by types of parameters that are written in a form of
// their own, such as "number or %".
type Named interface{ ParamType() string }

func typeName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(Named); ok {
		return named.ParamType()
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Int:
		return "integer"
	}
	return t.Kind().String()
}
