package fleet

// Mapping is the mapping at a path of a manifest, nil if there is none.
func Mapping(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		m, _ = m[field].(map[string]any)
	}
	return m
}

// Text is the text at a path, "" if there is none.
func Text(m map[string]any, path ...string) string {
	last := len(path) - 1
	s, _ := Mapping(m, path[:last]...)[path[last]].(string)
	return s
}

// Items are the mappings in a list.
func Items(m map[string]any, field string) []map[string]any {
	items, _ := m[field].([]any)
	var out []map[string]any
	for _, item := range items {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}

// names are the texts in a list.
func names(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if name, ok := item.(string); ok {
			out = append(out, name)
		}
	}
	return out
}
