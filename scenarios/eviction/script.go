package eviction

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1 "k8s.io/api/policy/v1"

	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/workload"
)

// Steps of this scenario alone.
const (
	StepNode      = "make a node"
	StepBudget    = "add a budget"
	StepUnready   = "pods lose their readiness"
	StepCordon    = "cordon the node"
	StepEvict     = "evict"
	StepAskBudget = "ask the disruption controller for a sign of life"
)

// run is one run of the script.
type run struct {
	*Params
	workload.Script
	st *stage.Stage
	// refused are the pods that were made unready.
	refused map[string]bool
}

// Script deploys the pods, makes some unready, evicts, and waits for the end.
func (s Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	r := &run{Params: p, Script: workload.Script{Deployment: p.workload(), Stage: st}, st: st, refused: map[string]bool{}}
	var acts []workload.Act
	if p.drains() {
		acts = append(acts, r.Step(StepNode, r.makeNode(drainedSuffix)))
	}
	acts = append(acts, r.Step(workload.StepDeploy, r.deploy))
	if p.Budget != None {
		acts = append(acts, r.Step(StepBudget, r.addBudgets))
	}
	if p.Unready > 0 {
		acts = append(acts, r.Step(StepUnready, r.unready))
	}
	if p.drains() {
		acts = append(acts, r.Step(StepCordon, r.cordon))
	}
	ask := map[string]func(context.Context) error{Evictions: r.evictions, Drain: r.drain, Kubectl: r.kubectlDrain}
	acts = append(acts, r.Step(StepEvict, ask[p.How]), r.Step(workload.StepSettle, r.settle), func(ctx context.Context) error { return r.Finish(ctx, p.Quiet.Std()) })
	if p.Budget != None {
		acts = append(acts, r.Step(StepAskBudget, r.askBudget))
	}
	return workload.InOrder(ctx, acts...)
}

// never is a start-up that no run sees the end of. With it no pod becomes ready,
// and none that is ready loses it.
const never = 1000 * time.Hour

// deploy makes the Deployment and waits until all its pods are available.
func (r *run) deploy(ctx context.Context) error {
	r.st.Readiness.Open(workload.V1)
	d, err := r.deployment(r.st.Namespace)
	if err != nil {
		return err
	}
	if err := r.st.Client.Create(ctx, d); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	if err := r.Complete(ctx, workload.V1, workload.SetUpLimit); err != nil {
		return fmt.Errorf("the set-up failed: %v", err)
	}
	r.st.Readiness.After(workload.V1, never)
	return nil
}

func (r *run) addBudgets(ctx context.Context) error {
	for i := range r.Budgets {
		if err := r.st.Client.Create(ctx, r.budget(r.st.Namespace, i)); err != nil {
			return err
		}
	}
	return r.counted(ctx)
}

// unready takes the readiness of the first pods.
func (r *run) unready(ctx context.Context) error {
	for _, pod := range r.pods()[:r.Unready] {
		r.refused[pod.Name] = true
		r.st.Readiness.Refuse(pod.Name, true)
	}
	if err := r.readyPods(ctx, r.Replicas-r.Unready); err != nil {
		return err
	}
	return r.counted(ctx)
}

// evictions asks for the pods one after the other, for a refused one again.
func (r *run) evictions(ctx context.Context) error {
	left := r.names()
	for n := 0; n < r.Evictions && len(left) > 0; n++ {
		if n > 0 {
			if err := r.st.Pass(ctx, r.Interval.Std()); err != nil {
				return err
			}
		}
		code, err := r.evict(ctx, left[0])
		if err != nil {
			return err
		}
		if code == created {
			left = left[1:]
		}
		if err := r.replaced(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until nobody writes any more.
func (r *run) settle(ctx context.Context) error {
	if err := r.Still(ctx, workload.ControlLimit); err != nil || r.Budget == None {
		return err
	}
	return r.st.Still(ctx, workload.Budgets, 500*time.Millisecond, workload.ControlLimit)
}

// askBudget changes the budget's policy, when nobody is evicted any more, and
// waits until the controller has observed it.
func (r *run) askBudget(ctx context.Context) error {
	policy := policyv1.AlwaysAllow
	if r.Policy == string(policy) {
		policy = policyv1.IfHealthyBudget
	}
	b := &policyv1.PodDisruptionBudget{}
	b.Namespace, b.Name = r.st.Namespace, workload.Name
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}},"spec":{"unhealthyPodEvictionPolicy":%q}}`, workload.AskedLabel, policy)
	if err := r.st.Client.Patch(ctx, b, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return err
	}
	return r.st.Until(ctx, "an answer", workload.Budgets, workload.ControlLimit, func(v *series.View) bool {
		return v.Metadata.Name == workload.Name && v.Metadata.Labels[workload.AskedLabel] != "" && workload.Observed(v)
	})
}
