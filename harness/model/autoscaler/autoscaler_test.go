package autoscaler

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// at is a usage in percent of a target of 100 Mi, in the thousandths that the
// controller computes with.
func at(percent int) Usage {
	const target = 1000 * 100 << 20
	return Usage{Each: target / 100 * int64(percent), Target: target}
}

func TestCalculate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		current, usage int
		pods           Pods
		want           int
	}{
		"at the target":                                      {8, 100, Pods{Measured: 8}, 8},
		"at the target, surged":                              {8, 100, Pods{Measured: 10}, 8},
		"at the target, some without a reading":              {8, 100, Pods{Measured: 8, Missing: 2}, 8},
		"at the target, some do not run":                     {8, 100, Pods{Measured: 8, Pending: 2}, 8},
		"inside the tolerance, surged":                       {8, 105, Pods{Measured: 10}, 8},
		"at its upper end":                                   {8, 110, Pods{Measured: 10}, 8},
		"at its lower end":                                   {8, 90, Pods{Measured: 10}, 8},
		"above, from the pods that exist":                    {8, 130, Pods{Measured: 8}, 11},
		"above, surged":                                      {8, 130, Pods{Measured: 10}, 13},
		"above, missing ones use nothing":                    {8, 130, Pods{Measured: 8, Missing: 3}, 8},
		"above, missing ones, and still above":               {11, 130, Pods{Measured: 10, Missing: 1}, 13},
		"above, pending ones use nothing":                    {8, 200, Pods{Measured: 8, Pending: 2}, 16},
		"below, from the pods that exist":                    {8, 85, Pods{Measured: 8}, 7},
		"below, surged: it scales up":                        {8, 85, Pods{Measured: 10}, 9},
		"below, missing ones are at the target: it does not": {8, 85, Pods{Measured: 8, Missing: 2}, 8},
		"below, pending ones are not counted":                {8, 85, Pods{Measured: 6, Pending: 4}, 6},
		"far below, surged":                                  {8, 50, Pods{Measured: 10}, 5},
		"as many as in kubernetes#72775":                     {383, 85, Pods{Measured: 479}, 408},
	} {
		got, err := Calculate(c.current, at(c.usage), c.pods)
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, c.want)
		}
	}
	if _, err := Calculate(8, at(100), Pods{Missing: 8}); !errors.Is(err, ErrNoReading) {
		t.Errorf("without a reading: %v", err)
	}
}

func TestCalculateExternal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load, replicas, want int // the load in percent of what a pod is to carry
	}{
		"at the target":                             {1000, 10, 10},
		"more, by half":                             {1500, 10, 15},
		"more, whatever pods there are":             {1500, 12, 15},
		"less":                                      {500, 10, 5},
		"a part of a pod more":                      {1201, 10, 13},
		"inside the tolerance":                      {1090, 10, 10},
		"at its upper end":                          {1100, 10, 10},
		"one pod of another version":                {1000, 11, 11}, // argo-rollouts#4847
		"one pod of another version, and some room": {950, 11, 10},
		"two pods of another version":               {1000, 12, 10},
		"as many pods of another version":           {1000, 20, 10},
		"no pod":                                    {1000, 0, 10},
		"nothing, and no pod":                       {0, 0, 0},
	} {
		if got := CalculateExternal(External{Total: int64(10 * c.load), Target: 1000}, c.replicas); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// What one version of argo-rollouts#4847's pods made of ten replicas stays: the highest
// proposal counts.
func TestSyncExternal(t *testing.T) {
	t.Parallel()
	load := func(percent int64) External { return External{Total: 10 * percent, Target: 1000} }
	type look struct {
		load     int64
		replicas int
	}
	for name, c := range map[string]struct {
		most  int
		looks []look
		want  []int
	}{
		"twice as much":                      {40, []look{{2000, 10}, {2000, 20}}, []int{20, 20}},
		"three times as much, in two syncs":  {40, []look{{3000, 10}, {3000, 20}}, []int{20, 30}},
		"more than the bound":                {15, []look{{2000, 10}}, []int{15}},
		"a canary pod is adopted, and stays": {40, []look{{1000, 11}, {1000, 13}, {1000, 10}}, []int{11, 11, 11}},
		"less is not believed yet":           {40, []look{{500, 10}, {500, 10}}, []int{10, 10}},
	} {
		a, got := New(Bounds{Min: 1, Max: c.most}, Usage{}, 10), []int(nil)
		for _, l := range c.looks {
			a = a.SyncExternal(load(l.load), l.replicas)
			got = append(got, a.Current)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, usage int
		bounds      Bounds
		want        []int
	}{
		"at the target":                            {8, 100, Bounds{8, 12}, []int{8}},
		"inside the tolerance":                     {8, 105, Bounds{8, 12}, []int{8}},
		"a constant usage above climbs to the end": {8, 130, Bounds{1, 12}, []int{8, 11, 12}},
		"never more than twice the size":           {3, 500, Bounds{1, 50}, []int{3, 6, 12, 24, 48, 50}},
		"four at least":                            {1, 900, Bounds{1, 50}, []int{1, 4, 8, 16, 32, 50}},
		"lower proposals wait for five minutes":    {8, 50, Bounds{1, 12}, []int{8}},
		"below the bounds":                         {2, 100, Bounds{5, 12}, []int{2, 5}},
		"above the bounds":                         {20, 100, Bounds{5, 12}, []int{20, 12}},
	} {
		if got, _ := New(c.bounds, at(c.usage), c.from).Settle(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// quarter is a surge of 25%, rounded up.
func quarter(n int) int { return n + (n+3)/4 }

func TestExplore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage  int
		bounds Bounds
		sizes  []int
		unique bool
	}{
		"at the target":        {100, Bounds{8, 50}, []int{8}, true},
		"inside the tolerance": {105, Bounds{8, 50}, []int{8}, true},
		"at its ends":          {110, Bounds{8, 50}, []int{8}, true},
		"below":                {85, Bounds{8, 10}, []int{8, 9, 10}, true},
		"just outside":         {89, Bounds{8, 9}, []int{8, 9}, true},
		"far below":            {80, Bounds{8, 50}, []int{8}, true},
		"in more than one way": {85, Bounds{8, 12}, []int{8, 9, 10, 11, 12}, false},
	} {
		got := New(c.bounds, at(c.usage), 8).Explore(quarter)
		if !slices.Equal(got.Sizes, c.sizes) || got.Unique != c.unique {
			t.Errorf("%s: %v, unique %v, want %v, %v", name, got.Sizes, got.Unique, c.sizes, c.unique)
		}
	}
}

func TestClimb(t *testing.T) {
	t.Parallel()
	var got []int
	for syncs := range 8 {
		got = append(got, New(Bounds{8, 50}, at(85), 8).Climb(quarter, syncs))
	}
	if want := []int{8, 9, 11, 12, 13, 15, 17, 19}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func draw(t *rapid.T) (Autoscaler, Pods) {
	from := rapid.IntRange(1, 40).Draw(t, "replicas")
	bounds := Bounds{Min: rapid.IntRange(1, from).Draw(t, "min"), Max: rapid.IntRange(from, 80).Draw(t, "max")}
	pods := Pods{
		Measured: rapid.IntRange(0, 60).Draw(t, "measured"), Missing: rapid.IntRange(0, 20).Draw(t, "missing"),
		Pending: rapid.IntRange(0, 20).Draw(t, "pending"),
	}
	return New(bounds, at(rapid.IntRange(1, 300).Draw(t, "usage")), from), pods
}

// A sync stays inside the bounds, never more than doubles, and never shrinks the
// target inside the five minutes.
func TestSyncStaysInsideItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, pods := draw(t)
		next := a.Sync(pods)
		if next.Current < a.Current || next.Current > a.Bounds.Max || next.Current > max(2*a.Current, 4) {
			t.Fatalf("%d became %d with %+v", a.Current, next.Current, pods)
		}
	})
}

// What is inside the tolerance keeps its size, whatever an update does to the pods.
func TestInsideTheToleranceNothingMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, pods := draw(t)
		a.Usage = at(rapid.IntRange(90, 110).Draw(t, "near"))
		if next := a.Sync(pods); next.Current != a.Current {
			t.Fatalf("%d became %d with %+v", a.Current, next.Current, pods)
		}
	})
}

