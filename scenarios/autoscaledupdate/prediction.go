package autoscaledupdate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/autoscaler"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/autoscaled"
	"reckon.dev/reckon/scenarios/workload"
)

// Windows of the claims: the whole drilled part, and the update alone.
var (
	Drilled = series.Window{From: workload.StepUpdate, To: workload.StepQuiet}
	Update  = series.Window{From: workload.StepUpdate, To: workload.StepSettle}
)

// stub is a caveat of every report.
const stub = "the resource metrics API is a stub: the script writes a PodMetrics object for each pod that runs, and a custom resource definition serves them; there is no metrics-server and no kubelet"

// key is what the claims are made from.
type key struct {
	*Params
	sizes
	deployment workload.Key
	autoscaled.Key
}

// Predict takes the sizes from the autoscaler's model, and what the Deployment makes
// of them from the Deployment's.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	s := p.sizes()
	rules, known := autoscaler.RulesFor(scenario.ControllerManagerVersion(in.Versions))
	k := key{Params: p, sizes: s, Key: autoscaled.Key{Rules: rules}, deployment: workload.NewKey(p.at(s.rest.Current), in, workload.V1, workload.V2)}
	trace, err := deployment.Play(k.deployment.Deployment.Spec(), deployment.DeployAt(workload.V2))
	if err != nil {
		return judge.Prediction{}, err
	}
	out := k.deployment.Prediction()
	out.Model += ", autoscaler " + rules.Tag()
	out.Notes = append(out.Notes, k.Notes(stub, known)...)
	out.Definitions = append(out.Definitions, definitions(s.rest.Current)...)
	out.Claims = append(out.Claims, k.replicas()...)
	out.Claims = append(out.Claims, k.witnesses()...)
	out.Claims = append(out.Claims, k.pods()...)
	out.Claims = append(out.Claims, k.Stays(workload.Replicas, p.Quiet.Std(), series.Window{From: workload.StepQuiet, To: workload.StepQuiet}), k.deployment.Still(p.Quiet.Std()))
	out.Guards = k.guards(in.Guards)
	out.Chart.Panels = append([]judge.Panel{{Title: "replicas", Unit: "pods", Lines: k.lines()}}, out.Chart.Panels...)
	out.Tables = append(out.Tables, k.table(), k.deployment.TraceTable(trace))
	return out, nil
}

// replicas: which sizes the autoscaler chooses, and no others.
func (k key) replicas() []judge.Claim {
	autoscale := series.Window{From: StepAutoscale, To: StepAutoscale}
	out := []judge.Claim{{
		ID: "settled", Sentence: "the sizes before the update, from the autoscaler's creation to rest",
		Basis: k.Basis(autoscaler.RuleTolerance, autoscaler.RuleMultiple, autoscaler.RuleStabilized, autoscaler.RuleBounds),
		Check: judge.Sequence{Of: workload.Replicas, Want: judge.Numbers(k.before...), Window: autoscale},
	}}
	why := k.Basis(autoscaler.RuleBase, autoscaler.RuleReady, autoscaler.RuleTolerance, autoscaler.RuleMultiple, autoscaler.RuleDirection, autoscaler.RuleStabilized, autoscaler.RuleBounds)
	if k.during.Constant() {
		size := float64(k.rest.Current)
		return append(out,
			judge.Claim{ID: "replicas", Sentence: "the update does not change spec.replicas", Basis: why,
				Check: judge.Sequence{Of: workload.Replicas, Want: judge.Numbers(k.rest.Current), Window: Drilled}},
			judge.Claim{ID: "desired", Sentence: "the autoscaler never wants another size", Basis: why,
				Check: workload.Worded{
					Check: judge.Always{Cond: judge.Cond{Series: autoscaled.Desired, Op: judge.Equal, Value: series.Number(size)}, Window: Drilled},
					Words: workload.Stays(fmt.Sprintf("always %d", k.rest.Current), "%s"),
				}},
		)
	}
	out = append(out, k.climb(why), judge.Claim{
		ID: "desired", Sentence: "the greatest size that the autoscaler wants", Basis: why, Check: k.reached(autoscaled.Desired),
	})
	return append(out, judge.Claim{
		ID: "rescales", Sentence: "every change of spec.replicas is one that a sync makes, from pods that there were since the last one", Basis: why,
		Check: judge.Path{
			Of: []string{workload.Replicas, Running, Pending}, Rule: "only sizes of the model", Least: 1, Window: Drilled,
			Begin: func() judge.Walk { return (&walk{autoscaler: k.rest}).next },
			Saw:   sizesOf,
		},
	})
}

// sizesOf are the sizes of the Deployment along a path, in order.
func sizesOf(states [][]series.Value) string {
	var out []string
	for _, s := range states {
		out = append(out, s[0].String())
	}
	return strings.Join(slices.Compact(out), " → ")
}

