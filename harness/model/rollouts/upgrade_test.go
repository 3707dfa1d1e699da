package rollouts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// course plays changes of the release after the first.
func course(m Member, groups ...Group) []Effect {
	life := NewLife(m, groups[0])
	var out []Effect
	for _, to := range groups[1:] {
		var c Cause
		life, c = life.Change(to)
		out = append(out, c.Effect)
	}
	return out
}

func TestAnUpgradeTouches(t *testing.T) {
	t.Parallel()
	there, newer, back := []Group{Group183, Group19}, []Group{Group19, Group110}, []Group{Group183, Group19, Group183}
	for name, c := range map[string]struct {
		member Member
		groups []Group
		want   []Effect
	}{
		"no ordinary Rollout":                                     {Member{Updated: true}, back, []Effect{Untouched, Untouched}},
		"no paused one":                                           {Member{Updated: true, Pauses: true, Paused: true}, back, []Effect{Untouched, Untouched}},
		"preferred anti-affinity, there and back":                 {Member{Updated: true, AntiAffinity: AntiAffinityPreferred}, back, []Effect{Redeployed, Reverted}},
		"preferred anti-affinity, of a downgrade":                 {Member{Updated: true, AntiAffinity: AntiAffinityPreferred}, []Group{Group110, Group183}, []Effect{Redeployed}},
		"no preferred anti-affinity without a change of the hash": {Member{Updated: true, AntiAffinity: AntiAffinityPreferred}, newer, []Effect{Untouched}},
		"no preferred anti-affinity before the first update":      {Member{AntiAffinity: AntiAffinityPreferred}, there, []Effect{Untouched}},
		"preferred anti-affinity beside one of the template":      {Member{Updated: true, AntiAffinity: AntiAffinityPreferred, OwnPodAntiAffinity: true}, there, []Effect{Rewritten}},
		"required anti-affinity once":                             {Member{Updated: true, AntiAffinity: AntiAffinityRequired}, []Group{Group183, Group19, Group183, Group19}, []Effect{Rewritten, Untouched, Untouched}},
		"no required anti-affinity in the middle of an update":    {Member{Updated: true, Pauses: true, Paused: true, AntiAffinity: AntiAffinityRequired}, there, []Effect{Untouched}},
		"an edited template":                                      {Member{Updated: true, Edited: true}, back, []Effect{Redeployed, Reverted}},
		"no edited template that is found by its hash":            {Member{Updated: true, Edited: true}, newer, []Effect{Untouched}},
		"a twin": {Member{Updated: true, Twin: true}, back, []Effect{Reverted, Reverted}},
		"no inline analysis that v1.8 has stored whole":                   {Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true}, back, []Effect{Untouched, Untouched}},
		"inline analysis whose manifest was applied again":                {Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true, Reapplied: true}, back, []Effect{Restarted, Restarted}},
		"inline analysis of a downgrade":                                  {Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true}, []Group{Group19, Group183}, []Effect{Restarted}},
		"no inline analysis outside of an update":                         {Member{Updated: true, Pauses: true, BareAnalysis: true, Reapplied: true}, there, []Effect{Untouched}},
		"no inline analysis within versions that write it alike":          {Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true, Reapplied: true}, []Group{Group17, Group183}, []Effect{Untouched}},
		"anti-affinity first, of one that is paused in front of analysis": {Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true, Reapplied: true, AntiAffinity: AntiAffinityPreferred}, there, []Effect{Redeployed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := course(c.member, c.groups...); !slices.Equal(got, c.want) {
				t.Errorf("over %v: %v, want %v", c.groups, got, c.want)
			}
		})
	}
}

func TestApplyingAgainRestartsWhatV18HasFilledIn(t *testing.T) {
	t.Parallel()
	m := Member{Updated: true, Pauses: true, Paused: true, BareAnalysis: true}
	life := NewLife(m, Group183)
	if _, c := life.Reapply(); c.Effect != Untouched {
		t.Errorf("under 1.8: %s", c.Effect)
	}
	life, _ = life.Change(Group19)
	life, c := life.Reapply()
	if c.Effect != Restarted || c.Why == "" || len(c.Basis) == 0 {
		t.Errorf("under 1.9: %+v", c)
	}
	if _, c := life.Reapply(); c.Effect != Untouched {
		t.Errorf("twice under 1.9: %s", c.Effect)
	}
}

// members are all that there can be.
func members(t *rapid.T) Member {
	b := func(name string) bool { return rapid.Bool().Draw(t, name) }
	m := Member{
		AntiAffinity:       rapid.SampledFrom([]AntiAffinity{AntiAffinityNone, AntiAffinityPreferred, AntiAffinityRequired}).Draw(t, "anti-affinity"),
		OwnPodAntiAffinity: b("own"), BareAnalysis: b("bare"), Reapplied: b("reapplied"), Pauses: b("pauses"), Edited: b("edited"), Twin: b("twin"),
	}
	m.Paused = m.Pauses && b("paused")
	m.Updated = m.Paused || m.Twin || b("updated")
	return m
}

func TestNothingIsTouchedWithoutAReasonAndWithinOneGroup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := members(rt)
		at := rapid.SampledFrom(Groups()).Draw(rt, "from")
		to := rapid.SampledFrom(Groups()).Draw(rt, "to")
		_, c := NewLife(m, at).Change(to)
		if at.serialization() == to.serialization() && c.Effect != Untouched {
			rt.Fatalf("%+v from %s to %s: %s", m, at, to, c.Effect)
		}
		if (c.Effect == Untouched) != (c.Why == "") || (c.Effect == Untouched) != (len(c.Basis) == 0) {
			rt.Fatalf("%+v", c)
		}
		for _, b := range c.Basis {
			if b.String() == "" {
				rt.Fatalf("%+v rests on %+v", c, b)
			}
		}
	})
}

func TestTheSameWayTwiceFindsWhatTheFirstLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := members(rt)
		m.BareAnalysis = false
		effects := course(m, Group183, Group19, Group183, Group19)
		if touched := effects[0] == Redeployed || effects[0] == Reverted; touched != (effects[1] == Reverted) {
			rt.Fatalf("%+v: %v", m, effects)
		}
		if effects[2] == Redeployed || effects[2] == Rewritten {
			rt.Fatalf("%+v: the second upgrade finds nothing that the first left: %v", m, effects)
		}
	})
}
