package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
)

// Key makes claims about one Deployment from the model of one version.
type Key struct {
	Deployment Deployment
	// Versions are the templates that the drill applies, in order.
	Versions []string
	Rules    deployment.Rules
	// Ending is how long a real pod may take to terminate beside its linger.
	Ending time.Duration
	// NoPods: no pod ever exists, so there is none to make claims about.
	NoPods  bool
	known   bool
	version string
	on      cluster.Capabilities
}

// NewKey takes the model of the cell's controller manager.
func NewKey(d Deployment, in scenario.Input, versions ...string) Key {
	version := scenario.ControllerManagerVersion(in.Versions)
	rules, known := deployment.RulesFor(version)
	return Key{Deployment: d, Versions: versions, Rules: rules, known: known, version: version, on: in.On}
}

// Prediction is an answer key without claims: the model, its series and a chart.
func (k Key) Prediction() judge.Prediction {
	out := judge.Prediction{
		Model:       "deployment " + string(k.Rules.Group),
		Definitions: Definitions(k.Versions...),
		Chart:       k.chart(),
	}
	if !k.known {
		out.Notes = append(out.Notes, fmt.Sprintf("the model knows no Kubernetes %s: the nearest group, %s, was used", k.version, k.Rules.Group))
	}
	return out
}

// Basis are the sources of rules at the tag of the version.
func (k Key) Basis(rules ...deployment.Rule) []string {
	var out []string
	for _, r := range rules {
		if b := k.Rules.Basis(r); b.Line > 0 {
			out = append(out, b.String())
		}
	}
	return out
}

// bound makes a claim that the extreme of a series lies from low to high.
func (k Key) bound(id, sentence, of string, extreme judge.Extreme, low, high float64, window series.Window, rules ...deployment.Rule) judge.Claim {
	return judge.Claim{
		ID: id, Sentence: sentence, Basis: k.Basis(rules...),
		Check: judge.Bound{Of: of, Extreme: extreme, Low: low, High: high, Unit: "pods", Window: window},
	}
}

// Ceiling: all ReplicaSets together never want more than the upper fence.
func (k Key) Ceiling(most int, window series.Window) judge.Claim {
	return k.bound("ceiling", fmt.Sprintf("all ReplicaSets together never want more than %d pods", most),
		Total, judge.Greatest, float64(k.Deployment.Replicas), float64(most), window, deployment.RuleFenceposts, deployment.RuleNewSize)
}

// Floor: the ReplicaSets' status never shows fewer available pods than the lower
// fence, and neither do the pods themselves.
func (k Key) Floor(least int, window series.Window) []judge.Claim {
	if least == 0 { // a claim that nothing could break
		return nil
	}
	return []judge.Claim{
		k.bound("floor", fmt.Sprintf("the ReplicaSets never report fewer than %d available pods", least),
			Available, judge.Least, float64(least), math.Inf(1), window, deployment.RuleFenceposts, deployment.RuleOld),
		k.bound("floor-pods", fmt.Sprintf("never fewer than %d pods are ready", least),
			Ready, judge.Least, float64(least), math.Inf(1), window, deployment.RuleFenceposts, deployment.RuleOld, deployment.RulePodOrder),
	}
}

// Existing: terminating pods count in no fence, so more pods may exist than the
// upper one allows. The greatest number is reported; what bounds it is that
// every pod was once wanted, old of them before. Only Recreate waits for them,
// until they have ended: a real pod is there for a while after that.
func (k Key) Existing(most, old int, window series.Window) judge.Claim {
	if k.Deployment.Strategy == Recreate && k.on.Has(cluster.Kubelet) {
		return k.bound("existing", "no more pods than replicas run at any time, terminating ones included",
			Unfinished, judge.Greatest, float64(k.Deployment.Replicas), float64(k.Deployment.Replicas), window, deployment.RuleRecreateWait)
	}
	if k.Deployment.Strategy == Recreate {
		return k.bound("existing", "no more pods than replicas exist at any time, terminating ones included",
			Existing, judge.Greatest, float64(k.Deployment.Replicas), float64(k.Deployment.Replicas), window, deployment.RuleRecreateWait)
	}
	return k.bound("existing", fmt.Sprintf("pods that exist, terminating ones included, may pass the upper fence of %d: no fence counts them", most),
		Existing, judge.Greatest, float64(k.Deployment.Replicas), float64(most+old), window, deployment.RuleNewSize)
}

