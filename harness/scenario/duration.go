package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that reads and writes as text with a unit: "1s".
type Duration time.Duration

// Std converts to the standard type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String prints the text form.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads "1s", "500ms"; a bare number has no unit and is refused.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("a duration is text with a unit, such as \"1s\" or \"500ms\", not %s", text)
	}
	return d.parse(s)
}

// UnmarshalText reads the text form.
func (d *Duration) UnmarshalText(text []byte) error { return d.parse(string(text)) }

func (d *Duration) parse(s string) error {
	got, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration: give a number with a unit, such as \"1s\" or \"500ms\"", s)
	}
	if got < 0 {
		return fmt.Errorf("the duration %q is negative", s)
	}
	*d = Duration(got)
	return nil
}
