package drills

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

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
	schema, err := jsonschema.For[Drill](options())
	if err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "Reckon drill"
	schema.Properties["apiVersion"].Enum = []any{APIVersion}
	schema.Properties["kind"].Enum = []any{Kind}
	spec := schema.Properties["spec"]
	spec.Properties["cluster"].Properties["provider"].Enum = anys(Providers)
	gate := spec.Properties["gate"].Properties
	gate["claims"].Enum, gate["guards"].Enum = []any{"fail", "report"}, []any{"fail", "report"}
	list := spec.Properties["scenarios"]
	list.Types, list.Type = nil, "array"
	list.Items = &jsonschema.Schema{}
	for _, s := range scenarios.All() {
		one, err := scenarioSchema(s)
		if err != nil {
			return nil, err
		}
		list.Items.AnyOf = append(list.Items.AnyOf, one)
	}
	return schema, nil
}

func options() *jsonschema.ForOptions {
	step := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(100.0)},
		{Type: "string", Pattern: `^pause( .+)?$`},
		{Type: "object"},
	}}
	return &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[scenario.Duration](): {Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`},
		reflect.TypeFor[rollback.Step]():     step,
	}}
}

// scenarioSchema allows one scenario's own parameters, matrix keys and guards.
func scenarioSchema(s scenario.Scenario) (*jsonschema.Schema, error) {
	params, err := jsonschema.ForType(reflect.TypeOf(s.Defaults()).Elem(), options())
	if err != nil {
		return nil, fmt.Errorf("schema of scenario %s: %w", s.Name(), err)
	}
	params.Required = nil
	for _, p := range scenario.Describe(s.Defaults()) {
		if property := params.Properties[p.Name]; property != nil {
			property.Description = p.Doc
		}
	}
	matrix := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: never()}
	for _, component := range s.Components() {
		matrix.Properties[component] = listOf(&jsonschema.Schema{Type: "string"})
	}
	for name, schema := range params.Properties {
		matrix.Properties[name] = listOf(schema)
	}
	guards := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: never()}
	if g, ok := s.(scenario.GuardNames); ok {
		for _, name := range slices.Sorted(maps.Keys(g.Guards())) {
			guards.Properties[name] = &jsonschema.Schema{Type: "number", Description: g.Guards()[name]}
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
