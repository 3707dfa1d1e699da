package incluster

import (
	"strings"
	"testing"
)

func TestOfALogTheLineThatSaysWhatWentWrongIsTold(t *testing.T) {
	t.Parallel()
	usage := strings.Repeat("  --flag string   what it does\n", 40)
	for name, c := range map[string]struct{ log, want string }{
		"nothing":                 {"", ""},
		"a short log":             {"one\ntwo\n", "one | two"},
		"usage after the error":   {"Error: unknown flag: --no\nUsage:\n" + usage, "Error: unknown flag: --no | … | --flag string   what it does | --flag string   what it does | --flag string   what it does"},
		"the error at the end":    {usage + "panic: no\n", "--flag string   what it does | --flag string   what it does | panic: no"},
		"the last of two":         {"level=error msg=a\n" + `level="fatal" msg=b` + "\n1\n2\n3\n", `level="fatal" msg=b | … | 1 | 2 | 3`},
		"a word inside of a line": {"no error here\n1\n2\n3\n", "1 | 2 | 3"},
	} {
		if got := telling(c.log); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
