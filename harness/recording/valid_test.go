package recording

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzValid: valid and json.Valid are one.
func FuzzValid(f *testing.F) {
	for _, text := range []string{
		``, ` `, `{}`, ` [ ] `, `{"a":[1,-2.5e+3,{"b":null}],"c":"\u00e9\n\"","d":true,"e":false}`,
		`{`, `[`, `"`, `"\`, `"\u12"`, `"\x"`, "\"\n\"", "\"\x7f\xff\"", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[,]`, `[1,]`, `[1 2]`, `{1:2}`,
		`-`, `01`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0`, `-0`, `0.0E-0`, `tru`, `nulll`, `{}{}`, `{}]`, `[}`, "\x00", "{}\x00", `{"a":1]`, "\ufeff{}",
	} {
		f.Add([]byte(text))
	}
	for _, fact := range sample {
		text, err := json.Marshal(fact)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := valid(text), json.Valid(text); got != want {
			t.Fatalf("%q: %t, json.Valid says %t", text, got, want)
		}
	})
}

func TestNestingIsBoundedAsInEncodingJSON(t *testing.T) {
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		text := []byte(strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth))
		if got, want := valid(text), json.Valid(text); got != want {
			t.Errorf("depth %d: %t, json.Valid says %t", depth, got, want)
		}
	}
}
