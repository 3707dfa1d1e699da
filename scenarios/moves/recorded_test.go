package moves_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/moves"
)

// baselines are the recordings of real controllers that the scenarios of this package
// left, in drill rollouts-catalogue-b.
func baselines(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("../../results/baselines/rollouts-catalogue-b-*/" + engine.RecordingFile)
	if err != nil || len(found) == 0 {
		t.Fatalf("no baselines: %v", err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// altered is a recording with what the test below does to objects in it.
type altered struct{ *doctored.Tape }

// begin is the index of the first fact that is later than the begin of the drill's first
// move: what is as early is taken for what was so before.
func (tp altered) begin() int {
	at := slices.IndexFunc(tp.Facts, func(f recording.Fact) bool {
		return f.Step != nil && f.Step.Phase == "begin" && strings.HasPrefix(f.Step.Name, "1: ")
	})
	return at + slices.IndexFunc(tp.Facts[at:], func(f recording.Fact) bool { return f.T > tp.Facts[at].T })
}

// last is the index of the last fact before another that is about an object which
// matches; -1 if there is none.
func (tp altered) last(before int, resource string, match func(body obj) bool) int {
	for i := before - 1; i >= 0; i-- {
		if o := tp.Facts[i].Object; o != nil && o.Resource == resource && o.Change != recording.Deleted && match(tp.body(i)) {
			return i
		}
	}
	return -1
}

func (tp altered) body(i int) obj {
	var out obj
	if err := json.Unmarshal(tp.Facts[i].Object.Body, &out); err != nil {
		panic(err)
	}
	return out
}

// blink changes an object right after a fact and changes it back.
func (tp altered) blink(t testing.TB, at int, resource string, match func(obj) bool, change func(obj)) {
	t.Helper()
	i := tp.last(at, resource, match)
	if i < 0 {
		t.Fatalf("the recording has no such object of %s", resource)
	}
	body := tp.body(i)
	change(body)
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(tp.Facts[i].Object.Body)
	at = tp.Insert(at, i, func(o *recording.Object) { o.Body = raw })
	tp.Insert(at, i, func(o *recording.Object) { o.Body = was })
}

// in goes into an object, along a path.
func in(body obj, path ...string) obj {
	for _, key := range path {
		next, ok := body[key].(obj)
		if !ok {
			next = obj{}
			body[key] = next
		}
		body = next
	}
	return body
}

func named(name string) func(obj) bool {
	return func(body obj) bool { return in(body, "metadata")["name"] == name }
}

func ofVersion(version string) func(obj) bool {
	return func(body obj) bool {
		return in(body, "spec", "template", "metadata", "labels")[stage.VersionLabel] == version
	}
}

func anything(obj) bool { return true }

// status sets a field of the Rollout's status for a moment.
func (tp altered) status(t testing.TB, field string, value any) {
	tp.blink(t, tp.begin(), "rollouts.argoproj.io", anything, func(body obj) { in(body, "status")[field] = value })
}

// selects lets a Service select nobody's pods for a moment.
func (tp altered) selects(t testing.TB, service string) {
	tp.blink(t, tp.begin(), "services", named(service), func(body obj) {
		in(body, "spec", "selector")[v1alpha1.DefaultRolloutUniqueLabelKey] = "nobody"
	})
}

// subset lets a subset lead to nobody's pods for a moment.
func (tp altered) subset(t testing.TB, name string) {
	tp.blink(t, tp.begin(), "destinationrules.networking.istio.io", anything, func(body obj) {
		for _, s := range in(body, "spec")["subsets"].([]any) {
			if s := s.(obj); s["name"] == name {
				in(s, "labels")[v1alpha1.DefaultRolloutUniqueLabelKey] = "nobody"
			}
		}
	})
}

// route edits the routes of a VirtualService for a moment.
func (tp altered) route(t testing.TB, service string, edit func(routes []any) []any) {
	tp.blink(t, tp.begin(), "virtualservices.networking.istio.io", named(service), func(body obj) {
		spec := in(body, "spec")
		spec["http"] = edit(spec["http"].([]any))
	})
}

// weigh gives the canary another weight.
func weigh(routes []any) []any {
	for _, r := range routes {
		if r := r.(obj); r["name"] == "primary" {
			for _, to := range r["route"].([]any) {
				to.(obj)["weight"] = 33
			}
		}
	}
	return routes
}

// sized changes a field of a version's ReplicaSet for a moment, or that of v1 where the
// version has none yet.
func (tp altered) sized(t testing.TB, at int, version string, change func(obj)) {
	if tp.last(at, "replicasets.apps", ofVersion(version)) >= 0 {
		tp.blink(t, at, "replicasets.apps", ofVersion(version), change)
		return
	}
	tp.blink(t, at, "replicasets.apps", ofVersion(moves.V1), func(body obj) {
		in(body, "metadata")["name"] = "drill-" + version
		in(body, "spec", "template", "metadata", "labels")[stage.VersionLabel] = version
		change(body)
	})
}

// alter breaks a claim by its id; false if it knows none.
func (tp altered) alter(t testing.TB, claim string) bool {
	begin := tp.begin()
	more := func(body obj) { in(body, "spec")["replicas"] = 99 }
	switch kind, version, _ := strings.Cut(claim, "-v"); kind {
	case "size":
		tp.sized(t, begin, "v"+version, more)
	case "final":
		end := tp.StepBegin(moves.StepQuiet)
		tp.Set(tp.last(end, "replicasets.apps", ofVersion("v"+version)), 77, "status", "availableReplicas")
	case "most-pods":
		tp.sized(t, begin, moves.V1, more)
	case "to-nobody":
		// Services that lead to v1, none of whose pods is available.
		tp.sized(t, begin, tp.stable(begin), func(body obj) { in(body, "status")["availableReplicas"] = 0 })
	case "active", "preview", "canary-to", "stable-to":
		return tp.leads(t, kind)
	case "paused":
		tp.status(t, "pauseConditions", []obj{{"reason": "nobody knows"}})
	case "abort":
		tp.status(t, "abort", true)
	case "stable":
		tp.status(t, "stableRS", "nobody")
	case "steps":
		tp.status(t, "currentStepIndex", 77)
	case "weights":
		tp.route(t, "drill", weigh)
	case "weights-second":
		tp.route(t, "drill-second", weigh)
	case "header":
		tp.route(t, "drill", func(routes []any) []any { return append(routes, obj{"name": moves.HeaderRoute}) })
	case "header-at-pause":
		tp.lastRoute(t)
	case "promotions":
		tp.promote(begin)
	case "quiet":
		tp.sized(t, tp.StepBegin(moves.StepQuiet)+1, moves.V1, more)
	case "calm":
		tp.loop()
	default:
		return false
	}
	return true
}

// stable is the version that the stable or active Service leads to when the drill begins.
func (tp altered) stable(begin int) string {
	rollout := tp.body(tp.last(begin, "rollouts.argoproj.io", anything))
	hash := in(rollout, "status")["stableRS"]
	set := tp.last(begin, "replicasets.apps", func(body obj) bool {
		return in(body, "metadata", "labels")[v1alpha1.DefaultRolloutUniqueLabelKey] == hash
	})
	return in(tp.body(set), "spec", "template", "metadata", "labels")[stage.VersionLabel].(string)
}

// lastRoute adds the managed route, or takes it away, from the first pause on.
func (tp altered) lastRoute(t testing.TB) {
	at := slices.IndexFunc(tp.Facts, func(f recording.Fact) bool {
		return f.Step != nil && f.Step.Phase == "begin" && strings.HasSuffix(f.Step.Name, ": promote")
	})
	i := tp.last(at, "virtualservices.networking.istio.io", named("drill"))
	if i < 0 {
		t.Fatal("the recording has no VirtualService")
	}
	body := tp.body(i)
	routes := in(body, "spec")["http"].([]any)
	without := slices.DeleteFunc(slices.Clone(routes), func(r any) bool { return r.(obj)["name"] == moves.HeaderRoute })
	if len(without) == len(routes) {
		without = append(without, obj{"name": moves.HeaderRoute})
	}
	tp.Set(i, without, "spec", "http")
}

func (tp altered) leads(t testing.TB, claim string) bool {
	subset, _, _ := strings.Cut(claim, "-")
	if tp.last(len(tp.Facts), "destinationrules.networking.istio.io", anything) >= 0 {
		tp.subset(t, subset)
		return true
	}
	tp.selects(t, "drill-"+subset)
	return true
}

// promote lets the log tell of a promotion that nothing else tells of.
func (tp altered) promote(at int) {
	fact := recording.Fact{T: tp.Facts[at].T}
	fact.Log = &recording.Log{Component: argorollouts.Name, Line: `{"msg":"Rollout completed update to revision 9 (abc): Nobody asked"}`}
	tp.Facts = slices.Insert(tp.Facts, at+1, fact)
}

// loop lets the controller pass all the time in the quiet period.
func (tp altered) loop() {
	at := tp.StepBegin(moves.StepQuiet)
	for range 30 {
		fact := tp.Facts[at]
		fact.Step = nil
		fact.Log = &recording.Log{Component: argorollouts.Name, Line: `{"msg":"Reconciliation completed"}`}
		tp.Facts = slices.Insert(tp.Facts, at+1, fact)
	}
}

// TestAlteredRecordingsBreakTheirClaims: of each recording every claim is broken by an
// alteration that is about it. A claim that none could break would claim nothing.
func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	t.Parallel()
	for _, dir := range baselines(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			// Each alteration is about another series but these: the one hangs on several, and
			// of the other a later alteration takes back what this one adds.
			alone := []string{"to-nobody", "header"}
			tp := altered{doctored.Load(t, dir)}
			for _, c := range tp.Verdict().Claims {
				if c.Status != judge.Held {
					t.Errorf("claim %s is %s as it is: %s", c.ID, c.Status, c.Why)
				}
				switch {
				case c.Predicted == wholly: // it cannot lead to nobody more than that
				case slices.Contains(alone, c.ID):
					one := altered{doctored.Load(t, dir)}
					one.alter(t, c.ID)
					one.Breaks(c.ID)
				case !tp.alter(t, c.ID):
					t.Errorf("no alteration is about the claim %s", c.ID)
				}
			}
			for _, c := range tp.Verdict().Claims {
				if !slices.Contains(alone, c.ID) && c.Status != judge.Broken {
					t.Errorf("claim %s is %s: predicted %s, observed %s", c.ID, c.Status, c.Predicted, c.Observed)
				}
			}
		})
	}
}

// wholly is what is predicted of to-nobody where all of the traffic leads to nobody.
const wholly = "highest exactly 100 %"

// TestAnotherVersionsRecordingBreaks: where the model tells versions apart, the recording
// of one does not pass as one of another.
func TestAnotherVersionsRecordingBreaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cell, from, rest, to, claim string }{
		"a retry without an approval":   {"blue-green-retried", "v1.8.2", "", "v1.10.1", "paused"},
		"a rollback that never ends":    {"blue-green-3304", "v1.8.2", "", "v1.10.1", "active"},
		"subsets before the weight":     {"canary-superseded-third", "v1.8.2", "-routing-subsets", "v1.9.2", "to-nobody"},
		"a weight that is not withheld": {"canary-superseded-third-with-a-stable-pod-missing", "v1.8.2", "-routing-services", "v1.7.2", "weights"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := doctored.Load(t, "../../results/baselines/rollouts-catalogue-b-"+c.cell+"-argo-rollouts-"+c.from+c.rest+"-1")
			for i, component := range tp.Header.Components {
				if component.Name == argorollouts.Name {
					tp.Header.Components[i].Version = c.to
				}
			}
			tp.Breaks(c.claim)
		})
	}
}
