package modeltest

import (
	"fmt"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/model/rollouts"
)

// compileCount reads "weight 5 canary 2 stable 20 needs 19", or "steady 2" for the size
// of a fully promoted ReplicaSet.
func compileCount(words []string) (runFunc, error) {
	if len(words) == 2 && words[0] == "steady" {
		want, err := number(words[1])
		return func(s *state) error {
			v := rollouts.View{Spec: s.c.Spec, Status: rollouts.Status{Stable: "v1", Current: "v1"}}
			got, _ := s.rules.Counts(v, nil)
			return same("steady size", nil, []int{got}, []int{want})
		}, err
	}
	if len(words) < 4 || len(words)%2 != 0 || words[0] != "weight" {
		return nil, fmt.Errorf("weight N [canary N] [stable N] [needs N], or steady N")
	}
	weight, err := number(words[1])
	if err != nil {
		return nil, err
	}
	if weight > 100 {
		return nil, fmt.Errorf("weight %d is above 100", weight)
	}
	wants := map[string]int{}
	for i := 2; i < len(words); i += 2 {
		if !strings.Contains(" canary stable needs ", " "+words[i]+" ") {
			return nil, fmt.Errorf("unknown count %q (known: canary, stable, needs)", words[i])
		}
		if wants[words[i]], err = number(words[i+1]); err != nil {
			return nil, err
		}
	}
	return func(s *state) error { return counts(s, weight, wants) }, nil
}

func counts(s *state, weight int, wants map[string]int) error {
	spec := s.c.Spec
	spec.Steps = []rollouts.Step{rollouts.SetWeight(weight)}
	v := rollouts.View{Spec: spec, Status: rollouts.Status{Stable: "v1", Current: "v2"}}
	canary, stable := s.rules.Counts(v, nil)
	got := map[string]int{"canary": canary, "stable": stable, "needs": s.rules.StableNeeds(spec, weight)}
	for name, want := range wants {
		if got[name] != want {
			return fmt.Errorf("weight %d: %s is %d, want %d", weight, name, got[name], want)
		}
	}
	return nil
}

// compileBasic reads "weight 20 canary 2/1 stable 10/10 gives 2 8": the sizes of the
// basic canary that follow from a weight and from what is wanted and available now.
func compileBasic(words []string) (runFunc, error) {
	if len(words) != 9 || words[0] != "weight" || words[2] != "canary" || words[4] != "stable" || words[6] != "gives" {
		return nil, fmt.Errorf("weight N canary WANTED/AVAILABLE stable WANTED/AVAILABLE gives CANARY STABLE")
	}
	weight, err := number(words[1])
	if err != nil {
		return nil, err
	}
	canary, err := parsePods("v2", words[3])
	if err != nil {
		return nil, err
	}
	stable, err := parsePods("v1", words[5])
	if err != nil {
		return nil, err
	}
	want, err := numbers(words[7:])
	return func(s *state) error {
		spec := s.c.Spec
		spec.Steps = []rollouts.Step{rollouts.SetWeight(weight)}
		v := rollouts.View{Spec: spec, Status: rollouts.Status{Stable: "v1", Current: "v2"}, New: &canary, Stable: &stable}
		gotCanary, gotStable := s.rules.BasicCounts(v)
		return same("canary and stable", nil, []int{gotCanary, gotStable}, want)
	}, err
}

func parsePods(version, word string) (rollouts.ReplicaSet, error) {
	size, available, ok := strings.Cut(word, "/")
	if !ok {
		return rollouts.ReplicaSet{}, fmt.Errorf("%q is not WANTED/AVAILABLE", word)
	}
	n, err := numbers([]string{size, available})
	if err != nil {
		return rollouts.ReplicaSet{}, err
	}
	return rollouts.ReplicaSet{Version: version, Size: n[0], Created: n[0], Available: n[1]}, nil
}

// compileWindow reads "v1 from v3 fast" or "normal".
func compileWindow(words []string) (runFunc, error) {
	if len(words) != 4 || words[1] != "from" || words[3] != "fast" && words[3] != "normal" {
		return nil, fmt.Errorf("VERSION from VERSION fast|normal")
	}
	return func(s *state) error {
		got := "normal"
		if rollouts.InWindow(s.c.Sets, words[0], words[2], s.c.Spec.WindowRevisions) {
			got = "fast"
		}
		if got != words[3] {
			return fmt.Errorf("%s from %s is %s, want %s", words[0], words[2], got, words[3])
		}
		return nil
	}, nil
}

// compileVersions reads "v1.8.2 is GROUP" or "v1.8.9 near GROUP", optionally followed by
// rules: stableGuard=false.
func compileVersions(words []string) (runFunc, error) {
	if len(words) < 3 || words[1] != "is" && words[1] != "near" {
		return nil, fmt.Errorf("VERSION is|near GROUP [stableGuard=BOOL]")
	}
	group, err := rollouts.ParseGroup(words[2])
	if err != nil {
		return nil, err
	}
	guard := ""
	for _, w := range words[3:] {
		value, ok := strings.CutPrefix(w, "stableGuard=")
		if _, err := strconv.ParseBool(value); !ok || err != nil {
			return nil, fmt.Errorf("%q is not stableGuard=BOOL", w)
		}
		guard = value
	}
	return func(*state) error {
		rules, known := rollouts.RulesFor(words[0])
		if rules.Group != group || known != (words[1] == "is") {
			return fmt.Errorf("%s is in group %s (known %t), want %s %s", words[0], rules.Group, known, words[1], group)
		}
		if got := strconv.FormatBool(rules.StableGuard); guard != "" && got != guard {
			return fmt.Errorf("%s: stableGuard is %s, want %s", words[0], got, guard)
		}
		return nil
	}, nil
}
