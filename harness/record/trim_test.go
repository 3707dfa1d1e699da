package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestManagedFieldsAreCutAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		`{"metadata":{"managedFields":[{"a":"}"}],"name":"x"},"data":{"managedFields":"stays"}}`: `{"metadata":{"name":"x"},"data":{"managedFields":"stays"}}`,
		`{"metadata":{"name":"\"managedFields\":[","managedFields":[]}}`:                         `{"metadata":{"name":"\"managedFields\":["}}`,
		`{"metadata":{"managedFields":null}}`:                                                    `{"metadata":{}}`,
		`{"metadata":{"\u006danagedFields":[1],"a":1}}`:                                          `{"metadata":{"a":1}}`,
		`{"metadata" : { "a" : 1 , "managedFields" : [ ] } , "b" : [ ] }`:                        `{"metadata":{"a":1},"b":[ ]}`,
		`{"spec":{"template":{"metadata":{"managedFields":[1]}}}}`:                               `{"spec":{"template":{"metadata":{"managedFields":[1]}}}}`,
		`{"metadata":{"annotations":{"` + lastApplied + `":"{\"kind\":1}","b":"\\"}}}`:           `{"metadata":{"annotations":{"b":"\\"}}}`,
		`{"metadata":"odd"}`: `{"metadata":"odd"}`,
		`{}`:                 `{}`,
	} {
		if got, err := TrimObject(nil, []byte(in)); err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
}

func TestMalformedObjectsAreErrors(t *testing.T) {
	for _, in := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":"`, `{"metadata":{"name":"x"`, `{a:1}`, `{"a":1 "b":2}`, `{"a":[1,2}`} {
		if got, err := TrimObject(nil, []byte(in)); err == nil && json.Valid(got) {
			t.Errorf("%q became %q without an error", in, got)
		}
	}
}

func TestPodsKeepWhatReadinessIsJudgedBy(t *testing.T) {
	got, err := TrimPod(nil, []byte(podBody(7, 8)))
	if err != nil {
		t.Fatal(err)
	}
	var pod struct {
		Metadata struct {
			Name, Namespace, UID string
			Labels               map[string]string
			OwnerReferences      []any
		}
		Spec   struct{ NodeName string }
		Status struct {
			Phase, PodIP      string
			Conditions        []any
			ContainerStatuses []map[string]any
		}
	}
	if err := json.Unmarshal(got, &pod); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	want := map[string]any{"name": "app", "ready": true, "started": true, "restartCount": 2.0}
	if pod.Metadata.Labels["app"] != "demo" || len(pod.Metadata.OwnerReferences) != 1 || pod.Spec.NodeName != "node-3" ||
		len(pod.Status.Conditions) != 4 || pod.Status.PodIP != "10.244.0.7" || !reflect.DeepEqual(pod.Status.ContainerStatuses, []map[string]any{want}) {
		t.Errorf("trimmed to %s", got)
	}
	for _, gone := range []string{"managedFields", "volumes", "tolerations", "imageID", lastApplied} {
		if bytes.Contains(got, []byte(gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
}

func TestIdentityIsReadInAnyOrderOfMembers(t *testing.T) {
	for _, in := range []string{
		`{"metadata":{"name":"n","namespace":"s","resourceVersion":"7"}}`,
		`{"spec":{"metadata":{"name":"no"}},"metadata":{"resourceVersion":"7","managedFields":[{"name":"no"}],"namespace":"s","name":"\u006e"}}`,
	} {
		id, err := identify([]byte(in))
		if err != nil || string(id.name) != "n" || string(id.namespace) != "s" || id.version != 7 {
			t.Errorf("%s: %+v, %v", in, id, err)
		}
	}
	for _, in := range []string{`{}`, `[]`, `{"metadata":{"name":"n"}}`, `{"metadata":{"resourceVersion":"x"}}`, `{"metadata":{"resourceVersion":7}}`} {
		if id, err := identify([]byte(in)); err == nil {
			t.Errorf("%s: %+v", in, id)
		}
	}
}

func TestEventsAreReadHoweverTheyAreSpaced(t *testing.T) {
	for _, in := range []string{
		`{"type":"ADDED","object":{"a":{}}}` + "\n",
		`{ "object" : {"a":{}} , "type" : "ADDED" }` + "\n",
	} {
		kind, object, err := event([]byte(in))
		if err != nil || string(kind) != "ADDED" || string(object) != `{"a":{}}` {
			t.Errorf("%s: %s, %s, %v", in, kind, object, err)
		}
	}
}

// reference trims by way of maps.
func reference(object []byte) any {
	var o map[string]any
	if json.Unmarshal(object, &o) != nil || o == nil {
		return nil
	}
	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
		if a, ok := m["annotations"].(map[string]any); ok {
			delete(a, lastApplied)
		}
	}
	return o
}

// FuzzTrim: for every JSON object the result is JSON and means what the way
// through maps gives; for anything else there is no panic.
func FuzzTrim(f *testing.F) {
	f.Add([]byte(replicaSetBody(1, 2)))
	f.Add([]byte(podBody(1, 2)))
	f.Add([]byte(`{"metadata":{"managedFields":[{"f:a":{}}],"annotations":{"` + lastApplied + `":"{\"a\"}"}},"data":{"managedFields":"x\\\"]}"}}`))
	f.Add([]byte(`{"metadata":[{"managedFields":1}]}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		got, err := TrimObject(nil, object)
		pod, podErr := TrimPod(nil, object)
		_, _ = identify(object)
		_, _, _ = event(object)
		want := reference(object)
		if want == nil {
			return
		}
		if err != nil || podErr != nil || !json.Valid(pod) {
			t.Fatalf("%s: %v, %v, pod %s", object, err, podErr, pod)
		}
		// An array or a repeated key in place of metadata is not what the
		// reference understands.
		if strings.Count(string(object), `"metadata"`) > 1 || strings.Count(string(object), `annotations`) > 1 || bytes.Contains(object, []byte(`\u`)) {
			if !json.Valid(got) {
				t.Fatalf("%s became %s", object, got)
			}
			return
		}
		var meaning map[string]any
		if err := json.Unmarshal(got, &meaning); err != nil {
			t.Fatalf("%s became %s: %v", object, got, err)
		}
		if _, plain := want.(map[string]any)["metadata"].(map[string]any); plain && !reflect.DeepEqual(meaning, want) {
			t.Fatalf("%s became %s", object, got)
		}
	})
}
