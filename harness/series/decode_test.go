package series

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// same holds a decoder against encoding/json.
func same(t rapid.TB, d *decoder, text []byte) {
	t.Helper()
	var got, want View
	gotErr, wantErr := d.decode(text, &got), json.Unmarshal(text, &want)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%s: error %v, encoding/json says %v", text, gotErr, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: read as %+v, encoding/json reads %+v", text, got, want)
	}
}

// TestEveryFieldOfAViewIsDecoded: whatever a view may hold.
func TestEveryFieldOfAViewIsDecoded(t *testing.T) {
	t.Parallel()
	views := rapid.MakeCustom[View](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[json.RawMessage](): rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"matchLabels":{"a":"b"}}`), json.RawMessage(`["}"]`)}).AsAny(),
	}})
	d := &decoder{}
	rapid.Check(t, func(rt *rapid.T) {
		text, err := json.Marshal(views.Draw(rt, "view"))
		if err != nil {
			rt.Fatal(err)
		}
		same(rt, d, text)
	})
}

// FuzzDecode: whatever JSON may hold.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"metadata":{"name":"a","namespace":"n","labels":{"a":"b","c":"\u00e9"},"annotations":{},"deletionTimestamp":null},"spec":{"replicas":2,"selector":{"a":["}"]}},"data":{"x":[{"y":"]\\"}]}}`,
		`{"spec":{"http":[{"name":"p","route":[{"destination":{"host":"h"},"weight":5},{"weight":95}]},null],"subsets":[]},"Status":{"CONDITIONS":[{"type":"Ready","status":"True"}],"replicas":1}}`,
		` { "reason" : "r" , "message" : "say \"no\"" , "count" : 3 , "involvedObject" : { "kind" : "Pod" } } `,
		`{"status":{"pauseConditions":[{"reason":"a"},{}],"pauseConditions":[{}],"phase":"a","phase":"b"},"metadata":{"labels":{"a":"b"},"labels":{"c":null}}}`,
		`{"spec":{"replicas":"two"}}`, `{"spec":{"http":{}}}`, `{"spec":[]}`, `{"metadata":{"labels":{"a":1}}}`, `{"status":{"conditions":[1]}}`,
		`{"\u0073pec":{"replicas":1}}`, `{"metadata":{"labels":{"\u0061":"b"}}}`, `{"ſpec":{"replicas":1}}`, `null`, `1`, `[]`, `"a"`, `{}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) {
			same(t, &decoder{}, text)
		}
	})
}

func TestNoTextIsNoView(t *testing.T) { same(t, &decoder{}, nil) }
