package nearest_test

import (
	"strings"
	"testing"

	"reckon.dev/reckon/harness/nearest"
)

func TestHint(t *testing.T) {
	t.Parallel()
	names := []string{"replicas", "routing", "ramp", "quiet", "setWeight"}
	for name, c := range map[string]struct {
		got   string
		names []string
		want  string
	}{
		"one letter is missing":             {"replica", names, "replicas"},
		"two letters changed places":        {"rmap", names, "ramp"},
		"a capital is wrong":                {"setweight", names, "setWeight"},
		"the name itself":                   {"quiet", names, "quiet"},
		"the nearer of two":                 {"routin", names, "routing"},
		"the first of two that are as near": {"ab", []string{"ac", "ad"}, "ac"},
		"nothing is near":                   {"kubernetes", names, ""},
		"a short name that is all wrong":    {"xyz", []string{"ramp"}, ""},
		"no names":                          {"replicas", nil, ""},
		"nothing was written":               {"", []string{"a"}, ""},
		"a long text ends":                  {strings.Repeat("x", 10000), names, ""},
		"letters beyond ASCII":              {"größe", []string{"grösse", "ramp"}, "grösse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if c.want != "" {
				want = `, did you mean "` + c.want + `"?`
			}
			if got := nearest.Hint(c.got, c.names); got != want {
				t.Errorf("Hint(%.20q) = %q, want %q", c.got, got, want)
			}
		})
	}
}
