package deployment

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// IntOrPercent is a number of pods, or a share of spec.replicas. The zero value is 0 pods.
type IntOrPercent struct {
	value   int32
	percent bool
}

// Int is a number of pods.
func Int(n int) IntOrPercent { return IntOrPercent{value: clamp(n)} }

// Percent is a share of spec.replicas.
func Percent(n int) IntOrPercent { return IntOrPercent{value: clamp(n), percent: true} }

func clamp(n int) int32 { return int32(max(0, min(n, math.MaxInt32))) }

// ParseIntOrPercent reads "3" or "25%". As the API does, it refuses anything but digits
// and one percent sign. pkg/apis/apps/validation/validation.go:542 (v1.37.2)
func ParseIntOrPercent(s string) (IntOrPercent, error) {
	digits, percent := strings.CutSuffix(s, "%")
	for _, r := range digits {
		if r < '0' || r > '9' {
			return IntOrPercent{}, fmt.Errorf("%q is neither a number of pods nor a percentage (such as 3 or 25%%)", s)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return IntOrPercent{}, fmt.Errorf("%q is neither a number of pods nor a percentage (such as 3 or 25%%)", s)
	}
	return IntOrPercent{value: int32(n), percent: percent}, nil
}

// ParamType names the form for lists of parameters.
func (IntOrPercent) ParamType() string { return "number or %" }

// IsPercent says whether it is a share.
func (v IntOrPercent) IsPercent() bool { return v.percent }

// Value is the number before the percent sign, or the number of pods.
func (v IntOrPercent) Value() int { return int(v.value) }

// String is "3" or "25%".
func (v IntOrPercent) String() string {
	if v.percent {
		return strconv.Itoa(int(v.value)) + "%"
	}
	return strconv.Itoa(int(v.value))
}

// MarshalJSON writes 3 or "25%".
func (v IntOrPercent) MarshalJSON() ([]byte, error) {
	if v.percent {
		return json.Marshal(v.String())
	}
	return json.Marshal(v.value)
}

// UnmarshalJSON reads 3, "3" or "25%". The API refuses "3" in quotes; a drill file may
// have it, since YAML authors quote.
func (v *IntOrPercent) UnmarshalJSON(text []byte) error {
	s := string(text)
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
	}
	parsed, err := ParseIntOrPercent(s)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// up is the share of total, rounded up.
func (v IntOrPercent) up(total int) int {
	if !v.percent {
		return int(v.value)
	}
	return (int(v.value)*total + 99) / 100
}

// down is the share of total, rounded down.
func (v IntOrPercent) down(total int) int {
	if !v.percent {
		return int(v.value)
	}
	return int(v.value) * total / 100
}

// Fenceposts resolves maxSurge and maxUnavailable to pods: surge is rounded up,
// unavailable down, and if both come to 0, unavailable is 1, whatever replicas is.
// util/deployment_util.go:883 (v1.37.2), :887 (v1.34.2)
func Fenceposts(replicas int, surge, unavailable IntOrPercent) (s, u int) {
	s, u = surge.up(replicas), unavailable.down(replicas)
	if s == 0 && u == 0 {
		u = 1
	}
	return s, u
}

// Validate refuses what the API refuses: both written as 0, and unavailable above 100 %.
// Surge may exceed 100 %, and both numbers of pods may exceed replicas.
// pkg/apis/apps/validation/validation.go:589 (v1.37.2)
func Validate(surge, unavailable IntOrPercent) error {
	if surge.value == 0 && unavailable.value == 0 {
		return fmt.Errorf("maxUnavailable may not be 0 when maxSurge is 0")
	}
	if unavailable.percent && unavailable.value > 100 {
		return fmt.Errorf("maxUnavailable %s must not be greater than 100%%", unavailable)
	}
	return nil
}
