package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// document is one YAML document of a file, with the line that it begins on.
type document struct {
	line int
	text string
}

// documents splits a file at its separators.
func documents(text string) []document {
	var out []document
	current := document{line: 1}
	for i, line := range strings.SplitAfter(text, "\n") {
		if line == "---" || strings.HasPrefix(line, "---") && strings.TrimLeft(line[3:], " \t\r\n") == "" || strings.HasPrefix(line, "--- #") {
			out = append(out, current)
			current = document{line: i + 2}
			continue
		}
		current.text += line
	}
	return append(out, current)
}

// trimmed leaves comments and empty lines at the begin out of the line count.
func (d document) trimmed() document {
	for {
		line, rest, more := strings.Cut(d.text, "\n")
		if text := strings.TrimSpace(line); !more || text != "" && !strings.HasPrefix(text, "#") {
			return d
		}
		d.line, d.text = d.line+1, rest
	}
}

// parse reads the objects of a file, those of lists one by one.
func parse(file, text string) ([]Object, []Remark) {
	var out []Object
	var problems []Remark
	for _, d := range documents(text) {
		d = d.trimmed()
		objects, err := d.objects()
		if err != nil {
			problems = append(problems, d.problem(file, err))
			continue
		}
		for _, o := range objects {
			out = append(out, Object{Unstructured: o, File: file, Line: d.line})
		}
	}
	return out, problems
}

// objects are none, one, or those of a List.
func (d document) objects() ([]*unstructured.Unstructured, error) {
	var content any
	if err := yaml.Unmarshal([]byte(d.text), &content); err != nil {
		return nil, err
	}
	if content == nil { // comments only
		return nil, nil
	}
	fields, ok := content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("is no object: expected apiVersion, kind and metadata")
	}
	one := &unstructured.Unstructured{Object: fields}
	if one.GetAPIVersion() == "" || one.GetKind() == "" {
		return nil, fmt.Errorf("has no apiVersion or no kind: expected a Kubernetes object")
	}
	if !one.IsList() {
		if one.GetName() == "" {
			return nil, fmt.Errorf("%s has no metadata.name", one.GetKind())
		}
		return []*unstructured.Unstructured{one}, nil
	}
	items, err := one.ToList()
	if err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, len(items.Items))
	for i := range items.Items {
		out[i] = &items.Items[i]
	}
	return out, nil
}

// lineOf finds the line that a YAML error names, counted from the document's begin.
var lineOf = regexp.MustCompile(`\bline (\d+): ?`)

func (d document) problem(file string, err error) Remark {
	line, text := d.line, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	if m := lineOf.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits only
		line += n - 1
		text = strings.Replace(text, m[0], "", 1)
	}
	if strings.Contains(d.text, "{{") {
		text += " (a Helm template: render it first)"
	}
	return Remark{fmt.Sprintf("%s:%d", file, line), strings.Join(strings.Fields(text), " ")}
}
