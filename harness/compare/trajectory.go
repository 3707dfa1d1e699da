package compare

import (
	"fmt"
	"slices"
	"time"

	"reckon.dev/reckon/harness/series"
)

// transition is what happened, without when: a series took a value for the nth time,
// or a step of the script began.
type transition struct {
	series string
	value  string
	nth    int
}

// ofStep is the series of the script's steps.
const ofStep = "step"

func (t transition) String() string {
	text := t.series + " = " + t.value
	if t.series == ofStep {
		text = "step " + t.value
	}
	if t.nth > 1 {
		text += fmt.Sprintf(" (time %d)", t.nth)
	}
	return text
}

// moment is when it happened, on both clocks: resourceVersions order what is stored.
type moment struct {
	t  time.Duration
	rv uint64 // 0: not stored
	// begin: the series had the value when the window began.
	begin bool
}

// trajectory is one run as a list of what happened.
type trajectory struct {
	// names are the series that it is made of, in the order of their definitions.
	names  []string
	values map[string][]string
	at     map[transition]moment
	// highest and lowest are of series of numbers.
	highest, lowest map[string]float64
	// steps are how long each step of the script took, in seconds.
	steps map[string]float64
	// cut are the series of which a gap could hide something.
	cut []string
	// computed are the series that are computed from others, whose order it has.
	computed []string
}

// most is up to how many events of a series are laid beside each other. More are a
// crowd, which claims count.
const most = 40

func trajectoryOf(r Run) trajectory {
	t := trajectory{values: map[string][]string{}, at: map[transition]moment{}, highest: map[string]float64{}, lowest: map[string]float64{}, steps: map[string]float64{}}
	in, reached := r.Set.Resolve(r.Prediction.Chart.Window)
	if !reached {
		in = series.Interval{To: r.Set.End}
	}
	for _, name := range told(r) {
		s, err := r.Set.Get(name)
		if err != nil {
			continue
		}
		t.add(s, in)
		if slices.ContainsFunc(r.Set.GapsOf(s.Resources, in), func(g series.Gap) bool { return !g.Lossless }) {
			t.cut = append(t.cut, name)
		}
	}
	for _, d := range r.Prediction.Definitions {
		if d.Derive != nil {
			t.computed = append(t.computed, d.Name)
		}
	}
	for _, step := range r.Set.Steps {
		if !step.Ended || step.Begin < in.From || step.End > in.To {
			continue
		}
		t.at[t.next(ofStep, step.Name)] = moment{t: step.Begin}
		t.steps[step.Name] = (step.End - step.Begin).Seconds()
	}
	return t
}

// told are the series that a run's trajectory is made of: what is read off objects,
// and the events that claims are about. What is measured (loads, shares,
// connections) has no transitions; claims and guards have its numbers.
func told(r Run) []string {
	wanted := map[string]bool{}
	for _, claim := range r.Prediction.Claims {
		for _, name := range subjects([]Run{r}, claim.ID) {
			wanted[name] = true
		}
	}
	for _, g := range r.Prediction.Guards {
		wanted[g.Series] = true
	}
	for _, p := range r.Prediction.Chart.Panels {
		for _, line := range p.Lines {
			wanted[line.Series] = true
		}
	}
	var out []string
	for _, name := range r.Set.Names() {
		s, err := r.Set.Get(name)
		if err == nil && wanted[name] && (s.Kind == series.Event || s.Stored()) {
			out = append(out, name)
		}
	}
	return out
}

func (t *trajectory) add(s *series.Series, in series.Interval) {
	points := s.Changes(in)
	if s.Kind == series.Event && len(points) > most {
		return
	}
	t.names = append(t.names, s.Name)
	for i, p := range points {
		text := p.Value.String()
		t.at[t.next(s.Name, text)] = moment{t: p.T, rv: p.RV, begin: s.Kind == series.State && p.T <= in.From}
		t.values[s.Name] = append(t.values[s.Name], text)
		if p.Value.Text != "" || s.Kind != series.State {
			continue
		}
		if i == 0 || p.Value.Num > t.highest[s.Name] {
			t.highest[s.Name] = p.Value.Num
		}
		if i == 0 || p.Value.Num < t.lowest[s.Name] {
			t.lowest[s.Name] = p.Value.Num
		}
	}
}

// next is the transition to a value that is not there yet.
func (t *trajectory) next(name, value string) transition {
	out := transition{name, value, 1}
	for {
		if _, taken := t.at[out]; !taken {
			return out
		}
		out.nth++
	}
}
