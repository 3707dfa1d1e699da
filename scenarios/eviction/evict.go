package eviction

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"

	"reckon.dev/reckon/scenarios/workload"
)

const created = http.StatusCreated

// kubectl is `kubectl drain` without its loop: pods go with their own grace period.
func (r *run) kubectl(ctx context.Context) *drain.Helper {
	return &drain.Helper{Ctx: ctx, Client: r.st.Kube, GracePeriodSeconds: -1}
}

// evict asks for one pod and returns the code of the answer. After a grant it waits
// until the pod is gone. A refusal by a spent budget has no Retry-After, or client-go
// would ask again by itself.
func (r *run) evict(ctx context.Context, name string) (code int, err error) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.st.Namespace, Name: name}}
	err = r.kubectl(ctx).EvictPod(pod, policyv1.SchemeGroupVersion)
	var refusal apierrors.APIStatus
	switch {
	case err == nil:
		return created, r.st.Recorder.WaitGone(ctx, workload.Pods, r.st.Namespace, name)
	case errors.As(err, &refusal):
		return int(refusal.Status().Code), nil
	}
	return 0, fmt.Errorf("evicting %s: %w", name, err)
}

func (r *run) makeNode(suffix string) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := node(r.st.Namespace, suffix)
		if err != nil {
			return err
		}
		return r.st.Client.Create(ctx, n)
	}
}

// cordon is what `kubectl drain` begins with, by its own code. The pods get another
// node to go to only now: before, this one had to hold them all.
func (r *run) cordon(ctx context.Context) error {
	if err := r.makeNode(refugeSuffix)(ctx); err != nil {
		return err
	}
	n, err := r.st.Kube.CoreV1().Nodes().Get(ctx, nodeName(r.st.Namespace, drainedSuffix), metav1.GetOptions{})
	if err != nil {
		return err
	}
	return drain.RunCordonOrUncordon(r.kubectl(ctx), n, true)
}

// drain asks in rounds for all pods that kubectl would choose and that are still
// there. kubectl asks for all at once, each again 5 s after its refusal
// (k8s.io/kubectl/pkg/drain/drain.go:284, v0.37.2); here they are asked for one by
// one, and a round begins when the new pods of the last one are ready, so that the
// order of the answers can be predicted.
func (r *run) drain(ctx context.Context) error {
	list, errs := r.kubectl(ctx).GetPodsForDeletion(nodeName(r.st.Namespace, drainedSuffix))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	left := list.Pods()
	for idle := 0; len(left) > 0; {
		before := len(left)
		var err error
		if left, err = r.round(ctx, left); err != nil {
			return err
		}
		if idle++; len(left) < before {
			idle = 0
		}
		if len(left) == 0 || idle == r.Patience {
			return nil
		}
		if err := r.st.Pass(ctx, r.Interval.Std()); err != nil {
			return err
		}
	}
	return nil
}

// round asks for each pod once and returns those that were refused.
func (r *run) round(ctx context.Context, pods []corev1.Pod) (left []corev1.Pod, err error) {
	for _, pod := range pods {
		code, err := r.evict(ctx, pod.Name)
		if err != nil {
			return nil, err
		}
		if code == http.StatusTooManyRequests {
			left = append(left, pod)
		}
		if err := r.running(ctx); err != nil {
			return nil, err
		}
	}
	if r.Replacement == Never {
		return left, nil
	}
	return left, r.startUp(ctx)
}
