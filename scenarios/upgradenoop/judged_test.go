package upgradenoop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/rollouts"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/recording/recordingtest"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/rollback"
)

// tape is a recording of three Rollouts, "calm", "other" and "redone", each with one ReplicaSet
// and one pod, over one change of the version. A test changes what happens in it.
type tape struct {
	facts []recording.Fact
	now   time.Duration
	rv    uint64
}

func (tp *tape) put(f recording.Fact) {
	tp.now += time.Millisecond
	f.T = int64(tp.now)
	tp.facts = append(tp.facts, f)
}

func (tp *tape) object(change recording.Change, resource, name, body string) {
	tp.rv++
	tp.put(recording.Fact{Object: &recording.Object{Change: change, Resource: resource, Namespace: "n", Name: name, RV: tp.rv, Body: json.RawMessage(body)}})
}

func (tp *tape) rollout(name, hash string, revision, index int) {
	tp.object(recording.Modified, rolloutResource, name, fmt.Sprintf(
		`{"metadata":{"name":%q,"namespace":"n","generation":1,"annotations":{%q:"%d"}},"status":{"phase":"Healthy","currentPodHash":%q,"stableRS":%q,"currentStepIndex":%d}}`,
		name, rollback.RevisionAnnotation, revision, hash, hash, index))
}

func (tp *tape) set(rollout, hash string) {
	tp.object(recording.Added, setResource, rollout+"-"+hash, fmt.Sprintf(
		`{"metadata":{"name":"%s-%s","namespace":"n","generation":1,"ownerReferences":[{"kind":"Rollout","name":%q,"controller":true}]},"spec":{"replicas":1}}`, rollout, hash, rollout))
}

func (tp *tape) pod(change recording.Change, rollout, hash string) {
	tp.object(change, podResource, rollout+"-"+hash+"-x", fmt.Sprintf(
		`{"metadata":{"name":"p","namespace":"n","ownerReferences":[{"kind":"ReplicaSet","name":"%s-%s","controller":true}]}}`, rollout, hash))
}

func (tp *tape) step(name string, failure string, during ...func(*tape)) {
	tp.put(recording.Fact{Step: &recording.Step{Name: name, Phase: "begin"}})
	for _, do := range during {
		do(tp)
	}
	tp.put(recording.Fact{Step: &recording.Step{Name: name, Phase: "end", Error: failure}})
}

// events are what a test puts into a run.
type events struct {
	// update is done while the fleet is updated, watch while the version is watched.
	update, watch func(*tape)
	// redo is what becomes of "redone" as predicted.
	redo  func(*tape)
	start string // how the start failed
}

func redeployed(tp *tape) {
	tp.set("redone", "b")
	tp.pod(recording.Added, "redone", "b")
	tp.rollout("redone", "b", 3, 0)
	tp.pod(recording.Deleted, "redone", "a")
}

