package disruption_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/model/disruption"
	"reckon.dev/reckon/harness/model/disruption/modeltest"
	"reckon.dev/reckon/harness/model/share"
)

func TestCorpus(t *testing.T) { modeltest.RunCorpus(t, "testdata") }

var newest, _ = disruption.RulesFor("v1.37.2")

func running(name string) disruption.Pod {
	return disruption.Pod{Name: name, Phase: disruption.Running, Ready: true, Controller: "web"}
}

func minAvailable(n int) disruption.Budget {
	return disruption.Budget{Name: "b1", MinAvailable: &share.Share{Value: n}}
}

// The case of upstream's TestUpdateDisruptedPods.
func TestDisruptedPodsAreForgottenWhenDeletedOrExpired(t *testing.T) {
	p1, p2, p3 := running("p1"), running("p2"), running("p3")
	p1.Deleting = true
	now := time.Hour
	before := disruption.Status{Disrupted: map[string]time.Duration{
		"p1": now, "p2": now - 3*time.Minute, "p3": now - time.Minute, "notthere": now,
	}}
	after := minAvailable(1).Sync(before, []disruption.Pod{p1, p2, p3}, nil, now)
	if want := map[string]time.Duration{"p3": now - time.Minute}; !maps.Equal(after.Disrupted, want) {
		t.Errorf("disrupted %v, want %v", after.Disrupted, want)
	}
	if after.CurrentHealthy != 1 || after.DisruptionsAllowed != 0 || after.ExpectedPods != 3 {
		t.Errorf("%+v", after)
	}
}

func TestLostAllowanceComesBackAfterTwoMinutes(t *testing.T) {
	budget, pods := minAvailable(1), []disruption.Pod{running("p1"), running("p2")}
	status := budget.Sync(disruption.Status{}, pods, nil, 0)
	_, status = newest.Evict(disruption.Request{
		Pod: pods[0], Guards: []disruption.Guard{{Budget: budget, Status: status}}, OtherUID: true,
	})
	bounds := disruption.DeadlineBounds(0, time.Second)
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {bounds.Earliest - 1, 0}, {2*time.Minute - 1, 0}, {2 * time.Minute, 1}, {bounds.Latest, 1}} {
		if got := budget.Sync(status, pods, nil, c.at).DisruptionsAllowed; got != c.want {
			t.Errorf("after %s %d are allowed, want %d", c.at, got, c.want)
		}
	}
}

// Two evictions at once share one allowance, whether or not the controller has looked.
func TestSecondEvictionAtOnceIsRefused(t *testing.T) {
	budget, pods := minAvailable(2), []disruption.Pod{running("p1"), running("p2"), running("p3")}
	status := budget.Sync(disruption.Status{}, pods, nil, 0)
	first, status := newest.Evict(disruption.Request{Pod: pods[0], Guards: []disruption.Guard{{Budget: budget, Status: status}}})
	second, _ := newest.Evict(disruption.Request{Pod: pods[1], Guards: []disruption.Guard{{Budget: budget, Status: status}}})
	looked := budget.Sync(status, pods, nil, 0)
	third, _ := newest.Evict(disruption.Request{Pod: pods[1], Guards: []disruption.Guard{{Budget: budget, Status: looked}}})
	if first.Code != 201 || second.Code != 429 || third.Code != 429 {
		t.Errorf("%d %d %d, want 201 429 429", first.Code, second.Code, third.Code)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]struct{ reason, cause, known bool }{
		"v1.34.2": {false, false, true}, "1.35.0": {true, false, true}, "v1.36.0": {true, false, true},
		"v1.37.2": {true, true, true}, "v1.33.0": {false, false, false}, "../fork": {true, true, false},
	} {
		rules, known := disruption.RulesFor(version)
		if rules.TellsReason != want.reason || rules.CauseOnForbidden != want.cause || known != want.known {
			t.Errorf("%s: %+v known=%t", version, rules, known)
		}
	}
}

func genBudget(t *rapid.T) disruption.Budget {
	limit := share.Share{Value: rapid.IntRange(0, 12).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "percent") {
		limit = share.Share{Value: rapid.IntRange(0, 100).Draw(t, "percentage"), Percent: true}
	}
	b := disruption.Budget{Name: "b1", Policy: rapid.SampledFrom([]disruption.Policy{"", disruption.IfHealthyBudget, disruption.AlwaysAllow}).Draw(t, "policy")}
	if rapid.Bool().Draw(t, "minAvailable") {
		b.MinAvailable = &limit
	} else {
		b.MaxUnavailable = &limit
	}
	return b
}

// Evictions alone never take the ready pods below what the budget desires, and a drain
// ends.
func TestEvictionsKeepWhatIsDesired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := disruption.Drill{
			Replicas:    rapid.IntRange(0, 12).Draw(t, "replicas"),
			Budgets:     []disruption.Budget{genBudget(t)},
			Evictions:   rapid.IntRange(0, 20).Draw(t, "evictions"),
			Replacement: rapid.SampledFrom([]disruption.Replacement{disruption.Never, disruption.AfterEach, disruption.AfterRefusal}).Draw(t, "replacement"),
		}
		d.Unready = rapid.IntRange(0, d.Replicas).Draw(t, "unready")
		d.Surge = rapid.IntRange(0, 3).Draw(t, "surge")
		trace := disruption.Play(newest, d)
		if least := min(trace.Start.DesiredHealthy, trace.ReadyAtStart); trace.LeastReady() < least {
			t.Fatalf("%d ready, want %d\n%s", trace.LeastReady(), least, trace)
		}
		for _, r := range trace.Rows {
			if r.Answer.Deleted != (r.Answer.Code == 201) {
				t.Fatalf("%+v", r.Answer)
			}
		}
	})
}

// The allowance is what is healthy beyond what is desired, and never negative.
func TestAllowanceIsWhatIsHealthyBeyondDesired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pods []disruption.Pod
		for range rapid.IntRange(0, 10).Draw(t, "pods") {
			pod := running(rapid.StringMatching("[a-z]{8}").Draw(t, "name"))
			pod.Ready, pod.Deleting = rapid.Bool().Draw(t, "ready"), rapid.Bool().Draw(t, "deleting")
			pods = append(pods, pod)
		}
		scale := rapid.IntRange(0, 12).Draw(t, "scale")
		s := genBudget(t).Sync(disruption.Status{}, pods, disruption.Scales{"web": scale}, 0)
		switch beyond := s.CurrentHealthy - s.DesiredHealthy; {
		case s.DesiredHealthy < 0, s.CurrentHealthy > len(pods):
			t.Fatalf("%+v", s)
		case s.ExpectedPods == 0 && s.DisruptionsAllowed != 0:
			t.Fatalf("nothing is expected: %+v", s)
		case s.ExpectedPods > 0 && s.DisruptionsAllowed != max(0, beyond):
			t.Fatalf("%+v", s)
		}
	})
}

func TestEveryRuleHasAPlaceInEveryRelease(t *testing.T) {
	for version, tag := range map[string]string{"v1.34.2": "v1.34.2", "v1.35.0": "v1.36.0", "v1.36.0": "v1.36.0", "v1.37.2": "v1.37.2"} {
		rules, _ := disruption.RulesFor(version)
		for _, rule := range disruption.AllRules() {
			if got := rules.Basis(rule); !strings.HasSuffix(got, " ("+tag+")") || strings.Contains(got, ":0 ") {
				t.Errorf("%s: the basis of %s is %q", version, rule, got)
			}
		}
		if rules.Basis("none such") != "" {
			t.Error("a rule that does not exist has a basis")
		}
	}
}