// climb: the surge's pods are taken for load.
func (k key) climb(why []string) judge.Claim {
	c := judge.Claim{ID: "replicas", Sentence: "the update raises spec.replicas, though no pod uses more", Basis: why, Check: k.reached(workload.Replicas)}
	if k.known() {
		c.Check = judge.Sequence{Of: workload.Replicas, Want: judge.Numbers(k.during.Sizes...), Window: Drilled}
	}
	return c
}

func (k key) reached(of string) judge.Bound {
	return judge.Bound{Of: of, Extreme: judge.Greatest, Low: float64(k.certain), High: float64(k.during.Greatest()), Unit: "pods", Window: Drilled}
}

// witnesses: the autoscaler worked all the time.
func (k key) witnesses() []judge.Claim {
	return []judge.Claim{
		k.Works(Drilled),
		{ID: "reading", Sentence: "what it reads is constant", Basis: k.Basis(autoscaler.RuleReady, autoscaler.RuleIgnored), Check: autoscaled.Always(Reading, fmt.Sprintf("%dMi", usageMi(k.Usage)), Drilled)},
		k.Looks(k.looks(), "it looks again and again while the update is under way", Update),
	}
}

// usageMi is what each pod uses, in Mi.
func usageMi(percent int) int { return percent * targetMi / 100 }

// looks is how many syncs the update is seen by at least.
func (k key) looks() int {
	return autoscaled.Syncs(time.Duration(k.waves(k.rest.Current)) * k.Startup.Std())
}

// pods: what the Deployment does is inside its own fences, at whatever size it has.
func (k key) pods() []judge.Claim {
	d := k.deployment
	least, _ := d.Deployment.Fences()
	out := append([]judge.Claim{d.Ceiling(k.most(k.during.Greatest()), Drilled)}, d.Floor(least, Drilled)...)
	out = append(out, d.Moves(Drilled, 1))
	if k.known() {
		return append(out, d.Ended(workload.V2, k.during.Greatest(), 2, Drilled)...)
	}
	return append(out,
		d.Final("final-revision", "the Deployment's revision at the end", workload.Revision, series.Text("2"), Drilled, deployment.RuleRevision),
		d.Final("final-progressing", "the condition Progressing at the end", workload.Progressing, series.Text("True/NewReplicaSetAvailable"), Drilled, deployment.RuleComplete),
		d.Final("final-v1", "the wanted size of v1 at the end", workload.Wanted(workload.V1), series.Number(0), Drilled, deployment.RuleOld),
	)
}

// ExcessGuard limits what an update adds.
const ExcessGuard = "excess"

// Guards says what the guard limits.
func (Scenario) Guards() map[string]string {
	return map[string]string{ExcessGuard: "replicas that the update adds though no pod uses more; by default none"}
}

func (k key) guards(limits map[string]float64) []judge.Guard {
	g := judge.Guard{
		ID: ExcessGuard, Sentence: Scenario{}.Guards()[ExcessGuard], Series: Excess, Limit: limits[ExcessGuard], Window: Drilled,
		Basis: k.Basis(autoscaler.RuleMultiple),
	}
	if k.certain == k.during.Greatest() {
		g.Expected = new(float64(k.certain - k.rest.Current))
	}
	return []judge.Guard{g}
}

func (k key) lines() []judge.Line {
	replicas := judge.Line{Series: workload.Replicas, Label: "spec.replicas"}
	if k.known() {
		for _, n := range k.during.Sizes {
			replicas.Predicted = append(replicas.Predicted, float64(n))
		}
	}
	return []judge.Line{replicas, {Series: autoscaled.Desired, Label: "wanted by the autoscaler"}, {Series: Running, Label: "pods that run"}}
}

// table is what one sync makes of each number of pods that an update can have.
func (k key) table() judge.Table {
	least, most := k.deployment.Deployment.Fences()
	t := judge.Table{
		Title: fmt.Sprintf("one sync at %d replicas and %d%% of the target", k.rest.Current, k.Usage),
		Head:  []string{"pods that run", "proposed", "chosen", "proposed, two of them without a reading"},
	}
	for n := least; n <= most; n++ {
		row := []string{fmt.Sprint(n)}
		proposed, _ := autoscaler.Calculate(k.rest.Current, k.rest.Usage, autoscaler.Pods{Measured: n})
		chosen := k.rest.Sync(autoscaler.Pods{Measured: n}).Current
		row = append(row, fmt.Sprint(proposed), fmt.Sprint(chosen), "-")
		if missing, err := autoscaler.Calculate(k.rest.Current, k.rest.Usage, autoscaler.Pods{Measured: n - 2, Missing: 2}); n > 2 && err == nil {
			row[len(row)-1] = fmt.Sprint(missing)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
