package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

// tape writes a synthetic recording fact by fact, so that the reports under
// test see what a real run would give them.
type tape struct {
	t  testing.TB
	w  *recording.Writer
	b  bytes.Buffer
	rv uint64
	h  recording.Header
}

func newTape(t testing.TB, h recording.Header) *tape {
	t.Helper()
	tp := &tape{t: t, rv: 1000, h: h}
	var err error
	if tp.w, err = recording.NewWriter(&tp.b, h); err != nil {
		t.Fatal(err)
	}
	return tp
}

func at9(sec float64) int64 { return int64(sec * 1e9) }

func (tp *tape) fact(f recording.Fact) {
	if err := tp.w.Append(f); err != nil {
		tp.t.Fatal(err)
	}
}

func (tp *tape) object(sec float64, resource, name string, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		tp.t.Fatal(err)
	}
	tp.rv += 3
	tp.fact(recording.Fact{T: at9(sec), Object: &recording.Object{Change: recording.Modified, Resource: resource, Namespace: "reckon-1", Name: name, RV: tp.rv, Body: raw}})
}

type obj = map[string]any

func (tp *tape) weight(sec float64, canary int) {
	tp.object(sec, virtualServices, "shop", obj{"spec": obj{"http": []obj{{"name": "primary", "route": []obj{{"weight": 100 - canary}, {"weight": canary}}}}}})
}

func (tp *tape) replicaSet(sec float64, name string, size, available int) {
	tp.object(sec, replicaSets, name, obj{"metadata": obj{"name": name}, "spec": obj{"replicas": size}, "status": obj{"availableReplicas": available}})
}

func (tp *tape) rollout(sec float64, phase, stable string) {
	tp.object(sec, rollouts, "shop", obj{"status": obj{"phase": phase, "stableRS": stable}})
}

func (tp *tape) step(begin, end float64, name, fault string, during func()) {
	tp.fact(recording.Fact{T: at9(begin), Step: &recording.Step{Name: name, Phase: "begin"}})
	during()
	if end > 0 {
		tp.fact(recording.Fact{T: at9(end), Step: &recording.Step{Name: name, Phase: "end", Error: fault}})
	}
}

func (tp *tape) log(sec float64, format string, args ...any) {
	tp.fact(recording.Fact{T: at9(sec), Log: &recording.Log{Component: "argo-rollouts", Line: fmt.Sprintf("level=info msg=%q", fmt.Sprintf(format, args...))}})
}

// run ends the tape, reads it and judges it.
func (tp *tape) run(end float64, p judge.Prediction, gate judge.Gate) Run {
	tp.t.Helper()
	if err := tp.w.Close(at9(end)); err != nil {
		tp.t.Fatal(err)
	}
	r, err := recording.NewReader(&tp.b)
	if err != nil {
		tp.t.Fatal(err)
	}
	defer r.Close()
	set, err := series.Read(r, p.Definitions)
	if err != nil {
		tp.t.Fatal(err)
	}
	v, err := judge.Judge(tp.h, p, set, gate)
	if err != nil {
		tp.t.Fatal(err)
	}
	return Run{Header: tp.h, Verdict: v, Prediction: p, Set: set}
}

const (
	virtualServices = "virtualservices.networking.istio.io"
	replicaSets     = "replicasets.apps"
	rollouts        = "rollouts.argoproj.io"
)

func header(cell string, repetition int) recording.Header {
	return recording.Header{
		RunID: fmt.Sprintf("20261129-212545-rollback-window-%d", repetition), Seed: 7, Drill: "rollback-window", Cell: cell, Repetition: repetition,
		Scenario: "rollback-window",
		Params:   json.RawMessage(`{"replicas":20,"minPodsPerReplicaSet":2,"routing":"virtualservice","steps":[{"setWeight":5},{"pause":{"duration":"1s"}},{"setWeight":100}]}`),
		Guards:   map[string]float64{"overload": 1.5, "minAvailable": 0},
		Components: []recording.Component{
			{Name: "argo-rollouts", Version: "v1.8.2", Source: "module", Digests: map[string]string{"rollouts-controller": "sha256:5b1f0a6c0c3e2a9e7d44f7a2b9cf1f3c6d9be2f0a1b8c7d6e5f4a3b2c1d0e9f8"}},
			{Name: "kubernetes", Version: "v1.37.2", Source: "module", Digests: map[string]string{
				"kube-apiserver": "sha256:0f5c1d7be2a94be6f0a37c1c1f3b0be9f6a2d3c4b5e6f7081920a1b2c3d4e5f6", "kube-controller-manager": "sha256:9a8b7c6d5e4f30211203f4e5d6c7b8a90f1e2d3c4b5a69788796a5b4c3d2e1f0"}},
			{Name: "kwok", Version: "v0.7.0", Source: "module"},
		},
		Cluster: recording.Cluster{
			Provider: "embedded", Fidelity: "etcd, kube-apiserver, controller manager and every controller under test are real; nodes and pods are simulated by kwok, so there is no traffic",
			Facts: map[string]string{"kubernetes": "v1.37.2", "nodes": "4 (kwok)", "cpus": "8", "os": "linux/amd64"},
		},
		Base: time.Date(2026, 11, 29, 21, 25, 45, 0, time.UTC), Reckon: "v0.1.0",
	}
}