// With a reading missing, usage below the target never scales up. With none
// missing it does: that is what TestExplore shows.
func TestMissingReadingsKeepTheDirection(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, pods := draw(t)
		a.Usage = at(rapid.IntRange(1, 99).Draw(t, "below"))
		pods.Missing = max(1, pods.Missing)
		if next := a.Sync(pods); next.Current > a.Current {
			t.Fatalf("%d became %d with %+v", a.Current, next.Current, pods)
		}
	})
}

// Whatever syncs an update is seen by, the size stays inside the envelope.
func TestTheEnvelopeHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(1, 12).Draw(t, "replicas")
		a := New(Bounds{1, rapid.IntRange(from, 20).Draw(t, "max")}, at(rapid.IntRange(50, 200).Draw(t, "usage")), from)
		envelope := a.Explore(quarter)
		for range rapid.IntRange(1, 6).Draw(t, "syncs") {
			running := rapid.IntRange(1, quarter(a.Current)).Draw(t, "running")
			missing, before := rapid.IntRange(0, running-1).Draw(t, "missing"), a
			a = a.Sync(Pods{Measured: running - missing, Missing: missing})
			if !slices.Contains(envelope.Sizes, a.Current) {
				t.Fatalf("%d is not in %v", a.Current, envelope.Sizes)
			}
			if reached, ok := before.Reaches(a.Current, running, 0); a.Current != before.Current && (!ok || reached.Current != a.Current) {
				t.Fatalf("%d became %d with %d pods, which the model does not find", before.Current, a.Current, running)
			}
		}
	})
}

func TestBasis(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		tag   string
		known bool
	}{
		"v1.34.2": {"v1.34.2", true}, "1.35.0": {"v1.35.4", true}, "v1.36.3": {"v1.36.3", true}, "v1.37.2": {"v1.37.2", true},
		"v1.37.9": {"v1.37.2", true}, "v1.20.0": {"v1.34.2", false}, "v1.99.0": {"v1.37.2", false}, "a fork": {"v1.37.2", false},
	} {
		rules, known := RulesFor(version)
		if rules.Tag() != want.tag || known != want.known {
			t.Errorf("%s: %s, %v", version, rules.Tag(), known)
		}
		for _, rule := range AllRules() {
			if b := rules.Basis(rule); b == "" || strings.Contains(b, ":0 ") {
				t.Errorf("%s: %s rests on %q", version, rule, b)
			}
		}
		if b := rules.Basis("unheard of"); b != "" {
			t.Errorf("an unknown rule rests on %q", b)
		}
	}
}
