// Package share is Kubernetes' int-or-percent: "2" pods, or "25%" of some total.
package share

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Share is a number of things, or a percentage of a total.
type Share struct {
	Value   int
	Percent bool
}

// Of is the share of a total. A percentage that is not whole goes up or down; a number
// ignores the total. k8s.io/apimachinery/pkg/util/intstr/intstr.go (v0.37.2),
// GetScaledValueFromIntOrPercent.
func (s Share) Of(total int, roundUp bool) int {
	if !s.Percent {
		return s.Value
	}
	if roundUp {
		return (s.Value*total + 99) / 100
	}
	return s.Value * total / 100
}

// String writes it as in a manifest.
func (s Share) String() string {
	if s.Percent {
		return strconv.Itoa(s.Value) + "%"
	}
	return strconv.Itoa(s.Value)
}

// Parse reads "2" or "25%". The API refuses negative values and more than 100%, and so
// does Parse.
func Parse(text string) (Share, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return Share{}, fmt.Errorf("%q is neither a number nor a percentage from 0%% to 100%%", text)
	}
	return Share{Value: n, Percent: percent}, nil
}

// MarshalJSON writes 2 or "25%".
func (s Share) MarshalJSON() ([]byte, error) {
	if s.Percent {
		return json.Marshal(s.String())
	}
	return json.Marshal(s.Value)
}

// UnmarshalJSON reads 2, "2" or "25%".
func (s *Share) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// ParamType names the form for lists of parameters.
func (Share) ParamType() string { return "number or %" }
