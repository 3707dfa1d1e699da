package workload

import (
	"fmt"
	"strings"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/series"
)

// Worded is a check that says its values in words, for people: "yes" for 1. What
// is compared stays the value.
type Worded struct {
	judge.Check
	Words func(value string) string
}

func (w Worded) Predicted() string { return w.say(w.Check.Predicted()) }

func (w Worded) Eval(set *series.Set) (judge.Finding, error) {
	f, err := w.Check.Eval(set)
	if f.Status == judge.Held || f.Status == judge.Broken { // else there is no value
		f.Observed = w.say(f.Observed)
	}
	return f, err
}

const arrow = " → "

// say puts each value of a sequence into words.
func (w Worded) say(text string) string {
	values := strings.Split(text, arrow)
	for i, v := range values {
		values[i] = w.Words(v)
	}
	return strings.Join(values, arrow)
}

// Instead are the words for 0 and 1.
func Instead(zero, one string) func(value string) string {
	return func(value string) string {
		switch value {
		case "0":
			return zero
		case "1":
			return one
		}
		return value
	}
}

// YesNo are the words for what is so or not.
var YesNo = Instead("no", "yes")

// In puts a unit behind a number: "1 pod", "2 pods".
func In(units string) func(value string) string {
	return func(value string) string {
		if value == "1" {
			return "1 " + strings.TrimSuffix(units, "s")
		}
		return value + " " + units
	}
}

// Stays are the words for a judge.Always: how it is called that the condition
// holds, and with %s for the value, what else there was.
func Stays(words, otherwise string) func(value string) string {
	return func(value string) string {
		if strings.HasPrefix(value, "always") {
			return words
		}
		return fmt.Sprintf(otherwise, value)
	}
}