func replicaSetSeries(name, set string, value func(*series.View) int) series.Definition {
	return series.Definition{Name: name, Unit: "pods", Object: &series.FromObject{Resource: replicaSets, Value: func(v *series.View) (series.Value, bool) {
		if v.Metadata.Name != set {
			return series.Value{}, false
		}
		return series.Number(float64(value(v))), true
	}}}
}

func definitions() []series.Definition {
	available := func(v *series.View) int { return v.Status.AvailableReplicas }
	size := func(v *series.View) int { return *v.Spec.Replicas }
	return []series.Definition{
		{Name: "weight", Unit: "%", Object: &series.FromObject{Resource: virtualServices, Value: func(v *series.View) (series.Value, bool) {
			return series.Number(float64(v.Spec.HTTP[0].Route[1].Weight)), true
		}}},
		replicaSetSeries("available{v1}", "shop-v1", available), replicaSetSeries("available{v2}", "shop-v2", available),
		replicaSetSeries("size{v1}", "shop-v1", size), replicaSetSeries("size{v2}", "shop-v2", size),
		{Name: "stable", Object: &series.FromObject{Resource: rollouts, Value: func(v *series.View) (series.Value, bool) {
			return series.Number(map[string]float64{"v1": 1, "v2": 2}[v.Status.StableRS]), true
		}}},
		{Name: "overload", Unit: "×", Derive: &series.Derived{Inputs: []string{"weight", "available{v1}", "available{v2}", "stable"}, Value: overload}},
		{Name: "phase", Object: &series.FromObject{Resource: rollouts, Value: func(v *series.View) (series.Value, bool) {
			return series.Text(v.Status.Phase), true
		}}},
		{Name: "events", Log: &series.FromLog{Component: "argo-rollouts", Match: regexp.MustCompile(`msg="(.*)"$`)}},
		{Name: "errors", Log: &series.FromLog{Component: "argo-rollouts", Match: regexp.MustCompile(`level=error`)}},
	}
}

// overload is how many times its share the busiest version's pods get.
func overload(in []float64) float64 {
	v1 := in[0] / 100
	if in[3] == 1 {
		v1 = 1 - v1
	}
	return max(v1*20/max(1, in[1]), (1-v1)*20/max(1, in[2]))
}

