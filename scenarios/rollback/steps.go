package rollback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/scenario"
)

// Steps are canary steps.
type Steps []Step

// Step is one canary step: exactly one field is set.
type Step struct {
	SetWeight      *int         `json:"setWeight,omitempty"`
	Pause          *Pause       `json:"pause,omitempty"`
	SetCanaryScale *CanaryScale `json:"setCanaryScale,omitempty"`
}

// Pause lasts for Duration; without one, until it is promoted.
type Pause struct {
	Duration *scenario.Duration `json:"duration,omitempty"`
}

// CanaryScale sizes the canary apart from its weight.
type CanaryScale struct {
	Replicas           *int `json:"replicas,omitempty"`
	Weight             *int `json:"weight,omitempty"`
	MatchTrafficWeight bool `json:"matchTrafficWeight,omitempty"`
}

// SetWeight makes a setWeight step.
func SetWeight(w int) Step { return Step{SetWeight: &w} }

// PauseFor makes a pause step.
func PauseFor(d time.Duration) Step {
	sd := scenario.Duration(d)
	return Step{Pause: &Pause{Duration: &sd}}
}

// plain is a Step without its short forms.
type plain Step

// Shape is a step without its short forms: what a mapping can hold.
func (Step) Shape() any { return plain{} }

// stepForms are the ways to write a step.
const stepForms = `a whole weight, "pause", "pause 2s", "pause forever", or one of setWeight, pause, setCanaryScale`

// UnmarshalJSON reads the Rollout's own form and two short ones: a number is a
// weight, "pause" a pause of one second.
func (s *Step) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '"' {
		var word string
		if err := json.Unmarshal(text, &word); err != nil {
			return err
		}
		return s.short(word)
	}
	if len(text) == 0 || text[0] != '{' {
		var weight *int
		if err := json.Unmarshal(text, &weight); err != nil || weight == nil {
			return fmt.Errorf("bad canary step %s: expected %s", text, stepForms)
		}
		*s = Step{SetWeight: weight}
		return nil
	}
	var out plain // not *s: a list that is decoded over a default's keeps its elements' fields
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil {
		return fmt.Errorf("bad canary step %s: %s (expected %s)", text, strings.TrimPrefix(err.Error(), "json: "), stepForms)
	}
	if Step(out).count() != 1 {
		return fmt.Errorf("bad canary step %s: expected exactly one of setWeight, pause, setCanaryScale", text)
	}
	*s = Step(out)
	return nil
}

func (s *Step) short(word string) error {
	kind, length, _ := strings.Cut(word, " ")
	if kind != "pause" || strings.HasSuffix(word, " ") {
		return fmt.Errorf("bad canary step %q: expected %s", word, stepForms)
	}
	switch length {
	case "":
		*s = PauseFor(time.Second)
	case "forever":
		*s = Step{Pause: &Pause{}}
	default:
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 {
			return fmt.Errorf("bad canary step %q: expected a duration above 0 with a unit, such as \"2s\", not %q", word, length)
		}
		*s = PauseFor(d)
	}
	return nil
}

func (s Step) count() int {
	n := 0
	for _, set := range []bool{s.SetWeight != nil, s.Pause != nil, s.SetCanaryScale != nil} {
		if set {
			n++
		}
	}
	return n
}

// Check follows the controller's own validation: weights of 0 to 100, in any
// order, and no negative numbers (pkg/apis/rollouts/validation/validation.go:309-339, v1.8.2).
func (s Steps) Check() error {
	for i, step := range s {
		field := fmt.Sprintf("steps[%d]", i)
		if w := step.SetWeight; w != nil && (*w < 0 || *w > 100) {
			return scenario.Refuse(field+".setWeight", "%d is no weight, expected 0 to 100", *w)
		}
		if p := step.Pause; p != nil && p.Duration != nil && p.Duration.Std()%time.Second != 0 {
			return scenario.Refuse(field+".pause.duration", "%s is no whole number of seconds, which is what Rollouts counts in", p.Duration)
		}
		if c := step.SetCanaryScale; c != nil {
			if c.Weight != nil && (*c.Weight < 0 || *c.Weight > 100) {
				return scenario.Refuse(field+".setCanaryScale.weight", "%d is no weight, expected 0 to 100", *c.Weight)
			}
			if c.Replicas != nil && *c.Replicas < 0 {
				return scenario.Refuse(field+".setCanaryScale.replicas", "%d is negative", *c.Replicas)
			}
		}
	}
	return nil
}

// String is the short form: "5, pause 1s, 100".
func (s Steps) String() string {
	parts := make([]string, len(s))
	for i, step := range s {
		parts[i] = step.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// String is the short form.
func (s Step) String() string {
	switch {
	case s.SetWeight != nil:
		return fmt.Sprint(*s.SetWeight)
	case s.Pause != nil && s.Pause.Duration != nil:
		return "pause " + s.Pause.Duration.String()
	case s.Pause != nil:
		return "pause forever"
	}
	text, _ := json.Marshal(s.SetCanaryScale)
	return "scale " + string(text)
}

// Pauses is how long the timed pauses last together.
func (s Steps) Pauses() time.Duration {
	var total time.Duration
	for _, step := range s {
		if step.Pause != nil && step.Pause.Duration != nil {
			total += step.Pause.Duration.Std()
		}
	}
	return total
}

// endless says whether a pause waits for somebody to promote.
func (s Steps) endless() bool {
	for _, step := range s {
		if step.Pause != nil && step.Pause.Duration == nil {
			return true
		}
	}
	return false
}

// Model is the steps as the model knows them.
func (s Steps) Model() []rollouts.Step {
	var out []rollouts.Step
	for _, step := range s {
		out = append(out, step.model())
	}
	return out
}

// API is the steps as a Rollout has them; never nil.
func (s Steps) API() []v1alpha1.CanaryStep {
	out := []v1alpha1.CanaryStep{}
	for _, step := range s {
		out = append(out, step.api())
	}
	return out
}

func (s Step) model() rollouts.Step {
	switch {
	case s.SetWeight != nil:
		return rollouts.SetWeight(*s.SetWeight)
	case s.Pause != nil && s.Pause.Duration != nil:
		return rollouts.PauseFor(int(s.Pause.Duration.Std() / time.Second))
	case s.Pause != nil:
		return rollouts.PauseForever()
	}
	c := s.SetCanaryScale
	return rollouts.Step{SetCanaryScale: &rollouts.CanaryScale{Replicas: c.Replicas, Weight: c.Weight, MatchTrafficWeight: c.MatchTrafficWeight}}
}

func (s Step) api() v1alpha1.CanaryStep {
	out := v1alpha1.CanaryStep{}
	switch {
	case s.SetWeight != nil:
		out.SetWeight = new(int32(*s.SetWeight))
	case s.Pause != nil:
		out.Pause = &v1alpha1.RolloutPause{}
		if d := s.Pause.Duration; d != nil {
			seconds := intstr.FromInt32(int32(d.Std() / time.Second))
			out.Pause.Duration = &seconds
		}
	case s.SetCanaryScale != nil:
		c := s.SetCanaryScale
		out.SetCanaryScale = &v1alpha1.SetCanaryScale{MatchTrafficWeight: c.MatchTrafficWeight}
		if c.Replicas != nil {
			out.SetCanaryScale.Replicas = new(int32(*c.Replicas))
		}
		if c.Weight != nil {
			out.SetCanaryScale.Weight = new(int32(*c.Weight))
		}
	}
	return out
}