// DoneEarly: the rollout is complete while old pods still terminate, for as long
// as they take: `kubectl rollout status` has returned by then.
func (k Key) DoneEarly(window series.Window) judge.Claim {
	return judge.Claim{
		ID: "done-early", Sentence: "from the rollout's completion to the end of its last terminating pod",
		Basis: append(k.Basis(deployment.RuleComplete), "how long a pod takes to terminate, and what the control loops need"),
		Check: judge.Within{
			From: judge.Cond{Series: Done, Op: judge.Equal, Value: series.Number(1)},
			To:   judge.Cond{Series: Terminating, Op: judge.Equal, Value: series.Number(0)},
			Max:  k.Deployment.Linger.Std() + k.Ending + Reaction, Window: window,
		},
	}
}

// Sequences are the sizes that each ReplicaSet takes, where only one order is possible.
func (k Key) Sequences(orders map[string][]int, window series.Window) []judge.Claim {
	var out []judge.Claim
	for _, v := range k.Versions {
		sizes, ok := orders[v]
		if !ok {
			continue
		}
		out = append(out, judge.Claim{
			ID: "sizes-" + v, Sentence: "the ReplicaSet of " + v + " takes exactly these sizes: no other order is possible",
			Basis: k.Basis(deployment.RuleNewSize, deployment.RuleUnhealthy, deployment.RuleOld),
			Check: judge.Sequence{Of: Wanted(v), Want: judge.Numbers(sizes...), Window: window},
		})
	}
	return out
}

// Final is the value of a series at the end of a window.
func (k Key) Final(id, sentence, of string, want series.Value, window series.Window, rules ...deployment.Rule) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: k.Basis(rules...), Check: judge.Final{Of: of, Want: want, Window: window}}
}

// Ended: one version has all pods, the others none, and the Deployment says so.
func (k Key) Ended(version string, replicas, revision int, window series.Window) []judge.Claim {
	out := []judge.Claim{
		k.Final("final-revision", "the Deployment's revision at the end", Revision, series.Text(fmt.Sprint(revision)), window, deployment.RuleRevision),
		k.Final("final-progressing", "the condition Progressing at the end", Progressing, series.Text("True/NewReplicaSetAvailable"), window, deployment.RuleComplete),
		k.Final("final-available", "available pods at the end", Available, series.Number(float64(replicas)), window, deployment.RuleNewSize),
	}
	for _, v := range k.Versions {
		want := 0
		if v == version {
			want = replicas
		}
		out = append(out, k.Final("final-"+v, "the wanted size of "+v+" at the end", Wanted(v), series.Number(float64(want)), window, deployment.RuleOld))
	}
	return append(out, k.endedPods(version, replicas, window)...)
}

// endedPods: what the ReplicaSets say of pods is true of the pods.
func (k Key) endedPods(version string, replicas int, window series.Window) []judge.Claim {
	if k.NoPods {
		return []judge.Claim{{
			ID: "no-pods", Sentence: "no pod ever exists", Basis: k.Basis(deployment.RuleNewSize),
			Check: judge.Sequence{Of: Existing, Witness: Replicas, Window: window},
		}}
	}
	n := series.Number(float64(replicas))
	return []judge.Claim{
		k.Final("final-ready", "pods of "+version+" that are ready at the end", ReadyOf(version), n, window, deployment.RuleComplete),
		k.Final("final-existing", "pods that exist at the end, terminating ones included", Existing, n, window, deployment.RuleOld),
	}
}

// Numbered are the revisions of each version's ReplicaSet, in order, and that
// there is one of each. Where old ones are cleaned up is for the scenario revisions.
func (k Key) Numbered(window series.Window, revisions map[string][]int) []judge.Claim {
	var out []judge.Claim
	for _, v := range k.Versions {
		out = append(out, judge.Claim{
			ID: "revisions-" + v, Sentence: "the ReplicaSet of " + v + " has exactly these revisions, 0 before it exists", Basis: k.Basis(deployment.RuleRevision),
			Check: judge.Sequence{Of: RevisionOf(v), Want: judge.Numbers(revisions[v]...), Window: window},
		}, judge.Claim{
			ID: "one-set-" + v, Sentence: "there is never a second ReplicaSet of " + v, Basis: k.Basis(deployment.RuleTemplate),
			Check: judge.Bound{Of: Sets(v), Extreme: judge.Greatest, Low: 1, High: 1, Window: window},
		})
	}
	return out
}

