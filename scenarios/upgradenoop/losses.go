package upgradenoop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// bodies are the specs of the Rollouts as they are stored, by "namespace/name".
func (s *script) bodies() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, o := range s.st.Recorder.Objects(rolloutResource, "") {
		var body map[string]any
		if json.Unmarshal(o.Body, &body) == nil {
			spec, _ := body["spec"].(map[string]any)
			out[o.Namespace+"/"+o.Name] = spec
		}
	}
	return out
}

// compare writes down what is no longer there since the CRDs changed: what is pruned
// is gone for every reader, and with the next write for good.
func (s *script) compare(l leg, before map[string]map[string]any) {
	after := s.bodies()
	for _, m := range s.members {
		for _, path := range lost("spec", before[m.Key()], after[m.Key()]) {
			s.st.Recorder.LogLine(logLost)(fmt.Sprintf("%s (%s): %s, with the CRDs of %s", m.Key(), m.Place, path, l.to))
		}
	}
}

// lost lists the paths of what a value has lost.
func lost(path string, before, after any) []string {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	switch was := before.(type) {
	case map[string]any:
		is, ok := after.(map[string]any)
		if !ok {
			return []string{path}
		}
		var out []string
		for name, value := range was {
			if now, there := is[name]; there {
				out = append(out, lost(path+"."+name, value, now)...)
			} else {
				out = append(out, path+"."+name)
			}
		}
		slices.Sort(out)
		return out
	case []any:
		is, ok := after.([]any)
		if !ok || len(is) != len(was) {
			return []string{path}
		}
		var out []string
		for i := range was {
			out = append(out, lost(fmt.Sprintf("%s[%d]", path, i), was[i], is[i])...)
		}
		return out
	}
	return nil
}
