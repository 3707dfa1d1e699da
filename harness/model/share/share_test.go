package share_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/share"
)

func TestShareOfATotal(t *testing.T) {
	for _, c := range []struct {
		text     string
		total    int
		down, up int
	}{
		{"2", 0, 2, 2},
		{"2", 100, 2, 2},
		{"0%", 7, 0, 0},
		{"30%", 7, 2, 3},
		{"30%", 3, 0, 1},
		{"28%", 11, 3, 4},
		{"50%", 4, 2, 2},
		{"100%", 7, 7, 7},
	} {
		s, err := share.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if down, up := s.Of(c.total, false), s.Of(c.total, true); down != c.down || up != c.up {
			t.Errorf("%s of %d is %d or %d, want %d or %d", c.text, c.total, down, up, c.down, c.up)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "%", "-1", "-1%", "101%", "2.5%", "two", "25 %"} {
		if s, err := share.Parse(text); err == nil {
			t.Errorf("%q is read as %s", text, s)
		}
	}
}

func TestTextAndJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := share.Share{Value: rapid.IntRange(0, 100).Draw(t, "value"), Percent: rapid.Bool().Draw(t, "percent")}
		parsed, err := share.Parse(s.String())
		if err != nil || parsed != s {
			t.Fatalf("%s: %v, %v", s, parsed, err)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back share.Share
		if err := json.Unmarshal(data, &back); err != nil || back != s {
			t.Fatalf("%s: %v, %v", data, back, err)
		}
	})
}