// Still: nothing moves for a while after the end, and the controller lives.
func (k Key) Still(d time.Duration) judge.Claim {
	of := []string{Total, Progressing, Revision}
	for _, v := range k.Versions {
		of = append(of, Wanted(v))
		if !k.NoPods {
			of = append(of, LiveOf(v), ReadyOf(v))
		}
	}
	return judge.Claim{
		ID: "quiet", Sentence: "nothing moves after the end, and the controller answers when it is asked afterwards",
		Basis: []string{"no rule of the model has anything left to do"},
		Check: judge.Quiet{
			Of: of, For: d, Window: series.Window{From: StepQuiet, To: StepQuiet},
			Proof: &judge.Proof{
				Cond:   judge.Cond{Series: Answered, Op: judge.Equal, Value: series.Number(1)},
				Window: series.Window{From: StepAsk, To: StepAsk},
			},
		},
	}
}

func (k Key) chart() judge.Chart {
	c := judge.Chart{Window: series.Window{From: StepUpdate, To: StepQuiet}}
	sizes := judge.Panel{Title: "wanted by the ReplicaSets", Unit: "pods"}
	ready := judge.Panel{Title: "ready", Unit: "pods"}
	for _, v := range k.Versions {
		sizes.Lines = append(sizes.Lines, judge.Line{Series: Wanted(v), Label: v})
		ready.Lines = append(ready.Lines, judge.Line{Series: ReadyOf(v), Label: v})
	}
	sizes.Lines = append(sizes.Lines, judge.Line{Series: Total, Label: "total"})
	ready.Lines = append(ready.Lines, judge.Line{Series: Ready, Label: "total"})
	c.Panels = append(c.Panels, sizes, ready, judge.Panel{Title: "pods that exist", Unit: "pods", Lines: []judge.Line{
		{Series: Existing, Label: "existing"}, {Series: Terminating, Label: "terminating"}, {Series: Available, Label: "available by status"},
	}})
	return c
}

// FenceTable is what the fences are at some sizes, for those who choose them.
func (k Key) FenceTable(sizes ...int) judge.Table {
	t := judge.Table{
		Title: fmt.Sprintf("fences of maxSurge %s and maxUnavailable %s; pods that terminate count in none (ask with linger)", k.Deployment.MaxSurge, k.Deployment.MaxUnavailable),
		Head:  []string{"replicas", "surge", "unavailable", "least available", "most wanted", "old pods go"},
	}
	for _, n := range sizes {
		d := k.Deployment
		d.Replicas = n
		surge, unavailable := deployment.Fenceposts(n, d.MaxSurge, d.MaxUnavailable)
		unavailable = min(unavailable, n)
		least, most := d.Fences()
		first := "only after new ones are available"
		if unavailable > 0 {
			first = fmt.Sprintf("up to %d at once, before any new one is available", unavailable)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(n), fmt.Sprint(surge), fmt.Sprint(unavailable), fmt.Sprint(least), fmt.Sprint(most), first})
	}
	return t
}

// TraceTable is the model's canonical run, one row for each event.
func (k Key) TraceTable(trace deployment.Trace) judge.Table {
	t := judge.Table{Title: "one run of the model, the pods becoming available one by one", Head: []string{"event"}}
	for _, v := range k.Versions {
		t.Head = append(t.Head, v+" wanted", v+" available")
	}
	t.Head = append(t.Head, "available", "wanted")
	for _, row := range append([]deployment.Row{trace.Start}, trace.Rows...) {
		t.Rows = append(t.Rows, k.traceRow(row))
	}
	t.Rows = elide(t.Rows)
	return t
}

