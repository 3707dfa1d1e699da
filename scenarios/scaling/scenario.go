// Package scaling is the scenario scaling: a Deployment at rest gets other
// numbers of replicas, one after the other, down to 0 and up to any size.
package scaling

import (
	"context"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/model/deployment"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Params are the scenario's parameters.
type Params struct {
	workload.Deployment
	Sizes   []int             `json:"sizes" doc:"the numbers of replicas that the Deployment is scaled to, one after the other"`
	Startup scenario.Duration `json:"startup" doc:"how long a pod runs before it is ready"`
	Quiet   scenario.Duration `json:"quiet" doc:"how long nothing may change after the end"`
}

// Scenario is scaling.
type Scenario struct{}

var (
	_ scenario.Scenario  = Scenario{}
	_ scenario.Exclusive = Scenario{}
)

func (Scenario) Name() string { return "scaling" }

func (Scenario) Summary() string {
	return "scale a Deployment to 0 and back, or to any sizes: one write each, no new revision, nothing else moves"
}

func (Scenario) Needs(any) cluster.Capabilities {
	return cluster.Capabilities{cluster.ScriptedReadiness}
}

func (Scenario) Components(cluster.Capabilities) []string { return nil }

func (Scenario) Defaults() any {
	return &Params{
		Deployment: workload.DefaultDeployment(4), Sizes: []int{0, 4},
		Startup: scenario.Duration(500 * time.Millisecond), Quiet: workload.Quiet,
	}
}

func (Scenario) Check(params any, _ map[string]string) error {
	p := params.(*Params)
	if len(p.Sizes) == 0 || len(p.Sizes) > 20 {
		return scenario.Refuse("sizes", "%d sizes, expected 1 to 20", len(p.Sizes))
	}
	before := p.Replicas
	for i, n := range p.Sizes {
		if n < 0 || n > workload.MostReplicas {
			return scenario.Refuse(fmt.Sprintf("sizes[%d]", i), "%d is no number of replicas, expected 0 to %d", n, workload.MostReplicas)
		}
		if n == before {
			return scenario.Refuse(fmt.Sprintf("sizes[%d]", i), "%d is the size that the Deployment has already", n)
		}
		before = n
	}
	return p.Deployment.Check()
}

// Exclusive says so for large Deployments.
func (Scenario) Exclusive(params any) bool {
	p := params.(*Params)
	return workload.Crowd(append([]int{p.Replicas}, p.Sizes...)...)
}

func (Scenario) Expected(params any) time.Duration {
	p := params.(*Params)
	total := 5*time.Second + p.Quiet.Std()
	for _, n := range append([]int{p.Replicas}, p.Sizes...) {
		total += time.Second + p.Startup.Std() + time.Duration(p.MinReadySeconds)*time.Second + p.Linger.Std() + workload.PodTime(n)
	}
	return total
}

// Script deploys v1 and scales it.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	w := workload.Script{Deployment: p.Deployment, Stage: st}
	limit := 2*s.Expected(params) + workload.ControlLimit
	acts := []workload.Act{func(ctx context.Context) error { return w.Deploy(ctx, workload.V1) }}
	for i, n := range p.Sizes {
		acts = append(acts, w.Step(Step(i, n), func(ctx context.Context) error {
			st.Readiness.After(workload.V1, p.Startup.Std())
			if err := w.Scale(ctx, n); err != nil {
				return err
			}
			return w.Settle(ctx, workload.V1, limit)
		}))
	}
	acts = append(acts, func(ctx context.Context) error { return w.Finish(ctx, p.Quiet.Std()) })
	return workload.InOrder(ctx, acts...)
}

// Step names the i-th scaling.
func Step(i, size int) string { return fmt.Sprintf("scale %d: to %d", i+1, size) }

// Predict: with one active ReplicaSet a scaling is one write.
func (Scenario) Predict(in scenario.Input) (judge.Prediction, error) {
	p := in.Params.(*Params)
	k := workload.NewKey(p.Deployment, in, workload.V1)
	drilled := series.Window{From: Step(0, p.Sizes[0]), To: workload.StepQuiet}
	sizes, moves := []int{p.Replicas}, []deployment.Move{}
	most := p.Replicas
	for _, n := range p.Sizes {
		sizes, moves, most = append(sizes, n), append(moves, deployment.ScaleTo(n)), max(most, n)
	}
	trace, err := deployment.Play(p.Spec(), moves...)
	if err != nil {
		return judge.Prediction{}, err
	}
	last := p.Sizes[len(p.Sizes)-1]
	out := k.Prediction()
	out.Claims = append(out.Claims,
		k.Ceiling(most, drilled),
		judge.Claim{
			ID: "sizes", Sentence: "the ReplicaSet takes exactly these sizes, one write for each scaling",
			Basis: k.Basis(deployment.RuleOnly),
			Check: judge.Sequence{Of: workload.Wanted(workload.V1), Want: judge.Numbers(sizes...), Window: drilled},
		},
		k.Moves(drilled, len(p.Sizes)),
		judge.Claim{
			ID: "no-revision", Sentence: "a scaling makes no new revision", Basis: k.Basis(deployment.RuleRevision),
			Check: judge.Sequence{Of: workload.Revision, Want: []series.Value{series.Text("1")}, Window: drilled},
		},
	)
	out.Claims = append(out.Claims, k.PodsFollow(drilled)...)
	out.Claims = append(out.Claims, k.Ended(workload.V1, last, 1, drilled)...)
	out.Claims = append(out.Claims, k.Still(p.Quiet.Std()))
	out.Chart.Window.From = drilled.From
	out.Tables = append(out.Tables, k.TraceTable(trace))
	return out, nil
}
