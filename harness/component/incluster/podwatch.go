package incluster

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// PodWatch watches over a pod whose program must go on running. It is done when
// a container ends or restarts, when the pod is going away, or when it was told
// to stop.
type PodWatch struct {
	client *Client
	first  *corev1.Pod
	stop   context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	err error
}

// WatchPod watches over a pod from the state that it is known in. The watch
// outlives ctx, of which it takes the values, until Stop.
func (c *Client) WatchPod(ctx context.Context, pod *corev1.Pod) *PodWatch {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &PodWatch{client: c, first: pod, stop: cancel, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

// Done is closed when the watch is over.
func (w *PodWatch) Done() <-chan struct{} { return w.done }

// Err says what became of the pod, nil after Stop.
func (w *PodWatch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Stop ends the watch: what becomes of the pod from here on is asked for.
func (w *PodWatch) Stop() {
	w.stop()
	<-w.done
}

func (w *PodWatch) run(ctx context.Context) {
	defer close(w.done)
	defer w.stop()
	for ctx.Err() == nil {
		err := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			return
		}
		_ = sleep(ctx, poll) // the API server may be away
	}
}

// look reads the pod and watches it until the watch ends. The error is the
// pod's; a cluster that does not answer is none.
func (w *PodWatch) look(ctx context.Context) error {
	pods := w.client.Kube.CoreV1().Pods(w.first.Namespace)
	pod, err := pods.Get(ctx, w.first.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("pod %s is gone", w.first.Name)
	}
	if err != nil {
		return nil
	}
	if err := w.check(ctx, pod); err != nil {
		return err
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", w.first.Name).String(), ResourceVersion: pod.ResourceVersion,
	})
	if err != nil {
		return nil
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok { // an error: read again
			return nil
		}
		if e.Type == watch.Deleted {
			return fmt.Errorf("pod %s was deleted", w.first.Name)
		}
		if err := w.check(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// check compares the pod with what it was in the beginning.
func (w *PodWatch) check(ctx context.Context, pod *corev1.Pod) error {
	why := broken(w.first, pod)
	if why == "" {
		return nil
	}
	// Its last words, if it has any, are the best explanation.
	for _, s := range pod.Status.ContainerStatuses {
		before := statusOf(w.first, s.Name)
		if before == nil || s.State.Terminated == nil && s.RestartCount == before.RestartCount {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, explainTime)
		defer cancel()
		if tail := w.client.lastLines(ctx, Container{pod.Namespace, pod.Name, s.Name}, s.State.Terminated == nil); tail != "" {
			why += "; its log ends: " + tail
		}
	}
	return fmt.Errorf("%s", why)
}

// broken says why a pod is no longer what it was, "" if it is.
func broken(first, pod *corev1.Pod) string {
	name := "pod " + pod.Name
	if !sameObject(pod, first.UID) {
		return name + " was replaced by another of its name"
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		before := statusOf(first, s.Name)
		switch {
		case s.State.Terminated != nil:
			return fmt.Sprintf("container %s of %s %s", s.Name, name, ending(s.State.Terminated))
		case before != nil && s.RestartCount > before.RestartCount:
			why := fmt.Sprintf("container %s of %s restarted", s.Name, name)
			if last := s.LastTerminationState.Terminated; last != nil {
				why += ": it " + ending(last)
			}
			return why
		}
	}
	if pod.DeletionTimestamp != nil {
		return name + " is being deleted"
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return fmt.Sprintf("%s is %s %s", name, pod.Status.Phase, oneLine(pod.Status.Message))
	}
	return ""
}
