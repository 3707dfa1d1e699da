package drills

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/model/quota"
	"reckon.dev/reckon/harness/model/share"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/scenarios"
	"reckon.dev/reckon/scenarios/rollback"
)

// Schema is the JSON schema of drill files, for editors:
//
//	# yaml-language-server: $schema=drill.schema.json
//
// Strict loading does not use it; a test holds the two against each other.
func Schema() (*jsonschema.Schema, error) {
	options, err := options()
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.For[Drill](options)
	if err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "Reckon drill"
	schema.Properties["apiVersion"].Enum = []any{APIVersion}
	schema.Properties["kind"].Enum = []any{Kind}
	schema.Properties["metadata"].Properties["name"].Pattern = nameForm.String()
	spec := schema.Properties["spec"]
	spec.Properties["cluster"].Properties["provider"].Enum = anys(cluster.Providers())
	for _, field := range []string{"kubernetes", "controllerManager"} {
		spec.Properties["cluster"].Properties[field].Pattern = versionPattern
	}
	bound(spec.Properties["cluster"].Properties["nodes"], "1", "1000")
	bound(spec.Properties["cluster"].Properties["workers"], "0", fmt.Sprint(cluster.MaxWorkers))
	spec.Properties["cluster"].Properties["nodeImage"].Pattern = "^([^-].*)?$" // the engine would take it for an option
	bound(spec.Properties["repeat"], "1", "1000")
	bound(spec.Properties["parallel"], "1", fmt.Sprint(MaxParallel))
	gate := spec.Properties["gate"].Properties
	gate["claims"].Enum, gate["guards"].Enum = []any{"fail", "report"}, []any{"fail", "report"}
	list := spec.Properties["scenarios"]
	list.Types, list.Type, list.MinItems = nil, "array", jsonschema.Ptr(1)
	list.Items = &jsonschema.Schema{}
	for _, s := range scenarios.All() {
		one, err := scenarioSchema(s, options)
		if err != nil {
			return nil, err
		}
		list.Items.AnyOf = append(list.Items.AnyOf, one)
	}
	return schema, nil
}

func options() (*jsonschema.ForOptions, error) {
	durations := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[scenario.Duration]():       {Type: "string", Pattern: "^" + durationPattern + "$"},
		reflect.TypeFor[deployment.IntOrPercent](): numberOrPercentage(),
		reflect.TypeFor[share.Share]():             numberOrPercentage(),
		reflect.TypeFor[quota.Limit]():             cores(),
	}}
	whole, err := jsonschema.ForType(reflect.TypeOf(rollback.Step{}.Shape()), durations)
	if err != nil {
		return nil, fmt.Errorf("schema of a canary step: %w", err)
	}
	whole.MinProperties, whole.MaxProperties = jsonschema.Ptr(1), jsonschema.Ptr(1)
	noNull(whole)
	bound(whole.Properties["setWeight"], "0", "100")
	scale := whole.Properties["setCanaryScale"].Properties
	bound(scale["weight"], "0", "100")
	bound(scale["replicas"], "0", "")
	step := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(100.0)},
		{Type: "string", Pattern: `^pause( forever| ` + durationPattern + `)?$`},
		whole,
	}}
	durations.TypeSchemas[reflect.TypeFor[rollback.Step]()] = step
	return durations, nil
}

// numberOrPercentage is 2, "2" or "25%". More than 100% is fine for some fields.
func numberOrPercentage() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: jsonschema.Ptr(0.0)},
		{Type: "string", Pattern: `^[0-9]+%?$`},
	}}
}

// cores is 2, "1.5" or "600m".
func cores() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "number", Minimum: jsonschema.Ptr(0.0)},
		{Type: "string", Pattern: quota.Pattern},
	}}
}

const (
	durationPattern = `([0-9.]+(ns|us|µs|ms|s|m|h))+`
	// versionPattern is a release, or a directory with or without the release
	// that it is based on; see CheckVersion.
	versionPattern = `^(v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?|(\.[^@]*|[^@]*/[^@]*)(@v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?)?)$`
)

// bound sets limits that are written as in the tags of parameters, "" for none.
func bound(s *jsonschema.Schema, low, high string) {
	if v, err := strconv.ParseFloat(low, 64); err == nil {
		s.Minimum = &v
	}
	if v, err := strconv.ParseFloat(high, 64); err == nil {
		s.Maximum = &v
	}
}

// noNull takes back what pointers and slices allow in JSON: strict loading
// knows no null.
func noNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Types, s.Type = nil, s.Types[1]
	}
	for _, property := range s.Properties {
		noNull(property)
	}
	noNull(s.Items)
}

// scenarioSchema allows one scenario's own parameters, matrix keys and guards.
func scenarioSchema(s scenario.Scenario, options *jsonschema.ForOptions) (*jsonschema.Schema, error) {
	params, err := jsonschema.ForType(reflect.TypeOf(s.Defaults()).Elem(), options)
	if err != nil {
		return nil, fmt.Errorf("schema of scenario %s: %w", s.Name(), err)
	}
	params.Required = nil
	for _, p := range scenario.Describe(s.Defaults()) {
		if property := params.Properties[p.Name]; property != nil {
			property.Description = p.Doc
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(s.Defaults()).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := params.Properties[name]
		if f.Anonymous || property == nil {
			continue
		}
		if f.Tag.Get("derived") != "" { // nobody writes it
			delete(params.Properties, name)
			params.PropertyOrder = slices.DeleteFunc(params.PropertyOrder, func(property string) bool { return property == name })
			continue
		}
		bound(property, f.Tag.Get("min"), f.Tag.Get("max"))
		if enum := f.Tag.Get("enum"); enum != "" {
			property.Enum = anys(strings.Split(enum, ","))
		}
	}
	noNull(params)
	matrix := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: never()}
	for _, component := range scenario.Versioned(s, cluster.Everything()) {
		matrix.Properties[component] = listOf(&jsonschema.Schema{Type: "string", Pattern: versionPattern})
	}
	for name, schema := range params.Properties {
		matrix.Properties[name] = listOf(schema.CloneSchemas())
	}
	guards := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: never()}
	if g, ok := s.(scenario.GuardNames); ok {
		for _, name := range slices.Sorted(maps.Keys(g.Guards())) {
			guards.Properties[name] = &jsonschema.Schema{Type: "number", Minimum: jsonschema.Ptr(0.0), Description: g.Guards()[name]}
		}
	}
	return &jsonschema.Schema{
		Type: "object", Description: s.Summary(), Required: []string{"name"}, AdditionalProperties: never(),
		Properties: map[string]*jsonschema.Schema{
			"name":   {Enum: []any{s.Name()}},
			"label":  {Type: "string", MaxLength: jsonschema.Ptr(40)},
			"params": params, "matrix": matrix, "guards": guards,
		},
	}, nil
}

func listOf(items *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: items, MinItems: jsonschema.Ptr(1)}
}

// never is the schema that nothing satisfies: no further properties.
func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func anys(names []string) []any {
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	return out
}