// elide leaves the middle of a long table out: it goes on as it began.
func elide(rows [][]string) [][]string {
	const head, tail = 40, 10
	left := len(rows) - head - tail
	if left <= 1 {
		return rows
	}
	gap := make([]string, len(rows[0]))
	gap[0] = fmt.Sprintf("… %d rows …", left)
	return slices.Concat(rows[:head], [][]string{gap}, rows[len(rows)-tail:])
}

func written(w deployment.Write) string {
	if w.Why == deployment.RuleCreate {
		return fmt.Sprintf("%s made with %d", w.Version, w.To)
	}
	return fmt.Sprintf("%s %d → %d", w.Version, w.From, w.To)
}

func (k Key) traceRow(row deployment.Row) []string {
	event := row.Event
	for i, w := range row.Writes {
		if i > 0 || event != "" {
			event += ", "
		}
		event += written(w)
	}
	out := []string{event}
	for _, v := range k.Versions {
		one := row.Version(v)
		out = append(out, fmt.Sprint(one.Replicas), fmt.Sprint(one.Available))
	}
	return append(out, fmt.Sprint(row.Available), fmt.Sprint(row.Total))
}

// Reaction is how long the control loops may take from a cause to its effect in
// the recording: watches, queues and writes of the Deployment and ReplicaSet
// controllers, scheduler and kwok, on a machine that does other things too. The
// pages of the scenarios show what the recordings had.
const Reaction = 5 * time.Second

// PodStart is how long a kubelet may take from a pod's binding to its readiness
// beyond the program's own start-up: a sandbox, a container, and a probe each
// second. The pods of the drill shutdown took 0.2 to 1.9 s, from their events
// Scheduled to their conditions Ready (results/baselines/shutdown-*); a busy
// machine may take many times as long.
const PodStart = 15 * time.Second

// OldGoesLast: no pod of v1 goes before one of v2 is available.
func (k Key) OldGoesLast(window series.Window) judge.Claim {
	return judge.Claim{
		ID: "old-goes-last", Sentence: "the old pod is given up only after the new one is available",
		Basis: k.Basis(deployment.RuleOld, deployment.RuleFenceposts),
		Check: judge.Extremum{
			Of: Missing, While: judge.Cond{Series: AvailableOf(V2), Op: judge.Less, Value: series.Number(1)},
			Want: 0, Window: window,
		},
	}
}

// NoneReady: there is an instant without a ready pod.
func (k Key) NoneReady(window series.Window) judge.Claim {
	return k.bound("none-ready", "there is an instant without a ready pod", Ready, judge.Least, 0, 0, window, deployment.RuleFenceposts, deployment.RuleOld)
}

// Outage: from the instant at which no pod is ready until one is again.
func (k Key) Outage(low, high time.Duration, window series.Window) judge.Claim {
	return judge.Claim{
		ID: "outage", Sentence: "there is an outage, from the first instant without a ready pod to the next ready one",
		Basis: append(k.Basis(deployment.RuleFenceposts, deployment.RuleOld), "the new pod's start-up, and what the control loops need"),
		Check: judge.Within{
			From: judge.Cond{Series: Ready, Op: judge.Less, Value: series.Number(1)},
			To:   judge.Cond{Series: Ready, Op: judge.GreaterEqual, Value: series.Number(1)},
			Min:  low, Max: high, Window: window,
		},
	}
}

// Never: a count stays 0 inside the window.
func (k Key) Never(id, sentence, of string, window series.Window, rules ...deployment.Rule) judge.Claim {
	return judge.Claim{ID: id, Sentence: sentence, Basis: k.Basis(rules...), Check: judge.Always{
		Cond: judge.Cond{Series: of, Op: judge.Equal, Value: series.Number(0)}, Window: window,
	}}
}

// Took: the time from one count's first pod to another's.
func (k Key) Took(id, sentence, from, to string, low, high time.Duration, window series.Window, rules ...deployment.Rule) judge.Claim {
	one := func(of string) judge.Cond {
		return judge.Cond{Series: of, Op: judge.GreaterEqual, Value: series.Number(1)}
	}
	return judge.Claim{ID: id, Sentence: sentence, Basis: k.Basis(rules...), Check: judge.Within{
		From: one(from), To: one(to), Min: low, Max: high, Window: window,
	}}
}