func upTo(n int) []float64 {
	out := make([]float64, n+1)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// prediction of the rollback-window scenario for argo-rollouts 1.8.
func prediction() judge.Prediction {
	window := series.Window{From: "roll back", To: "stay quiet"}
	source := func(at string) []string { return []string{"argo-rollouts v1.8.2 " + at} }
	twenty := 20.0
	return judge.Prediction{
		Model: "rollouts 1.8.0-1.8.2",
		Claims: []judge.Claim{
			{ID: "weights", Sentence: "The canary weight jumps to 100 at once and to 0 when the rollback is done, with nothing between.", Basis: source("rollout/trafficrouting.go:214"),
				Check: judge.Sequence{Of: "weight", Want: judge.Numbers(0, 100, 0), Window: window}},
			{ID: "sizes", Sentence: "The old ReplicaSet is scaled to minPodsPerReplicaSet first, then to full size in one step.", Basis: append(source("rollout/canary.go:117"), "utils/replicaset/canary.go:341"),
				Check: judge.Sequence{Of: "size{v1}", Want: judge.Numbers(0, 2, 20), Window: window}},
			{ID: "v2-kept", Sentence: "The new ReplicaSet keeps its pods until the rollback is done.", Basis: source("rollout/canary.go:171"),
				Check: judge.Sequence{Of: "size{v2}", Want: judge.Numbers(20, 0), Window: window}},
			{ID: "worst-moment", Sentence: "The weight is 100 while v1 has not one available pod.", Basis: source("rollout/trafficrouting.go:214"),
				Check: judge.Extremum{Of: "weight", While: judge.Cond{Series: "available{v1}", Op: judge.Less, Value: series.Number(20)}, Want: 100,
					First: &judge.FirstAt{Of: "available{v1}", Want: 0, Unit: "pods of v1"}, Window: window}},
			{ID: "duration", Sentence: "From the jump to the return of the weight it takes as long as 20 pods need.", Basis: []string{"formula: 5 s + 20 × 1 s ± 2 s"},
				Check: judge.Within{From: judge.Cond{Series: "weight", Op: judge.Equal, Value: series.Number(100)}, To: judge.Cond{Series: "weight", Op: judge.Equal, Value: series.Number(0)},
					Min: 23 * time.Second, Max: 27 * time.Second, Window: window}},
			{ID: "no-errors", Sentence: "The controller logs no error.", Basis: []string{"docs/features/rollback.md, section Rollback windows"},
				Check: judge.Count{Of: "errors", Witness: "events", Window: window}},
			{ID: "quiet", Sentence: "Nothing more happens once the rollback is done.", Basis: source("rollout/controller.go:402"),
				Check: judge.Quiet{Of: []string{"weight", "size{v1}", "size{v2}"}, For: 5 * time.Second, Window: series.Window{From: "stay quiet", To: "stay quiet"}}},
		},
		Guards: []judge.Guard{
			{ID: "overload", Sentence: "No pod gets more than 1.5 times the requests that it was sized for.", Basis: []string{"formula: share of requests × replicas / available pods"},
				Series: "overload", Limit: 1.5, Expected: &twenty, Window: window},
			{ID: "surge", Sentence: "The old ReplicaSet never asks for more than 25 pods.", Series: "size{v1}", Limit: 25, Expected: &twenty, Window: window},
		},
		Definitions: definitions(),
		Chart: judge.Chart{Window: window, Marks: []string{"events"}, Panels: []judge.Panel{
			{Title: "Canary weight", Unit: "% of requests to v1", Lines: []judge.Line{{Series: "weight", Label: "weight", Predicted: []float64{0, 100, 0}}}},
			{Title: "Available", Unit: "pods", Lines: []judge.Line{{Series: "available{v1}", Label: "v1", Predicted: upTo(20)}, {Series: "available{v2}", Label: "v2"}}},
			{Title: "Asked for", Unit: "pods", Lines: []judge.Line{{Series: "size{v1}", Label: "v1", Predicted: []float64{0, 2, 20}}, {Series: "size{v2}", Label: "v2", Predicted: []float64{20, 0}}}},
			{Title: "Overload", Unit: "requests per pod, as a multiple of its share", Lines: []judge.Line{{Series: "overload", Label: "overload"}}},
			{Title: "Phase of the Rollout", Lines: []judge.Line{{Series: "phase", Label: "phase"}}},
		}},
		Tables: []judge.Table{{Title: "Trace of the model rollouts 1.8.0-1.8.2", Head: []string{"Reconcile", "v1 available", "weight", "size v1", "size v2", "source"}, Rows: [][]string{
			{"1", "0", "0", "0", "20", "rollout/sync.go:61"}, {"2", "0", "100", "2", "20", "rollout/trafficrouting.go:214"},
			{"3", "0", "100", "20", "20", "rollout/canary.go:117"}, {"4-22", "1 to 19", "100", "20", "20", "rollout/canary.go:171"}, {"23", "20", "0", "20", "0", "rollout/sync.go:233"},
		}}},
		Notes: []string{"routing: virtualservice is modelled, the DestinationRule is not read"},
	}
}

// quirk is how a variant of the run differs from the predicted one.
type quirk struct {
	// weights overrides the way back from 100 to 0.
	back func(*tape)
	gap  *recording.Gap
	// faultAt ends the run early.
	faultAt float64
}

// rollback records the rollback-window scenario: set-up until 4 s, the
// rollback at 4 s, one pod a second from 10.08 s on, done at 29.3 s, quiet until 36 s.
func rollback(t testing.TB, h recording.Header, q quirk) *tape {
	tp := newTape(t, h)
	tp.step(0.2, 4, "set up", "", func() {
		tp.weight(0.4, 0)
		tp.replicaSet(0.5, "shop-v1", 0, 0)
		tp.replicaSet(0.6, "shop-v2", 20, 20)
		tp.rollout(0.7, "Healthy", "v2")
		tp.log(0.9, "Started syncing rollout")
	})
	tp.step(4, 4.2, "roll back", "", func() {
		tp.rollout(4.05, "Progressing", "v2")
		tp.log(4.06, "Rollback within the window: steps are skipped")
		tp.weight(4.08, 100)
		tp.log(4.1, "Set weight of canary to 100")
		tp.replicaSet(4.12, "shop-v1", 2, 0)
		tp.log(4.13, "Scaled up ReplicaSet shop-v1 from 0 to 2")
	})
	if q.faultAt > 0 {
		tp.step(4.2, 0, "release one pod a second", "", func() { pods(tp, int(q.faultAt-9.08)) })
		tp.fact(recording.Fact{T: at9(q.faultAt), Fault: &recording.Fault{What: "kube-apiserver", Detail: "exited with status 2: etcdserver: mvcc: database space exceeded"}})
		return tp
	}
	tp.step(4.2, 29.2, "release one pod a second", "", func() { pods(tp, 20) })
	if q.gap != nil {
		tp.fact(recording.Fact{T: q.gap.ToNS, Gap: q.gap})
	}
	tp.step(29.2, 30, "wait for the end", "", func() {
		tp.rollout(29.22, "Progressing", "v1")
		q.back(tp)
		tp.replicaSet(29.35, "shop-v2", 0, 20)
		tp.log(29.36, "Scaled down ReplicaSet shop-v2 from 20 to 0")
		tp.replicaSet(29.6, "shop-v2", 0, 0)
		tp.rollout(29.8, "Healthy", "v1")
		tp.log(29.82, "Rollout is healthy")
	})
	tp.step(30, 36, "stay quiet", "", func() {})
	return tp
}

// pods makes n pods of v1 available, one a second from 10.08 s on.
func pods(tp *tape, n int) {
	tp.replicaSet(4.6, "shop-v1", 20, 0)
	tp.log(4.61, "Scaled up ReplicaSet shop-v1 from 2 to 20")
	for i := range n {
		sec := 10.08 + float64(i)
		tp.replicaSet(sec, "shop-v1", 20, i+1)
		if i%4 == 3 {
			tp.log(sec+0.01, "Rollout has %d of 20 available pods", i+1)
		}
	}
}

func straightBack(tp *tape) {
	tp.log(29.23, "Set weight of canary to 0")
	tp.weight(29.24, 0)
}

var reportGuards = judge.Gate{Claims: "fail", Guards: "report"}

const cell = "rollback-window/argo-rollouts=v1.8.2"

// The variants that every format is tested with.

func passing(t testing.TB) Run {
	return rollback(t, header(cell, 1), quirk{back: straightBack}).run(36.2, prediction(), reportGuards)
}

func failing(t testing.TB) Run {
	return rollback(t, header(cell, 2), quirk{back: func(tp *tape) {
		tp.log(29.225, "Set weight of canary to 50")
		tp.weight(29.23, 50)
		tp.weight(29.3, 0)
	}}).run(36.2, prediction(), judge.Gate{})
}

func inconclusive(t testing.TB) Run {
	gap := &recording.Gap{Resource: virtualServices, FromNS: at9(13.2), ToNS: at9(17.9), Reason: "410 Gone, listed anew"}
	return rollback(t, header(cell, 3), quirk{back: straightBack, gap: gap}).run(36.2, prediction(), reportGuards)
}

func invalid(t testing.TB) Run {
	return rollback(t, header(cell, 4), quirk{faultAt: 19.7}).run(20.1, prediction(), reportGuards)
}

// hostile carries mark-up, quotes, pipes and terminal codes wherever a text can stand.
func hostile(t testing.TB) Run {
	const evil = "\"><script>alert('1')</script>|`*\x1b[31m]]>\n&amp;"
	h := header(cell, 5)
	h.Cell, h.Scenario, h.Cluster.Facts = "a \"cell\" | "+evil, evil, map[string]string{evil: evil}
	h.Params = json.RawMessage(`{"a</script><b>":"</style>"}`)
	h.Components[0].Version = evil
	p := prediction()
	p.Notes, p.Model, p.Tables[0].Rows[0][0] = []string{evil}, evil, evil
	p.Claims = append(p.Claims, judge.Claim{ID: evil, Sentence: evil, Basis: []string{evil},
		Check: judge.Final{Of: "phase", Want: series.Text(evil)}})
	p.Chart.Panels[0].Title, p.Chart.Panels[0].Lines[0].Label = evil, evil
	tp := rollback(t, h, quirk{back: straightBack})
	tp.step(36.1, 36.15, evil, evil, func() {})
	tp.rollout(36.16, "</script><script>alert(2)</script>", "v1")
	tp.log(31, "</script> <!-- %s", "<img src=x onerror=alert(3)>")
	tp.fact(recording.Fact{T: at9(33), Fault: &recording.Fault{What: evil, Detail: evil}})
	r := tp.run(36.2, p, judge.Gate{})
	r.Verdict.Disagreements = []judge.Disagreement{{Claim: evil, Between: evil, Cause: evil}}
	r.Verdict.Claims[0].Detail = &judge.Table{Title: evil, Head: []string{evil, evil}, Rows: [][]string{{evil, evil}}}
	r.Verdict.Measures = []judge.MeasureResult{{
		Title: evil, Client: evil, Delays: []judge.DelayResult{{Name: evil, Note: evil}},
		Periods: []judge.PeriodResult{{Name: evil, Note: evil, Failed: 1, Causes: []series.CauseCount{{Cause: evil, N: 1}},
			Versions: []judge.VersionResult{{Version: evil}}, Pods: []judge.PodResult{{Pod: evil, Version: evil}}}},
	}}
	return r
}