// verdict judges a run.
func verdict(t *testing.T, e events) judge.Verdict {
	t.Helper()
	nothing := func(*tape) {}
	for _, f := range []*func(*tape){&e.update, &e.watch} {
		if *f == nil {
			*f = nothing
		}
	}
	if e.redo == nil {
		e.redo = redeployed
	}
	tp := &tape{}
	tp.step(stepDeploy, "", func(tp *tape) {
		for _, name := range []string{"calm", "other", "redone"} {
			tp.rollout(name, "a", 2, 2)
			tp.set(name, "a")
			tp.pod(recording.Added, name, "a")
		}
	})
	tp.step(stepUpdate, "", e.update)
	l := (&Params{From: "v1.8.3", To: "v1.9.2"}).legs()[0]
	for _, step := range []string{stepStop, stepCRDs, stepAccept} {
		tp.step(l.step(step), "")
	}
	tp.step(l.step(stepStart), e.start)
	tp.step(l.step(stepWatch), "", e.redo, e.watch)
	tp.step(stepReapply, "")
	tp.step(stepScale, "", func(tp *tape) {
		for _, name := range []string{"calm-a", "other-a", "redone-b"} {
			rollout, hash, _ := strings.Cut(name, "-")
			tp.object(recording.Added, podResource, name+"-y", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"kind":"ReplicaSet","name":"%s-%s","controller":true}]}}`, rollout, hash))
		}
	})
	tp.step(stepPromote, "")
	params := Scenario{}.Defaults().(*Params)
	params.Inventory = &Inventory{Members: []Member{
		{Namespace: "n", Name: "calm", Place: "a.yaml:1", Member: rollouts.Member{Updated: true}},
		{Namespace: "n", Name: "other", Place: "a.yaml:5", Member: rollouts.Member{Updated: true}},
		{Namespace: "n", Name: "redone", Place: "a.yaml:9", Member: rollouts.Member{Updated: true, AntiAffinity: rollouts.AntiAffinityPreferred}},
	}}
	p, err := Scenario{}.Predict(scenario.Input{Params: params, On: cluster.Offered(cluster.Embedded)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := series.Read(recordingtest.Of(t, tp.now, tp.facts...), p.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Computed(set) {
		set.Add(s)
	}
	v, err := judge.Judge(recording.Header{}, p, set, judge.Gate{Claims: "fail", Guards: "report"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// notHeld are the claims that are not held, with their status.
func notHeld(v judge.Verdict) map[string]judge.Status {
	out := map[string]judge.Status{}
	for _, c := range v.Claims {
		if c.Status != judge.Held {
			out[c.ID] = c.Status
		}
	}
	return out
}

func TestWhatHappensAsPredictedPassesAndIsUnsafe(t *testing.T) {
	t.Parallel()
	v := verdict(t, events{})
	if v.Outcome != judge.Pass {
		t.Fatalf("%s: %q", v.Outcome, v.Reasons)
	}
	g := v.Guards[0]
	if g.ID != GuardDisturbed || g.Status != judge.Broken || *g.Worst != 1 || *g.Expected != 1 {
		t.Errorf("guard %+v", g)
	}
}

func TestWhatIsTouchedWithoutAPredictionBreaksItsClaim(t *testing.T) {
	t.Parallel()
	const fleet = "fleet under v1.9.2"
	for name, c := range map[string]struct {
		events events
		broken []string
	}{
		"a pod ends":                  {events{watch: func(tp *tape) { tp.pod(recording.Deleted, "calm", "a") }}, []string{"n/calm", fleet}},
		"a ReplicaSet":                {events{watch: func(tp *tape) { tp.set("calm", "b") }}, []string{"n/calm", fleet}},
		"a revision":                  {events{watch: func(tp *tape) { tp.rollout("calm", "a", 3, 2) }}, []string{"n/calm", fleet}},
		"a step":                      {events{watch: func(tp *tape) { tp.rollout("calm", "a", 2, 0); tp.rollout("calm", "a", 2, 2) }}, []string{"n/calm", fleet}},
		"what was predicted does not": {events{redo: func(tp *tape) { tp.set("redone", "b") }}, []string{"n/redone", fleet}},
		"the version does not start":  {events{start: "not reached: it ended by itself"}, []string{"starts v1.9.2"}},
		"it writes over and over": {events{watch: func(tp *tape) {
			for range mostWrites + 1 {
				tp.rollout("calm", "a", 2, 2)
			}
		}}, []string{"status writes under v1.9.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verdict(t, c.events)
			got := notHeld(v)
			for _, id := range c.broken {
				if got[id] != judge.Broken {
					t.Errorf("claim %s is %s, want broken (%v)", id, got[id], got)
				}
				delete(got, id)
			}
			if len(got) > 0 || v.Outcome != judge.Fail {
				t.Errorf("%s, and besides not held: %v", v.Outcome, got)
			}
		})
	}
}

func TestTheClaimNamesTheRolloutAndItsManifest(t *testing.T) {
	t.Parallel()
	v := verdict(t, events{watch: func(tp *tape) { tp.pod(recording.Deleted, "calm", "a") }})
	for _, c := range v.Claims {
		if c.ID == "fleet under v1.9.2" && (c.Detail == nil || len(c.Detail.Rows) != 3 || !strings.Contains(c.Why, "n/calm (a.yaml:1) was predicted to be untouched: 1 pod ended")) {
			t.Errorf("%+v", c)
		}
	}
}

func TestAGapLeavesWhatItCouldHideInconclusive(t *testing.T) {
	t.Parallel()
	gap := func(tp *tape) {
		tp.put(recording.Fact{Gap: &recording.Gap{Resource: podResource, FromNS: int64(tp.now - time.Millisecond), ToNS: int64(tp.now), Reason: "cut"}})
	}
	v := verdict(t, events{watch: gap})
	if got := notHeld(v); v.Outcome != judge.Undecided || got["n/calm"] != judge.Inconclusive {
		t.Errorf("%s, %v", v.Outcome, got)
	}
}

func TestARolloutThatIsNotAtRestIsNotJudged(t *testing.T) {
	t.Parallel()
	v := verdict(t, events{update: func(tp *tape) {
		tp.object(recording.Modified, rolloutResource, "calm", `{"metadata":{"name":"calm","namespace":"n","generation":1},"status":{"phase":"Degraded"}}`)
	}})
	if got := notHeld(v); got["calm"] != judge.Inconclusive {
		t.Errorf("%s, %v", v.Outcome, got)
	}
}
