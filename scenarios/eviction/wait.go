package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios/workload"
)

// What follows waits for states in the recorder's stream, so that each eviction
// finds a budget whose status the controller has brought up to date: the answers
// then do not depend on how fast it was.

// pods are the pods as the recorder has them, by name.
func (r *run) pods() []corev1.Pod {
	return objects[corev1.Pod](r.st.Recorder, workload.Pods, r.st.Namespace)
}

func objects[T any](rec *record.Recorder, resource, namespace string) []T {
	var out []T
	for _, o := range rec.Objects(resource, namespace) {
		var object T
		if json.Unmarshal(o.Body, &object) == nil {
			out = append(out, object)
		}
	}
	return out
}

func (r *run) names() []string {
	var out []string
	for _, pod := range r.pods() {
		out = append(out, pod.Name)
	}
	return out
}

func isReady(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func countReady(pods []corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if isReady(pod) {
			n++
		}
	}
	return n
}

// replaced waits until all pods that are wanted run, none of them the one that was
// evicted, and the budget counts them. Then the new ones become ready, if they do.
func (r *run) replaced(ctx context.Context) error {
	if err := r.running(ctx); err != nil || r.Replacement == Never {
		return err
	}
	return r.startUp(ctx)
}

// startUp lets the new pods become ready when they have run for their start-up
// time: one by one, so that the controller cannot count two in one look.
func (r *run) startUp(ctx context.Context) error {
	pods := r.pods()
	next := countReady(pods) + 1
	last := len(slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return r.refused[pod.Name] }))
	if next > last {
		return nil
	}
	if err := r.st.Pass(ctx, r.Startup.Std()); err != nil {
		return err
	}
	defer r.st.Readiness.After(workload.V1, never)
	for ; next <= last; next++ {
		r.st.Readiness.Hold(workload.V1, next)
		if err := r.readyPods(ctx, next); err != nil {
			return err
		}
		if err := r.counted(ctx); err != nil {
			return err
		}
	}
	return nil
}

// running waits until as many pods run as are wanted and none is on its way out,
// and the budget counts them.
func (r *run) running(ctx context.Context) error {
	err := r.st.Until(ctx, "all pods run", workload.Pods, workload.ControlLimit, func(*series.View) bool {
		pods := r.pods()
		return len(pods) == r.Replicas && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning
		})
	})
	if err != nil {
		return err
	}
	return r.counted(ctx)
}

func (r *run) readyPods(ctx context.Context, n int) error {
	return r.st.Until(ctx, fmt.Sprintf("%d pods ready", n), workload.Pods, workload.ControlLimit, func(*series.View) bool {
		return countReady(r.pods()) == n
	})
}

// counted waits until the status of every budget speaks of its spec as it is and
// of the pods as they are, with no eviction on the way. Pods must be at rest.
func (r *run) counted(ctx context.Context) error {
	if r.Budget == None {
		return nil
	}
	return r.st.Until(ctx, "the budget counts its pods", workload.Budgets, workload.ControlLimit, func(*series.View) bool {
		ready := countReady(r.pods())
		budgets := objects[policyv1.PodDisruptionBudget](r.st.Recorder, workload.Budgets, r.st.Namespace)
		return len(budgets) == r.Budgets && !slices.ContainsFunc(budgets, func(b policyv1.PodDisruptionBudget) bool {
			return b.Status.ObservedGeneration < b.Generation || b.Generation == 0 ||
				len(b.Status.DisruptedPods) > 0 || int(b.Status.CurrentHealthy) != ready
		})
	})
}
